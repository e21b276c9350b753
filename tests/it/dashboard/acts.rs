//! What a key does to the database: looked up there, not only on the screen.

use super::Scene;
use super::pty::{ENTER, ESC, TAB};
use crate::support::{MINUTE, SECOND};
use std::process::{Child, Command, Stdio};

/// A real worker: it waits until it is told to end.
pub(super) struct Worker(Child);

impl Worker {
    pub(super) fn new() -> Worker {
        Worker(Command::new("sleep").arg("3600").stdin(Stdio::null()).spawn().expect("a worker"))
    }

    pub(super) fn pid(&self) -> i64 {
        i64::from(self.0.id())
    }

    fn end(&mut self) {
        self.0.kill().expect("our own child");
        self.0.wait().expect("our own child");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn one_key_reclaims_an_expired_claim_and_another_brings_it_back_as_it_was() {
    let scene = Scene::usual();
    let (before, other) = (scene.row("task-old"), scene.row("task-soon"));
    let mut pty = scene.open();
    pty.wait("task-old");
    pty.press("r", "done, u undoes it: reclaim task-old (worker-1)");
    assert_eq!(scene.row("task-old"), None);
    assert_eq!(scene.row("task-soon"), other);
    pty.wait("nothing is stale");
    pty.press("u", "y undo");
    pty.press("y", "undone: task-old (worker-1) is as it was");
    assert_eq!(scene.row("task-old"), before);
    pty.wait_without("Stale 1", "nothing is stale");
    pty.press("u", "there is nothing to undo yet");
    // The same from the detail, and by the other act.
    pty.press(ENTER, "task-old");
    pty.press("x", "done, u undoes it: release task-old (worker-1)");
    assert_eq!(scene.row("task-old"), None);
    assert_eq!(scene.row("task-soon"), other);
    pty.press("u", "y undo");
    pty.press("y", "undone: task-old");
    assert_eq!(scene.row("task-old"), before);
    pty.keys(ESC);
    pty.wait_without("task-soon", "heartbeat_count");
    pty.press("8", "TIME");
    let shown = pty.wait_for("all four acts", |screen| screen.contents().matches("applied").count() == 4);
    for act in ["reclaim", "release", "undo"] {
        assert!(shown.contains(act), "{shown}");
    }
    pty.quit();
}

#[test]
fn extending_moves_the_deadline_and_the_screen_follows() {
    let scene = Scene::usual();
    let before = scene.deadline("task-soon");
    let mut pty = scene.open();
    pty.wait("task-soon");
    pty.press("l", "task-soon");
    pty.press("e", "30m from now: until ");
    pty.press(ENTER, "done, u undoes it: extend task-soon (worker-1)");
    assert!(scene.deadline("task-soon") > before + 10 * MINUTE);
    pty.wait("nothing is about to expire");
    pty.press("u", "y undo");
    pty.press("y", "undone: task-soon");
    assert_eq!(scene.deadline("task-soon"), before);
    pty.quit();
}

#[test]
fn a_living_holder_has_to_be_named_and_a_wrong_name_does_nothing() {
    let scene = Scene::new();
    let worker = Worker::new();
    scene.session_of("worker-1", 0, Some(worker.pid()));
    scene.task("task-old", "worker-1", -60 * MINUTE);
    let before = scene.row("task-old");
    let mut pty = scene.open_on_this_host();
    pty.wait("task-old");
    pty.press("p", "worker-1: alive");
    pty.press("r", "Type the holder's name, worker-1, and a reason");
    assert!(pty.screen().contains("is alive"), "{}", pty.screen());
    assert!(pty.screen().contains("If you do nothing"), "{}", pty.screen());
    pty.keys("worker-2");
    pty.press(ENTER, "worker-2 is not its holder");
    assert_eq!(scene.row("task-old"), before);
    pty.keys(ESC);
    pty.wait_without("nothing was done", "Type the holder's name");
    pty.press("r", "Type the holder's name");
    pty.keys("worker-1");
    pty.press(ENTER, "a reason is needed as well");
    assert_eq!(scene.row("task-old"), before);
    pty.keys("hung for an hour");
    pty.press(ENTER, "done, u undoes it: reclaim task-old (worker-1)");
    assert_eq!(scene.row("task-old"), None);
    pty.press("8", "hung for an hour");
    pty.quit();
}

#[test]
fn the_kernel_is_asked_about_real_processes() {
    let scene = Scene::new();
    let (alive, mut dead) = (Worker::new(), Worker::new());
    scene.session_of("worker-alive", 0, Some(alive.pid()));
    scene.session_of("worker-dead", 0, Some(dead.pid()));
    scene.task("task-a", "worker-alive", -60 * MINUTE);
    scene.task("task-b", "worker-dead", -50 * MINUTE);
    dead.end();
    let mut pty = scene.open_on_this_host();
    pty.wait("task-b");
    pty.press("p", "worker-alive: alive");
    pty.keys("j");
    pty.press("p", "worker-dead: dead");
    pty.press("P", "1 alive, 1 dead, 0 unknown");
    let shown = pty.press("4", "PROCESS");
    assert!(shown.contains("SESSION"), "{shown}");
    let line = |shown: &str, name: &str| {
        shown.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned()
    };
    let shown = pty.wait_without("worker-dead", "Timeline");
    assert!(line(&shown, "worker-alive").contains("alive   "), "{shown}");
    assert!(line(&shown, "worker-dead").contains(" dead "), "{shown}");
    pty.quit();
}

#[test]
fn a_session_is_released_with_all_it_holds() {
    let scene = Scene::new();
    scene.session("worker-gone", 60 * MINUTE);
    scene.session("worker-here", SECOND);
    for (task, session) in [("task-1", "worker-gone"), ("task-2", "worker-gone"), ("task-3", "worker-here")] {
        scene.task(task, session, -MINUTE);
    }
    scene.database.run("UPDATE task_claims SET last_heartbeat = ?1", [super::now() - 60 * MINUTE]);
    scene.lock("file.rs", "worker-gone", -MINUTE);
    let mut pty = scene.open();
    pty.press("4", "LAST BEAT");
    pty.press("x", "4 acts will be released");
    assert!(pty.screen().contains("everything worker-gone holds"), "{}", pty.screen());
    pty.press("y", "release: 4 of 4 done");
    assert_eq!(scene.ids(), ["task-3"]);
    let left = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        scene.database.connection.query_row(&sql, [], |row| row.get(0)).expect(table)
    };
    assert_eq!((left("sessions"), left("locks")), (1, 0));
    // One that beats takes its name.
    pty.wait_without("worker-here", "worker-gone");
    pty.press("x", "It may still be running. Type its name");
    pty.press("y", "name    y");
    pty.press(ENTER, "that does not match");
    pty.keys(TAB);
    pty.press(ESC, "nothing was done");
    assert_eq!(scene.ids(), ["task-3"]);
    pty.quit();
}
