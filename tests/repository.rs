//! What the files of the repository promise each other.

mod blocks;
mod imports;
mod links;
mod releases;
mod words;
