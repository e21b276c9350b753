//! The pure verdict: the table in scenarios, and what holds for every row whatever it says.

use claimtop::domain::claim::{Claim, Lease, Process, Registry, Session, Timeout, Worker};
use claimtop::domain::evidence::{conclude, why};
use claimtop::domain::rules::{DeadlineRule, Rules, Thresholds};
use claimtop::domain::time::{Moment, Reading, Span, TimeUnit};
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::{Reason, Set, judge};
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenarios {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    rule: String,
    kind: Option<String>,
    claim: BTreeMap<String, String>,
    verdict: String,
    reasons: Vec<String>,
    conclusion: String,
}

fn now() -> Moment {
    Moment::from_micros(NOW * 1_000).expect("now")
}

/// A distance from now: `-20m`, `5s`, `-5m 1ms`.
fn distance(text: &str) -> Reading {
    match text {
        "null" => return Reading::Null,
        "bad" => return Reading::Bad("the text \"bad\"".into()),
        _ => {}
    }
    let (sign, span) = text.strip_prefix('-').map_or((1, text), |span| (-1, span));
    Reading::At(now().plus(Span::parse(span).expect(text).times(sign)))
}

fn rules(rule: &str) -> Rules {
    let slow = Thresholds { ttl: Some(Span::minutes(30)), ..Thresholds::default() };
    Rules {
        deadline: match rule {
            "lease" => DeadlineRule::Lease,
            "timeout" => DeadlineRule::Timeout,
            "ttl" => DeadlineRule::Ttl,
            "holder" => DeadlineRule::Holder,
            "never" => DeadlineRule::Never,
            "endless" => DeadlineRule::Endless,
            other => panic!("no rule {other}"),
        },
        thresholds: Thresholds::default(),
        kinds: BTreeMap::from([("slow".to_owned(), slow)]),
        clock_noise: Span::seconds(2),
        tick: Span::millis(1),
        session_tick: Span::millis(1),
        doubt: None,
    }
}

impl Case {
    fn claim(&self) -> Claim {
        let time = |name: &str| self.claim.get(name).map_or(Reading::Absent, |text| distance(text));
        let registry = match self.claim.get("session").map(String::as_str) {
            None => Registry::None,
            Some("missing") => Registry::Missing,
            Some("unregistered") => Registry::Unregistered,
            Some(beat) => Registry::Listed(Session {
                beat_at: distance(beat),
                stale_at: None,
                started_at: Reading::Absent,
            }),
        };
        let lease = match (self.claim.get("until"), self.claim.get("timeout")) {
            (Some(until), _) => Lease::Until(distance(until)),
            (None, Some(timeout)) => Lease::Timeout(Timeout::After(Span::parse(timeout).expect("a timeout"))),
            (None, None) => Lease::Unwritten,
        };
        Claim {
            key: Key(vec![Value::Text("task-1".into())]),
            kind: self.kind.clone(),
            holder: Some("w7".into()),
            claimed_at: time("claimed"),
            beat_at: time("beat"),
            lease,
            registry,
            worker: Worker {
                process: match self.claim.get("process").map(String::as_str) {
                    Some("dead") => Process::Dead,
                    Some("alive") => Process::Alive,
                    _ => Process::Unknown,
                },
                ..Worker::new(Value::Int(7), None)
            },
            disowned: false,
            alive: false,
            attempts: None,
            max_attempts: None,
            error: None,
        }
    }
}

#[test]
fn the_verdict_table_holds_row_by_row() {
    let scenarios: Scenarios =
        toml::from_str(include_str!("scenarios/verdicts.toml")).expect("the scenarios");
    for case in scenarios.case {
        let (claim, rules) = (case.claim(), rules(&case.rule));
        let verdict = judge(&claim, &rules, now());
        let reasons: Vec<&str> = verdict.reasons.iter().map(Reason::as_str).collect();
        assert_eq!(reasons, case.reasons, "reasons: {}", case.name);
        assert_eq!(verdict.headline().as_str(), case.verdict, "verdict: {}", case.name);
        let conclusion = conclude(&claim, &verdict, &rules, now());
        assert_eq!(conclusion.as_str(), case.conclusion, "conclusion: {}", case.name);
        assert!(!why(&claim, &verdict, &rules, now()).is_empty(), "sentence: {}", case.name);
    }
}

fn readings() -> impl Strategy<Value = Reading> {
    prop_oneof![
        1 => Just(Reading::Absent),
        1 => Just(Reading::Null),
        1 => Just(Reading::Bad("rubbish".into())),
        6 => (-7_200_000i64..7_200_000).prop_map(|ms| Reading::At(now().plus(Span::millis(ms)))),
        1 => (Moment::EARLIEST.micros()..=Moment::LATEST.micros())
            .prop_map(|micros| Reading::At(Moment::from_micros(micros).expect("in range"))),
    ]
}

