//! Many claims: marked, in sets, filtered, sorted, paged, in several databases; and read-only.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;

use super::Scene;
use super::pty::{ENTER, ESC, PAGE_DOWN, SHORT_ESC, until};
use crate::support::{MINUTE, SECOND};

/// This many stale claims of one session, the first is the worst.
fn stale(count: i64) -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.database.connection.execute_batch("BEGIN").expect("a transaction");
    for number in 0..count {
        scene.task(&format!("task-{number:03}"), "worker-1", -60 * MINUTE + number * SECOND);
    }
    scene.task("task-soon", "worker-1", 3 * MINUTE);
    scene.database.connection.execute_batch("COMMIT").expect("committed");
    scene
}

#[test]
fn what_is_marked_goes_and_nothing_else() {
    let scene = stale(5);
    let mut pty = scene.open();
    pty.wait("task-004");
    pty.press(" ", "1 marked");
    pty.press(" ", "2 marked");
    let shown = pty.press("R", "2 claims will be reclaimed");
    assert!(shown.contains("these 2 claims"), "{shown}");
    pty.press(SHORT_ESC, "nothing was done");
    assert_eq!(scene.ids().len(), 6);
    pty.press("R", "2 claims will be reclaimed");
    pty.press("y", "reclaim: 2 of 2 done; u undoes all of it");
    assert_eq!(scene.ids(), ["task-002", "task-003", "task-004", "task-soon"]);
    pty.wait_without("Stale 3", "marked");
    pty.press("u", "y undo");
    pty.press("y", "undone: 2 of 2 acts");
    pty.wait("Stale 5");
    assert_eq!(scene.ids().len(), 6);
    pty.quit();
}

#[test]
fn the_whole_set_goes_with_its_exact_count_also_beyond_the_loaded_rows() {
    let scene = stale(250);
    let mut pty = scene.open();
    pty.wait("the worst 200 are loaded");
    pty.press("R", "250 claims will be reclaimed");
    pty.press("n", "nothing was done");
    assert_eq!(scene.ids().len(), 251);
    pty.press("X", "250 claims will be released");
    pty.press("y", "release: 250 of 250 done");
    assert_eq!(scene.ids(), ["task-soon"]);
    pty.wait("nothing is stale");
    pty.quit();
}

#[test]
fn a_stop_in_the_middle_of_a_bulk_keeps_no_worker_waiting_and_it_goes_on() {
    for mode in ["WAL", "DELETE"] {
        let scene = stale(3_000);
        scene.database.connection.pragma_update(None, "journal_mode", mode).expect("a mode");
        let mut pty = scene.open();
        pty.press("R", "3,000 claims will be reclaimed");
        pty.keys("y");
        let mut left = 3_001;
        for _ in 0..4 {
            until("it goes on", || (scene.ids().len() < left).then_some(()));
            // The bulk goes on before the screen is back, and what is typed until then is the shell's.
            until("it has the terminal again", || (!pty.is_cooked()).then_some(()));
            pty.keys("\x1a");
            pty.wait_until_stopped();
            assert!(pty.is_cooked());
            left = scene.ids().len();
            let writer = rusqlite::Connection::open(scene.database.path()).expect("a connection");
            writer.busy_timeout(std::time::Duration::from_secs(60)).expect("patience");
            writer.execute("UPDATE sessions SET metadata = '{}'", []).expect("nobody keeps it waiting");
            pty.signal(Signal::CONT);
            if left == 1 {
                break;
            }
        }
        pty.wait("reclaim: 3000 of 3000 done");
        assert_eq!(scene.ids(), ["task-soon"]);
        pty.quit();
    }
}

