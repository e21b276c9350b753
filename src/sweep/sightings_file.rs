//! The file that keeps the sightings of one source from run to run, in the state folder.

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

/// The file for the sightings of one source.
#[derive(Debug, Clone)]
pub struct SightingsFile {
    path: PathBuf,
}

/// The contents of the file: the sightings, the clocks at that time, and the intervals between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSightings {
    pub source: String,
    pub clocks: Clocks,
    pub sightings: Sightings,
    #[serde(default)]
    pub database_clock: DatabaseClock,
    /// The intervals between the last runs, the latest last.
    #[serde(default)]
    pub apart_us: Vec<i64>,
}

/// How many intervals are kept. A single long one must not make the next one look usual.
const DISTANCES: usize = 2;

/// Runs by hand may follow each other more quickly than any timer; a later run is then not a gap.
const LEAST: Span = Span::minutes(5);

/// The usual interval while fewer than two are known: a timer of an hour is usual, a day is not.
const UNKNOWN: Span = Span::minutes(20);

impl SavedSightings {
    /// The usual interval between runs, unless one was configured.
    pub fn usual(&self) -> Span {
        let known = self.apart_us.iter().copied().map(Span::micros);
        known.min().map_or(UNKNOWN, |least| least.max(LEAST))
    }

    /// The intervals to keep after a run at `now`.
    pub fn apart_with(&self, now: &Clocks) -> Vec<i64> {
        let latest = now.since_boot().as_micros() - self.clocks.since_boot().as_micros();
        let known = self.apart_us.iter().rev().take(DISTANCES - 1).rev().copied();
        // The interval is unknown after a restart.
        known.chain((latest >= 0).then_some(latest)).collect()
    }
}

impl SightingsFile {
    /// The file beside the folder of the trail, for the source with this fingerprint.
    pub fn beside(trail: &Path, fingerprint: &str) -> SightingsFile {
        let digest = Sha256::digest(fingerprint.as_bytes());
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let state = trail.parent().unwrap_or(trail);
        SightingsFile { path: state.join("sightings").join(name + ".json") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an earlier run saved; `None` if there is no file or it cannot be parsed: then every claim is watched from
    /// the start, which costs time but endangers no claim.
    pub fn load(&self) -> io::Result<Option<SavedSightings>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Saves it for the next run, in full or not at all.
    pub fn keep(&self, kept: &SavedSightings) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let written = file.write_all(&serde_json::to_vec(kept)?).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            // A partial temporary file is useless.
            let _ = fs::remove_file(&new);
        }
        written
    }
}
