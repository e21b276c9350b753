//! A session released: all it holds, then itself, and nothing that has changed since it was seen.

use crate::support::options::writable;
use claimtop::domain::claim::Process;
use claimtop::domain::recovery::{Authorization, Moved, Outcome};
use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::recovery::{ActReport, AuditedActor};
use claimtop::store::{Ends, Holding, Prober, Profiles};

use super::{actor, actor_by, fast, is_moved, is_refused, number, row};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

/// With foreign keys, and with notes that go when their session goes.
const CONSTRAINED: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
    CREATE TABLE locks (resource TEXT PRIMARY KEY NOT NULL, acquired_at INTEGER, expires_at INTEGER,
      session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE);
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, claimed_at INTEGER, expires_at INTEGER,
      last_heartbeat INTEGER, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE);
    CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT,
      session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE);
    INSERT INTO sessions VALUES ('w-2', '/project', 'cli', 1, 1794744000000, '{}', 1);
    INSERT INTO notes VALUES (3, 'other', 'w-2');";

/// A session that fell silent, with two claims and a lock, and another that works.
fn silent(schema: &str) -> Database {
    let database = fast(schema);
    database.either("PRAGMA foreign_keys = ON", "");
    database.session("w-1", 20 * MINUTE);
    database
        .run("INSERT INTO sessions VALUES ('w-2', '/', 'cli', 1, ?1, '{}', 1) ON CONFLICT DO NOTHING", [NOW]);
    database.task("task-1", "w-1", 20 * MINUTE);
    database.task("task-2", "w-1", -20 * MINUTE);
    database.run("UPDATE task_claims SET last_heartbeat = ?1", [NOW - 20 * MINUTE]);
    database.task("other", "w-2", 20 * MINUTE);
    database.run(
        "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES ('file', 'w-1', ?1, ?2)",
        [NOW - MINUTE, NOW + MINUTE],
    );
    database
}

fn audited(database: &Database) -> AuditedActor {
    desk_by(database, Profiles::Detect(Library::built_in()), None)
}

fn desk_by(database: &Database, profiles: Profiles, prober: Option<Process>) -> AuditedActor {
    let prober = prober.map(|process| Prober::new(move |_, _, _| (process, "so it is said".into())));
    AuditedActor::open(
        writable(database.options(profiles, |options| options.prober = prober)),
        "tasks.db",
        &database.beside("audit"),
    )
    .expect("an audited actor")
}

fn seen(audited: &mut AuditedActor) -> Holding {
    audited.actor().held_by("w-1").expect("a look")
}

fn release(audited: &mut AuditedActor, holding: &Holding, word: &Authorization) -> Vec<ActReport> {
    let mut reports = Vec::new();
    audited
        .release_session(holding, word, &mut |report| {
            reports.push(report);
            true
        })
        .expect("a release");
    reports
}

fn said(force: bool, reason: Option<&str>, holder: Option<&str>) -> Authorization {
    Authorization {
        force,
        reason: reason.map(Into::into),
        holder: holder.map(Into::into),
        ..Authorization::default()
    }
}

#[track_caller]
fn assert_applied(reports: &[ActReport], count: usize) {
    assert_eq!(reports.len(), count, "{reports:#?}");
    assert!(reports.iter().all(|report| report.outcome == Outcome::Applied), "{reports:#?}");
}

#[test]
fn locks_go_first_then_claims_then_the_session() {
    on_both(|| {
        let database = silent(COORDINATION);
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        let reports = release(&mut audited, &holding, &Authorization::default());
        assert_applied(&reports, 4);
        let done: Vec<(&str, &str)> =
            reports.iter().map(|report| (report.action, report.address.as_str())).collect();
        let expected = [
            ("release", "coordination/lock/file"),
            ("release", "coordination/task/task-1"),
            ("release", "coordination/task/task-2"),
            ("end_session", "coordination/sessions/w-1"),
        ];
        assert_eq!(done, expected);
        assert_eq!(row(&database, "SELECT count(*), max(id) FROM sessions")[0], number(1));
        assert_eq!(row(&database, "SELECT count(*) FROM task_claims WHERE session_id = 'w-2'"), [number(1)]);
        // There is nobody left the second time.
        let again = seen(&mut audited);
        assert!(again.claims.is_empty() && again.registered.is_empty());
        assert!(release(&mut audited, &again, &Authorization::default()).is_empty());
    });
}

