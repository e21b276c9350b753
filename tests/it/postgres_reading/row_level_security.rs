//! Row-level security: what is hidden is never called calm.

use super::{JOBS, first_source, job};
use crate::support::postgres::PgDatabase;
use crate::support::{command, lines, stderr, stdout};
use std::process::Output;

/// A role of its own for one test; roles belong to the whole server.
struct Role<'a> {
    database: &'a PgDatabase,
    name: String,
}

impl Role<'_> {
    fn new(database: &PgDatabase) -> Role<'_> {
        let name = format!("{}_watcher", database.name());
        database.run(&format!("CREATE ROLE {name} LOGIN; GRANT SELECT ON executor_jobs TO {name}"));
        Role { database, name }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut all = arguments.to_vec();
        all.extend(["--now", "1794744000000"]);
        command(&all).arg(self.database.url_as(&self.name)).output().expect("claimtop runs")
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        // Said, not panicked: the test may be failing already.
        let gone =
            self.database.attempt(&format!("DROP OWNED BY {name}; DROP ROLE {name}", name = self.name));
        gone.map_or_else(|refusal| eprintln!("the role stays: {refusal:?}"), drop);
    }
}

fn veiled_jobs() -> PgDatabase {
    let database = PgDatabase::new(JOBS);
    job(&database, "run_tsa", 10);
    job(&database, "run_tsa", 90);
    database.run("ALTER TABLE executor_jobs ENABLE ROW LEVEL SECURITY");
    database
}

#[test]
fn an_empty_board_behind_a_policy_is_an_error_and_not_calm() {
    let database = veiled_jobs();
    let role = Role::new(&database);
    let output = role.run(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let source = first_source(&output);
    let error = source["error"].as_str().expect("a sentence");
    assert_eq!(source["ok"], false);
    assert!(error.contains("row-level security is active on executor_jobs"), "{error}");
    assert!(error.contains(&role.name) && error.contains("BYPASSRLS"), "{error}");
    assert_eq!(source["claims"]["total"], 0);
    assert!(stderr(&output).contains("row-level security"), "{}", stderr(&output));
    let page = role.run(&["check"]);
    assert!(stdout(&page).starts_with("UNKNOWN"), "{}", stdout(&page));
    let plugin = role.run(&["check", "--plugin"]);
    assert!(stdout(&plugin).contains("row-level security"), "{}", stdout(&plugin));
}

#[test]
fn even_if_a_policy_shows_some_rows_the_rest_may_be_hidden() {
    let database = veiled_jobs();
    database.run("CREATE POLICY old ON executor_jobs USING (locked_at < '2026-11-15 11:00:00+00')");
    let role = Role::new(&database);
    let output = role.run(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let source = first_source(&output);
    assert_eq!((&source["ok"], &source["claims"]["stale"]), (&false.into(), &1.into()));
    let list = role.run(&["list", "--json"]);
    assert_eq!(list.status.code(), Some(3));
    assert_eq!(stdout(&list).lines().count(), 1, "{}", stdout(&list));
    assert!(stderr(&list).contains("row-level security"), "{}", stderr(&list));
}

#[test]
fn who_is_above_the_policies_sees_all_and_hears_nothing_of_them() {
    let database = veiled_jobs();
    let role = Role::new(&database);
    database.run(&format!("ALTER ROLE {} BYPASSRLS", role.name));
    let output = role.run(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let source = first_source(&output);
    assert_eq!((&source["ok"], &source["claims"]["total"]), (&true.into(), &2.into()));
    assert_eq!(lines(&role.run(&["list", "--json"])).len(), 2);
}
