//! Workers whose clocks are up to an hour wrong, and whose sessions may never beat, simulated: with two
//! sightings no living worker loses its claim, and the dead do.

use crate::support::engine::is_fast;
use claimtop::domain::claim::{Claim, Lease};
use claimtop::domain::rules::DeadlineRule;
use claimtop::domain::time::{Moment, Reading, Span};
use claimtop::domain::verdict::judge;
use claimtop::sweep::{ObservedCandidate, RequiredSightings, Sightings, SweepSets, ground, unchanged_for};

use super::grounds::{at, claim, rules, session};

/// A small generator: the runs are the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, from: i64, to: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + ((self.0 >> 33) as i64) % (to - from)
    }
}

struct Worker {
    /// Minutes its clock is ahead.
    skew: i64,
    /// Minutes of a lease.
    lease: i64,
    /// Minutes between two renewals.
    renews: i64,
    dies: Option<i64>,
    /// As in the running code of coordination, which refreshes claims only.
    session_beats: bool,
    rule: DeadlineRule,
}

impl Worker {
    fn new(dice: &mut Dice) -> Worker {
        let rule = [DeadlineRule::Lease, DeadlineRule::Ttl][dice.roll(0, 2) as usize];
        // A TTL is the system's own: thirty minutes. A lease is as long as its worker likes.
        let lease = if rule == DeadlineRule::Ttl { 30 } else { dice.roll(5, 120) };
        let dies = (dice.roll(0, 4) == 0).then(|| dice.roll(10, 200));
        // Sessions are given up after ten minutes: a living one beats more often.
        let (skew, renews, session_beats) =
            (dice.roll(-60, 61), dice.roll(1, lease.min(10)), dice.roll(0, 3) > 0);
        Worker { skew, lease, renews, dies, session_beats, rule }
    }

    /// Its row at this minute: as of its last renewal, by its own clock.
    fn row(&self, minute: i64) -> Claim {
        let alive_until = self.dies.map_or(minute, |dies| dies.min(minute));
        let renewed = alive_until / self.renews * self.renews + self.skew;
        Claim {
            claimed_at: Reading::At(at(1_000 + self.skew)),
            beat_at: Reading::At(at(1_000 + renewed)),
            lease: Lease::Until(Reading::At(at(1_000 + renewed + self.lease))),
            registry: session(1_000 + if self.session_beats { renewed } else { self.skew }),
            ..claim()
        }
    }
}

/// Whether the worker's claim is taken within six hours, and when.
fn swept(worker: &Worker, every: i64, sighted: bool) -> Option<i64> {
    let rules = rules(worker.rule);
    let mut sightings = Sightings::default();
    (0..1_200).step_by(every as usize).find(|&minute| {
        let (claim, now): (Claim, Moment) = (worker.row(minute), at(1_000 + minute));
        let verdict = judge(&claim, &rules, now);
        let shown = match ground(&claim, &verdict, &rules, now, SweepSets::Both) {
            Ok(_) if !sighted => return true,
            Ok(ground) => vec![ObservedCandidate {
                address: "a".into(),
                mark: format!("{:?} {:?} {:?}", claim.beat_at, claim.lease, claim.registry),
                unchanged_for: unchanged_for(&claim, &rules, ground),
                needs: RequiredSightings::TwoLooks,
            }],
            Err(_) => Vec::new(),
        };
        sightings.observe(Span::minutes(minute), &shown).contains(&true)
    })
}

#[test]
fn with_two_sightings_no_living_worker_loses_its_claim_however_wrong_its_clock() {
    let rounds = if is_fast() { 100 } else { 1_000 };
    let mut dice = Dice(7);
    let (mut living, mut silent, mut would_have_lost, mut dead) = (0, 0, 0, 0);
    for _ in 0..rounds {
        let every = dice.roll(1, 6);
        for worker in (0..4).map(|_| Worker::new(&mut dice)).collect::<Vec<_>>() {
            let taken = swept(&worker, every, true);
            match worker.dies {
                None => {
                    living += 1;
                    silent += usize::from(!worker.session_beats);
                    would_have_lost += usize::from(swept(&worker, every, false).is_some());
                    assert_eq!(taken, None, "skew {} lease {}", worker.skew, worker.lease);
                }
                Some(dies) => {
                    dead += 1;
                    assert!(taken.is_some_and(|at| at > dies), "{taken:?}: it died at {dies}");
                }
            }
        }
    }
    // The simulation is worth something only if the clocks alone would have been wrong.
    assert!(
        living > rounds && silent > rounds / 2 && dead > rounds / 2 && would_have_lost > rounds / 2,
        "{would_have_lost}"
    );
}
