//! Statements beside an act: they run when the profile says so, find the rows that they have to, and know the claim
//! as it was.

use claimtop::domain::recovery::{Action, Authorization, Outcome, Refusal};
use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::{Acted, Actor, Options, Order, Profiles};

use super::{actor_by, fast, look};
use crate::support::engine::on_both;
use crate::support::options::{at_server, writable};
use crate::support::postgres::PgDatabase;
use crate::support::{COORDINATION, Database, SECOND, in_their_words};

fn overdue() -> Database {
    let database = fast(&format!("{COORDINATION} CREATE TABLE notes (what TEXT, task TEXT, held INTEGER);"));
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database
}

fn profile(reclaim: &str) -> String {
    format!(
        "title = \"t\"\n[[claim]]\nname = \"task\"\ntable = \"task_claims\"\nid = \"task_id\"\nholder = \"session_id\"\n\
         time = \"unix_ms\"\ndeadline = {{ column = \"expires_at\", lease = \"30m\" }}\n[claim.reclaim]\n{reclaim}\n"
    )
}

fn reclaim_with(actor: &mut Actor, dry_run: bool) -> Acted {
    let seen = look(actor, "task-1");
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run };
    actor.act(&seen, &order, &mut |_| Ok(())).expect("an answer")
}

fn note(what: &str) -> String {
    format!(
        "INSERT INTO notes (what, task, held) SELECT '{what}', :old.task_id, count(*) FROM task_claims \
         WHERE task_id = :old.task_id AND session_id = :old.session_id"
    )
}

#[test]
fn a_statement_runs_before_or_after_as_written_and_knows_the_row_as_it_was() {
    on_both(|| {
        let database = overdue();
        let also = format!(
            "delete = true\nalso = [{{ sql = \"{}\", rows = 1 }}, {{ sql = \"{}\", when = \"before\", rows = 1 }}]",
            note("after"),
            note("before")
        );
        let acted = reclaim_with(&mut actor_by(&database, &profile(&also)), false);
        assert_eq!(acted.outcome, Outcome::Applied);
        let notes = database.texts("SELECT what || ' ' || task || ' ' || held FROM notes ORDER BY what DESC");
        assert_eq!(notes, ["before task-1 1", "after task-1 0"]);
    });
}

#[test]
fn a_statement_that_finds_other_rows_than_it_has_to_takes_everything_back() {
    on_both(|| {
        for (when, rows, found) in [("before", 2, 1), ("after", 0, 1)] {
            let database = overdue();
            let before = database.dump();
            let also = format!(
                "delete = true\nalso = [{{ sql = \"{}\", rows = {rows}, when = \"{when}\" }}]",
                note("x")
            );
            let outcome = reclaim_with(&mut actor_by(&database, &profile(&also)), false).outcome;
            let Outcome::Refused(refusal @ Refusal::OtherRows { .. }) = outcome else {
                panic!("{outcome:?}")
            };
            let said = refusal.to_string();
            assert!(said.contains(&format!("has to find {rows} row")), "{said}");
            assert!(said.contains(&format!("found {found}, so nothing was changed")), "{said}");
            assert_eq!(database.dump(), before);
        }
        // A row that has to be there, and to be locked.
        let database = overdue();
        let also =
            "delete = true\nbefore = [{ sql = \"SELECT 1 FROM notes WHERE what = 'lock'\", rows = 1 }]";
        let outcome = reclaim_with(&mut actor_by(&database, &profile(also)), false).outcome;
        assert!(
            matches!(outcome, Outcome::Refused(Refusal::OtherRows { wanted: 1, found: 0, .. })),
            "{outcome:?}"
        );
    });
}

