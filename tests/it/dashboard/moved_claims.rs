//! What changes under the operator's hands is left alone, and said.

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::pty::{ENTER, TAB, until};
use super::{Scene, now};
use crate::support::MINUTE;

#[test]
fn a_claim_renewed_while_its_dialog_is_open_is_left_alone() {
    let scene = Scene::usual();
    let mut pty = scene.open();
    pty.wait("task-soon");
    pty.keys("l");
    pty.press("r", "Type the holder's name");
    scene.renew("task-soon");
    let renewed = scene.row("task-soon");
    // The screen behind the dialog knows already, and the dialog still means what it showed.
    pty.wait("Expiring 0");
    pty.keys("worker-1");
    pty.keys(TAB);
    pty.keys("it looked stuck");
    let shown = pty.press(ENTER, "task-soon moved, nothing was written");
    assert!(shown.contains("renewed"), "{shown}");
    assert_eq!(scene.row("task-soon"), renewed);
    pty.quit();
}

#[test]
fn a_claim_renewed_between_the_frame_and_the_key_is_left_alone() {
    let scene = Scene::usual();
    let mut pty = scene.open();
    pty.wait("task-old");
    pty.press("f", "PAUSED");
    scene.renew("task-old");
    let renewed = scene.row("task-old");
    let shown = pty.press("r", "task-old moved, nothing was written");
    assert!(shown.contains("renewed") && shown.contains("by worker-1"), "{shown}");
    assert_eq!(scene.row("task-old"), renewed);
    // Another holder, and none at all.
    scene.session("worker-2", 0);
    scene.database.run("UPDATE task_claims SET session_id = 'worker-2'", []);
    let taken = scene.row("task-old");
    pty.press("r", "taken by worker-2");
    assert_eq!(scene.row("task-old"), taken);
    scene.database.run("DELETE FROM task_claims WHERE task_id = 'task-old'", []);
    pty.press("r", "it is no longer claimed");
    // Marked ones are looked at again, too.
    scene.task("task-old", "worker-1", -30 * MINUTE);
    let new = scene.row("task-old");
    pty.press(" ", "1 marked");
    pty.press("R", "nothing can be done");
    pty.press("y", "there is nothing to do, 1 moved (task-old: ");
    assert_eq!(scene.row("task-old"), new);
    pty.press("f", "LIVE");
    pty.quit();
}

#[test]
fn a_worker_that_renews_all_the_time_never_loses_its_claim() {
    let scene = Scene::usual();
    let mut pty = scene.open();
    pty.wait("task-old");
    // From here on the screen shows the claim as it was, whatever becomes of it.
    pty.press("f", "PAUSED");
    let worker = Renewing::start(&scene);
    until("it beats", || (worker.beats.load(Ordering::SeqCst) > 0).then_some(()));
    for _ in 0..50 {
        pty.keys("r");
    }
    pty.wait("task-old moved, nothing was written: renewed");
    // The trail is read by whoever acts, after all that was asked for before.
    pty.press("8", "nothing has been done yet");
    assert!(!worker.lost.load(Ordering::SeqCst), "its claim was taken");
    drop(worker);
    assert!(scene.deadline("task-old") > now());
    pty.quit();
}

/// A worker that does nothing but renew its claim.
struct Renewing {
    beats: Arc<AtomicU64>,
    lost: Arc<AtomicBool>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Renewing {
    fn start(scene: &Scene) -> Renewing {
        let worker = Connection::open(scene.database.path()).expect("a worker's connection");
        worker.busy_timeout(Duration::from_secs(60)).expect("patience");
        worker.pragma_update(None, "synchronous", "OFF").expect("no waiting");
        let (beats, lost, done) = (Arc::default(), Arc::default(), Arc::default());
        let (all, gone, end) = (Arc::clone(&beats), Arc::clone(&lost), Arc::clone(&done));
        let thread = thread::spawn(move || {
            let sql =
                "UPDATE task_claims SET expires_at = ?1, last_heartbeat = ?2 WHERE task_id = 'task-old'";
            while !AtomicBool::load(&end, Ordering::SeqCst) {
                let renewed = worker.execute(sql, (now() + 30 * MINUTE, now()));
                AtomicBool::fetch_or(&gone, renewed != Ok(1), Ordering::SeqCst);
                AtomicU64::fetch_add(&all, 1, Ordering::SeqCst);
                // Room for others: a lock that is always taken is another test.
                thread::park_timeout(Duration::from_millis(1));
            }
        });
        Renewing { beats, lost, done, thread: Some(thread) }
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
