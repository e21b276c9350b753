//! Whatever is in the database, the terminal is told only what we have to say.

use rusqlite::Connection;
use std::fs;

use super::pty::{ENTER, ESC, Pty};
use super::terminal_stream::{Piece, pieces};
use super::{Scene, now};
use crate::support::{COORDINATION, Database, MINUTE, SECOND};

/// Strings that drive terminals, deceive readers, or break tables.
const HOSTILE: &[&str] = &[
    "\x1b]52;c;aGFja2Vk\x07 clip",
    "\x1b]0;owned\x07 title",
    "\x1b]8;;http://evil\x1b\\link",
    "\x1b[2J\x1b[1;1H cleared",
    "\x1b[?1049l\x1b[?25h out",
    "\x1bc reset",
    "\x1bP1$r0m\x1b\\ dcs",
    "\x1b[6n asks",
    "\u{9b}31m\u{9d}0;c1\u{9c} c1",
    "bell\x07bell",
    "new\nline\r\ttab\x0bvt\x08bs",
    "nul\0after",
    "\u{202e}rtl\u{2066}iso\u{2069}",
    "zero\u{200b}\u{200d}\u{feff}width",
    "marks e\u{301}\u{301}\u{301}\u{301}",
    "tags\u{e0041}\u{e0042} vs\u{fe0f}",
    "line\u{2028}para\u{2029}nel\u{85}",
    "wide 任務任務任務任務 한국어",
    "\x7f\x0e\x0f\x1b(0lqqk",
    "'; DROP TABLE task_claims; --",
    "&<>\"'",
];

/// Every string in every place where a string can be.
fn hostile() -> Scene {
    let scene = Scene::new();
    let huge = "\x1b[31m任\u{301}".repeat(3_000);
    scene.database.connection.execute_batch("BEGIN").expect("a transaction");
    for (number, text) in HOSTILE.iter().copied().chain([huge.as_str()]).enumerate() {
        let silent = if number % 2 == 0 { 60 * MINUTE } else { SECOND };
        scene.database.run(
            "INSERT INTO sessions VALUES (?1, ?1, ?1, ?2, ?3, ?1, ?1)",
            (text, now() - 180 * MINUTE, now() - silent),
        );
        // Stale, expiring and healthy ones, some of them silent.
        let expires = [-60 * MINUTE, 4 * MINUTE, 40 * MINUTE][number % 3];
        scene.database.run(
            "INSERT INTO task_claims VALUES (?1, ?1, ?2, ?3, ?4, 0, ?1, ?1, ?1)",
            (text, now() - 120 * MINUTE, now() + expires, now() - silent),
        );
        scene.database.run(
            "INSERT INTO locks VALUES (?1, ?1, ?2, ?3, ?1, 0)",
            (text, now() - 120 * MINUTE, now() - MINUTE),
        );
        // Times and numbers that are none.
        scene
            .database
            .run("INSERT INTO task_claims VALUES ('bad-' || ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1)", [text]);
    }
    scene.database.run(
        "INSERT INTO task_claims VALUES (CAST(x'ff9b324a1b5d' AS TEXT), 'worker', 1, ?1, 3, 0, x'1b5b324a', x'9b', NULL)",
        [now() - SECOND],
    );
    scene.database.connection.execute_batch("COMMIT").expect("committed");
    scene
}

#[test]
fn a_holder_that_is_no_text_does_not_blank_the_board() {
    let scene = Scene::usual();
    scene
        .database
        .run("UPDATE task_claims SET session_id = CAST(x'1b5bff' AS TEXT) WHERE task_id = 'task-soon'", []);
    let pty = scene.open();
    pty.wait("task-old");
    assert_ours(&pty.quit().bytes, 0);
}

#[test]
fn a_claim_whose_id_is_no_text_is_reclaimed_and_brought_back() {
    let scene = Scene::usual();
    scene
        .database
        .run("UPDATE task_claims SET task_id = CAST(x'ff41' AS TEXT) WHERE task_id = 'task-old'", []);
    let mut pty = scene.open();
    pty.wait("\\xff");
    pty.press("r", "done, u undoes it");
    assert_eq!(claims(&scene), 1);
    pty.press("u", "y undo");
    pty.press("y", "undone: ");
    assert_eq!(claims(&scene), 2);
    pty.quit();
}

