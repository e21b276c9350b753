//! The key of pseudonyms, kept for the user: the same name has the same pseudonym in every recording, and nobody without
//! the key can find out a name by trying.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::recording::Pseudonyms;
use crate::recovery::trail::Trail;

/// Pseudonyms with the user's key, which is made at its first use. Where it cannot be kept, they last for one run.
pub(super) fn pseudonyms() -> Pseudonyms {
    let file = Trail::default_folder().map(|folder| folder.with_file_name("pseudonyms.key"));
    file.and_then(|file| read(&file).or_else(|| create(&file))).unwrap_or_else(Pseudonyms::random)
}

fn read(file: &Path) -> Option<Pseudonyms> {
    let key: [u8; 32] = fs::read(file).ok()?.try_into().ok()?;
    Some(Pseudonyms::with_key(key))
}

fn create(file: &Path) -> Option<Pseudonyms> {
    DirBuilder::new().recursive(true).mode(0o700).create(file.parent()?).ok()?;
    let new = Pseudonyms::random();
    // Only its owner may read it, and of two that make one at once the first counts.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    match made {
        Ok(mut made) => made.write_all(new.key()).is_ok().then_some(new),
        Err(_) => read(file),
    }
}
