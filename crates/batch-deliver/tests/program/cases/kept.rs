//! What could not be read or delivered, and is kept.
