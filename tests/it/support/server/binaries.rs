//! Where PostgreSQL's programs are and who may run them: never root.

use crate::support::engine::not_in_fast;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// PostgreSQL's programs, run as a user that the server accepts.
pub(super) struct Binaries {
    folder: PathBuf,
    /// The user and group to run as, where we are root.
    lent: Option<(u32, u32)>,
}

impl Binaries {
    /// The folder in `CLAIMTOP_PG_BIN`, the newest of Debian's, or the one on PATH, as `./tests/run`.
    pub(super) fn find() -> Binaries {
        not_in_fast("a server");
        let named = std::env::var_os("CLAIMTOP_PG_BIN").map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = named
            .into_iter()
            .chain(debian())
            .chain(std::env::split_paths(&path))
            .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
            .expect("PostgreSQL's programs: run ./tests/run or name their folder in CLAIMTOP_PG_BIN");
        let lent = rustix::process::geteuid().is_root().then(|| {
            let user = if id("-u", "postgres").is_some() { "postgres" } else { "nobody" };
            id("-u", user).zip(id("-g", user)).expect("a user who is not root")
        });
        Binaries { folder, lent }
    }

    /// Makes the server's user the owner of a folder.
    pub(super) fn give(&self, folder: &Path) {
        if let Some((user, group)) = self.lent {
            chown(folder, Some(user), Some(group)).expect("the folder's owner");
        }
    }

    pub(super) fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(self.folder.join(program));
        command.current_dir(folder).stdin(Stdio::null());
        if let Some((user, group)) = self.lent {
            command.uid(user).gid(group);
        }
        for variable in inherited() {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a program to its good end. Its output goes to a file, because a server that it starts
    /// would hold a pipe open.
    pub(super) fn run(&self, program: &str, folder: &Path, arguments: &[&str]) {
        let said = folder.join(format!("{program}.out"));
        let output = File::create(&said).expect("a file for the output");
        let mut command = self.command(program, folder);
        command.args(arguments).stdout(output.try_clone().expect("the file again")).stderr(output);
        let status = command.status().expect(program);
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        assert!(status.success(), "{program}: {}\n{}", read(said), read(folder.join("log")));
    }
}

fn debian() -> Vec<PathBuf> {
    let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut found: Vec<PathBuf> = versions.flatten().map(|version| version.path()).collect();
    found.sort_by_key(|path| {
        path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()).unwrap_or_default()
    });
    found.iter().rev().map(|path| path.join("bin")).collect()
}

fn id(of: &str, user: &str) -> Option<u32> {
    let output = Command::new("id").args([of, user]).output().expect("id");
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Variables that would lead PostgreSQL's programs elsewhere.
fn inherited() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("PG"))
        .collect()
}