#[test]
fn a_job_of_solid_queue_is_ready_again_or_stays_where_it_is() {
    on_both(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/systems/fixtures/solid-queue");
        let [sqlite, postgres] = ["sqlite", "postgres"]
            .map(|engine| std::fs::read_to_string(format!("{folder}.{engine}.sql")).expect("the tables"));
        let database = Database::with(&sqlite, &postgres);
        database.batch(
            "INSERT INTO solid_queue_processes (id, kind, last_heartbeat_at, pid, name, created_at)
               VALUES (1, 'Worker', '2020-01-01 00:00:00', 1, 'w', '2020-01-01 00:00:00');
             INSERT INTO solid_queue_jobs (id, queue_name, class_name, created_at, updated_at, finished_at) VALUES
               (1, 'mail', 'Mail', '2020-01-01 00:00:00', '2020-01-01 00:00:00', NULL),
               (2, 'mail', 'Mail', '2020-01-01 00:00:00', '2020-01-01 00:00:00', '2020-01-01 00:00:00');
             INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at) VALUES
               (1, 1, '2020-01-01 00:00:00'), (2, 1, '2020-01-01 00:00:00'), (3, 1, '2020-01-01 00:00:00');",
        );
        let profile = Library::built_in().find("solid-queue").expect("a profile");
        let mut actor =
            Actor::open(writable(database.options(Profiles::Named(vec![profile]), |_| {}))).expect("it");
        let mut reclaim = |id: &str| {
            let seen = look(&mut actor, id);
            super::reclaim(&mut actor, &seen).outcome
        };
        assert_eq!(reclaim("1"), Outcome::Applied);
        // One is finished, and of one there is no job: neither may vanish and be called reclaimed.
        for id in ["2", "3"] {
            let outcome = reclaim(id);
            assert!(matches!(outcome, Outcome::Refused(Refusal::OtherRows { .. })), "{outcome:?}");
        }
        let (claimed, ready) = ("solid_queue_claimed_executions", "solid_queue_ready_executions");
        assert_eq!(
            database.texts(&format!("SELECT CAST(job_id AS TEXT) FROM {claimed} ORDER BY job_id")),
            ["2", "3"]
        );
        assert_eq!(database.texts(&format!("SELECT CAST(job_id AS TEXT) FROM {ready}")), ["1"]);
    });
}

/// A server with an overdue claim, and a profile that may end backends.
fn ending_backends(reclaim: &str) -> (PgDatabase, Options) {
    let server = PgDatabase::new(&in_their_words(COORDINATION));
    server.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
           VALUES ('task-1', 'w-1', 1, 2, 1)",
    );
    let profile = Profile::parse("own", &profile(reclaim)).expect("a profile");
    let mut options = at_server(&server.url(), Profiles::Named(vec![profile]));
    options.allow_functions = vec!["pg_terminate_backend".into()];
    (server, options)
}

#[test]
fn a_dry_run_leaves_out_what_could_not_be_taken_back() {
    if !crate::support::engine::engines().contains(&crate::support::engine::Engine::Postgres) {
        return;
    }
    let victims = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim' AND datname = current_database()";
    let (server, options) =
        ending_backends(&format!("delete = true\nalso = [{{ sql = \"{victims}\", rows = 1 }}]"));
    let victim = server.connect();
    victim.run("SET application_name = 'victim'");
    let mut actor = Actor::open(writable(options)).expect("an actor");
    let acted = reclaim_with(&mut actor, true);
    assert_eq!(acted.outcome, Outcome::Applied);
    let preview = acted.preview.join("\n");
    assert!(preview.contains("left out of a dry run: the effects of pg_terminate_backend stay"), "{preview}");
    assert_eq!(victim.value("SELECT 'alive'").as_deref(), Some("alive"));
    assert_eq!(server.value("SELECT count(*)::text FROM task_claims").as_deref(), Some("1"));
    // For good, it is done.
    assert_eq!(reclaim_with(&mut actor, false).outcome, Outcome::Applied);
    assert!(victim.attempt("SELECT 'alive'").is_err());
}

#[test]
fn a_dry_run_does_not_try_an_act_that_calls_such_a_function_itself() {
    if !crate::support::engine::engines().contains(&crate::support::engine::Engine::Postgres) {
        return;
    }
    let set = "set = { metadata = \"pg_terminate_backend((SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND datname = current_database()))::text\" }";
    let (server, options) = ending_backends(set);
    let victim = server.connect();
    victim.run("SET application_name = 'victim'");
    let mut actor = Actor::open(writable(options)).expect("an actor");
    let outcome = reclaim_with(&mut actor, true).outcome;
    assert!(matches!(outcome, Outcome::Refused(Refusal::NoRehearsal { .. })), "{outcome:?}");
    assert_eq!(victim.value("SELECT 'alive'").as_deref(), Some("alive"));
}
