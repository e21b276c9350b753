//! The reference of the format, the errors of a profile, and what is said where no profile fits.

use std::fs;
use std::path::Path;

use crate::support::{command, stderr, stdout};

const PAGE: &str = "docs/profiles.md";
const BEGIN: &str = "<!-- keys: generated, see tests/it/draft/help.rs -->\n";
const END: &str = "<!-- end of keys -->\n";

/// To write the reference anew after a key has changed: CLAIMTOP_WRITE_DOCS=yes ./tests/run draft::help
#[test]
fn the_page_has_every_key_as_the_code_knows_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(&path).expect(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the reference");
    let (_, after) = rest.split_once(END).expect("the end of the reference");
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", claimtop::profile::keys::markdown());
    if std::env::var_os("CLAIMTOP_WRITE_DOCS").is_some() {
        fs::write(&path, &wanted).expect("written");
    }
    assert!(fs::read_to_string(&path).expect(PAGE) == wanted, "run it once with CLAIMTOP_WRITE_DOCS=yes");
}

#[test]
fn help_explains_a_key_by_its_name_and_guesses_a_misspelt_one() {
    let help = |key: &str| command(&["profile", "help", key]).output().expect("claimtop runs");
    let text = stdout(&help("claim.deadline.column"));
    assert!(text.contains("column = \"expires_at\"") && text.contains("default"), "{text}");
    assert!(stdout(&help("deadline")).contains("claimed_at_plus"));
    let wrong = help("hodler");
    assert_eq!(wrong.status.code(), Some(3));
    assert!(stderr(&wrong).contains("did you mean holder?"), "{}", stderr(&wrong));
    let all = stdout(&command(&["profile", "help"]).output().expect("claimtop runs"));
    assert!(all.contains("[[claim]]") && all.contains("[[history]]"), "{all}");
}

#[test]
fn all_errors_of_a_profile_are_told_at_once_each_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrong.toml");
    let text = "titel = \"x\"\n\n[[claim]]\nname = \"job\"\ntable = \"jobs\"\nid = \"id\"\nhodler = \"w\"\n\
                time = \"unix_seconds\"\norphan_after = \"soon\"\n\n[claim.deadline]\nnever = \"yes\"\n\n\
                [claim.on.postgres]\nbeat = \"x\"\n";
    fs::write(&path, text).expect("written");
    let output = command(&["profile", "check"]).arg(&path).output().expect("claimtop runs");
    let said = stderr(&output);
    for (line, what) in [
        (1, "unknown key `titel`"),
        (1, "`title` is missing"),
        (7, "did you mean holder?"),
        (8, "`time`"),
        (9, "\"soon\" is not a duration"),
        (12, "`never`"),
        (15, "unknown key `beat`"),
    ] {
        let is_told =
            said.lines().any(|told| told.contains(&format!("line {line}: ")) && told.contains(what));
        assert!(is_told, "line {line}: {what} is not in\n{said}");
    }
    assert_eq!((said.lines().count(), output.status.code()), (7, Some(3)), "{said}");
}

#[test]
fn a_claim_that_makes_no_sense_in_two_ways_is_told_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrong.toml");
    let text =
        "title = \"x\"\n[[claim]]\nname = \"job\"\ntable = \"jobs\"\nid = []\ndeadline = {}\nreclaim = {}\n";
    fs::write(&path, text).expect("written");
    let said = stderr(&command(&["profile", "check"]).arg(&path).output().expect("claimtop runs"));
    for what in ["id is empty", "needs exactly one of", "reclaim needs either"] {
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn misspelt_columns_and_tables_are_guessed_and_an_unknown_database_names_its_likeliest_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, profile) = (folder.path().join("my jobs.db"), folder.path().join("mine.toml"));
    let connection = rusqlite::Connection::open(&database).expect("a file");
    for other in 'a'..='k' {
        connection
            .execute_batch(&format!("CREATE TABLE {other}_things (id INTEGER, name TEXT)"))
            .expect("a table");
    }
    let table =
        "CREATE TABLE my_jobs (id INTEGER PRIMARY KEY, state TEXT, locked_by TEXT, locked_at INTEGER)";
    connection.execute_batch(table).expect("a table");
    let check = |table: &str, holder: &str| {
        let text = format!(
            "title = \"x\"\n[[claim]]\nname = \"job\"\ntable = \"{table}\"\nid = \"id\"\nholder = \"{holder}\"\n\
             deadline = {{ never = true }}\n"
        );
        fs::write(&profile, text).expect("written");
        let output =
            command(&["profile", "check"]).arg(&profile).arg(&database).output().expect("claimtop runs");
        stdout(&output) + &stderr(&output)
    };
    assert!(check("my_job", "locked_by").contains("did you mean my_jobs?"));
    assert!(check("my_jobs", "loked_by").contains("did you mean locked_by?"));
    let said = stderr(&command(&["check"]).arg(&database).output().expect("claimtop runs"));
    let quoted = format!("claimtop profile draft '{}'", database.display());
    assert!(said.contains("its tables are my_jobs, ") && said.contains("and 4 more"), "{said}");
    assert!(said.contains(&quoted), "{said}");
}
