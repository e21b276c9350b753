//! The server's processes, found and frozen from outside.

use super::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

impl Server {
    pub fn postmaster(&self) -> i32 {
        let text = fs::read_to_string(self.pid_file()).expect("a running server");
        text.lines().next().and_then(|line| line.trim().parse().ok()).expect("a pid")
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
        self.sigstop(self.postmaster());
        for pid in self.children() {
            self.sigstop(pid);
        }
    }

    pub fn thaw(&self) {
        for pid in self.children() {
            self.sigcont(pid);
        }
        self.sigcont(self.postmaster());
    }

    fn children(&self) -> Vec<i32> {
        let parent = self.postmaster();
        let pids = fs::read_dir("/proc").expect("/proc").flatten();
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| parent_of(*pid) == Some(parent))
            .collect()
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold anything, come the state and the parent.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// A process that has ended since it was found is past caring.
fn signal(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a pid"), signal);
}
