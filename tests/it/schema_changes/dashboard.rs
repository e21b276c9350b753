//! The dashboard while its tables change.

use super::{Base, Change, DROP, ENDS, PARTS, TABLES, TRIFLES};
use crate::dashboard::pty::{Pty, Start};
use crate::support::engine::{Engine, on_both_engines};
use crate::support::postgres::PgDatabase;
use crate::support::server::Server;
use tempfile::TempDir;

on_both_engines! {
    tables_that_are_gone_leave_the_last_rows_and_a_sentence_until_they_are_back,
    a_board_that_is_gone_is_named_while_the_others_go_on,
    what_is_added_or_not_needed_changes_nothing,
    tables_that_were_dropped_are_read_anew_when_they_are_made_anew,
}

fn open(base: &str) -> (Pty, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let pty = Start::claimtop(&folder.path().join("state")).folder(folder.path()).with(base).run();
    pty.wait("LIVE 1");
    (pty, folder)
}

/// The words of a screen, in one line: sentences break where the room ends.
fn words(shown: &str) -> String {
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn wait(pty: &Pty, says: &[&str], hides: &[&str]) -> String {
    pty.wait_for(&format!("{says:?} without {hides:?}"), |screen| {
        let shown = words(&screen.contents());
        says.iter().all(|part| shown.contains(part)) && !hides.iter().any(|part| shown.contains(part))
    })
}

fn tables_that_are_gone_leave_the_last_rows_and_a_sentence_until_they_are_back(engine: Engine) {
    let base = Base::of(engine);
    let (mut pty, _folder) = open(&base.source());
    wait(&pty, &["task-old", "lock-old"], &[]);
    for (number, Change { done, undone, said }) in ENDS.iter().enumerate() {
        base.run(done);
        wait(&pty, &["DISCONNECTED since", said, "task-old", "lock-old"], &[]);
        pty.press("r", "what you see is old");
        base.run(undone);
        let new = format!("task-{number}");
        base.task(&new);
        wait(&pty, &["LIVE 1", "task-old", "lock-old", &new], &["DISCONNECTED since", said]);
    }
    pty.press("7", "back again");
    pty.quit();
}

fn a_board_that_is_gone_is_named_while_the_others_go_on(engine: Engine) {
    let base = Base::of(engine);
    let (mut pty, _folder) = open(&base.source());
    wait(&pty, &["task-old", "lock-old"], &[]);
    for Change { done, undone, said } in PARTS {
        base.run(done);
        wait(&pty, &["LIVE 1", said, "lock-old"], &["DISCONNECTED since", "task-old"]);
        base.run(undone);
        wait(&pty, &["LIVE 1", "task-old", "lock-old"], &["DISCONNECTED since", said]);
    }
    pty.keys("7");
    wait(&pty, &["changed task back again", "changed task gone: its table was dropped"], &[]);
    // It was there all along: nobody has let go of it, and nobody has taken it anew.
    let shown = pty.screen();
    assert!(!shown.contains("finished") && !shown.contains("acquired"), "{shown}");
    pty.quit();
}

fn what_is_added_or_not_needed_changes_nothing(engine: Engine) {
    let base = Base::of(engine);
    let (pty, _folder) = open(&base.source());
    for (number, change) in TRIFLES.iter().enumerate() {
        base.run(change);
        let new = format!("task-{number}");
        base.task(&new);
        wait(&pty, &["LIVE 1", "task-old", "lock-old", &new], &["DISCONNECTED since", "is gone"]);
    }
    pty.quit();
}

fn tables_that_were_dropped_are_read_anew_when_they_are_made_anew(engine: Engine) {
    let base = Base::of(engine);
    let (pty, _folder) = open(&base.source());
    wait(&pty, &["task-old", "lock-old"], &[]);
    base.run(DROP);
    wait(
        &pty,
        &[
            "DISCONNECTED since",
            "coordination no longer fits: its tables are gone; there are none",
            "task-old",
        ],
        &[],
    );
    base.run(TABLES);
    base.task("task-new");
    wait(&pty, &["LIVE 1", "task-new"], &["DISCONNECTED since", "task-old"]);
    pty.quit();
}

#[test]
fn a_column_of_another_type_is_named_and_read_again_when_it_is_changed_back() {
    let base = Base::of(Engine::Postgres);
    let (pty, _folder) = open(&base.source());
    wait(&pty, &["task-old", "lock-old"], &[]);
    for (table, said) in
        [("task_claims", "board task of coordination is gone"), ("locks", "coordination no longer fits")]
    {
        base.run(&format!("ALTER TABLE {table} ALTER COLUMN expires_at TYPE boolean USING expires_at > 0"));
        wait(&pty, &[said], &[]);
    }
    let ago = super::now() - 3_600_000;
    for table in ["task_claims", "locks"] {
        base.run(&format!("ALTER TABLE {table} ALTER COLUMN expires_at TYPE bigint USING {ago}"));
    }
    wait(&pty, &["LIVE 1", "task-old", "lock-old"], &["DISCONNECTED since", "is gone"]);
    pty.quit();
}

#[test]
fn a_right_that_is_taken_from_the_watcher_is_named_and_used_again_when_it_is_given_back() {
    let base = Base::of(Engine::Postgres);
    let Base::Postgres(database) = &base else { return };
    let role = Role::new(database);
    let (pty, _folder) = open(&database.url_as(&role.name));
    wait(&pty, &["task-old", "lock-old"], &[]);
    database.run(&format!("REVOKE SELECT ON task_claims FROM {}", role.name));
    wait(&pty, &["LIVE 1", "board task of coordination is gone", "lock-old"], &["task-old"]);
    database.run(&format!("REVOKE SELECT ON locks FROM {}", role.name));
    wait(&pty, &["DISCONNECTED since", "locks, task_claims may not be read by us: GRANT SELECT"], &[]);
    database.run(&format!("GRANT SELECT ON task_claims, locks TO {}", role.name));
    wait(&pty, &["LIVE 1", "task-old", "lock-old"], &["DISCONNECTED since", "is gone"]);
    pty.quit();
}

/// Somebody who may only read, gone with the test.
struct Role<'a> {
    name: String,
    database: &'a PgDatabase,
}