/// How many claims a notice reports as done: "reclaim: 120 of 9000 done, ...".
fn reported(shown: &str) -> usize {
    let (_, after) = shown.split_once("reclaim: ").expect("a result");
    after.split_whitespace().next().and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn a_cancelled_bulk_has_done_exactly_what_it_reports_and_can_be_undone() {
    // A fast machine may be done before the key arrives: then the next one has more to do.
    for count in [6_000, 24_000, 96_000] {
        let scene = stale(count);
        let all = scene.ids().len();
        let mut pty = scene.open();
        pty.press("R", "claims will be reclaimed");
        pty.keys("y");
        until("it has begun", || (scene.ids().len() < all).then_some(()));
        pty.keys(ESC);
        let done = reported(&pty.wait("reclaim: "));
        assert_eq!(scene.ids().len(), all - done);
        if done + 1 == all {
            pty.quit();
            continue;
        }
        pty.wait("not tried (stopped: you cancelled it)");
        pty.press("u", &format!("{done} of {done} acts will be undone"));
        pty.press("y", &format!("undone: {done} of {done} acts"));
        assert_eq!(scene.ids().len(), all);
        pty.quit();
        return;
    }
    panic!("no bulk could be cancelled");
}

#[test]
fn a_filter_narrows_and_esc_clears_it_and_sorting_changes_the_order() {
    let scene = stale(3);
    scene.session("a-worker", SECOND);
    scene.task("task-last", "a-worker", -MINUTE);
    let before = |shown: &str, one: &str, other: &str| shown.find(one) < shown.find(other);
    let mut pty = scene.open();
    let shown = pty.wait("task-last");
    assert!(before(&shown, "task-000", "task-last"), "{shown}");
    pty.keys("/holder:a-w");
    pty.wait_without("task-last", "task-000");
    pty.keys(ENTER);
    pty.wait("/holder:a-w");
    pty.keys(ESC);
    pty.wait_without("task-000", "/holder:a-w");
    pty.keys("/!holder:a-w age>1h");
    pty.wait_without("task-000", "task-last");
    pty.keys(ESC);
    pty.wait("task-last");
    pty.press("/age>never", "age>never");
    pty.press(ESC, "task-last");
    for _ in 0..3 {
        pty.keys("s");
    }
    let shown = pty.wait("sorted: by holder");
    assert!(before(&shown, "task-last", "task-000"), "{shown}");
    // The claim that was selected still is: the key means it, and not what stands in its place.
    pty.press("r", "done, u undoes it: reclaim task-000 (worker-1)");
    assert_eq!(scene.ids(), ["task-001", "task-002", "task-last", "task-soon"]);
    pty.quit();
}

#[test]
fn a_read_only_session_says_why_and_leaves_everything_as_it_was() {
    let scene = stale(3);
    let files = || {
        let mut all: Vec<_> = fs::read_dir(scene.folder()).expect("a folder").collect();
        all.sort_by_key(|entry| entry.as_ref().expect("an entry").file_name());
        let name = |entry: &fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
        all.into_iter()
            .map(|entry| entry.expect("an entry"))
            // The index of the log is memory that readers share, in the form of a file.
            .map(|entry| {
                if name(&entry).ends_with("-shm") {
                    (name(&entry), Vec::new())
                } else {
                    (name(&entry), fs::read(entry.path()).expect("a file"))
                }
            })
            .collect::<Vec<_>>()
    };
    let before = files();
    let mut pty = scene.start().with("--read-only").with(scene.database.path()).run();
    pty.wait("READ-ONLY");
    pty.wait("task-000");
    for key in ["r", "x", "e", "R", "X"] {
        pty.press(key, "this source is read-only: asked for with --read-only");
        pty.keys(ESC);
        pty.wait_without("task-000", "this source is read-only");
    }
    pty.press("4", "SESSION");
    pty.wait("worker-1");
    pty.press("x", "this source is read-only");
    // Looking is free.
    pty.press("1", "task-000");
    pty.press(ENTER, "heartbeat_count");
    pty.press("e", "this source is read-only");
    pty.keys(ESC);
    pty.wait_without("task-000", "heartbeat_count");
    pty.press("8", "nothing has been done yet");
    pty.quit();
    assert_eq!(files(), before);
}

#[test]
fn several_databases_are_one_list_and_an_act_reaches_its_own() {
    let (one, other) = (Scene::new(), Scene::new());
    for (scene, worst) in [(&one, 50), (&other, 60)] {
        scene.session("worker-1", SECOND);
        scene.task("task-same", "worker-1", -worst * MINUTE);
        scene.task("task-more", "worker-1", -20 * MINUTE);
    }
    let mut pty = one.start().with(one.database.path()).with(other.database.path()).run();
    pty.wait("Stale 4");
    let shown = pty.wait("2·tasks.db !2");
    assert!(shown.contains("1·tasks.db !2"), "{shown}");
    // Whichever database answered first has the cursor on its row.
    pty.keys("g");
    pty.wait(" 2·tasks.db: task-same: its lease ran out");
    pty.press("r", "done, u undoes it: reclaim task-same (worker-1) in 2·tasks.db");
    assert_eq!(one.ids(), ["task-more", "task-same"]);
    assert_eq!(other.ids(), ["task-more"]);
    pty.wait_without("Stale 3", "2·tasks.db: task-same:");
    // One at a time.
    pty.keys("o");
    pty.wait_for("only the first", |screen| {
        let shown = screen.contents();
        shown.contains("task-same") && shown.contains("Stale 2")
    });
    pty.keys("o");
    pty.wait_for("only the second", |screen| {
        let shown = screen.contents();
        let listed = |task: &str| shown.lines().any(|line| line.starts_with('│') && line.contains(task));
        listed("task-more") && !listed("task-same")
    });
    pty.keys("o");
    pty.wait("Stale 3");
    pty.press("u", "y undo");
    pty.press("y", "undone: task-same");
    assert_eq!(other.ids(), ["task-more", "task-same"]);
    pty.quit();
}

#[test]
fn claims_are_paged_through_to_the_end_and_back() {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.database.connection.execute_batch("BEGIN").expect("a transaction");
    for number in 0..1_000 {
        scene.task(&format!("task-{number:04}"), "worker-1", 30 * MINUTE);
    }
    scene.database.connection.execute_batch("COMMIT").expect("committed");
    let mut pty = scene.open();
    pty.press("2", "1,000 claims on 2 boards, worst first");
    pty.wait("task-0000");
    let mut shown = pty.press("f", "PAUSED");
    let mut seen = BTreeSet::new();
    loop {
        seen.extend(shown.split_whitespace().filter(|word| is_id(word)).map(str::to_owned));
        let chosen = selected(&shown);
        if chosen.as_deref() == Some("task-0999") {
            break;
        }
        pty.keys(PAGE_DOWN);
        shown = pty.wait_for("another claim", |screen| {
            let now = selected(&screen.contents());
            now.is_some() && now != chosen
        });
    }
    pty.press("g", "task-0000");
    pty.press("G", "task-0999");
    let shown = pty.press("k", "task-0998");
    assert_eq!(seen.len(), 1_000, "{:?}", selected(&shown));
    // A key means what is on this part of the list.
    pty.keys("g");
    pty.wait_for("the first claim", |screen| selected(&screen.contents()).as_deref() == Some("task-0000"));
    pty.press("f", "LIVE 1");
    pty.press("e", "30m from now: until ");
    pty.press(ENTER, "done, u undoes it: extend task-0000 (worker-1)");
    pty.quit();
}

#[test]
fn one_claim_among_a_million_is_found_by_its_id() {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    let now = super::now();
    scene.database.run(
        "WITH RECURSIVE number(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM number WHERE at < 999999)
         INSERT INTO task_claims
         SELECT printf('task-%06d', at), 'worker-1', ?1, ?2, ?1, 0, 'cli', NULL, NULL FROM number",
        (now, now + 600 * MINUTE),
    );
    let mut pty = scene.open();
    pty.press("2", "1,000,000 claims on 2 boards, worst first");
    pty.press("/id:task-654321\r", "1 of 1,000,000 claims pass the filter");
    pty.wait_for("the claim", |screen| selected(&screen.contents()).as_deref() == Some("task-654321"));
    pty.quit();
}

fn is_id(word: &str) -> bool {
    word.strip_prefix("task-").is_some_and(|number| number.parse::<u16>().is_ok())
}

/// The claim that the cursor stands on.
fn selected(shown: &str) -> Option<String> {
    let line = shown.lines().find(|line| line.contains('▸'))?;
    line.split_whitespace().find(|word| word.starts_with("task-")).map(str::to_owned)
}

#[test]
fn events_tell_what_entered_and_left_the_sets_and_why() {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.task("task-late", "worker-1", 30 * MINUTE);
    scene.task("task-busy", "worker-1", -MINUTE);
    scene.task("task-done", "worker-1", -2 * MINUTE);
    scene.task("task-mine", "worker-1", -3 * MINUTE);
    let mut pty = scene.open();
    pty.wait("Stale 3");
    pty.press("r", "done, u undoes it: reclaim task-mine (worker-1)");
    scene
        .database
        .run("UPDATE task_claims SET expires_at = ?1 WHERE task_id = 'task-late'", [super::now() - SECOND]);
    scene.renew("task-busy");
    scene.database.run("DELETE FROM task_claims WHERE task_id = 'task-done'", []);
    pty.keys("7");
    for (what, task) in [
        ("recovered", "task-mine"),
        ("expired", "task-late"),
        ("renewed", "task-busy"),
        ("finished", "task-done"),
    ] {
        pty.wait_for(&format!("{task} {what}"), |screen| {
            screen.contents().lines().any(|line| line.contains(what) && line.contains(task))
        });
    }
    pty.quit();
}
