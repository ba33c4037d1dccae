//! Items and messages in the shapes of other programs, and compressed files.
