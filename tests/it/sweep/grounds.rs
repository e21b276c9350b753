//! What may be taken without anyone watching: a table over the pure function, and the program itself.

use claimtop::domain::claim::{Claim, Lease, Process, Registry, Session, Worker};
use claimtop::domain::rules::{DeadlineRule, Rules, Thresholds};
use claimtop::domain::time::{Moment, Reading, Span};
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::{Reason, judge};
use claimtop::sweep::{SkipReason, SweepReason, SweepSets, ground};

use super::*;

pub(super) fn rules(deadline: DeadlineRule) -> Rules {
    Rules {
        deadline,
        thresholds: Thresholds { ttl: Some(Span::minutes(30)), ..Thresholds::default() },
        kinds: std::collections::BTreeMap::new(),
        clock_noise: Span::seconds(2),
        tick: Span::micros(1),
        session_tick: Span::micros(1),
        doubt: None,
    }
}

/// Minutes after the start of 2026.
pub(super) fn at(minutes: i64) -> Moment {
    Moment::parse("2026-01-01T00:00:00Z").expect("a time").plus(Span::minutes(minutes))
}

/// A claim made two hours before minute 1000, with a session that beats and a lease that runs.
pub(super) fn claim() -> Claim {
    Claim {
        key: Key(vec![Value::Text("t".into())]),
        kind: None,
        holder: Some("s".into()),
        claimed_at: Reading::At(at(880)),
        beat_at: Reading::At(at(999)),
        lease: Lease::Until(Reading::At(at(1_020))),
        registry: session(999),
        worker: Worker::new(Value::Null, None),
        disowned: false,
        alive: false,
        attempts: None,
        max_attempts: None,
        error: None,
    }
}

pub(super) fn session(beat: i64) -> Registry {
    Registry::Listed(Session {
        beat_at: Reading::At(at(beat)),
        stale_at: None,
        started_at: Reading::At(at(1)),
    })
}

fn found(
    rule: DeadlineRule,
    wanted: SweepSets,
    change: impl FnOnce(&mut Claim),
) -> Result<SweepReason, SkipReason> {
    let (mut claim, rules, now) = (claim(), rules(rule), at(1_000));
    change(&mut claim);
    let verdict = judge(&claim, &rules, now);
    ground(&claim, &verdict, &rules, now, wanted)
}

#[test]
fn every_reason_is_ground_or_is_not() {
    use DeadlineRule::{Lease as Leased, Ttl};
    let both = |rule, change: fn(&mut Claim)| found(rule, SweepSets::Both, change);
    let over = |claim: &mut Claim| claim.lease = Lease::Until(Reading::At(at(999)));
    let expired = Ok(SweepReason::Expired(Reason::LeaseExpired));
    let stale = Ok(SweepReason::Orphaned(Reason::SessionStale));
    assert_eq!(both(Leased, |_| {}), Err(SkipReason::NoGround), "a healthy claim");
    assert_eq!(found(Leased, SweepSets::Both, over), expired, "a lease that is over");
    assert_eq!(
        both(Ttl, |claim| claim.beat_at = Reading::At(at(960))),
        Ok(SweepReason::Expired(Reason::TtlExceeded)),
        "a TTL that is over"
    );
    assert_eq!(
        both(Leased, |claim| claim.beat_at = Reading::At(at(980))),
        Err(SkipReason::NoGround),
        "heartbeat_silent alone"
    );
    assert_eq!(
        both(Leased, |claim| claim.registry = Registry::Missing),
        Ok(SweepReason::Orphaned(Reason::SessionMissing))
    );
    assert_eq!(
        both(Leased, |claim| claim.worker.process = Process::Dead),
        Ok(SweepReason::Orphaned(Reason::ProcessDead))
    );
    let silent = |claim: &mut Claim, beat: Reading| {
        claim.registry = session(900);
        claim.beat_at = beat;
    };
    for (beat, expected) in [
        (Reading::Absent, stale),
        (Reading::Null, stale),
        (Reading::At(at(980)), stale),
        (Reading::At(at(995)), Err(SkipReason::ClaimLives)),
        (Reading::At(at(990)), Err(SkipReason::ClaimLives)),
        (Reading::Bad("x".into()), Err(SkipReason::ClaimLives)),
    ] {
        let said = format!("a silent session with {beat:?}");
        assert_eq!(found(Leased, SweepSets::Both, |claim| silent(claim, beat)), expected, "{said}");
    }
    let just_made = |claim: &mut Claim| {
        silent(claim, Reading::Absent);
        claim.claimed_at = Reading::At(at(999));
    };
    assert_eq!(
        found(Leased, SweepSets::Both, just_made),
        Err(SkipReason::ClaimLives),
        "a claim made just now"
    );
}

