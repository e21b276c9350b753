//! Clocks that jump, for single processes: libfaketime, preloaded.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The clock of a process that reads it from a file.
pub struct FakeClock {
    library: PathBuf,
    file: PathBuf,
}

impl FakeClock {
    /// A clock that is right until it is set; nothing, with the reason printed, where libfaketime is missing.
    pub fn beside(folder: &Path, name: &str) -> Option<FakeClock> {
        let Some(library) = library() else {
            eprintln!("skipped: libfaketime is missing (the package libfaketime); ./tests/run installs it");
            return None;
        };
        let clock = FakeClock { library, file: folder.join(name) };
        clock.set(0);
        Some(clock)
    }

    /// So many seconds ahead of the real time, or behind.
    pub fn set(&self, seconds: i64) {
        // Read while it is written it would be empty: all or nothing.
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{seconds:+}\n")).expect("the clock's file");
        std::fs::rename(new, &self.file).expect("the clock's file");
    }

    /// What a process has to be told to go by it. Clocks that people cannot set run on.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        vec![
            ("LD_PRELOAD", text(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", text(&self.file)),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("DONT_FAKE_MONOTONIC", "1".into()),
        ]
    }

    pub fn rules(&self, command: &mut Command) {
        command.envs(self.variables());
    }
}

fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|folder| folder.path());
    let names = ["faketime/libfaketimeMT.so.1", "faketime/libfaketime.so.1"];
    let all = folders.flat_map(|folder| names.map(|name| folder.join(name)));
    all.into_iter().find(|path| path.exists())
}
