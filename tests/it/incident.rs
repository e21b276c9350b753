//! An incident from its cause to its end: a host stops, the cause is named, its claims are recovered.

mod outputs;

use claimtop::domain::cause::{GroupBy, find, groups};
use claimtop::domain::time::Moment;
use claimtop::profile::Library;
use claimtop::reference::System;
use claimtop::store::{Profiles, Reader};
use serde_json::Value as Json;

use crate::support::engine::on_both;
use crate::support::{
    COORDINATION, Database, MINUTE, NOW, SECOND, in_their_words, json, lines, stderr, stdout,
};

const HOSTS: i64 = 10;
const SESSIONS: i64 = 3;

/// Ten hosts of three sessions, which beat; each holds three claims.
fn fleet() -> Database {
    let database = Database::new(COORDINATION);
    database.at_once(|| {
        for host in 0..HOSTS {
            for session in 0..SESSIONS {
                let name = format!("web-{host}-{session}");
                database.session(&name, (host + session) % 5 * SECOND);
                for task in 0..3 {
                    database.run(
                        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                        (
                            format!("{name}-task-{task}"),
                            &name,
                            NOW - 40 * MINUTE,
                            NOW + 20 * MINUTE,
                            NOW - 10 * SECOND,
                        ),
                    );
                }
            }
        }
    });
    database
}

/// The sessions of a host have been silent for this long, each a second longer than the one before.
fn silence(database: &Database, host: &str, silent_for: i64) {
    for session in 0..SESSIONS {
        let (beat, name) = (NOW - silent_for - session * SECOND, format!("{host}-{session}"));
        database.run("UPDATE sessions SET last_heartbeat = ?1 WHERE id = ?2", (beat, &name));
        database.run("UPDATE task_claims SET last_heartbeat = ?1 WHERE session_id = ?2", (beat, &name));
    }
}

fn causes(database: &Database) -> Vec<Json> {
    let output = database.claimtop(&["check", "--json", "--now", &NOW.to_string()]);
    json(&output)["causes"].as_array().expect("causes").clone()
}

#[test]
fn one_of_ten_hosts_that_stops_is_named_with_count_and_second() {
    on_both(|| {
        let database = fleet();
        assert_eq!(causes(&database), Vec::<Json>::new());
        silence(&database, "web-3", 11 * MINUTE);
        database.run(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES ('deploy/production', 'web-3-0', ?1, ?2)",
            (NOW - 20 * MINUTE, NOW - MINUTE),
        );
        let found = causes(&database);
        assert_eq!(found.len(), 1, "{found:?}");
        let cause = &found[0];
        let told = |key: &str| cause[key].clone();
        assert_eq!((told("by"), told("name")), ("host".into(), "web-3".into()));
        assert_eq!((told("claims"), told("of"), told("sessions")), (10.into(), 10.into(), 3.into()));
        assert_eq!(told("boards"), serde_json::json!(["lock", "task"]));
        assert_eq!((told("since"), told("spread_ms")), ("2026-11-15T11:48:58.000Z".into(), 2000.into()));
        assert_eq!(told("sources").as_array().map(Vec::len), Some(1));
        assert_eq!(
            told("sentence"),
            "web-3 silent since 11:48:58, all 3 sessions within 2 s: 10 claims, 1 lock (deploy/production)"
        );
        let text = stdout(&database.claimtop(&["check", "--now", &NOW.to_string()]));
        assert!(text.starts_with("CAUSE  web-3 silent since 11:48:58"), "{text}");
    });
}

/// Ten hosts with two workers of each of two releases. The registry names the release of each.
fn two_releases() -> Database {
    let database = Database::of(System::TaskQueue);
    let at = |ago: i64| text_at(NOW - ago);
    database
        .run("INSERT INTO task_types (id, name, created_at, updated_at) VALUES (1, 'mail', ?1, ?1)", [at(0)]);
    database.at_once(|| {
        for worker in 0..40 {
            let (host, release) = (worker % 10, if worker % 20 < 10 { "4.1.0" } else { "4.2.0" });
            let name = format!("worker-{worker}");
            let metadata =
                format!("{{\"hostname\": \"web-{host}\", \"pid\": 7, \"version\": \"{release}\"}}");
            database.run(
                "INSERT INTO worker_heartbeats (worker_id, last_seen_at, metadata) VALUES (?1, ?2, ?3)",
                (&name, at(worker % 5 * SECOND), metadata),
            );
            database.run(
                "INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, created_at, updated_at)
                 VALUES (1, 'claimed', ?1, ?2, ?2, ?2)",
                (&name, at(20 * MINUTE)),
            );
        }
    });
    database
}

