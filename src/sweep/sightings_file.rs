//! Where sightings are kept from one run to the next: a file for each source in the state folder.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::clock_continuity::Clocks;
use super::database_clock::DatabaseClock;
use super::sightings::Sightings;
use crate::domain::time::Span;

/// The place for the sightings of one source.
#[derive(Debug, Clone)]
pub struct SightingsFile {
    path: PathBuf,
}

/// What is kept: the sightings, what the clocks showed at the time, and how far apart the runs were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSightings {
    pub source: String,
    pub clocks: Clocks,
    pub sightings: Sightings,
    #[serde(default)]
    pub database_clock: DatabaseClock,
    /// Between the last runs, the latest last.
    #[serde(default)]
    pub apart_us: Vec<i64>,
}

/// How many distances between runs are kept. One long one must not make the next seem usual.
const DISTANCES: usize = 2;

/// Runs by hand may be closer together than any timer; that makes a later one no gap.
const LEAST: Span = Span::minutes(5);

/// Before the second distance is known: a timer of an hour is usual, a day is not.
const UNKNOWN: Span = Span::minutes(20);

impl SavedSightings {
    /// How far apart runs are as a rule, unless somebody has said it.
    pub fn usual(&self) -> Span {
        let known = self.apart_us.iter().copied().map(Span::micros);
        known.min().map_or(UNKNOWN, |least| least.max(LEAST))
    }

    /// The distances that a run at `now` keeps for the next.
    pub fn apart_with(&self, now: &Clocks) -> Vec<i64> {
        let latest = now.since_boot().as_micros() - self.clocks.since_boot().as_micros();
        let known = self.apart_us.iter().rev().take(DISTANCES - 1).rev().copied();
        // After a restart the distance is not known.
        known.chain((latest >= 0).then_some(latest)).collect()
    }
}

impl SightingsFile {
    /// The shelf beside the folder of the trail, for the source with this fingerprint.
    pub fn beside(trail: &Path, fingerprint: &str) -> SightingsFile {
        let digest = Sha256::digest(fingerprint.as_bytes());
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let state = trail.parent().unwrap_or(trail);
        SightingsFile { path: state.join("sightings").join(name + ".json") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an earlier run left; nothing if there was none, or if it cannot be read: then everything
    /// is watched anew, which costs time and no claim.
    pub fn load(&self) -> io::Result<Option<SavedSightings>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps it for the next run, all or nothing.
    pub fn keep(&self, kept: &SavedSightings) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let written = file.write_all(&serde_json::to_vec(kept)?).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            // What is left of it is of no use to anybody.
            let _ = fs::remove_file(&new);
        }
        written
    }
}
