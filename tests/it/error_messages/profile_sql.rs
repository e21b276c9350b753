//! The SQL of a profile may read, and nothing else.

use super::{COORDINATION, MANY_CLAIMS, Scratch, code, sentence};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::postgres::PgDatabase;
use crate::support::{Database, in_their_words, stderr, stdout};
use std::process::Output;

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

/// Thousands of claims in one file, without a log beside it: looking must not even create a file. Or
/// on a server, and the folder that the program is run in stays empty.
struct Place {
    folder: Scratch,
    server: Option<Database>,
}

impl Place {
    fn new() -> Place {
        let folder = Scratch::new();
        let server = match engine() {
            Engine::Sqlite => {
                folder.database("tasks.db", &format!("{COORDINATION}{MANY_CLAIMS}"));
                None
            }
            Engine::Postgres => {
                let database = Database::new(COORDINATION);
                database.either("", &in_their_words(MANY_CLAIMS));
                Some(database)
            }
        };
        Place { folder, server }
    }

    fn source(&self) -> String {
        let path = || self.folder.at("tasks.db").display().to_string();
        self.server.as_ref().map_or_else(path, Database::source)
    }

    /// Every file with its content, and every row of a server. Nobody may have the file open.
    fn content(&self) -> (Vec<(String, Vec<u8>)>, Option<String>) {
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(self.folder.folder.path())
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a file")))
            .collect();
        files.sort();
        (files, self.server.as_ref().and_then(Database::server).map(PgDatabase::versions))
    }

    /// A relative path of a payload would land beside the database.
    fn look(&self, arguments: &[&str]) -> Output {
        let mut command = crate::support::command(arguments);
        command.current_dir(self.folder.folder.path()).arg(self.source()).output().expect("claimtop runs")
    }
}

/// Runs every reading verb with a profile that has these lines; nothing in the folder of the
/// database may change by it, nor on its server. Hands back what `check` says.
fn harmless(lines: &str) -> String {
    let place = Place::new();
    let elsewhere = Scratch::new();
    let mine = elsewhere.file("mine.toml", &profile(lines));
    let mine = mine.to_str().expect("UTF-8");
    let before = place.content();
    let here = |verb: &[&str]| place.look(&[verb, &["--profile", mine], &super::AT_NOW].concat());
    let checked = here(&["check"]);
    assert_eq!((code(&checked), stdout(&checked)), (3, String::new()), "{lines}: {}", stderr(&checked));
    for verb in [&["check", "--json", "--exact"][..], &["list"]] {
        assert_eq!(code(&here(verb)), 3, "{lines}: {verb:?}");
    }
    here(&["list", "--history"]);
    here(&["profile", "check", mine]);
    assert!(place.content() == before, "the database was changed by {lines}");
    sentence(&checked)
}

#[test]
fn a_profile_that_fits_changes_nothing_either() {
    on_both(|| {
        let place = Place::new();
        let before = place.content();
        for verb in [&["check"][..], &["check", "--exact"], &["list"], &["profile", "detect"]] {
            let now = if verb[0] == "profile" { &[][..] } else { &super::AT_NOW };
            let output = place.look(&[verb, now].concat());
            assert_eq!(code(&output), 0, "{verb:?}: {}", stderr(&output));
        }
        assert!(place.content() == before);
    });
}

/// An expression can ask SQLite for it; a server has no such function, and other rights for its own.
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
    on_both(|| {
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
    });
}

#[test]
fn a_write_inside_an_expression_is_never_run() {
    on_both(|| {
        for lines in [
            "held = \"(INSERT INTO task_claims (task_id) VALUES ('x') RETURNING 1)\"",
            "held = \"EXISTS (DELETE FROM task_claims RETURNING 1)\"",
            "held = \"(WITH x AS (SELECT 1) DELETE FROM task_claims RETURNING 1)\"",
            "from = \"JOIN (DELETE FROM task_claims RETURNING task_id) AS gone\"",
            "kind = \"(UPDATE task_claims SET session_id = 'me' RETURNING 1)\"\nheld = \"nothing_such\"",
        ] {
            harmless(lines);
        }
    });
}

#[test]
fn functions_that_write_files_and_pragmas_that_change_are_out_of_reach() {
    on_both(|| {
        for lines in [
            "held = \"writefile('pwned', 'x')\"",
            "held = \"(SELECT edit('x', 'touch pwned'))\"",
            "held = \"EXISTS (SELECT 1 FROM pragma_journal_mode('WAL'))\"",
            "held = \"EXISTS (SELECT 1 FROM pragma_user_version(7))\"",
            "held = \"EXISTS (SELECT 1 FROM pragma_wal_checkpoint)\"",
        ] {
            harmless(lines);
        }
    });
}

#[test]
fn an_expression_without_end_is_stopped() {
    on_both(|| {
        let (place, scratch) = (Place::new(), Scratch::new());
        let endless = "held = \"0 < (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                       SELECT count(*) FROM n)\"";
        let mine = scratch.file("mine.toml", &profile(endless));
        let config = scratch.file("config.toml", "poll_timeout = \"50ms\"\n");
        let (mine, config) = (mine.to_str().expect("UTF-8"), config.to_str().expect("UTF-8"));
        for verb in ["check", "list"] {
            let output = place.look(&[verb, "--profile", mine, "--config", config]);
            assert_eq!((code(&output), stdout(&output)), (3, String::new()));
            assert!(sentence(&output).contains("50 ms"), "{}", sentence(&output));
        }
    });
}