/// How many claims there are on all boards.
fn claims(scene: &Scene) -> i64 {
    let sql = "SELECT (SELECT count(*) FROM task_claims) + (SELECT count(*) FROM locks)";
    scene.database.connection.query_row(sql, [], |row| row.get(0)).expect("a count")
}

/// Goes down a list and looks at a few of its claims closely.
fn walk(pty: &mut Pty, steps: usize) {
    for _ in 0..steps {
        pty.keys("j");
        // Detail, its end, its process, and back.
        pty.keys("\rGp");
        pty.keys("\x06\x06");
        pty.keys("\r");
        pty.keys("h");
        pty.keys("l");
    }
}

/// Everything that can be opened, opened.
fn tour(pty: &mut Pty) {
    for pane in ["1", "2", "3", "4", "5", "6", "7"] {
        pty.keys(pane);
        walk_pane(pty, pane);
    }
    pty.keys("1");
    pty.press("?", "Put it right");
    pty.keys("q");
    open(pty, ":", "Commands");
    leave(pty);
    pty.keys("P");
    // Its answer is the last of all, and would hide what is said of an act.
    pty.wait(" alive, 0 dead, ");
}

/// Goes to the first claim of the overview, and waits until it is on the screen.
fn first(pty: &mut Pty) {
    pty.keys("1hhhgg");
    // A key means only what is on the screen: in the list of a narrow one the first line below the tabs.
    pty.wait_for("the first claim", |screen| {
        let shown = screen.contents();
        let in_list = shown.lines().position(|line| line.starts_with('▸'));
        in_list == Some(4) || in_list.is_none() && shown.lines().any(|line| line.starts_with("│▸"))
    });
}

fn walk_pane(pty: &mut Pty, pane: &str) {
    match pane {
        "1" => {
            pty.keys("h");
            walk(pty, 6);
            pty.keys("h");
            walk(pty, 6);
            pty.keys("ll");
            walk(pty, 6);
        }
        "2" => {
            walk(pty, 8);
            // A board is a filter: all of them again.
            pty.keys("lGg\x06\x06hhh");
        }
        "4" | "5" | "6" | "7" => walk(pty, 4),
        _ => pty.keys("jjjPk\x06"),
    }
}

/// Opens something to write in.
fn open(pty: &mut Pty, keys: &str, text: &str) {
    pty.keys(keys);
    pty.wait_for(text, |screen| screen.contents().contains(text) && !screen.hide_cursor());
}

/// Closes what is open to write in, and waits until it is closed.
fn leave(pty: &mut Pty) {
    pty.keys(ESC);
    // The escape character is a key of its own only if nothing follows at once.
    pty.wait_for("a frame without it", |screen| screen.hide_cursor());
}

fn assert_ours(bytes: &[u8], clips: usize) {
    let all = pieces(bytes).unwrap_or_else(|why| panic!("{why}"));
    let copied = all.iter().filter(|piece| matches!(piece, Piece::Copy(_))).count();
    assert_eq!(copied, clips, "texts in the clipboard");
    let rung = all.iter().filter(|piece| **piece == Piece::Bell).count();
    assert!(rung <= 1, "{rung} bells");
    let on = |mode: u16| all.iter().filter(|piece| **piece == Piece::Mode(mode, true)).count();
    assert_eq!(on(1049), 1, "the other screen is entered once");
}