#[test]
fn the_living_and_those_with_wrong_clocks_are_spared_whatever_else_is_true() {
    let alive = |claim: &mut Claim| {
        claim.worker.process = Process::Alive;
        claim.lease = Lease::Until(Reading::At(at(900)));
        claim.registry = Registry::Missing;
    };
    assert_eq!(found(DeadlineRule::Lease, SweepSets::Both, alive), Err(SkipReason::Alive));
    let ahead = |claim: &mut Claim| {
        claim.beat_at = Reading::At(at(1_060));
        claim.lease = Lease::Until(Reading::At(at(900)));
    };
    assert_eq!(found(DeadlineRule::Lease, SweepSets::Both, ahead), Err(SkipReason::ClockSkew));
}

#[test]
fn only_the_grounds_that_were_asked_for_count() {
    let both = |claim: &mut Claim| {
        claim.lease = Lease::Until(Reading::At(at(900)));
        claim.registry = Registry::Missing;
    };
    let found = |wanted| found(DeadlineRule::Lease, wanted, both);
    assert_eq!(found(SweepSets::Both), Ok(SweepReason::Expired(Reason::LeaseExpired)));
    assert_eq!(found(SweepSets::Expired), Ok(SweepReason::Expired(Reason::LeaseExpired)));
    assert_eq!(found(SweepSets::Orphaned), Ok(SweepReason::Orphaned(Reason::SessionMissing)));
}

/// One claim for each reason, named for it.
fn mixed() -> Scene {
    let scene = Scene::new();
    scene.session("well", SECOND);
    scene.session("silent", 60 * MINUTE);
    scene.session("hushed", 60 * MINUTE);
    scene.task("1-healthy", "well", 20 * MINUTE, SECOND);
    scene.task("2-heartbeat-silent", "well", 20 * MINUTE, 8 * MINUTE);
    scene.task("3-session-missing", "nobody", 20 * MINUTE, SECOND);
    scene.task("4-lease-expired", "well", -MINUTE, SECOND);
    scene.task("5-session-stale", "silent", 20 * MINUTE, 30 * MINUTE);
    scene.task("6-session-stale-but-beats", "hushed", 20 * MINUTE, SECOND);
    // It has no heartbeat of its own, but its session shows by the other claim that it lives.
    scene.database.run(
        "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES ('7', 'hushed', ?1, ?2)",
        (now() - 60 * MINUTE, now() + 20 * MINUTE),
    );
    scene
}

#[test]
fn expired_goes_first_then_orphaned_and_nothing_else() {
    on_both(|| {
        let scene = mixed();
        let run = scene.sweep(&[]);
        let summary = run.summary(0);
        assert_eq!((&summary["applied"], &summary["held"]), (&Json::from(3), &Json::Null), "{run:#?}");
        assert_eq!(scene.held(), ["1-healthy", "2-heartbeat-silent", "6-session-stale-but-beats"]);
        assert_eq!(scene.number("SELECT count(*) FROM locks"), 1);
        let names: Vec<Json> = run.lines().iter().map(|line| line["event"].clone()).collect();
        let expected = [
            "claim:expired",
            "claims:cleanup",
            "claim:orphaned",
            "claim:orphaned",
            "claims:cleanup",
            "summary",
        ];
        assert_eq!(names, expected);
        let again = scene.sweep(&[]).summary(0);
        assert_eq!((&again["applied"], &again["left"]), (&Json::from(0), &Json::from(0)));
    });
}

