//! Acts on MySQL and MariaDB: what only these servers can do wrong.

mod faults;
mod races;
mod refusals;
mod traps;

use claimtop::domain::recovery::{Action, Authorization, Moved, Outcome};
use claimtop::profile::format::Profile;
use claimtop::store::{Acted, Actor, Order, Profiles, Seen, Undo};

use crate::support::mysql::MyDatabase;
use crate::support::options::{at_server, writable};
use crate::support::{json, stderr};

/// A queue whose claims have a lease, a log, and a column that shows every write.
const QUEUE: &str =
    "CREATE TABLE q (id VARCHAR(40) PRIMARY KEY, state VARCHAR(10) NOT NULL, holder VARCHAR(40),
      since DATETIME(6), until DATETIME(6), attempts INT NOT NULL DEFAULT 0,
      changed TIMESTAMP(6) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6));
    CREATE TABLE q_log (id BIGINT PRIMARY KEY AUTO_INCREMENT, job VARCHAR(40), said TEXT);
    INSERT INTO q (id, state, holder, since, until, attempts, changed) VALUES
      ('a', 'held', 'w1', '2026-11-15 10:00:00', '2026-11-15 11:00:00', 2, '2026-11-15 10:00:00'),
      ('b', 'held', 'w2', '2026-11-15 10:00:00', '2026-11-15 11:00:00.5', 3, NULL),
      ('c', 'held', 'w3', '2026-11-15 11:59:00', '9000-01-01', 0, NULL);
";

const PROFILE: &str = r#"
title = "A queue"
[[claim]]
name = "job"
table = "q"
held = "c.state = 'held'"
id = "id"
holder = "holder"
time = "timestamp"
zone = "utc"
claimed_at = "since"
fenced = true
deadline = { column = "until", lease = "60s" }
[claim.reclaim]
set = { attempts = "c.attempts + 1", state = "CASE WHEN c.attempts >= 3 THEN 'dead' ELSE 'queued' END", holder = "NULL", until = "NULL" }
also = ["INSERT INTO q_log (job, said) VALUES (:id, :why)"]
[claim.release]
set = { state = "'queued'", holder = "NULL" }
[claim.extend]
set = { until = ":until" }
"#;

const UNDO: Undo<'_> = Undo::For {
    action_id: "undo",
    address: "somewhere",
    authorization: &Authorization {
        force: false,
        reason: None,
        holder: None,
        holders: Vec::new(),
        by: None,
        unattended: false,
    },
};

fn actor_by(database: &MyDatabase, profile: &str) -> Actor {
    actor_at(&database.url(), profile)
}

fn actor_at(url: &str, profile: &str) -> Actor {
    let profile = Profile::parse("own", profile).expect(profile);
    Actor::open(writable(at_server(url, Profiles::Named(vec![profile])))).expect("an actor")
}

fn look(actor: &mut Actor, id: &str) -> Seen {
    let mut found = actor.find(id, None).expect("a look");
    assert_eq!(found.len(), 1, "claims named {id}");
    found.remove(0)
}

fn act(actor: &mut Actor, seen: &Seen, action: Action, action_id: &str) -> Acted {
    let authorization = Authorization::default();
    let order = Order { action, authorization: &authorization, action_id, dry_run: false };
    actor.act(seen, &order, &mut |_| Ok(())).expect("an act")
}

fn reclaim(actor: &mut Actor, id: &str) -> Acted {
    let seen = look(actor, id);
    act(actor, &seen, Action::Reclaim, "test")
}

fn undo(actor: &mut Actor, acted: &Acted) -> Outcome {
    actor.undo(&acted.changes, UNDO, &mut |_| Ok(())).expect("an undo").outcome
}

#[test]
fn an_act_writes_what_the_row_was_before_any_of_its_assignments() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let mut actor = actor_by(&database, PROFILE);
    let acted = reclaim(&mut actor, "a");
    assert_eq!(acted.outcome, Outcome::Applied);
    assert_eq!(database.text("SELECT CONCAT(state, attempts) FROM q WHERE id = 'a'"), "queued3");
    assert_eq!(reclaim(&mut actor, "b").outcome, Outcome::Applied);
    assert_eq!(database.text("SELECT CONCAT(state, attempts) FROM q WHERE id = 'b'"), "dead4");
    assert_eq!(database.text("SELECT COUNT(*) FROM q_log WHERE job IN ('a', 'b')"), "2");
    assert_eq!(acted.changes.len(), 2);
}

