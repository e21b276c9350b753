//! The SQL of a profile may read, and nothing else.

use super::{COORDINATION, MANY_CLAIMS, Scratch, code, run, sentence};
use crate::support::{stderr, stdout};
use std::path::Path;

/// A profile of the claims with these lines of its own.
fn profile(lines: &str) -> String {
    let field = |name: &str, usual: &str| {
        let own = lines.lines().any(|line| line.starts_with(&format!("{name} = ")));
        if own { String::new() } else { format!("{name} = {usual}\n") }
    };
    let (id, holder) = (field("id", "'task_id'"), field("holder", "'session_id'"));
    let deadline = field("deadline", "{ column = 'expires_at' }");
    format!(
        "title = 'Mine'\n[[claim]]\nname = 'task'\ntable = 'task_claims'\ntime = 'unix_ms'\n\
         {id}{holder}{deadline}{lines}\n"
    )
}

/// Every file of a folder with its content. Nobody may have a database in it open.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a file")))
        .collect();
    all.sort();
    all
}

/// Runs every reading verb with a profile that has these lines; nothing in the folder of the
/// database may change by it. Hands back what `check` says.
fn harmless(lines: &str) -> String {
    let scratch = Scratch::new();
    // No log beside it: looking must not even create a file.
    let path = scratch.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
    let elsewhere = Scratch::new();
    let mine = elsewhere.file("mine.toml", &profile(lines));
    let mine = mine.to_str().expect("UTF-8");
    let before = content(scratch.folder.path());
    let here = |verb: &[&str]| {
        let mut command = crate::support::command(verb);
        // What is written to a relative path would land beside the database.
        let command = command.current_dir(scratch.folder.path());
        command.args(["--profile", mine]).args(super::AT_NOW).arg(&path).output().expect("claimtop runs")
    };
    let checked = here(&["check"]);
    assert_eq!((code(&checked), stdout(&checked)), (3, String::new()), "{lines}: {}", stderr(&checked));
    for verb in [&["check", "--json", "--exact"][..], &["list"]] {
        assert_eq!(code(&here(verb)), 3, "{lines}: {verb:?}");
    }
    here(&["list", "--history"]);
    here(&["profile", "check", mine]);
    assert!(content(scratch.folder.path()) == before, "the folder was changed by {lines}");
    sentence(&checked)
}

#[test]
fn a_profile_that_fits_changes_nothing_either() {
    let scratch = Scratch::new();
    let path = scratch.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
    let before = content(scratch.folder.path());
    for verb in [&["check"][..], &["check", "--exact"], &["list"], &["profile", "detect"]] {
        let output = if verb[0] == "profile" {
            crate::support::command(verb).arg(&path).output().expect("claimtop runs")
        } else {
            run(verb, &[&path])
        };
        assert_eq!(code(&output), 0, "{verb:?}: {}", stderr(&output));
    }
    assert!(content(scratch.folder.path()) == before);
}

#[test]
fn loading_code_is_refused() {
    for lines in [
        "held = \"load_extension('x')\"",
        "kind = \"load_extension('x', 'y')\"",
        "id = \"LOAD_EXTENSION('x')\"",
        "error = \"(SELECT load_extension('x'))\"",
    ] {
        let said = harmless(lines);
        assert!(said.contains("mine") && said.contains("refused") && said.contains("only read"), "{said}");
    }
}

#[test]
fn a_second_statement_is_never_run() {
    for lines in [
        "held = \"1; DELETE FROM task_claims\"",
        "held = \"1) FROM task_claims; DELETE FROM task_claims; --\"",
        "from = \"; DELETE FROM task_claims\"",
        "from = \"LIMIT 0; DELETE FROM task_claims; --\"",
        "id = \"task_id) FROM task_claims; DROP TABLE task_claims; --\"",
        "held = \"1) FROM task_claims; VACUUM INTO 'copy.db'; --\"",
        "held = \"1) FROM task_claims; ATTACH 'other.db' AS other; --\"",
        "held = \"1) FROM task_claims; PRAGMA journal_mode = WAL; --\"",
    ] {
        harmless(lines);
    }
}

#[test]
fn a_write_inside_an_expression_is_never_run() {
    for lines in [
        "held = \"(INSERT INTO task_claims (task_id) VALUES ('x') RETURNING 1)\"",
        "held = \"EXISTS (DELETE FROM task_claims RETURNING 1)\"",
        "held = \"(WITH x AS (SELECT 1) DELETE FROM task_claims RETURNING 1)\"",
        "from = \"JOIN (DELETE FROM task_claims RETURNING task_id) AS gone\"",
        "kind = \"(UPDATE task_claims SET session_id = 'me' RETURNING 1)\"\nheld = \"nothing_such\"",
    ] {
        harmless(lines);
    }
}

#[test]
fn functions_that_write_files_and_pragmas_that_change_are_out_of_reach() {
    for lines in [
        "held = \"writefile('pwned', 'x')\"",
        "held = \"(SELECT edit('x', 'touch pwned'))\"",
        "held = \"EXISTS (SELECT 1 FROM pragma_journal_mode('WAL'))\"",
        "held = \"EXISTS (SELECT 1 FROM pragma_user_version(7))\"",
        "held = \"EXISTS (SELECT 1 FROM pragma_wal_checkpoint)\"",
    ] {
        harmless(lines);
    }
}

#[test]
fn an_expression_without_end_is_stopped() {
    let scratch = Scratch::new();
    let path = scratch.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
    let endless = "held = \"c.rowid < (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                   SELECT count(*) FROM n)\"";
    let mine = scratch.file("mine.toml", &profile(endless));
    let config = scratch.file("config.toml", "poll_timeout = \"50ms\"\n");
    let (mine, config) = (mine.to_str().expect("UTF-8"), config.to_str().expect("UTF-8"));
    for verb in ["check", "list"] {
        let output = run(&[verb, "--profile", mine, "--config", config], &[&path]);
        assert_eq!((code(&output), stdout(&output)), (3, String::new()));
        assert!(sentence(&output).contains("50 ms"), "{}", sentence(&output));
    }
}
