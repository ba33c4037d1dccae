//! What the files of the repository promise each other.

mod imports;
mod links;
mod releases;