#[test]
fn an_undo_puts_every_byte_back_also_what_the_server_stamps() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let before = database.dump();
    let mut actor = actor_by(&database, PROFILE);
    for action in [Action::Reclaim, Action::Release, Action::Extend] {
        for id in ["a", "b"] {
            let seen = look(&mut actor, id);
            let acted = act(&mut actor, &seen, action, "test");
            assert_eq!(acted.outcome, Outcome::Applied, "{action} {id}");
            assert_ne!(database.dump(), before);
            assert_eq!(undo(&mut actor, &acted), Outcome::Applied, "{action} {id}");
            assert_eq!(database.dump(), before, "{action} {id}");
        }
    }
}

#[test]
fn whatever_a_worker_writes_after_the_look_keeps_an_act_and_an_undo_from_being_done() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let mut actor = actor_by(&database, PROFILE);
    let seen = look(&mut actor, "a");
    database.run("UPDATE q SET until = until + INTERVAL 1 MICROSECOND, changed = changed WHERE id = 'a'");
    let acted = act(&mut actor, &seen, Action::Reclaim, "test");
    assert!(matches!(acted.outcome, Outcome::Moved(Moved::Claim(_))), "{:?}", acted.outcome);
    let acted = reclaim(&mut actor, "a");
    assert_eq!(acted.outcome, Outcome::Applied);
    database.run("UPDATE q SET state = 'HELD', holder = 'w9' WHERE id = 'a'");
    assert!(matches!(undo(&mut actor, &acted), Outcome::Moved(_)));
    assert_eq!(database.text("SELECT CONCAT(state, holder) FROM q WHERE id = 'a'"), "HELDw9");
}

#[test]
fn a_row_that_a_worker_holds_is_left_alone_at_once() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let mut actor = actor_by(&database, PROFILE);
    let seen = look(&mut actor, "a");
    database.run("START TRANSACTION;\nUPDATE q SET attempts = 9 WHERE id = 'a'");
    let acted = act(&mut actor, &seen, Action::Reclaim, "test");
    assert_eq!(acted.outcome, Outcome::Moved(Moved::RowLocked));
    database.run("ROLLBACK");
    assert_eq!(reclaim(&mut actor, "a").outcome, Outcome::Applied);
}

#[test]
fn a_trail_in_the_database_is_part_of_the_act_and_append_only() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let mut actor = actor_by(&database, PROFILE);
    actor.create_audit_table().expect("the table");
    let seen = look(&mut actor, "a");
    assert_eq!(act(&mut actor, &seen, Action::Reclaim, "act-1").outcome, Outcome::Applied);
    assert_eq!(database.text("SELECT GROUP_CONCAT(action_id) FROM claimtop_audit"), "act-1");
    for forbidden in ["DELETE FROM claimtop_audit", "UPDATE claimtop_audit SET record = ''"] {
        assert!(database.refused(forbidden).contains("append-only"));
    }
}

#[test]
fn the_command_line_acts_undoes_and_says_what_it_did() {
    let Some(database) = MyDatabase::new(QUEUE) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("own.toml");
    std::fs::write(&profile, PROFILE).expect("a profile");
    let (url, profile) = (database.url(), profile.to_str().expect("UTF-8").to_owned());
    let run = |arguments: &[&str]| {
        let mut command = crate::support::command(arguments);
        command.args(["--profile", &profile, "--json"]);
        let output = command.env("XDG_STATE_HOME", folder.path()).output().expect("claimtop runs");
        println!("{arguments:?}: {}", stderr(&output));
        (json(&output), output.status.code())
    };
    let before = database.dump();
    let (object, code) = run(&["reclaim", &url, "a"]);
    assert_eq!((&object["outcome"], code), (&"applied".into(), Some(0)), "{object:#}");
    assert_eq!(object["before"][0]["row"]["holder"], "w1");
    let id = object["action_id"].as_str().expect("an id").to_owned();
    let (object, code) = run(&["reclaim", &url, "c"]);
    assert_eq!((&object["outcome"], code), (&"refused".into(), Some(5)), "{object:#}");
    let (object, code) = run(&["undo", &url, &id]);
    assert_eq!((&object["outcome"], code), (&"applied".into(), Some(0)), "{object:#}");
    assert_eq!(database.dump(), before);
}
