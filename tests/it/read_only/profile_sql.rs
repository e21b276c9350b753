//! Profiles by strangers: every field that takes SQL, with something else in it.

use super::payloads::{ON_A_SERVER, WAYS};
use super::{Keeping, Scene, answered};
use crate::support::engine::is_fast;
use std::collections::BTreeSet;
use std::process::Stdio;
use toml::{Table, Value};

/// A profile of the claims that uses every field, so that a payload in one meets all the others.
const HONEST: &str = "
    title = 'Mine'
    [[claim]]
    name = 'task'
    table = 'task_claims'
    id = 'task_id'
    kind = 'agent_type'
    holder = 'session_id'
    claimed_at = 'claimed_at'
    beat_at = 'last_heartbeat'
    time = 'unix_ms'
    attempts = 'heartbeat_count'
    error = 'release_reason'
    deadline = { column = 'expires_at' }
    reclaim = { delete = true }
    [claim.session]
    table = 'sessions'
    id = 'id'
    beat_at = 'last_heartbeat'
    started_at = 'started_at'
    pid = 'pid'
    time = 'unix_ms'
    [claim.backlog]
    queued = 'c.release_reason IS NULL'
    oldest = 'claimed_at'
    [[history]]
    name = 'released'
    table = 'task_claims'
    id = 'task_id'
    at = 'claimed_at'
    what = 'metadata'
    time = 'unix_ms'";

/// The table that a path of keys ends in; lists of tables mean their first.
fn table_at<'a>(root: &'a mut Table, path: &[&str]) -> &'a mut Table {
    let Some((key, rest)) = path.split_first() else { return root };
    let next = root.entry(*key).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Array(list) = next {
        return table_at(list[0].as_table_mut().expect("a list of tables"), rest);
    }
    if !next.is_table() {
        *next = Value::Table(Table::new());
    }
    table_at(next.as_table_mut().expect("a table"), rest)
}

/// The honest profile with `payload` for its `field`.
pub fn with_payload(field: &str, payload: &str) -> String {
    let mut profile: Table = HONEST.parse().expect("the honest profile");
    let claim = |profile: &mut Table, key: &str| table_at(profile, &["claim"]).remove(key);
    match field {
        // Only a claim without a registry names its process itself.
        "pid" | "host" => drop(claim(&mut profile, "session")),
        // There is one way to a deadline at a time.
        "deadline.claimed_at_plus" => drop(claim(&mut profile, "deadline")),
        "max_attempts.column" => {
            table_at(&mut profile, &["claim", "max_attempts"]).insert("otherwise".into(), 3.into());
        }
        "claimed_at.expr" | "beat_at.expr" | "deadline.column.expr" => {
            let path: Vec<&str> = std::iter::once("claim").chain(field.split('.')).collect();
            let (_, parents) = path.split_last().expect("a path");
            table_at(&mut profile, parents).insert("unit".into(), "unix_ms".into());
        }
        "vars" => {
            table_at(&mut profile, &["claim"]).insert("held".into(), "{anything}".into());
            table_at(&mut profile, &["vars"]).insert("anything".into(), payload.into());
        }
        "reclaim.set" => {
            let set = [("metadata".into(), payload.into())].into_iter().collect::<Table>();
            let act = [("set".into(), Value::Table(set))].into_iter().collect::<Table>();
            table_at(&mut profile, &["claim"]).insert("reclaim".into(), Value::Table(act));
        }
        _ => {}
    }
    let inside: &[&str] = if field.starts_with("history.") || field == "vars" { &[] } else { &["claim"] };
    let path: Vec<&str> = inside.iter().copied().chain(field.split('.')).collect();
    let (last, parents) = path.split_last().expect("a path");
    let value = match *last {
        "before" | "also" => Value::Array(vec![payload.into()]),
        _ => Value::String(payload.into()),
    };
    if !matches!(field, "vars" | "reclaim.set") {
        table_at(&mut profile, parents).insert((*last).into(), value);
    }
    toml::to_string(&profile).expect("TOML")
}