#[test]
fn all_of_it_can_be_taken_back_from_behind() {
    on_both(|| {
        for schema in [COORDINATION, CONSTRAINED] {
            let database = silent(schema);
            // On a server a release does not take back what goes with a session by itself.
            let is_noted = schema == CONSTRAINED && engine() == Engine::Sqlite;
            if is_noted {
                database.run("INSERT INTO notes VALUES (7, 'mine', 'w-1')", []);
            }
            let before = database.dump();
            let mut audited = audited(&database);
            let holding = seen(&mut audited);
            let reports = release(&mut audited, &holding, &Authorization::default());
            assert_applied(&reports, 4);
            if is_noted {
                let touched = &reports[3].changes;
                assert_eq!(touched.len(), 2, "the note goes with its session: {touched:#?}");
            }
            for report in reports.iter().rev() {
                let undone = audited.undo(&report.action_id, None).expect("an undo");
                assert_eq!(undone.outcome, Outcome::Applied, "{undone:#?}");
            }
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn a_session_that_beats_again_keeps_everything() {
    on_both(|| {
        let database = silent(COORDINATION);
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        database.run("UPDATE sessions SET last_heartbeat = ?1 WHERE id = 'w-1'", [NOW - SECOND]);
        let before = database.dump();
        let reports = release(&mut audited, &holding, &Authorization::default());
        assert_eq!(reports.len(), 4);
        assert!(reports.iter().all(|report| is_moved(&report.outcome)), "{reports:#?}");
        assert_eq!(reports[3].outcome.why().as_deref(), Some("w-1 has sent a heartbeat again, 1s ago"));
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn a_session_that_claims_again_is_not_ended() {
    on_both(|| {
        let database = silent(COORDINATION);
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        database.task("new", "w-1", 20 * MINUTE);
        let reports = release(&mut audited, &holding, &Authorization::default());
        assert_applied(&reports[..3], 3);
        assert_eq!(reports[3].outcome, Outcome::Moved(Moved::HoldsClaims(1)));
        assert_eq!(row(&database, "SELECT count(*) FROM sessions"), [number(2)]);
    });
}

#[test]
fn what_ended_by_itself_does_not_keep_the_session() {
    on_both(|| {
        let database = silent(COORDINATION);
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        database.run("DELETE FROM task_claims WHERE task_id = 'task-1'", []);
        let reports = release(&mut audited, &holding, &Authorization::default());
        let outcomes: Vec<&str> = reports.iter().map(|report| report.outcome.as_str()).collect();
        assert_eq!(outcomes, ["applied", "moved", "applied", "applied"]);
    });
}

#[test]
fn a_session_whose_row_changed_at_all_is_not_ended() {
    on_both(|| {
        let database = silent(COORDINATION);
        database.run("DELETE FROM locks", []);
        database.run("DELETE FROM task_claims WHERE session_id = 'w-1'", []);
        for change in ["UPDATE sessions SET metadata = '{\"x\":1}'", "DELETE FROM sessions WHERE id = 'w-1'"]
        {
            let mut audited = audited(&database);
            let holding = seen(&mut audited);
            database.run(change, []);
            let before = database.dump();
            let reports = release(&mut audited, &holding, &Authorization::default());
            assert_eq!(reports.len(), 1);
            assert!(is_moved(&reports[0].outcome), "{reports:#?}");
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn a_living_session_takes_force_a_reason_and_its_name() {
    on_both(|| {
        let database = silent(COORDINATION);
        database.run("UPDATE sessions SET last_heartbeat = ?1", [NOW - SECOND]);
        let before = database.dump();
        let mut audited = audited(&database);
        for word in [
            Authorization::default(),
            said(false, Some("x"), Some("w-1")),
            said(true, None, Some("w-1")),
            said(true, Some("x"), None),
            said(true, Some("x"), Some("w-2")),
        ] {
            let holding = seen(&mut audited);
            let reports = release(&mut audited, &holding, &word);
            assert_eq!(reports.len(), 1);
            assert!(is_refused(&reports[0].outcome), "{word:?}: {reports:#?}");
            assert_eq!(database.dump(), before, "{word:?}");
        }
        let holding = seen(&mut audited);
        assert_applied(&release(&mut audited, &holding, &said(true, Some("x"), Some("w-1"))), 4);
    });
}

#[test]
fn a_claim_that_beats_under_a_silent_session_takes_its_name() {
    on_both(|| {
        let database = silent(COORDINATION);
        database.run("UPDATE task_claims SET last_heartbeat = ?1", [NOW - SECOND]);
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        let refused = release(&mut audited, &holding, &Authorization::default());
        assert_eq!(refused.len(), 1);
        let why = refused[0].outcome.why().unwrap_or_default();
        assert!(why.contains("task-1") && why.contains("--holder w-1"), "{why}");
        assert_applied(&release(&mut audited, &holding, &said(false, None, Some("w-1"))), 4);
    });
}

#[test]
fn the_kernel_has_the_last_word() {
    on_both(|| {
        let database = silent(COORDINATION);
        let built_in = || Profiles::Detect(Library::built_in());
        let mut alive = desk_by(&database, built_in(), Some(Process::Alive));
        let holding = seen(&mut alive);
        assert!(is_refused(&release(&mut alive, &holding, &Authorization::default())[0].outcome));
        // Dead is dead, however fresh its last beat is.
        database.run("UPDATE sessions SET last_heartbeat = ?1 WHERE id = 'w-1'", [NOW - SECOND]);
        let mut dead = desk_by(&database, built_in(), Some(Process::Dead));
        let holding = seen(&mut dead);
        assert_applied(&release(&mut dead, &holding, &Authorization::default()), 4);
    });
}

#[test]
fn a_session_that_is_gone_leaves_its_claims_and_no_end() {
    on_both(|| {
        let database = silent(COORDINATION);
        database.run("DELETE FROM sessions WHERE id = 'w-1'", []);
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        assert!(holding.registered.is_empty());
        assert_applied(&release(&mut audited, &holding, &Authorization::default()), 3);
        assert_eq!(row(&database, "SELECT count(*) FROM task_claims"), [number(1)]);
    });
}

const OWN: &str = r#"
title = "Own"
[session]
table = "sessions"
id = "id"
beat_at = "last_heartbeat"
time = "unix_ms"
END
[[claim]]
name = "task"
table = "task_claims"
id = "task_id"
holder = "session_id"
claimed_at = "claimed_at"
time = "unix_ms"
deadline = { column = "expires_at" }
release = { delete = true }
"#;

fn own(end: &str) -> Profiles {
    Profiles::Named(vec![Profile::parse("own", &OWN.replace("END", end)).expect(end)])
}

#[test]
fn a_profile_that_does_not_say_how_a_session_ends_keeps_it() {
    on_both(|| {
        let database = silent(COORDINATION);
        let mut audited = desk_by(&database, own(""), None);
        let holding = seen(&mut audited);
        assert_eq!(holding.registered[0].ends, Ends::Undescribed);
        assert_applied(&release(&mut audited, &holding, &Authorization::default()), 2);
        assert_eq!(row(&database, "SELECT count(*) FROM sessions"), [number(2)]);
    });
}

#[test]
fn an_end_may_set_columns_and_more() {
    on_both(|| {
        let database = silent(COORDINATION);
        database.batch("CREATE TABLE goodbyes (id TEXT, at INTEGER, why TEXT)");
        let end = r#"end = { set = { metadata = "'ended'", pid = "NULL" },
        also = ["INSERT INTO goodbyes VALUES (:id, :now, :reason)"] }"#
            .replace('\n', " ");
        let before = database.dump();
        let mut audited = desk_by(&database, own(&end), None);
        let holding = seen(&mut audited);
        let reports = release(&mut audited, &holding, &said(false, Some("night"), None));
        assert_applied(&reports, 3);
        let ended = "SELECT metadata, CASE WHEN pid IS NULL THEN 1 END, (SELECT at FROM goodbyes WHERE id = 'w-1' AND why = 'night')
                 FROM sessions WHERE id = 'w-1'";
        assert_eq!(row(&database, ended), [super::text("ended"), number(1), number(NOW)]);
        for report in reports.iter().rev() {
            assert_eq!(audited.undo(&report.action_id, None).expect("an undo").outcome, Outcome::Applied);
        }
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn an_end_is_checked_like_any_act() {
    for end in ["end = {}", "end = { delete = true, set = { pid = \"NULL\" } }", "end = { remove = true }"] {
        assert!(Profile::parse("own", &OWN.replace("END", end)).is_err(), "{end}");
    }
}

#[test]
fn an_end_that_cannot_be_recorded_does_not_happen() {
    on_both(|| {
        let database = silent(COORDINATION);
        database.run("DELETE FROM locks", []);
        database.run("DELETE FROM task_claims", []);
        let before = database.dump();
        let mut actor = actor(&database);
        let holding = actor.held_by("w-1").expect("a look");
        let acted = actor.end_session(&holding.registered[0], &Authorization::default(), "id", &mut |_| {
            Err("full".into())
        });
        assert!(is_refused(&acted.expect("an answer").outcome));
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn a_rehearsal_shows_all_of_it_and_writes_nothing() {
    on_both(|| {
        let database = silent(CONSTRAINED);
        let before = database.dump();
        let mut audited = audited(&database);
        let holding = seen(&mut audited);
        let reports = audited.rehearse_session(&holding, &Authorization::default()).expect("a rehearsal");
        assert_applied(&reports, 4);
        let last = &reports[3].preview[0];
        assert!(last.starts_with("DELETE FROM") && last.contains("\"sessions\""), "{reports:#?}");
        assert_eq!(database.dump(), before);
        assert_eq!(std::fs::read(database.beside("audit/journal.jsonl")).expect("a journal"), b"");
    });
}

#[test]
fn names_are_compared_letter_by_letter() {
    on_both(|| {
        let schema = match engine() {
            Engine::Sqlite => &COORDINATION
                .replace("session_id TEXT NOT NULL", "session_id TEXT NOT NULL COLLATE NOCASE")
                .replace("id TEXT PRIMARY KEY", "id TEXT COLLATE NOCASE PRIMARY KEY"),
            Engine::Postgres => COORDINATION,
        };
        let database = silent(schema);
        database.either(
            "",
            "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
             ALTER TABLE sessions ALTER COLUMN id TYPE text COLLATE nocase;
             ALTER TABLE task_claims ALTER COLUMN session_id TYPE text COLLATE nocase;
             ALTER TABLE locks ALTER COLUMN session_id TYPE text COLLATE nocase",
        );
        database.task("shout", "W-1", -MINUTE);
        let mut actor = actor_by(&database, &OWN.replace("END", "end = { delete = true }"));
        let holding = actor.held_by("w-1").expect("a look");
        assert!(holding.claims.iter().all(|seen| seen.judged.claim.holder.as_deref() == Some("w-1")));
        assert_eq!((holding.claims.len(), holding.registered.len()), (2, 1));
        assert!(actor.held_by("W-1").expect("a look").registered.is_empty());
    });
}