#[test]
fn a_set_narrows_it_and_so_does_a_board() {
    on_both(|| {
        let scene = mixed();
        assert_eq!(scene.sweep(&["--set", "stale"]).tasks("claim:expired"), ["4-lease-expired"]);
        assert_eq!(scene.sweep(&["--board", "lock"]).summary(0)["applied"], 0);
        let orphans = scene.sweep(&["--set", "orphaned", "--board", "task"]);
        assert_eq!(orphans.tasks("claim:orphaned").len(), 2, "{orphans:#?}");
        assert_eq!(scene.sweep(&["--set", "expiring"]).code, 3);
        assert_eq!(scene.sweep(&["--board", "nowhere"]).code, 3);
    });
}

#[test]
fn events_have_the_names_and_fields_of_the_document_and_say_where() {
    on_both(|| {
        let scene = mixed();
        let file = scene.database.beside("events.jsonl");
        let run = scene.sweep(&["--events", file.to_str().expect("UTF-8")]);
        let lines = run.lines();
        let (expired, orphaned) = (&lines[0], &lines[2]);
        for field in ["taskId", "sessionId", "expiredAt", "ageMs", "source", "profile", "board", "address"] {
            assert!(!expired[field].is_null(), "no {field} in {expired}");
        }
        for field in ["taskId", "sessionId", "reason", "source", "profile", "board", "address", "actionId"] {
            assert!(!orphaned[field].is_null(), "no {field} in {orphaned}");
        }
        assert_eq!((&lines[1]["type"], &lines[1]["count"]), (&Json::from("expired"), &Json::from(1)));
        let kept = std::fs::read_to_string(file).expect("events");
        assert_eq!(kept.lines().collect::<Vec<_>>(), run.out.lines().take(5).collect::<Vec<_>>());
    });
}

#[test]
fn the_trail_names_the_sweeper_and_an_operator_can_undo_it() {
    on_both(|| {
        let scene = mixed();
        let run = scene.sweep(&[]);
        let outcomes = scene.outcomes();
        assert_eq!(outcomes.len(), 3);
        assert!(outcomes.iter().all(|record| record["by"] == "sweeper"), "{outcomes:#?}");
        for line in run.lines().iter().filter(|line| !line["actionId"].is_null()) {
            let undone = scene.run(&["undo", "DB", line["actionId"].as_str().expect("an id")]);
            assert_eq!(undone.code, 0, "{undone:#?}");
        }
        assert_eq!(scene.held().len(), 6);
        let last = scene.outcomes().pop().expect("a record");
        assert_eq!((&last["action"], &last["outcome"]), (&Json::from("undo"), &Json::from("applied")));
        assert_eq!(last["by"], "operator", "whoever takes it back is not the sweeper");
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

#[test]
fn a_batch_in_the_trail_names_the_sweeper_too() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(10);
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 10);
        let outcomes = scene.outcomes();
        assert!(outcomes.len() == 10 && outcomes.iter().all(|record| record["by"] == "sweeper"));
    });
}

#[test]
fn with_check_pid_the_living_are_spared_and_the_dead_are_taken() {
    on_both(|| {
        let scene = Scene::new();
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
        let registered = now();
        let mut gone = Command::new("true").spawn().expect("true");
        gone.wait().expect("its end");
        for (id, pid) in [("lives", child.id()), ("died", gone.id())] {
            scene.database.run(
                "INSERT INTO sessions VALUES (?1, '/p', 'cli', ?2, ?2, '{}', ?3)",
                (id, registered, pid),
            );
        }
        scene.task("expired-but-alive", "lives", -MINUTE, SECOND);
        scene.task("running-but-dead", "died", 20 * MINUTE, SECOND);
        let source = scene.database.source();
        scene.config(&format!("[source.here]\nat = {source:?}\nholders_on = \"this-host\"\n"));
        let run = scene.sweep(&["--check-pid"]);
        assert_eq!(run.tasks("claim:orphaned"), ["running-but-dead"], "{run:#?}");
        assert_eq!(scene.held(), ["expired-but-alive"]);
        child.kill().expect("killed");
        child.wait().expect("its end");
    });
}
