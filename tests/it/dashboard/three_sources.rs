//! Three sources, one of them read-only and one broken: every key in every pane, and the databases compared.

use claimtop::app::{ACTIONS, Command, Pane};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};

use super::pty::{ENTER, ESC, Pty};
use super::{Scene, now};
use crate::support::{COORDINATION, MINUTE};

/// Every row of every table, and the bytes of what is no database.
fn contents(path: &Path) -> String {
    let connection = Connection::open(path).expect("a connection");
    let mut names =
        match connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
            Ok(names) => names,
            Err(_) => return String::from_utf8_lossy(&fs::read(path).expect("the file")).into_owned(),
        };
    let tables: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("tables").map(|name| name.expect("a name")).collect();
    let dump = |table: &str| -> String {
        let mut rows =
            connection.prepare(&format!("SELECT * FROM {table} ORDER BY rowid")).expect("a statement");
        let columns = rows.column_count();
        let found = rows.query_map([], |row| {
            (0..columns).map(|at| row.get::<_, rusqlite::types::Value>(at)).collect::<Result<Vec<_>, _>>()
        });
        let found: Vec<_> = found.expect("a query").map(|row| row.expect("a row")).collect();
        format!("{table}: {found:?}\n")
    };
    tables.iter().map(|table| dump(table)).collect()
}

/// What a terminal sends for a key of the table.
fn bytes(key: &str) -> String {
    match key {
        "space" => " ".into(),
        "enter" => "\r".into(),
        "esc" => ESC.into(),
        "tab" => "\t".into(),
        "backtab" => "\x1b[Z".into(),
        "up" => "\x1b[A".into(),
        "down" => "\x1b[B".into(),
        "right" => "\x1b[C".into(),
        "left" => "\x1b[D".into(),
        "pageup" => "\x1b[5~".into(),
        "pagedown" => "\x1b[6~".into(),
        "home" => "\x1b[H".into(),
        "end" => "\x1b[F".into(),
        "f1" => "\x1bOP".into(),
        key => match (key.strip_prefix("shift-"), key.strip_prefix("ctrl-")) {
            (Some(letter), _) => letter.to_uppercase(),
            (_, Some(letter)) => {
                let letter = letter.bytes().next().expect("a letter");
                char::from(letter - b'a' + 1).to_string()
            }
            _ => key.into(),
        },
    }
}

/// Every key in every pane. What it opens is closed again; nothing is confirmed.
fn press_all(pty: &mut Pty, is_pressed: impl Fn(Command) -> bool) {
    for pane in 1..=Pane::ALL.len() {
        for spec in ACTIONS.iter().filter(|spec| is_pressed(spec.command)) {
            for key in spec.keys {
                // A pause would keep the rest from being seen: it is ended at once.
                let times = if spec.command == Command::Pause { 2 } else { 1 };
                pty.keys(&format!("{pane}{}", bytes(key).repeat(times)));
                pty.keys(ESC);
                pty.keys(ESC);
            }
        }
    }
    // No key before it shows this text: once it is there, all of them have done what they do.
    pty.press(":nonesuch", "nonesuch");
    pty.keys(ESC);
    pty.wait_without("Overview", "nonesuch");
}

fn only(pty: &mut Pty, name: &str, shown: &str) {
    pty.press(":", "Commands");
    pty.keys(&format!("source {name}"));
    pty.press(ENTER, shown);
}

#[test]
fn no_key_of_any_pane_changes_what_it_must_not() {
    let scene = Scene::usual();
    let folder = scene.folder();
    let (audit, search): (PathBuf, PathBuf) = (folder.join("audit.db"), folder.join("search.db"));
    let connection = Connection::open(&audit).expect("a database");
    connection.execute_batch(COORDINATION).expect("the schema");
    connection
        .execute(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('task-kept', 'worker-9', ?1, ?2, ?1)",
            (now() - 120 * MINUTE, now() - 90 * MINUTE),
        )
        .expect("a claim");
    drop(connection);
    fs::write(&search, "this is no database at all\n".repeat(300)).expect("a file");
    let config = folder.join("config.toml");
    let text = format!(
        "[source.billing]\nat = {:?}\nlabel = \"PROD\"\ncolour = \"red\"\n\
         [source.audit]\nat = {audit:?}\nread_only = true\n[source.search]\nat = {search:?}\n",
        scene.database.path()
    );
    fs::write(&config, text).expect("a config");
    let billing = scene.database.path();
    let all = || [&billing, &audit, &search].map(|path| contents(path));
    let before = all();
    let mut pty = scene.start().with("--config").with(&config).size(140, 40).run();
    // The broken one keeps neither of the others from being watched, and says what is wrong with it.
    pty.wait("[billing PROD");
    pty.wait("[audit read-only");
    pty.wait("[search: cannot be read]");
    pty.wait("search: is not a SQLite database");
    pty.wait("task-old");

    let quits = |command: Command| matches!(command, Command::Quit | Command::Suspend);
    only(&mut pty, "audit", "task-kept");
    press_all(&mut pty, |command| !quits(command) && command != Command::Source);
    assert_eq!(all(), before, "keys on the read-only source");
    only(&mut pty, "search", "is not a SQLite database");
    press_all(&mut pty, |command| !quits(command) && command != Command::Source);
    assert_eq!(all(), before, "keys on the broken source");
    only(&mut pty, "billing", "task-old");
    press_all(&mut pty, |command| !quits(command) && !command.spec().writes && command != Command::Source);
    assert_eq!(all(), before, "keys that do not write");

    // And one that does reaches its own source alone, which every message names.
    // A key acts only on a claim that has been drawn.
    pty.press("1gg", "Timeline");
    pty.press("r", "done, u undoes it: reclaim task-old (worker-1) in billing");
    let after = all();
    assert_ne!(after[0], before[0]);
    assert_eq!(after[1..], before[1..]);
    pty.quit();
}
