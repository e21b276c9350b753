//! The server's processes, found and frozen from outside.

use super::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

impl Server {
    pub fn postmaster(&self) -> i32 {
        self.running_postmaster().expect("a running server")
    }

    fn running_postmaster(&self) -> Option<i32> {
        fs::read_to_string(self.pid_file()).ok()?.lines().next()?.trim().parse().ok()
    }

    /// The backends of the sessions that call themselves this.
    pub fn backends(&self, application_name: &str) -> Vec<i32> {
        let name = application_name.replace('\'', "''");
        let sql = format!("SELECT pid FROM pg_stat_activity WHERE application_name = '{name}' ORDER BY pid");
        let session = self.connect("postgres");
        let own = session.pid();
        let pids = session.query(&sql).into_iter().filter_map(|row| row[0].as_ref()?.parse().ok());
        pids.filter(|pid| *pid != own).collect()
    }

    /// Freezes one process of the server.
    pub fn sigstop(&self, pid: i32) {
        signal(pid, Signal::STOP);
    }

    pub fn sigcont(&self, pid: i32) {
        signal(pid, Signal::CONT);
    }

    /// Freezes the whole server: connections stay, nothing answers.
    pub fn freeze(&self) {
        // The postmaster first, so that nothing new begins while the others are found.
        let postmaster = self.postmaster();
        self.sigstop(postmaster);
        for pid in children(postmaster) {
            self.sigstop(pid);
        }
    }

    /// Never fails, because it is part of the destructor: a server that is gone needs no thawing.
    pub fn thaw(&self) {
        let Some(postmaster) = self.running_postmaster() else { return };
        for pid in children(postmaster) {
            self.sigcont(pid);
        }
        self.sigcont(postmaster);
    }
}

fn children(parent: i32) -> Vec<i32> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| parent_of(*pid) == Some(parent))
        .collect()
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold anything, come the state and the parent.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// A process that has ended since it was found is past caring.
fn signal(pid: i32, signal: Signal) {
    let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, signal));
}
