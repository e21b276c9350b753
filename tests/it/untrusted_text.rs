//! No string of a database drives the terminal, looks like another, or spoils its neighbours.

mod unreadable_cells;

use crate::support::engine::{Engine, engine, is_fast, on_both};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND, command, json, lines, stderr, stdout};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::process::Output;

const AT_NOW: [&str; 2] = ["--now", "1794744000000"];

/// Texts that act on a terminal, a spreadsheet or the reader's eye.
fn hostile_texts() -> Vec<String> {
    let mut all: Vec<String> = [
        "plain",
        "",
        "\"\"",
        " ",
        " plain",
        "plain ",
        "plain\u{a0}",
        "pl\u{200b}ain",
        "pl\u{ad}ain",
        "NULL",
        "-",
        "\u{1b}[2J\u{1b}[H",
        "\u{1b}]52;c;aGFja2Vk\u{7}",
        "\u{1b}]0;title\u{1b}\\",
        "\u{9b}2J",
        "\u{90}q\u{9c}",
        "safe\u{202e}elif\u{202c}",
        "\u{2066}isolated\u{2069}",
        "mark\u{200f}ed\u{61c}",
        "join\u{200d}ed",
        "\u{feff}byte order",
        "tag\u{e0041}\u{e007f}",
        "variation\u{fe0f}",
        "line\u{2028}and\u{2029}paragraph",
        "tab\there",
        "tab    here",
        "line\nfeed",
        "line\\nfeed",
        "carriage\rreturn",
        "line\r\nend",
        "nul\0inside",
        "nul",
        "delete\u{7f}",
        "bell\u{7}",
        "back\u{8}space",
        "vertical\u{b}\u{c}feed",
        "next\u{85}line",
        "back\\slash",
        "\\u{1b}[2J",
        "\\u{20}plain",
        "\\x{ff}",
        "admin",
        "\u{430}dmin",
        "adm\u{456}n",
        "e\u{301}",
        "\u{e9}",
        "\u{ff41}dmin",
        "\u{4efb}\u{52d9}",
        "\u{1f512}",
        "\u{1f469}\u{200d}\u{1f680}",
        "Z\u{335}\u{321}",
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-1-1",
        "@SUM(A1)",
        "\t=1+1",
        "\\u{3d}cmd",
        "a,b",
        "quo\"ted",
        "'single'",
        "semi;colon",
        "x[#abcdef]",
        "x\u{2026}y",
        "%2F",
        "a/b",
        "\u{fffd}",
        "\u{e000}",
        "\u{10ffff}",
    ]
    .map(str::to_owned)
    .into();
    // Printing them is what takes time, and that does not depend on where they come from.
    let share = if engine() == Engine::Sqlite && !is_fast() { 1 } else { 10 };
    let long = "long-id/".repeat(12_500 / share);
    all.push(long.replacen("id", "ID", 6_000 / share));
    all.push(long.replacen("id", "ID", 6_000 / share + 1));
    all.push("\u{1b}".repeat(100_000 / share));
    all.push(format!("a{}", "\u{301}".repeat(50_000 / share)));
    // PostgreSQL takes no NUL into a text.
    all.retain(|text| engine() == Engine::Sqlite || !text.contains('\0'));
    all
}

/// A database where every hostile text is an id, a holder and a kind.
fn hostile_database() -> Database {
    let database = Database::new(COORDINATION);
    for (at, text) in hostile_texts().iter().enumerate() {
        database.session(text, if at % 2 == 0 { SECOND } else { 20 * MINUTE });
        // Half of them belong to somebody who is not there, so that `why` names the holder.
        let holder = if at % 3 == 0 { format!("{text}?") } else { text.clone() };
        database.run(
            "INSERT INTO task_claims VALUES (?1, ?2, ?3, ?4, ?3, 0, ?1, ?1, ?1)",
            (text, holder, NOW - SECOND, NOW + 20 * MINUTE),
        );
    }
    database
}

/// Fails if anything but plain printable text and newlines was written.
fn plain(output: &Output) -> (String, String) {
    let (out, err) = (stdout(output), stderr(output));
    for c in out.chars().chain(err.chars()).filter(|c| *c != '\n') {
        let code = c as u32;
        let invisible = matches!(code,
            0..0x20 | 0x7f..=0x9f | 0xad | 0x300..=0x36f | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e
            | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe0fff);
        assert!(
            !invisible,
            "U+{code:04X} was written, in {:.300}",
            out.replace(|c: char| c.is_control(), "?")
        );
    }
    (out, err)
}

fn run(arguments: &[&str], database: &Database) -> Output {
    let arguments: Vec<&str> = arguments.iter().chain(&AT_NOW).copied().collect();
    database.claimtop(&arguments)
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}