fn text_at(millis: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(millis).expect("a time");
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

#[test]
fn a_release_whose_workers_stop_is_named_by_its_version() {
    on_both(|| {
        let database = two_releases();
        assert_eq!(causes(&database), Vec::<Json>::new());
        // One after the other, on every host.
        for worker in (0..40).filter(|worker| worker % 20 >= 10) {
            let silent_since = text_at(NOW - 6 * MINUTE - worker * 20 * SECOND);
            let name = format!("worker-{worker}");
            database.run(
                "UPDATE worker_heartbeats SET last_seen_at = ?1 WHERE worker_id = ?2",
                (silent_since, name),
            );
        }
        let found = causes(&database);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0]["by"], &found[0]["name"]), (&"version".into(), &"4.2.0".into()), "{found:?}");
        assert_eq!((&found[0]["claims"], &found[0]["of"]), (&20.into(), &20.into()), "{found:?}");
        assert!(found[0]["sentence"].as_str().expect("a sentence").contains("4.2.0"), "{found:?}");
        // The version of each holder is told as well.
        let listed = lines(&database.claimtop(&["list", "--json", "--now", &NOW.to_string()]));
        let versions: Vec<_> = listed.iter().filter(|claim| claim["session"]["version"] == "4.2.0").collect();
        assert_eq!(versions.len(), 20, "{listed:#?}");
    });
}

/// Where nobody registers, the claim itself may name the version.
#[test]
fn a_release_whose_jobs_hang_is_named_by_what_its_claims_say() {
    const TABLE: &str =
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, worker TEXT, build TEXT, taken BIGINT, beat BIGINT)";
    const PROFILE: &str = "title = 'Mine'\n[[claim]]\nname = 'job'\ntable = 'jobs'\nid = 'id'\nholder = 'worker'\n\
                           version = 'build'\nclaimed_at = 'taken'\ntime = 'unix_ms'\n\
                           deadline = { otherwise = '30m' }\n";
    on_both(|| {
        let database = Database::with(TABLE, &in_their_words(TABLE));
        let profile = database.beside("mine.toml");
        std::fs::write(&profile, PROFILE).expect("the profile");
        for job in 0..60 {
            let build = if job % 2 == 0 { "2026.10" } else { "2026.11" };
            // Those of one build are over; those of the other were all just taken.
            let taken = if build == "2026.11" { 40 * MINUTE + job * 7 * SECOND } else { job * SECOND };
            let row = (job, format!("web-{}-{}", job % 10, job / 2), build, NOW - taken);
            database.run("INSERT INTO jobs (id, worker, build, taken) VALUES (?1, ?2, ?3, ?4)", row);
        }
        let now = NOW.to_string();
        let output = database.claimtop(&[
            "check",
            "--json",
            "--now",
            &now,
            "--profile",
            profile.to_str().expect("UTF-8"),
        ]);
        let found = json(&output)["causes"].as_array().expect("causes").clone();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0]["by"], &found[0]["name"]), (&"version".into(), &"2026.11".into()), "{found:?}");
    });
}

#[test]
fn two_causes_at_once_are_both_named() {
    on_both(|| {
        let database = fleet();
        silence(&database, "web-3", 11 * MINUTE);
        silence(&database, "web-7", 25 * MINUTE);
        let mut names: Vec<String> = causes(&database)
            .iter()
            .map(|cause| cause["name"].as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["web-3", "web-7"]);
    });
}

#[test]
fn sessions_that_die_here_and_there_have_no_cause() {
    on_both(|| {
        let database = fleet();
        for (at, name) in ["web-1-0", "web-4-1", "web-6-2", "web-8-0"].iter().enumerate() {
            let silent_for = (11 + 17 * i64::try_from(at).expect("small")) * MINUTE;
            database.run("UPDATE sessions SET last_heartbeat = ?1 WHERE id = ?2", (NOW - silent_for, name));
            let silent = "UPDATE task_claims SET last_heartbeat = ?1 WHERE session_id = ?2";
            database.run(silent, (NOW - silent_for, name));
        }
        assert_eq!(causes(&database), Vec::<Json>::new());
    });
}

#[test]
fn few_claims_in_trouble_have_no_cause_and_cost_nothing() {
    on_both(|| {
        let database = fleet();
        silence(&database, "web-3", 11 * MINUTE);
        database
            .run("DELETE FROM task_claims WHERE session_id LIKE 'web-3-%' AND task_id NOT LIKE '%-0'", []);
        assert_eq!(causes(&database), Vec::<Json>::new());
    });
}

