//! Looking goes on whatever happens to the database and the terminal.

use rusqlite::Connection;
use std::fs;
use std::path::Path;

use super::pty::{ENTER, ESC, Pty};
use super::terminal_stream::{Piece, pieces};
use super::{Scene, now};
use crate::support::{COORDINATION, MINUTE, SECOND};

/// Puts a database with one stale claim of this name in the place of whatever is there.
fn replace(scene: &Scene, task: &str) {
    let new = Scene::new();
    new.session("worker-1", SECOND);
    new.task(task, "worker-1", -60 * MINUTE);
    let copy = scene.database.beside("new.db");
    new.database.run("VACUUM INTO ?1", [copy.to_str().expect("UTF-8")]);
    remove(scene);
    fs::rename(copy, scene.database.path()).expect("in its place");
}

/// Takes away the file and what belongs to it.
fn remove(scene: &Scene) {
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm"] {
        let path = scene.database.beside(name);
        let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    }
}

/// The banner is there, with the reason; the rows stay, dated; no key acts on them.
fn assert_lost(pty: &mut Pty, task: &str, why: &str) {
    pty.wait("DISCONNECTED since");
    let shown = pty.wait(why);
    assert!(shown.contains(task), "{shown}");
    pty.press("r", "what you see is old, and nothing is done to it");
    pty.press("R", "what you see is old, and nothing is done to it");
    pty.keys(ESC);
    pty.wait_without("DISCONNECTED since", "what you see is old");
}

#[test]
fn a_database_that_goes_comes_back_or_is_another_one_is_followed() {
    let scene = Scene::usual();
    let mut pty = scene.open();
    pty.wait("task-old");
    remove(&scene);
    assert_lost(&mut pty, "task-old", "deleted");
    replace(&scene, "task-new");
    pty.wait_without("LIVE 1", "task-old");
    pty.wait("task-new");
    // Something else in its place.
    remove(&scene);
    fs::write(scene.database.path(), "no database, by far".repeat(100)).expect("a file");
    assert_lost(&mut pty, "task-new", "is not a SQLite database");
    remove(&scene);
    fs::create_dir(scene.database.path()).expect("a folder");
    assert_lost(&mut pty, "task-new", "is a directory");
    remove(&scene);
    fs::write(scene.database.path(), "").expect("a file");
    assert_lost(&mut pty, "task-new", "the file is empty");
    // Replaced in one go.
    replace(&scene, "task-newer");
    pty.wait_without("LIVE 1", "DISCONNECTED since");
    pty.wait("task-newer");
    replace(&scene, "task-newest");
    pty.wait_without("task-newest", "task-newer");
    pty.wait("LIVE 1");
    pty.press("r", "done, u undoes it: reclaim task-newest (worker-1)");
    let connection = Connection::open(scene.database.path()).expect("a database");
    let left: i64 =
        connection.query_row("SELECT count(*) FROM task_claims", [], |row| row.get(0)).expect("a count");
    assert_eq!(left, 0);
    pty.press("7", "back again");
    pty.quit();
}

#[test]
fn keys_answer_while_the_database_is_locked_and_the_screen_comes_back_to_life() {
    let scene = Scene::usual();
    scene.database.connection.pragma_update(None, "journal_mode", "DELETE").expect("no log");
    let before = scene.row("task-old");
    let mut pty = scene.open();
    pty.wait("task-old");
    scene.database.connection.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    // Whether a poll hangs or has already given up: keys are answered.
    for _ in 0..5 {
        pty.press("?", "Put it right");
        pty.keys("?");
        pty.wait_without("task-old", "Put it right");
    }
    pty.press("2", "claims on 2 boards, worst first");
    pty.press("1", "task-soon");
    assert_lost(&mut pty, "task-old", "stayed locked by another process");
    scene.database.connection.execute_batch("COMMIT").expect("no lock");
    pty.wait_without("LIVE 1", "DISCONNECTED since");
    assert_eq!(scene.row("task-old"), before);
    pty.press("r", "done, u undoes it: reclaim task-old (worker-1)");
    assert_eq!(scene.row("task-old"), None);
    pty.quit();
}

#[test]
fn without_colour_the_terminal_hears_of_none() {
    let scene = Scene::usual();
    let mut pty = scene.start().with(scene.database.path()).env("NO_COLOR", "1").run();
    pty.wait("task-old");
    pty.press(ENTER, "heartbeat_count");
    pty.keys(ESC);
    pty.wait_without("task-soon", "heartbeat_count");
    pty.press("?", "Put it right");
    pty.keys("q");
    pty.wait_without("task-soon", "Put it right");
    let ended = pty.quit();
    for piece in pieces(&ended.bytes).expect("sequences of our own") {
        if let Piece::Style(codes) = &piece {
            // 39, 49 and 59 are what the terminal has by itself.
            let colourless = |code: &u16| matches!(code, 0..=29 | 39 | 49 | 59);
            assert!(codes.iter().all(colourless), "{piece:?}");
        }
    }
}

