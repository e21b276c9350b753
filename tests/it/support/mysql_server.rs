//! A MariaDB server of a test's own, which it may freeze, kill and start again.

use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::mysql::{address, open};

pub struct MyServer {
    folder: TempDir,
    process: RefCell<Option<Child>>,
}

/// The user that root lends it.
const NOBODY: u32 = 65_534;

impl MyServer {
    /// Nothing where no such server is installed: then the test says so and ends.
    pub fn start() -> Option<MyServer> {
        let (Some(install), Some(_)) = (program("mariadb-install-db"), program("mariadbd")) else {
            println!("NOT RUN: no MariaDB server is installed");
            return None;
        };
        let folder = super::server::socket_folder("claimtop-my");
        let server = MyServer { folder, process: RefCell::new(None) };
        server.own_the_folder();
        let data = format!("--datadir={}", server.path("data").display());
        let made = server
            .command(&install)
            .args(["--no-defaults", &data, "--skip-test-db", "--skip-name-resolve"])
            .args(["--auth-root-authentication-method=normal", "--innodb-log-file-size=8M"])
            .output()
            .expect("mariadb-install-db");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.start_again();
        Some(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn own_the_folder(&self) {
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(self.folder.path(), Some(NOBODY), None).expect("the folder");
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).stdout(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts it; what it has acknowledged is there.
    pub fn start_again(&self) {
        let option = |name: &str, file: &str| format!("--{name}={}", self.path(file).display());
        let process = self
            .command(&program("mariadbd").expect("a server"))
            .args(["--no-defaults", &option("datadir", "data"), &option("socket", "s")])
            .args([&option("pid-file", "pid"), &option("log-error", "log")])
            // At its start a server removes the temporary tables of all others in the same folder.
            .args([&option("tmpdir", "")])
            .args(["--skip-networking", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=1"])
            .args([
                "--innodb-log-file-size=8M",
                "--innodb-buffer-pool-size=32M",
                "--default-time-zone=+00:00",
            ])
            .stderr(Stdio::null())
            .spawn()
            .expect("mariadbd");
        *self.process.borrow_mut() = Some(process);
        let began = Instant::now();
        while claimtop::mysql::Target::parse(&self.url("mysql"), None)
            .ok()
            .and_then(|target| super::mysql::try_open(&target).ok())
            .is_none()
        {
            assert!(began.elapsed() < Duration::from_secs(120), "the server does not start");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    pub fn url(&self, database: &str) -> String {
        address(&format!("mysql://root@localhost?socket={}", self.path("s").display()), database)
    }

    /// A new database; its address.
    pub fn create_database(&self, name: &str) -> String {
        open(&self.url("mysql")).run(&format!("CREATE DATABASE {name}")).expect("a database");
        self.url(name)
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = &*self.process.borrow() {
            let pid = Pid::from_raw(process.id().cast_signed()).expect("a process");
            kill_process(pid, signal).expect("a signal");
        }
    }

    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it as a crash of the machine would.
    pub fn fall(&self) {
        if let Some(mut process) = self.process.borrow_mut().take() {
            process.kill().expect("a kill");
            process.wait().expect("its end");
        }
    }
}

impl Drop for MyServer {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.borrow_mut().take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|folder| folder.join(name)).find(|path| path.exists())
}
