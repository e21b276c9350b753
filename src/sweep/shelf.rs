//! Where sightings are kept from one run to the next: a file for each source in the state folder.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::passage::Clocks;
use super::sightings::Sightings;

/// The place for the sightings of one source.
#[derive(Debug, Clone)]
pub struct Shelf {
    path: PathBuf,
}

/// What is kept: the sightings, and what the clocks showed at the time.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    source: String,
    clocks: Clocks,
    sightings: Sightings,
}

impl Shelf {
    /// The shelf beside the folder of the trail, for the source with this fingerprint.
    pub fn beside(trail: &Path, fingerprint: &str) -> Shelf {
        let digest = Sha256::digest(fingerprint.as_bytes());
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let state = trail.parent().unwrap_or(trail);
        Shelf { path: state.join("sightings").join(name + ".json") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an earlier run left; nothing if there was none, or if it cannot be read: then everything
    /// is watched anew, which costs time and no claim.
    pub fn load(&self) -> io::Result<Option<(Sightings, Clocks)>> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let kept: Option<Kept> = serde_json::from_slice(&text).ok();
        Ok(kept.map(|kept| (kept.sightings, kept.clocks)))
    }

    /// Keeps them for the next run, all or nothing.
    pub fn keep(&self, source: &str, sightings: &Sightings, clocks: &Clocks) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let kept = Kept { source: source.into(), clocks: clocks.clone(), sightings: sightings.clone() };
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let written = file.write_all(&serde_json::to_vec(&kept)?).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            // What is left of it is of no use to anybody.
            let _ = fs::remove_file(&new);
        }
        written
    }
}
