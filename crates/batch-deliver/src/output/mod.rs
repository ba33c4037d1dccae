//! Outputs: which file, pipe or device a name leads to, how it is written, and whether the name still leads to it at the end.
//!
//! | what a name leads to | how it is written |
//! |---|---|
//! | a file, or nothing yet | whole, by a file next to it that replaces it; or appended to. Links are followed, and stay |
//! | a pipe, a device, a descriptor such as `/dev/stdout` | directly |
//! | a folder, a disk, a loop of links, a closed standard output | it is refused |

mod identity;
mod kind;
mod restored;
mod standard;
mod temporary_file;

pub(crate) use self::identity::FileIdentity;
pub(crate) use self::kind::{OutputKind, sync_folder_of};
pub(crate) use self::restored::restored;
pub(crate) use self::standard::{CLOSED, check_standard, is_standard, is_standard_closed, standard_files};
pub(crate) use self::temporary_file::{TemporaryFile, is_mounted};
