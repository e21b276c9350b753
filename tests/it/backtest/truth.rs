//! The backtest of a recording equals a sweep that knows the whole truth.

use super::*;
use fleet::End;

/// What a sweep at every poll would have taken, by the fleet's own events.
fn simulated(fleet: &Fleet, measure: Measure, threshold: Span) -> BTreeSet<TakeKey> {
    let last_poll = fleet.polls().last().expect("a poll");
    let mut takes = BTreeSet::new();
    for holding in &fleet.holdings {
        let sign = |now: i64| match measure {
            Measure::OrphanAfter => holding.last_beat(now).max(fleet.session_beat(holding.session, now)),
            Measure::Ttl | Measure::SilentAfter => holding.last_beat(now),
        };
        let is_taken = |now: &i64| now - sign(*now) > threshold.as_micros();
        if let Some(now) = fleet.polls_of(holding).find(is_taken) {
            let own = holding.beats.iter().copied().find(|beat| *beat > now);
            let session = match measure {
                Measure::OrphanAfter => fleet.next_session_beat(holding.session, now),
                Measure::Ttl | Measure::SilentAfter => None,
            };
            let own = own.into_iter().chain(session).min().filter(|own| *own < holding.end);
            let (next, outcome) = match (own, holding.how) {
                (Some(own), _) => (own, Outcome::Wrong),
                (None, End::Finished) => (holding.end, Outcome::Wrong),
                (None, End::Reclaimed) => (holding.end, Outcome::Right),
            };
            let outcome = match (next > last_poll, fleet.has_registry, own, outcome) {
                (true, ..) => Outcome::Undecided,
                (false, true, ..) | (false, false, Some(_), _) => outcome,
                // Without a registry only a new holder shows that the old one had it no more.
                (false, false, None, _) if is_taken_over(fleet, holding) => Outcome::Right,
                (false, false, None, _) => Outcome::Unclear,
            };
            takes.insert((at(now), Span::micros(now - sign(now)), outcome));
        }
    }
    takes
}

/// Whether the next poll saw another holder.
fn is_taken_over(fleet: &Fleet, holding: &Holding) -> bool {
    let next = fleet.polls().find(|poll| *poll >= holding.end);
    fleet.holdings.iter().any(|other| {
        other.task == holding.task
            && other.session != holding.session
            && next.is_some_and(|next| other.is_held(next))
    })
}

fn compare(fleet: &Fleet, measure: Measure) {
    let folder = tempfile::tempdir().expect("a folder");
    let series = series(&record(fleet, folder.path()), measure);
    let mut compared = 0;
    for threshold in (2..=40).map(|halves| Span::seconds(halves * 30)) {
        let (tested, truth) = (takes(&series, threshold), simulated(fleet, measure, threshold));
        let differ: Vec<_> = tested.symmetric_difference(&truth).collect();
        assert!(differ.is_empty(), "{measure:?} {threshold}: {differ:#?}");
        compared += truth.len();
    }
    assert!(compared > 300, "only {compared} takes were compared");
}

#[test]
fn a_ttl_takes_what_a_sweep_takes_that_knows_the_truth() {
    for (seed, every) in [(1, 2), (2, 2), (3, 10), (4, 30)] {
        compare(&Fleet::new(seed, 60, every), Measure::Ttl);
    }
}

#[test]
fn what_a_session_finished_just_before_it_died_was_taken_wrongly() {
    let held = |task: &str, end: i64, how: End| Holding {
        task: task.into(),
        session: 0,
        start: 0,
        beats: vec![0],
        end: end * 1_000_000,
        how,
    };
    let last_beat = 300;
    let holdings =
        vec![held("done", last_beat + 5, End::Finished), held("dead", last_beat + 960, End::Reclaimed)];
    let fleet = Fleet::of_one_session(last_beat, holdings);
    let folder = tempfile::tempdir().expect("a folder");
    let series = series(&record(&fleet, folder.path()), Measure::Ttl);
    let taken = |outcome| (at(122_000_000), Span::seconds(122), outcome);
    assert_eq!(
        takes(&series, Span::minutes(2)),
        BTreeSet::from([taken(Outcome::Right), taken(Outcome::Wrong)])
    );
}

#[test]
fn orphan_after_takes_what_a_sweep_takes_that_knows_the_truth() {
    for (seed, every) in [(11, 2), (12, 2), (13, 10)] {
        compare(&Fleet::new(seed, 60, every), Measure::OrphanAfter);
    }
}

#[test]
fn without_a_registry_what_vanishes_is_unclear() {
    let mut fleet = Fleet::new(21, 60, 2);
    fleet.has_registry = false;
    compare(&fleet, Measure::Ttl);
    let folder = tempfile::tempdir().expect("a folder");
    let series = series(&record(&fleet, folder.path()), Measure::Ttl);
    let tested = &series.test(&[Span::minutes(5)])[0];
    assert!(tested.unclear > 0 && tested.wrongly_at_most() > tested.wrongly, "{tested:?}");
}

#[test]
fn thresholds_that_the_recording_cannot_judge_are_named() {
    let fleet = Fleet::new(1, 60, 2);
    let folder = tempfile::tempdir().expect("a folder");
    let series = series(&record(&fleet, folder.path()), Measure::Ttl);
    let tested = series.test(&[Span::seconds(30), Span::minutes(5), Span::minutes(20)]);
    let why: Vec<Option<String>> = tested.iter().map(|one| one.judgement.why_not()).collect();
    assert_eq!(why[0].as_deref(), Some("the recording has no silences shorter than 1m"));
    assert_eq!(why[1], None);
    assert!(why[2].as_deref().is_some_and(|why| why.starts_with("half of the dead claims")), "{why:?}");
    let recovery = series.recovery().expect("deaths");
    assert!(recovery.as_micros() >= fleet::RECOVERY, "{recovery}");
    // The dead are gone before: a threshold of 20 minutes misses them, which is no merit.
    assert!(tested[2].missed > tested[2].right && tested[1].missed == 0, "{tested:?}");
}
