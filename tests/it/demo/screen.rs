//! The demo with its dashboard, in a real terminal.

use super::*;
use crate::support::engine::not_in_fast;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

/// A demo on a screen; its folder is the only one in the temporary folder around it.
struct OnScreen {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    folder: PathBuf,
    around: TempDir,
}

impl OnScreen {
    fn start() -> OnScreen {
        OnScreen::with(&[])
    }

    fn with(options: &[&str]) -> OnScreen {
        let around = tempfile::tempdir().unwrap();
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        not_in_fast("a terminal");
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_claimtop"));
        command.arg("demo");
        command.args(options);
        command.env("TMPDIR", around.path());
        command.env("XDG_CONFIG_HOME", "/proc/nonexistent");
        command.env("XDG_STATE_HOME", "/proc/nonexistent");
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let folder = eventually("its folder", || {
            let entry = fs::read_dir(around.path()).unwrap().next()?.unwrap();
            entry.path().join("fleet.log").exists().then_some(entry.path())
        });
        OnScreen { child, master: pair.master, folder: fs::canonicalize(folder).unwrap(), around }
    }

    /// Reads the screen until it shows the word.
    fn wait_for(&self, word: &str) {
        let mut reader = self.master.try_clone_reader().unwrap();
        let size = |cells: u16| cells.try_into().unwrap();
        let mut screen = vt100::Parser::new(size(40), size(120), 0);
        let mut bytes = [0; 4096];
        let until = Instant::now() + DEADLINE;
        while !screen.screen().contents().contains(word) {
            assert!(Instant::now() < until, "no {word} on\n{}", screen.screen().contents());
            let read = reader.read(&mut bytes).unwrap();
            screen.process(&bytes[..read]);
        }
    }

    fn assert_nothing_is_left(&self) {
        eventually("no process is left", || processes(&self.folder).is_empty().then_some(()));
        eventually("no folder is left", || {
            (fs::read_dir(self.around.path()).unwrap().count() == 0).then_some(())
        });
    }
}

impl Drop for OnScreen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_dashboard_shows_the_fleet_until_somebody_leaves_it() {
    let mut demo = OnScreen::start();
    demo.wait_for("fleet");
    demo.master.take_writer().unwrap().write_all(b"q").unwrap();
    // Somebody must read what it says last.
    let mut reader = demo.master.try_clone_reader().unwrap();
    std::thread::spawn(move || reader.read_to_end(&mut Vec::new()));
    assert_eq!(demo.child.wait().unwrap().exit_code(), 0);
    demo.assert_nothing_is_left();
}

#[test]
fn the_fleet_ends_with_its_dashboard_when_that_is_killed() {
    let mut demo = OnScreen::start();
    demo.wait_for("fleet");
    let pid = Pid::from_raw(i32::try_from(demo.child.process_id().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    demo.child.wait().unwrap();
    demo.assert_nothing_is_left();
}

#[test]
fn on_a_server_the_dashboard_shows_the_fleet_and_takes_its_schema_along() {
    let database = crate::support::postgres::PgDatabase::new("");
    let mut demo = OnScreen::with(&["--postgres", &database.url()]);
    demo.wait_for("executor-");
    demo.master.take_writer().unwrap().write_all(b"q").unwrap();
    // Somebody must read what it says last.
    let mut reader = demo.master.try_clone_reader().unwrap();
    std::thread::spawn(move || reader.read_to_end(&mut Vec::new()));
    assert_eq!(demo.child.wait().unwrap().exit_code(), 0);
    demo.assert_nothing_is_left();
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'claimtop_demo'";
    assert_eq!(database.value(schemas).as_deref(), Some("0"));
}