/// The rows of a CSV output by their headings, after a look at their lengths.
fn records(output: &Output) -> Vec<std::collections::BTreeMap<String, String>> {
    let (out, _) = plain(output);
    // A reader that is not flexible refuses rows of different lengths.
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let headings = reader.headers().expect("headings").clone();
    let named = |record: csv::StringRecord| {
        headings.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
    };
    reader.records().map(|record| named(record.expect("a row as long as the first"))).collect()
}

#[test]
fn nothing_that_acts_on_a_terminal_is_printed() {
    on_both(|| {
        let database = hostile_database();
        for arguments in [
            &["list"][..],
            &["list", "--json"],
            &["list", "--csv"],
            &["list", "--set", "orphaned"],
            &["check"],
            &["check", "--json"],
            &["check", "--exact"],
            &["list", "--history"],
        ] {
            let output = run(arguments, &database);
            let (out, err) = plain(&output);
            assert_eq!(err, "", "{arguments:?}");
            assert!(arguments.contains(&"--history") || !out.is_empty(), "{arguments:?}");
        }
    });
}

#[test]
fn the_json_gives_back_every_text_as_it_was() {
    on_both(|| {
        let database = hostile_database();
        let ids: BTreeSet<String> =
            lines(&run(&["list", "--json"], &database)).iter().map(|claim| text(&claim["id"])).collect();
        assert_eq!(ids, hostile_texts().into_iter().collect());
        for claim in lines(&run(&["list", "--json"], &database)) {
            assert_eq!(claim["kind"], claim["id"]);
            let (id, holder) = (text(&claim["id"]), text(&claim["holder"]));
            assert!(holder == id || holder == format!("{id}?"), "{holder:?} holds {id:?}");
        }
    });
}

#[test]
fn the_csv_has_a_row_of_the_same_length_for_every_claim_and_no_formula() {
    on_both(|| {
        let database = hostile_database();
        let rows = records(&run(&["list", "--csv"], &database));
        assert_eq!(rows.len(), hostile_texts().len());
        for column in ["source", "id", "kind", "holder", "why", "address", "error"] {
            let formula = |row: &&std::collections::BTreeMap<String, String>| {
                row[column].trim_start().starts_with(['=', '+', '-', '@'])
            };
            let formulas: Vec<&String> = rows.iter().filter(formula).map(|row| &row[column]).collect();
            assert!(formulas.is_empty(), "{column}: {formulas:?}");
        }
        let ids: BTreeSet<&String> = rows.iter().map(|row| &row["id"]).collect();
        assert_eq!(ids.len(), rows.len(), "different ids are the same in CSV");
    });
}

#[test]
fn errors_of_jobs_are_escaped_like_everything_else() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE executor_jobs (id TEXT PRIMARY KEY, type TEXT, status TEXT, locked_by TEXT,
           locked_at TEXT, heartbeat_at TEXT, attempts INTEGER, max_attempts INTEGER, last_error TEXT,
           run_at TEXT, updated_at TEXT)",
        );
        for error in hostile_texts() {
            database.run(
                "INSERT INTO executor_jobs VALUES (?1, ?1, 'running', ?1, ?1, NULL, 1, 10, ?2, NULL, ?1)",
                [&error, &format!("RECLAIMED_TTL: {error}")],
            );
        }
        plain(&run(&["list"], &database));
        assert_eq!(records(&run(&["list", "--csv"], &database)).len(), hostile_texts().len());
        for claim in lines(&run(&["list", "--json"], &database)) {
            assert_eq!(text(&claim["error"]), format!("RECLAIMED_TTL: {}", text(&claim["id"])));
        }
        plain(&run(&["list", "--history"], &database));
        assert_eq!(records(&run(&["list", "--csv", "--history"], &database)).len(), hostile_texts().len());
        let whats = lines(&run(&["list", "--json", "--history"], &database));
        assert_eq!(whats.len(), hostile_texts().len());
    });
}

/// The rows of the table for people, less its headings.
fn rows(database: &Database) -> Vec<String> {
    let (out, err) = plain(&run(&["list", "--limit", "0"], database));
    assert_eq!(err, "");
    out.lines().skip(1).map(str::to_owned).collect()
}

fn all_differ(rows: &[String], expected: usize) {
    assert_eq!(rows.len(), expected, "{rows:#?}");
    let mut seen = BTreeSet::new();
    let twice: Vec<&String> = rows.iter().filter(|row| !seen.insert(*row)).collect();
    assert!(twice.is_empty(), "several ids print as each of {twice:#?}");
}

