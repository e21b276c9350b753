//! A PostgreSQL server that belongs to one test, which may restart, stop and freeze it.

mod binaries;
mod signals;
mod standby;

use super::postgres::{Session, url};
use binaries::Binaries;
use postgres::{Config, config::Host};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::park_timeout;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const USER: &str = "claimtop";

/// A cluster in a folder of its own, reached by a socket in that folder; gone at the end of the test.
pub struct Server {
    binaries: Binaries,
    folder: TempDir,
    /// Also the port on 127.0.0.1, if this server listens there.
    port: u16,
}

impl Server {
    /// A new cluster, running, on its socket only.
    pub fn start() -> Server {
        Server::made("", 5432)
    }

    /// A new cluster that also listens on a free port of 127.0.0.1.
    pub fn start_with_tcp() -> Server {
        Server::made("listen_addresses = '127.0.0.1'", free_port())
    }

    /// A new cluster with further lines in its `postgresql.conf`.
    pub fn start_with(settings: &str) -> Server {
        Server::made(settings, 5432)
    }

    fn made(settings: &str, port: u16) -> Server {
        let server = Server::empty(port);
        let made = ["--username", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        server.binaries.run("initdb", server.folder(), &[&["--pgdata=data"], &made[..]].concat());
        server.configure(settings);
        server.start_again();
        server
    }

    fn empty(port: u16) -> Server {
        let binaries = Binaries::find();
        let folder = socket_folder("claimtop-pg.");
        binaries.give(folder.path());
        Server { binaries, folder, port }
    }

    fn configure(&self, settings: &str) {
        let file = self.folder().join("data/postgresql.conf");
        let mut text = fs::read_to_string(&file).expect("postgresql.conf");
        text.push_str(&format!(
            "\nlisten_addresses = ''\nunix_socket_directories = '{}'\nport = {}\nfsync = off\n\
             full_page_writes = off\ntimezone = 'UTC'\n{settings}\n",
            self.folder().display(),
            self.port,
        ));
        // Written in place, so that the file stays the server's user's.
        fs::write(file, text).expect("postgresql.conf");
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address by way of the socket.
    pub fn url(&self, database: &str) -> String {
        url(&Host::Unix(self.folder().into()), self.port, USER, database)
    }

    /// The same, for another role.
    pub fn url_as(&self, user: &str, database: &str) -> String {
        url(&Host::Unix(self.folder().into()), self.port, user, database)
    }

    /// What the server has written into its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).expect("the log")
    }

    /// The address by way of 127.0.0.1, for a server of [`Server::start_with_tcp`].
    pub fn tcp_url(&self, database: &str) -> String {
        url(&Host::Tcp("127.0.0.1".into()), self.port, USER, database)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A session of the superuser.
    pub fn connect(&self, database: &str) -> Session {
        self.connect_as(USER, database)
    }

    pub fn connect_as(&self, user: &str, database: &str) -> Session {
        let mut config = Config::new();
        config.host_path(self.folder()).port(self.port).user(user).dbname(database);
        Session::open(config.application_name("claimtop-tests"))
    }

    pub fn create_database(&self, name: &str, schema: &str) {
        self.connect("postgres").run(&format!("CREATE DATABASE {name}"));
        self.connect(name).run(schema);
    }

    /// Starts it after [`Server::stop`] and waits until it answers.
    pub fn start_again(&self) {
        self.pg_ctl(&["--log=log", "--wait", "--timeout=120", "start"]);
    }

    /// Ends every session and stops; what was committed stays.
    pub fn stop(&self) {
        self.pg_ctl(&["--mode=fast", "--wait", "--timeout=120", "stop"]);
    }

    /// Falls over, as in a crash: no session is told anything in time.
    pub fn fall(&self) {
        self.pg_ctl(&["--mode=immediate", "--wait", "--timeout=120", "stop"]);
    }

    /// Falls over and gets up again, as after a crash: no session is told anything in time.
    pub fn restart_immediate(&self) {
        self.pg_ctl(&["--mode=immediate", "--log=log", "--wait", "--timeout=120", "restart"]);
    }

    /// Another cluster takes the place of this one, as after a restore; both are stopped before.
    pub fn become_the(&self, other: Server) {
        fs::remove_dir_all(self.folder().join("data")).expect("our own cluster");
        fs::rename(other.folder().join("data"), self.folder().join("data")).expect("the other cluster");
        drop(other);
        self.configure("");
        self.start_again();
    }

    /// Ends all sessions but the one that does it; how many.
    pub fn terminate_backends(&self) -> usize {
        let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        self.connect("postgres").query(ended).len()
    }

    fn pg_ctl(&self, arguments: &[&str]) {
        self.binaries.run("pg_ctl", self.folder(), &[&["--pgdata=data"], arguments].concat());
    }

    fn pid_file(&self) -> PathBuf {
        self.folder().join("data/postmaster.pid")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.pid_file().exists() {
            // A frozen process receives no signal to end.
            self.thaw();
            let stop = ["--pgdata=data", "--mode=immediate", "--wait", "--timeout=60", "stop"];
            let _ = self.binaries.command("pg_ctl", self.folder()).args(stop).output();
        }
    }
}

/// A temporary folder whose path leaves room for the name of a socket: the whole ends at 107 bytes.
pub fn socket_folder(prefix: &str) -> TempDir {
    let temporary = std::env::temp_dir();
    let parent = if temporary.as_os_str().len() <= 60 { temporary } else { PathBuf::from("/tmp") };
    tempfile::Builder::new().prefix(prefix).tempdir_in(parent).expect("a folder")
}

/// A port of 127.0.0.1 that nobody listens on, different at every call. It lies below those that the kernel gives to
/// whoever asks for any port, so that it stays free until it is used.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Test programs beside this one begin elsewhere.
    let begin = std::process::id().wrapping_mul(97);
    (0..20_000)
        .map(|_| begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000)
        .filter_map(|number| u16::try_from(10_000 + number).ok())
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

/// Waits for something that a server does in its own time.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        park_timeout(Duration::from_millis(20));
    }
}