#[test]
fn no_string_of_the_database_reaches_the_terminal_as_it_is() {
    for (columns, lines) in [(200, 60), (80, 24)] {
        let scene = hostile();
        let mut pty = scene.start().with(scene.database.path()).size(columns, lines).run();
        pty.wait("LIVE 1");
        pty.wait("stale");
        tour(&mut pty);
        // Acts, their dialogs, and what is said afterwards.
        first(&mut pty);
        let all = claims(&scene);
        pty.keys("r");
        pty.wait(" ✓ done, ");
        assert_eq!(claims(&scene), all - 1);
        pty.press("u", "y undo");
        pty.keys("y");
        pty.wait(" ✓ undone: ");
        assert_eq!(claims(&scene), all);
        // A claim whose holder lives: its name has to be typed.
        pty.press("/!set:orphaned\r", "/!set:");
        pty.keys("l");
        // A key means only what is on the screen.
        pty.wait("left; holder alive");
        open(&mut pty, "r", "Type the holder's name");
        pty.keys("\x1b[200~\x1b]0;pasted\x07\u{202e}\x1b[201~");
        pty.press(ENTER, "is not its holder");
        leave(&mut pty);
        pty.keys("h");
        pty.keys(ESC);
        pty.wait_for("all claims again", |screen| !screen.contents().contains("/!set"));
        pty.press("R", "will be reclaimed");
        pty.keys("n");
        pty.wait("nothing was done");
        open(&mut pty, "/任\x1b[200~\u{9b}31m\u{200b}\x1b[201~", "esc clears it");
        leave(&mut pty);
        pty.keys(" ");
        pty.press("y", "copied");
        pty.press("8", "applied");
        pty.press(ENTER, "Evidence");
        pty.press("G", "task_claims");
        pty.keys("q");
        pty.wait("OUTCOME");
        let ended = pty.quit();
        assert_ours(&ended.bytes, 1);
    }
}

#[test]
fn neither_does_the_name_of_the_file_nor_what_other_systems_store() {
    // A file and a folder whose names are hostile themselves.
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("\x1b]0;owned\x07\u{202e}");
    fs::create_dir(&inner).expect("a folder");
    let path = inner.join("ta\x1b[2Jsks\n.db");
    let connection = Connection::open(&path).expect("a database");
    connection.execute_batch(COORDINATION).expect("the schema");
    connection
        .execute(
            "INSERT INTO task_claims VALUES ('task-1', 'worker-1', ?1, ?2, ?1, 0, 'cli', NULL, NULL),
                                            ('task-2', 'worker-2', ?1, ?2 + 1, ?1, 0, 'cli', NULL, NULL)",
            (now() - 120 * MINUTE, now() - 60 * MINUTE),
        )
        .expect("a claim");
    // A table of jobs, with errors and kinds of the hostile sort.
    let jobs = jobs();
    let mut pty = super::Start::claimtop(&folder.path().join("state"))
        .folder(folder.path())
        .with(&path)
        .with(jobs.path())
        .size(160, 50)
        .run();
    pty.wait("task-1");
    tour(&mut pty);
    first(&mut pty);
    pty.press("r", "done, u undoes it");
    pty.press("8", "applied");
    pty.press(ENTER, "deleted");
    pty.keys("q1");
    pty.wait("Timeline");
    fs::remove_file(&path).expect("gone");
    pty.wait("disconnected]");
    pty.wait("deleted");
    let ended = pty.quit();
    assert_ours(&ended.bytes, 0);
    // What is printed without a screen is as harmless.
    let ended = super::Start::claimtop(folder.path()).with(inner.join("\x1b[31mnone\u{9b}")).run().end();
    let said = String::from_utf8_lossy(&ended.bytes).replace("\r\n", "");
    pieces(said.as_bytes()).unwrap_or_else(|why| panic!("{why}"));
}

/// Jobs whose kinds, owners and errors are hostile.
fn jobs() -> Database {
    let database = Database::new("");
    let made = crate::support::claimtop(&["init", "--system", "executor-jobs"], &database.path());
    assert!(made.status.success(), "{}", crate::support::stderr(&made));
    for text in HOSTILE {
        for (status, locked) in [("running", "2020-01-01T00:00:00.000Z"), ("dead", ""), ("queued", "")] {
            database.run(
                "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, last_error, attempts)
                 VALUES (?2 || ?1, ?1, ?2, nullif(?3, ''), ?1, ?1, 1)",
                (text, status, locked),
            );
        }
    }
    database
}