fn registries() -> impl Strategy<Value = Registry> {
    let session = (readings(), proptest::option::of(readings()), readings());
    let listed = session.prop_map(|(beat_at, stale_at, started_at)| {
        Registry::Listed(Session { beat_at, stale_at, started_at })
    });
    prop_oneof![
        1 => Just(Registry::None),
        1 => Just(Registry::Missing),
        1 => Just(Registry::Unregistered),
        4 => listed
    ]
}

fn leases() -> impl Strategy<Value = Lease> {
    let seconds =
        prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::Int), (0i64..7_200).prop_map(Value::Int)];
    prop_oneof![
        1 => Just(Lease::Unwritten),
        4 => readings().prop_map(Lease::Until),
        2 => seconds.prop_map(|value| Lease::Timeout(Timeout::read(&value))),
    ]
}

prop_compose! {
    fn claims()(
        kind in proptest::option::of("slow|other"),
        claimed_at in readings(),
        beat_at in readings(),
        lease in leases(),
        registry in registries(),
        process in prop_oneof![Just(Process::Alive), Just(Process::Dead), Just(Process::Unknown)],
        disowned in any::<bool>(),
        attempts in proptest::option::of(any::<i64>()),
        max_attempts in proptest::option::of(any::<i64>()),
    ) -> Claim {
        Claim {
            key: Key(vec![Value::Int(1)]),
            kind,
            holder: Some("w7".into()),
            claimed_at,
            beat_at,
            lease,
            registry,
            worker: Worker { process, ..Worker::new(Value::Int(7), None) },
            disowned,
            alive: false,
            attempts,
            max_attempts,
            error: None,
        }
    }
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let tick = prop_oneof![Just(Span::micros(1)), Just(Span::millis(1)), Just(Span::seconds(1))];
    let rule = prop_oneof![
        Just("lease"),
        Just("timeout"),
        Just("ttl"),
        Just("holder"),
        Just("never"),
        Just("endless")
    ];
    (rule, tick.clone(), tick).prop_map(|(rule, tick, session_tick)| Rules {
        tick,
        session_tick,
        ..rules(rule)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_verdict_never_panics_and_always_has_a_sentence(
        claim in claims(), rules in any_rules(),
        micros in Moment::EARLIEST.micros()..=Moment::LATEST.micros(),
    ) {
        let now = Moment::from_micros(micros).expect("in range");
        let verdict = judge(&claim, &rules, now);
        let _ = conclude(&claim, &verdict, &rules, now);
        prop_assert!(!why(&claim, &verdict, &rules, now).is_empty());
        prop_assert!(verdict.is_in(verdict.headline()));
        prop_assert_eq!(verdict.reasons.sets()[0], verdict.headline());
    }

    #[test]
    fn a_verdict_only_worsens_as_time_passes(
        claim in claims(), rules in any_rules(), start in -7_200_000i64..7_200_000, wait in 0i64..14_400_000,
    ) {
        let earlier = now().plus(Span::millis(start));
        let later = earlier.plus(Span::millis(wait));
        let headline = |at: Moment| {
            let verdict = judge(&claim, &rules, at);
            // A clock that was wrong comes right as time passes; that is no recovery of the claim.
            verdict.reasons.iter().filter(|reason| *reason != Reason::ClockSkew).map(Reason::set).min()
        };
        let badness = |set: Option<Set>| std::cmp::Reverse(set.unwrap_or(Set::Healthy));
        prop_assert!(badness(headline(later)) >= badness(headline(earlier)));
    }

    #[test]
    fn any_cell_can_be_read_as_any_time(bytes in proptest::collection::vec(any::<u8>(), 0..40), number in any::<i64>(), real in any::<f64>()) {
        let units = [
            TimeUnit::UnixS, TimeUnit::UnixMs, TimeUnit::UnixUs, TimeUnit::UnixNs, TimeUnit::TextUtc,
            TimeUnit::Timestamptz, TimeUnit::Timestamp,
        ];
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for value in [Value::Null, Value::Int(number), Value::Real(real), Value::Text(text), Value::Bytes(bytes)] {
            for unit in units {
                if let Reading::At(moment) = unit.read(&value) {
                    prop_assert!(moment >= Moment::EARLIEST && moment <= Moment::LATEST);
                }
            }
        }
    }
}

#[test]
fn adding_a_healthy_claim_changes_no_other_verdict() {
    let database = Database::new(COORDINATION);
    database.session("alive", 10 * SECOND);
    database.session("silent", 11 * MINUTE);
    for (id, session, expires_in) in [
        ("a", "alive", -1),
        ("b", "alive", 3 * MINUTE),
        ("c", "silent", 20 * MINUTE),
        ("d", "gone", -5),
        ("e", "alive", 20 * MINUTE),
    ] {
        database.task(id, session, expires_in);
    }
    let before = database.list(&[]);
    database.task("new", "alive", 25 * MINUTE);
    let after: Vec<_> = database.list(&[]).into_iter().filter(|claim| claim["id"] != "new").collect();
    assert_eq!(before, after);
    assert_eq!(database.claim("new")["verdict"], "healthy");
}