/// Groups are what the facts of a source say, on every engine.
#[test]
fn groups_say_how_much_of_how_much_and_what_a_reclaim_would_do() {
    on_both(|| {
        let database = fleet();
        silence(&database, "web-3", 11 * MINUTE);
        // One claim is over its lease while its holder beats.
        database
            .run("UPDATE task_claims SET expires_at = ?1 WHERE task_id = 'web-5-0-task-0'", [NOW - MINUTE]);
        let options = database.options(Profiles::Detect(Library::built_in()), |_| ());
        let mut reader = Reader::open(options).expect("a reader");
        reader.poll().expect("a poll");
        let facts = reader.facts("tasks").expect("facts");
        assert_eq!(find(&facts).len(), 1);
        let by_host = groups(&facts, GroupBy::Host);
        let shown: Vec<_> = by_host
            .iter()
            .map(|group| (group.name.as_deref(), group.in_trouble, group.of, group.silent, group.holders))
            .collect();
        assert_eq!(shown, [(Some("web-3"), 9, 9, 3, 3), (Some("web-5"), 1, 9, 0, 3)]);
        assert_eq!(by_host[0].patterns, ["web-3-*"]);
        assert_eq!(by_host[0].prospects.sentence(), "reclaim 9");
        assert_eq!(by_host[1].patterns, ["web-5-0"]);
        assert!(by_host[0].spread.is_some() && by_host[1].spread.is_none());
        let by_reason = groups(&facts, GroupBy::Reason);
        let reasons: Vec<_> =
            by_reason.iter().map(|group| (group.name.as_deref(), group.in_trouble)).collect();
        assert_eq!(reasons, [(Some("session_stale"), 9), (Some("lease_expired"), 1)]);
        // A silent host and each of its silent holders date from their last signs, not from a deadline.
        let last_sign = |name: &str| facts.holders.iter().find(|holder| holder.name == name)?.last_sign;
        let by_holder = groups(&facts, GroupBy::Holder);
        for group in by_holder.iter().filter(|group| group.silent > 0) {
            assert_eq!(group.since, last_sign(group.name.as_deref().expect("a name")), "{group:?}");
        }
        assert_eq!(
            by_host[0].since,
            by_holder.iter().filter_map(|group| group.since.filter(|_| group.silent > 0)).min()
        );
    });
}

#[test]
fn a_bulk_by_holders_kinds_or_reasons_takes_what_it_names_and_nothing_else() {
    on_both(|| {
        let database = fleet();
        let now = claimtop::store::clock().micros() / 1_000;
        let shift = now - NOW;
        silence(&database, "web-3", 11 * MINUTE);
        database.run(
            "UPDATE sessions SET last_heartbeat = last_heartbeat + ?1, started_at = started_at + ?1",
            [shift],
        );
        // An act goes by the real clock.
        database.run(
            "UPDATE task_claims SET claimed_at = claimed_at + ?1, expires_at = expires_at + ?1, last_heartbeat = last_heartbeat + ?1",
            [shift],
        );
        let reclaim = |options: &[&str]| {
            let mut command = database.command(&["reclaim"]);
            command.args(options).args(["--yes", "--json", "--reason", "INC-204"]);
            let output = command.output().expect("claimtop runs");
            let last = lines(&output).pop().unwrap_or_else(|| panic!("{}", stderr(&output)));
            let count =
                |key: &str| last[key].as_u64().unwrap_or_else(|| panic!("{last} {}", stderr(&output)));
            (count("wanted"), count("applied"), count("refused"))
        };
        assert_eq!(reclaim(&["--holder", "nobody-*"]), (0, 0, 0));
        assert_eq!(reclaim(&["--holder", "web-3-0", "--holder", "web-3-1", "--limit", "5"]), (5, 5, 0));
        assert_eq!(reclaim(&["--holder", "web-3-*", "--limit", "2"]), (2, 2, 0));
        assert_eq!(reclaim(&["--because", "session_stale"]), (2, 2, 0));
        assert_eq!(database.number("SELECT count(*) FROM task_claims"), HOSTS * SESSIONS * 3 - 9);
    });
}

/// The clock moves, nine hosts beat every five seconds, one has stopped: the second poll at the latest that finds five
/// of its claims in trouble names it.
#[test]
fn within_two_polls_of_the_first_orphans_the_host_is_named() {
    on_both(|| {
        let database = fleet();
        let options = database.options(Profiles::Detect(Library::built_in()), |_| ());
        let mut reader = Reader::open(options).expect("a reader");
        silence(&database, "web-3", 0);
        let mut polls_in_trouble = 0;
        for second in 0..700 {
            let now = NOW + second * SECOND;
            if second % 5 == 0 {
                let others = "WHERE id NOT LIKE 'web-3-%'";
                database.run(&format!("UPDATE sessions SET last_heartbeat = ?1 {others}"), [now]);
                let others = "WHERE session_id NOT LIKE 'web-3-%'";
                database.run(&format!("UPDATE task_claims SET last_heartbeat = ?1 {others}"), [now]);
            }
            // Nothing can be in trouble before its silence is too long.
            if second < 4 * 60 {
                continue;
            }
            reader.freeze(Moment::from_micros(now * 1_000).expect("an instant"));
            let snapshots = reader.poll().expect("a poll");
            let counts = snapshots[0].counts();
            if counts.stale + counts.orphaned < 5 {
                continue;
            }
            polls_in_trouble += 1;
            let causes = find(&reader.facts("tasks").expect("facts"));
            let Some(cause) = causes.first() else {
                assert!(polls_in_trouble < 2, "two polls, and no cause");
                continue;
            };
            let sentence = format!(
                "web-3 silent since 11:59:58, all 3 sessions within 2 s: {} claims",
                counts.stale.max(counts.orphaned)
            );
            assert_eq!((causes.len(), cause.to_string()), (1, sentence));
            return;
        }
        panic!("nothing came into trouble");
    });
}
