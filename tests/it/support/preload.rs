//! Small C libraries that the program is started with: to end it at one of its calls, or to learn what it needed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// A library of `tests/it/support/preload/`, compiled at its first use.
pub struct Preload {
    name: &'static str,
    made: OnceLock<(TempDir, PathBuf)>,
}

impl Preload {
    pub const fn new(name: &'static str) -> Preload {
        Preload { name, made: OnceLock::new() }
    }

    pub fn path(&self) -> &Path {
        let (_, path) = self.made.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(format!("{}.so", self.name));
            let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/preload");
            let mut compiler = Command::new("cc");
            compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path);
            compiler.arg(sources.join(format!("{}.c", self.name))).arg("-ldl");
            assert!(compiler.status().expect("a C compiler").success());
            (folder, path)
        });
        path
    }
}

static PEAK_MEMORY: Preload = Preload::new("peak_memory");

/// Runs a command to its end; its exit code and the most memory it had, in KiB.
///
/// The process writes its own peak as its last act: asked from outside, a short process may end unasked.
pub fn run_with_peak_memory(command: &mut Command) -> (i32, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("peak");
    command.env("LD_PRELOAD", PEAK_MEMORY.path()).env("PEAK_FILE", &file);
    let status = command.status().expect("claimtop runs");
    let peak = std::fs::read_to_string(&file).expect("a peak").trim().parse().expect("a number");
    (status.code().unwrap_or(-1), peak)
}