impl Role<'_> {
    fn new(database: &PgDatabase) -> Role<'_> {
        let name = format!("{}_watcher", database.name());
        database.run(&format!(
            "CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA public TO {name};
             GRANT SELECT ON sessions, locks, task_claims TO {name}"
        ));
        Role { name, database }
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        // Said, not panicked: the test may be failing already.
        let gone = self.database.attempt(&format!("DROP OWNED BY {name}; DROP ROLE {name}"));
        gone.map_or_else(|refusal| eprintln!("the role stays: {refusal:?}"), drop);
    }
}

#[test]
fn a_server_that_comes_back_as_another_one_is_said_to_be() {
    let (first, second) = (Server::start(), Server::start());
    for (server, id) in [(&first, "task-first"), (&second, "task-second")] {
        let (then, over) = (super::now() - 7_200_000, super::now() - 3_600_000);
        server.create_database("jobs", TABLES);
        server.connect("jobs").run(&format!(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('{id}', 'worker-1', {then}, {over}, {over})"
        ));
    }
    let (mut pty, _folder) = open(&first.url("jobs"));
    wait(&pty, &["task-first"], &[]);
    first.stop();
    pty.wait("DISCONNECTED since");
    second.stop();
    first.become_the(second);
    wait(
        &pty,
        &["LIVE 1", "task-second", "this is a different database than before"],
        &["DISCONNECTED since", "task-first"],
    );
    pty.press("7", "this is a different database than before");
    // What became of the claims of the other one is not known.
    let shown = pty.screen();
    assert!(!shown.contains("finished") && !shown.contains("task-first"), "{shown}");
    pty.quit();
}