/// Every verb that looks, each way a profile can get to it.
fn look_every_way(scene: &Scene, mine: &str, what: &str) -> BTreeSet<i32> {
    let looks: [(&[&str], bool); 10] = [
        (&["check", "--profile", mine], true),
        (&["check", "--json", "--exact", "--check-pid", "--profile", mine], true),
        (&["list", "--profile", mine], true),
        (&["list", "--json", "--limit", "0", "--read-only", "--profile", mine], true),
        (&["list", "--history", "--profile", mine], true),
        (&["pid", "--profile", mine], true),
        (&["profile", "check", mine], true),
        (&["profile", "detect", "--profile", mine], true),
        // From here on it is one of the user's own, found by detection.
        (&["profile", "detect"], false),
        (&["check"], false),
    ];
    let before = scene.state();
    // All at once: one by one they would take minutes.
    let running = looks.map(|(look, by_name)| {
        let mut command = scene.command(look);
        if !by_name {
            command.env("XDG_CONFIG_HOME", scene.at("config"));
        }
        command.arg(scene.source()).stdout(Stdio::piped()).stderr(Stdio::piped());
        (look, command.spawn().expect("claimtop runs"))
    });
    let codes = running.into_iter().map(|(look, child)| {
        let what = format!("{what}: {}", look.join(" "));
        let (code, said) = answered(&child.wait_with_output().expect("claimtop ends"), &what);
        if code == 3 && look[0] != "profile" {
            assert!(said.starts_with("claimtop: "), "{what}: an error without a sentence");
        }
        code
    });
    let codes = codes.collect();
    assert_eq!(scene.state(), before, "{what}: everything is as it was");
    codes
}

fn no_way_leads_in(keeping: Keeping, ways: &[(&str, &str, &str)]) {
    let scene = Scene::new(keeping);
    // In the fast form each way is tried on one of the two kinds of files.
    let (first, step) = match keeping {
        Keeping::Rollback if is_fast() => (0, 2),
        Keeping::Log if is_fast() => (1, 2),
        _ => (0, 1),
    };
    for (name, field, payload) in ways.iter().skip(first).step_by(step) {
        // Where a payload names a file, it is one that could be made.
        let target = scene.at("pwned");
        let payload = payload.replace("/TARGET", target.to_str().expect("UTF-8"));
        let text = with_payload(field, &payload);
        let mine = scene.file("mine.toml", &text);
        scene.file("config/claimtop/profiles/mine.toml", &text);
        let what = format!("{keeping:?}: {name} in {field}");
        look_every_way(&scene, mine.to_str().expect("UTF-8"), &what);
        assert!(!target.exists(), "{what}: the file that the payload names is there");
        assert!(!scene.at("state").exists(), "{what}: something was recorded");
    }
}

#[test]
fn no_payload_changes_a_rollback_journal_database() {
    no_way_leads_in(Keeping::Rollback, WAYS);
}

#[test]
fn no_payload_changes_a_wal_database_in_use() {
    no_way_leads_in(Keeping::Log, WAYS);
}

#[test]
fn no_payload_changes_a_database_on_a_server() {
    no_way_leads_in(Keeping::Server, WAYS);
}

#[test]
fn no_payload_in_its_own_words_changes_a_database_on_a_server() {
    no_way_leads_in(Keeping::Server, ON_A_SERVER);
}

#[test]
fn the_honest_profile_fits_whole() {
    // Otherwise every payload would only be refused for the company it is in.
    for keeping in [Keeping::Rollback, Keeping::Server] {
        let scene = Scene::new(keeping);
        let mine = scene.file("mine.toml", &with_payload("held", "c.task_id IS NOT NULL"));
        let codes = look_every_way(&scene, mine.to_str().expect("UTF-8"), "honest");
        assert_eq!(codes, BTreeSet::from([0, 2]), "{keeping:?}");
    }
}

#[test]
fn there_are_forty_ways_and_more_through_every_field() {
    let names: BTreeSet<&str> = WAYS.iter().chain(ON_A_SERVER).map(|(name, _, _)| *name).collect();
    assert_eq!(names.len(), WAYS.len() + ON_A_SERVER.len(), "every way has a name of its own");
    assert!(WAYS.len() >= 40, "{} ways", WAYS.len());
    let used: BTreeSet<&str> = WAYS.iter().map(|(_, field, _)| *field).collect();
    let takes_sql = "held id kind holder pid host claimed_at claimed_at.expr beat_at beat_at.expr \
        deadline.column deadline.column.expr deadline.claimed_at_plus attempts max_attempts \
        max_attempts.column error priority orphaned_when from on.sqlite.held table vars \
        session.table session.id session.beat_at session.started_at session.stale_at session.pid session.host \
        backlog.table backlog.queued backlog.dead backlog.oldest backlog.count.any \
        history.table history.where history.id history.kind history.holder history.at history.what \
        reclaim.set reclaim.before reclaim.also reclaim.blocked_by";
    for field in takes_sql.split_whitespace() {
        assert!(used.contains(field), "nothing is tried through {field}");
    }
}
