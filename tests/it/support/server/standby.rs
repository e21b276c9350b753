//! A hot standby that follows a server.

use super::{Server, until};

impl Server {
    /// A hot standby of this server, running and streaming.
    pub fn standby(&self) -> Server {
        let standby = Server::empty(self.port);
        let from = self.folder().to_str().expect("a plain path");
        let port = self.port.to_string();
        let copy = ["--pgdata=data", "--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream"];
        let at = ["--host", from, "--port", &port, "--username", super::USER, "--no-password", "--no-sync"];
        standby.binaries.run("pg_basebackup", standby.folder(), &[&copy[..], &at[..]].concat());
        standby.configure("hot_standby = on");
        standby.start_again();
        standby
    }

    /// On a standby: what arrives from now on is kept but not shown.
    pub fn pause_replay(&self) {
        let session = self.connect("postgres");
        session.run("SELECT pg_wal_replay_pause()");
        until("replay to pause", || {
            session.value("SELECT pg_get_wal_replay_pause_state()").as_deref() == Some("paused")
        });
    }

    pub fn resume_replay(&self) {
        self.connect("postgres").run("SELECT pg_wal_replay_resume()");
    }

    /// On a standby: waits until everything that the primary has written so far is shown.
    pub fn catch_up_with(&self, primary: &Server) {
        let written =
            primary.connect("postgres").value("SELECT pg_current_wal_flush_lsn()").expect("a place");
        let session = self.connect("postgres");
        let shown = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'");
        until("the standby to catch up", || session.value(&shown).as_deref() == Some("t"));
    }
}
