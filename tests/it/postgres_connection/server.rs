//! A PostgreSQL server of its own in a temporary folder, gone at the end of the test.

use crate::support::certificates;
use crate::support::engine::not_in_fast;
use crate::support::server::free_port;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The password of the user `ann`, looked for in everything that is said.
pub const CANARY: &str = "canary-6fd1";

pub struct Server {
    folder: TempDir,
    pub port: u16,
    /// What stops it: made at the start, because a destructor must not fail to make it.
    stop: Command,
}

/// Whether the server has a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Tls,
}

impl Server {
    /// `boss` may come through the socket as he likes; over TCP everybody needs a password.
    pub fn start(kind: Kind) -> Server {
        not_in_fast("a server");
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        give(folder.path());
        if kind == Kind::Tls {
            certificates::make(folder.path());
            give(&folder.path().join("srv.key"));
        }
        let data = folder.path().join("data");
        fs::write(folder.path().join("pw"), CANARY).expect("a file");
        let words = ["--no-sync", "-U", "boss", "-E", "UTF8", "--locale=C", "-A", "scram-sha-256"];
        run(as_server(&tool("initdb"))
            .args(words)
            .arg("--pwfile")
            .arg(folder.path().join("pw"))
            .arg("-D")
            .arg(&data));
        let hba =
            "local all boss trust\nlocal all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(data.join("pg_hba.conf"), hba).expect("pg_hba.conf");
        let mut stop = as_server(&tool("pg_ctl"));
        stop.args(["stop", "-m", "immediate", "-D"]).arg(&data).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Server { port: launch(folder.path(), kind), folder, stop };
        server.sql(&format!("CREATE ROLE ann LOGIN PASSWORD '{CANARY}'; CREATE DATABASE app OWNER ann"));
        server
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> String {
        self.folder().join(name).display().to_string()
    }

    /// A file that only its owner can read.
    pub fn private_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
        path
    }

    /// The way in for `boss`.
    pub fn socket(&self) -> String {
        format!("host={} port={} user=boss dbname=app", self.folder().display(), self.port)
    }

    fn sql(&self, sql: &str) {
        let port = self.port.to_string();
        let mut psql = Command::new(tool("psql"));
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", "boss", "-d", "postgres", "-p", &port, "-h"]);
        psql.arg(self.folder());
        for statement in sql.split(';') {
            psql.args(["-c", statement]);
        }
        run(&mut psql);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.status();
    }
}

/// A port may be taken between its choice and its use: then another one.
fn launch(folder: &Path, kind: Kind) -> u16 {
    for _ in 0..5 {
        let port = free_port();
        let mut options = format!(
            "-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off \
             -c shared_buffers=16MB",
            folder.display()
        );
        if kind == Kind::Tls {
            let file = |name: &str| folder.join(name).display().to_string();
            options += &format!(
                " -c ssl=on -c ssl_cert_file={} -c ssl_key_file={}",
                file("srv.crt"),
                file("srv.key")
            );
        }
        let mut start = as_server(&tool("pg_ctl"));
        start.args(["start", "-w", "-t", "120", "-o", &options, "-l"]).arg(folder.join("data/log"));
        start.arg("-D").arg(folder.join("data")).stdout(Stdio::null()).stderr(Stdio::null());
        if start.status().expect("pg_ctl").success() {
            return port;
        }
    }
    panic!("no server starts: {:?}", fs::read_to_string(folder.join("data/log")));
}

/// PgBouncer in front of a server, one connection of its own for many.
pub struct Pooler {
    child: Child,
    pub port: u16,
    folder: TempDir,
}

impl Pooler {
    pub fn start(server: &Server, size: usize) -> Pooler {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        give(folder.path());
        let port = free_port();
        let config = format!(
            "[databases]\napp = host={} port={} user=boss\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir = {}\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = {size}\nserver_reset_query =\n",
            server.folder().display(),
            server.port,
            folder.path().display()
        );
        fs::write(folder.path().join("pgbouncer.ini"), config).expect("a file");
        let program =
            ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].iter().find(|path| Path::new(path).exists());
        let program = program.expect("there is no pgbouncer; install the package pgbouncer");
        let mut child = as_server(Path::new(program))
            .arg(folder.path().join("pgbouncer.ini"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("pgbouncer");
        let mut lines = BufReader::new(child.stderr.take().expect("its words")).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("process up")), "pgbouncer does not start");
        // Its pipe must not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        Pooler { child, port, folder }
    }

    pub fn target(&self) -> String {
        format!("host={} port={} user=ann dbname=app", self.folder.path().display(), self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The newest version's program.
fn tool(name: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|all| {
            all.flatten()
                .map(|entry| entry.path().join("bin").join(name))
                .filter(|path| path.exists())
                .collect()
        })
        .unwrap_or_default();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

/// Servers refuse to run as root: then as `postgres`, else as ourselves.
fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if let Some((uid, gid)) = owner() {
        command.uid(uid).gid(gid);
    }
    command
}

fn give(path: &Path) {
    if let Some((uid, gid)) = owner() {
        chown(path, Some(uid), Some(gid)).expect("chown");
    }
}

fn owner() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let id = |what: &str| {
        let output = Command::new("id").args([what, "postgres"]).output().expect("id");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("the user postgres")
    };
    Some((id("-u"), id("-g")))
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).stdout(Stdio::piped()).output().expect("a program");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
