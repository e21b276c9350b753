//! A MariaDB server that belongs to one test, which may restart, freeze and reconfigure it.

use claimtop::mysql::{Limits, Link, Purpose, Target};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

use super::engine::not_in_fast;
use super::server::{free_port, socket_folder, until};

/// A server in a folder of its own, with a socket there and a port on 127.0.0.1; gone at the end of the test.
pub struct MariaDb {
    child: Child,
    pub port: u16,
    options: Vec<String>,
    folder: TempDir,
}

/// Long enough for a busy machine.
pub const LIMITS: Limits = Limits {
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(30),
    answer: Duration::from_secs(60),
};

impl MariaDb {
    /// With these options of `mariadbd`, in which FOLDER stands for its folder, unless this machine has none: then the
    /// test says so and ends. `prepare` may put files into the folder.
    pub fn start(options: &[&str], prepare: impl FnOnce(&Path)) -> Option<MariaDb> {
        not_in_fast("a server");
        let (Some(install), Some(_)) = (program("mariadb-install-db"), program("mariadbd")) else {
            println!("NOT RUN: there is no MariaDB server on this machine");
            return None;
        };
        let folder = socket_folder("claimtop-maria.");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        prepare(folder.path());
        give_all(folder.path());
        let data = format!("--datadir={}", folder.path().join("data").display());
        let usual = ["--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=normal"];
        let made = as_server(&install)
            .args(["--no-defaults", &data, "--innodb-log-file-size=8M", &temporary(folder.path())])
            .args(usual)
            .output()
            .expect("mariadb-install-db");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let shown = folder.path().display().to_string();
        let options: Vec<String> = options.iter().map(|one| one.replace("FOLDER", &shown)).collect();
        let port = free_port();
        let child = launch(folder.path(), port, &options);
        let server = MariaDb { child, port, options, folder };
        server.wait();
        Some(server)
    }

    /// Until somebody can log in.
    fn wait(&self) {
        until("the server answers", || Link::open(&self.target("mysql"), Purpose::Acts, LIMITS).is_ok());
    }

    /// Ends it at once and starts it again with the same data.
    pub fn restart(&mut self) {
        self.child.kill().expect("its end");
        self.child.wait().expect("its end");
        self.child = launch(self.folder.path(), self.port, &self.options);
        self.wait();
    }

    /// Stops every thread of it; the signal alone would take effect a moment later.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        };
        until("every thread is stopped", || {
            fs::read_dir(&tasks).expect("its threads").flatten().all(is_stopped)
        });
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a number")).expect("a process");
        kill_process(pid, signal).expect("a signal");
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of a database for the administrator, through the socket.
    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@localhost/{database}?socket={}", self.folder().join("s").display())
    }

    fn target(&self, database: &str) -> Target {
        Target::parse(&self.url(database), None).expect("an address")
    }

    /// Statements by the administrator, divided by semicolons at the end of a line.
    #[track_caller]
    pub fn run(&self, database: &str, sql: &str) {
        let mut link = Link::open(&self.target(database), Purpose::Acts, LIMITS).expect("the server");
        for one in sql.split(";\n").map(str::trim).filter(|one| !one.is_empty()) {
            link.run(one.trim_end_matches(';')).expect(one);
        }
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(folder: &Path, port: u16, options: &[String]) -> Child {
    let file = |name: &str| folder.join(name).display().to_string();
    let log = fs::File::create(folder.join("log")).expect("a log");
    as_server(&program("mariadbd").expect("mariadbd"))
        .args(["--no-defaults", &format!("--datadir={}", file("data")), &format!("--socket={}", file("s"))])
        .args([&format!("--pid-file={}", file("pid")), &format!("--port={port}")])
        .args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--default-time-zone=+00:00"])
        .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", &temporary(folder)])
        .args(options)
        .stderr(log)
        .stdout(Stdio::null())
        .spawn()
        .expect("mariadbd")
}

/// Servers that share a folder for temporary tables remove each other's.
fn temporary(folder: &Path) -> String {
    format!("--tmpdir={}", folder.display())
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/bin")]);
    folders.map(|folder| folder.join(name)).find(|path| path.exists())
}

/// A server does not run as root: then as `nobody`.
fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// The number of `nobody` wherever it matters here.
const NOBODY: u32 = 65_534;

fn give_all(folder: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let inside = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    for path in inside.chain([folder.to_owned()]) {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("chown");
    }
}