#[test]
fn the_screen_is_saved_in_three_forms_and_an_id_is_copied() {
    let scene = Scene::usual();
    let folder = scene.database.beside("tickets");
    fs::create_dir(&folder).expect("a folder");
    let mut pty = scene.start().folder(&folder).with(scene.database.path()).run();
    pty.wait("task-old");
    for (key, ending) in [("t", ".txt"), ("a", ".ansi"), ("s", ".svg")] {
        pty.press("w", "Save the screen as");
        pty.keys(key);
        pty.wait_for(ending, |screen| {
            screen.contents().lines().any(|line| line.contains("saved as claimtop-") && line.contains(ending))
        });
    }
    let read = |ending: &str| {
        let mut found = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let path = found.find(|path| path.to_string_lossy().ends_with(ending)).expect(ending);
        fs::read_to_string(path).expect("UTF-8")
    };
    let (text, ansi, svg) = (read(".txt"), read(".ansi"), read(".svg"));
    assert!(text.contains("task-old") && text.contains("Stale 1") && !text.contains('\x1b'), "{text}");
    assert!(ansi.contains("task-old"), "{ansi}");
    pieces(ansi.replace('\n', "").as_bytes()).expect("nothing but styles");
    assert_is_xml(&svg);
    assert!(svg.starts_with("<svg") || svg.starts_with("<?xml"), "{svg}");
    pty.press("y", "copied");
    let ended = pty.quit();
    let copied = pieces(&ended.bytes).expect("sequences of our own");
    // The base64 of task-old.
    assert!(copied.contains(&Piece::Copy("dGFzay1vbGQ=".into())), "nothing was copied");
}

/// Every tag is closed in its order, every attribute quoted, every entity known.
fn assert_is_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        assert_is_text(&rest[..at]);
        let end = rest[at..].find('>').unwrap_or_else(|| panic!("no end: {:.80}", &rest[at..])) + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') || tag.starts_with('!') {
            continue;
        }
        let name = tag
            .trim_start_matches('/')
            .split(|c: char| c.is_whitespace() || c == '/')
            .next()
            .expect("a name");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty(), "<{tag}>");
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "<{tag}>");
        assert_is_text(tag);
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "<{tag}>"),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert_eq!(rest.trim(), "");
}

fn assert_is_text(text: &str) {
    let xml = |c: char| c == '\n' || c == '\t' || c >= ' ';
    assert!(text.chars().all(xml) && !text.contains('>'), "{text:?}");
    for entity in text.split('&').skip(1) {
        let name = entity.split(';').next().unwrap_or_default();
        let known = ["amp", "lt", "gt", "quot", "apos"].contains(&name) || name.starts_with('#');
        assert!(known && entity.contains(';'), "&{entity}");
    }
}

#[test]
fn nothing_wrong_is_a_calm_screen_and_the_first_stale_claim_rings_once() {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.task("task-1", "worker-1", 30 * MINUTE);
    let pty = scene.open();
    pty.wait("1 healthy");
    assert!(!bell(&pty));
    scene.database.run("UPDATE task_claims SET expires_at = ?1", [now() - SECOND]);
    pty.wait("Stale 1");
    super::pty::until("it rings", || bell(&pty).then_some(()));
    let ended = pty.quit();
    let rung = pieces(&ended.bytes).expect("our own").iter().filter(|piece| **piece == Piece::Bell).count();
    assert_eq!(rung, 1);
}

fn bell(pty: &Pty) -> bool {
    pieces(&pty.bytes()).unwrap_or_default().contains(&Piece::Bell)
}

#[test]
fn a_database_whose_tables_come_later_is_waited_for() {
    let scene = Scene::new();
    let path = scene.database.beside("later.db");
    fs::write(&path, "").expect("an empty file");
    let pty = scene.start().with(&path).run();
    pty.wait("the file is empty");
    fill(&path);
    pty.wait_without("task-1", "DISCONNECTED since");
    pty.quit();
}

fn fill(path: &Path) {
    let connection = Connection::open(path).expect("a database");
    connection.execute_batch(&format!("BEGIN; {COORDINATION}")).expect("the schema");
    connection
        .execute(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('task-1', 'worker-1', ?1, ?2, ?1)",
            (now() - 60 * MINUTE, now() - MINUTE),
        )
        .expect("a claim");
    connection.execute_batch("COMMIT").expect("committed");
}
