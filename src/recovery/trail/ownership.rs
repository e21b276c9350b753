//! Who may have written the journal: only its owner, which must be this user or root.

use rustix::process::geteuid;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::TrailError;

/// The permission bits that let the group or everybody write.
const OTHERS_WRITE: u32 = 0o022;

/// Refuses a file or folder that another user owns or may write to: an undo writes the journal's contents into the
/// database, and other users could have put them there.
pub(super) fn check(path: &Path, metadata: &Metadata) -> Result<(), TrailError> {
    let (uid, mode) = (metadata.uid(), metadata.mode());
    if uid != 0 && uid != geteuid().as_raw() {
        return Err(TrailError::Untrusted {
            path: path.to_owned(),
            why: format!("it belongs to uid {uid}, not to you (uid {}) or root", geteuid().as_raw()),
            fix: "set XDG_STATE_HOME to a folder of your own, or run claimtop as its owner".into(),
        });
    }
    if mode & OTHERS_WRITE != 0 {
        return Err(TrailError::Untrusted {
            path: path.to_owned(),
            why: format!("other users may write to it (mode {:04o})", mode & 0o7777),
            fix: format!("check it with `claimtop audit verify` after `chmod go-w {}`", path.display()),
        });
    }
    Ok(())
}

/// The same for a folder, if it exists.
pub(super) fn check_folder(folder: &Path) -> Result<(), TrailError> {
    match fs::metadata(folder) {
        Ok(metadata) => check(folder, &metadata),
        Err(_) => Ok(()),
    }
}