#[test]
fn different_ids_never_print_the_same_row() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.session("session-1", SECOND);
        let mut ids: BTreeSet<String> = hostile_texts().into_iter().collect();
        // Short strings over an alphabet of everything that escapes and marks are made of.
        let alphabet =
            ['a', ' ', '\\', 'u', '{', '}', '2', '0', '"', ']', '[', '#', '\n', '\u{200b}', 'é', '…', ','];
        let mut state: u64 = 42;
        while ids.len() < if is_fast() { 600 } else { 3_000 } {
            let mut draw = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let length = 1 + draw(6);
            ids.insert((0..length).map(|_| alphabet[draw(alphabet.len() as u64) as usize]).collect());
        }
        database.at_once(|| {
            for id in &ids {
                database.task(id, "session-1", 20 * MINUTE);
            }
        });
        all_differ(&rows(&database), ids.len());
    });
}

#[test]
fn ids_that_are_no_text_print_unlike_any_text() {
    let database = Database::new(&COORDINATION.replace(" PRIMARY KEY NOT NULL", ""));
    database.session("session-1", SECOND);
    for id in
        ["NULL", "'NULL'", "x'41ff'", "CAST(x'41ff' AS TEXT)", "'\\x{41ff}'", "x''", "''", "'A'", "x'41'"]
    {
        let (claimed_at, expires_at) = (NOW - SECOND, NOW + 20 * MINUTE);
        database.run(
            &format!(
                "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
                 VALUES ({id}, 'session-1', {claimed_at}, {expires_at}, {claimed_at})"
            ),
            [],
        );
    }
    plain(&run(&["list", "--json"], &database));
    plain(&run(&["list", "--csv"], &database));
    all_differ(&rows(&database), 9);
    let addresses: BTreeSet<String> =
        lines(&run(&["list", "--json"], &database)).iter().map(|claim| text(&claim["address"])).collect();
    assert_eq!(addresses.len(), 9, "addresses are what acts go by: {addresses:?}");
}

#[test]
fn composite_ids_are_not_mixed_up_by_their_comma() {
    on_both(|| {
        let database = Database::new("CREATE TABLE work (a TEXT, b TEXT, since INTEGER, until INTEGER)");
        for (a, b) in [("x,y", "z"), ("x", "y,z"), ("x\\", ",z"), ("", "x"), ("x", "")] {
            let (since, until) = (NOW - SECOND, NOW + 20 * MINUTE);
            database.run("INSERT INTO work VALUES (?1, ?2, ?3, ?4)", (a, b, since, until));
        }
        let profile = database.beside("work.toml");
        let content = "title = 'Work'\n[[claim]]\nname = 'work'\ntable = 'work'\nid = ['a', 'b']\ntime = 'unix_ms'\n\
                   claimed_at = 'since'\ndeadline = { column = 'until' }\n";
        std::fs::write(&profile, content).expect("a profile");
        let output = run(&["list", "--profile", profile.to_str().expect("UTF-8")], &database);
        let rows: Vec<String> = plain(&output).0.lines().skip(1).map(str::to_owned).collect();
        all_differ(&rows, 5);
    });
}

#[test]
fn the_names_of_files_are_escaped() {
    let database = hostile_database();
    let name = database.beside("\u{1b}[2J\u{202e}bd.sksat\n.db");
    database.connection.execute("VACUUM INTO ?1", [name.to_str().expect("UTF-8")]).expect("a copy");
    let missing = database.beside("\u{9b}2J\nclaimtop: all is well");
    for arguments in
        [&["check"][..], &["check", "--json"], &["list"], &["list", "--csv"], &["list", "--json"]]
    {
        let mut command = command(arguments);
        let output = command.args(AT_NOW).args([&name, &missing]).output().expect("claimtop runs");
        let (_, err) = plain(&output);
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn the_names_of_tables_cannot_forge_a_sentence() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE \"a\nclaimtop: all is well\u{1b}[2J\" (x TEXT); CREATE TABLE \"\u{202e}b\" (x TEXT)",
        );
        for arguments in [&["check"][..], &["check", "--json"], &["list"]] {
            let (_, err) = plain(&run(arguments, &database));
            assert_eq!(err.lines().count(), 1, "{err}");
        }
        let all = json(&run(&["check", "--json"], &database));
        assert!(text(&all["sources"][0]["error"]).contains("all is well"), "{all:#}");
    });
}

#[test]
fn the_declared_type_of_a_column_cannot_drive_the_terminal() {
    let database = Database::new(
        &COORDINATION.replace("expires_at INTEGER", "expires_at \"TEXT\u{1b}]52;c;aGk=\u{7}\u{202e}\""),
    );
    for arguments in
        [&["check"][..], &["list"], &["profile", "detect"], &["profile", "check", "coordination"]]
    {
        let (out, err) = plain(&run(arguments, &database));
        assert!(format!("{out}{err}").contains("expires_at"), "{arguments:?}: {out}{err}");
    }
}
