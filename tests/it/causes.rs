//! A cause is named if there is one, and none if there is not: on invented fleets, many of each kind.

use claimtop::domain::cause::{Cause, ClaimFact, Dimension, Facts, HolderFact, Prospect, find};
use claimtop::domain::time::{Moment, Span};
use claimtop::domain::verdict::Reason;
use std::collections::BTreeSet;

use crate::support::figures;

/// A small generator of its own, so that a seed means the same fleet everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn share(&mut self) -> f64 {
        self.next() as f64 / u64::MAX as f64
    }
}

const KINDS: [&str; 5] = ["mail", "report", "reindex", "thumbnail", "invoice"];

/// A fleet of healthy holders, each of which has taken a few claims.
struct Fleet {
    dice: Dice,
    now: Moment,
    beat: Span,
    hosts: usize,
    facts: Facts,
}

impl Fleet {
    fn new(seed: u64) -> Fleet {
        let mut dice = Dice(seed);
        let now = Moment::parse("2026-11-15T03:24:41Z").expect("an instant");
        let beat = Span::seconds(i64::try_from(dice.between(5, 30)).expect("small"));
        let hosts = dice.between(10, 30) as usize;
        let sessions = dice.between(3, 10) as usize;
        let facts = Facts::default();
        let mut fleet = Fleet { dice, now, beat, hosts, facts };
        for host in 0..hosts {
            for _ in 0..sessions {
                fleet.add_holder(host);
            }
        }
        fleet
    }

    fn ago(&self, span: Span) -> Moment {
        self.now.minus(span)
    }

    fn part_of(&mut self, span: Span) -> Span {
        Span::micros((span.as_micros() as f64 * self.dice.share()) as i64)
    }

    fn add_holder(&mut self, host: usize) {
        let age = self.part_of(self.beat);
        let number = self.facts.holders.len();
        self.facts.holders.push(HolderFact {
            source: "tasks.db".into(),
            name: format!("web-{host}:{}", 4_000 + number),
            host: Some(format!("web-{host}")),
            version: Some(if host.is_multiple_of(2) { "v1".into() } else { "v2".into() }),
            seen_at: self.now,
            is_session: true,
            last_sign: Some(self.ago(age)),
            started_at: Some(self.ago(Span::minutes(600))),
            given_up: false,
        });
        for _ in 0..self.dice.between(2, 6) {
            let kind = KINDS[self.dice.between(0, 4) as usize];
            let held = self.part_of(Span::minutes(40));
            self.facts.claims.push(ClaimFact {
                holder: number,
                board: "task".into(),
                kind: Some(kind.into()),
                lock: None,
                trouble: None,
                prospect: Prospect::Free,
                count: 1,
                since: None,
                claimed_at: Some(self.ago(held)),
                is_due: held > Span::minutes(20),
            });
        }
    }

    /// Ends a holder: its last beat lies this far back.
    fn kill(&mut self, holder: usize, ago: Span) {
        let phase = self.part_of(self.beat);
        let sign = self.ago(ago.plus(phase));
        let fact = &mut self.facts.holders[holder];
        fact.last_sign = Some(sign);
        fact.given_up = true;
        for claim in self.facts.claims.iter_mut().filter(|claim| claim.holder == holder) {
            claim.trouble = Some(Reason::SessionStale);
            claim.since = Some(sign);
        }
    }

    fn kill_host(&mut self, host: usize, ago: Span) {
        let name = format!("web-{host}");
        for at in 0..self.facts.holders.len() {
            if self.facts.holders[at].host.as_deref() == Some(&name) {
                self.kill(at, ago);
            }
        }
    }

    /// Every due claim for which the test holds hangs.
    fn hang(&mut self, is_hit: impl Fn(&HolderFact, &ClaimFact) -> bool) {
        let (Facts { holders, claims }, now) = (&mut self.facts, self.now);
        for claim in claims.iter_mut().filter(|claim| claim.is_due && !holders[claim.holder].given_up) {
            if is_hit(&holders[claim.holder], claim) {
                claim.trouble = Some(Reason::TtlExceeded);
                claim.since = Some(now.minus(Span::minutes(10)));
            }
        }
    }

    /// A few holders die at any time, a few claims hang: what goes on every day.
    fn add_noise(&mut self) {
        let deaths = self.dice.share() * 0.03;
        for at in 0..self.facts.holders.len() {
            if self.dice.share() < deaths {
                let ago = self.part_of(Span::minutes(120)).plus(Span::minutes(10));
                self.kill(at, ago);
            }
        }
        let stuck = self.dice.share() * 0.02;
        for at in 0..self.facts.claims.len() {
            if self.dice.share() < stuck {
                let held = self.part_of(Span::minutes(20)).plus(Span::minutes(20));
                let taken = self.ago(held);
                let claim = &mut self.facts.claims[at];
                claim.claimed_at = Some(taken);
                claim.trouble = Some(Reason::TtlExceeded);
                claim.is_due = true;
            }
        }
    }
}

/// What is to be found.
type Truth = BTreeSet<(Dimension, String)>;

fn named(causes: &[Cause]) -> Truth {
    let names = |cause: &Cause| {
        let by = cause.by;
        cause.names.iter().map(move |name| (by, name.clone())).collect::<Vec<_>>()
    };
    causes.iter().flat_map(names).collect()
}

/// How often the right causes were named, of all that there were, and how many wrong ones.
#[derive(Default)]
struct Score {
    right: usize,
    missed: usize,
    wrong: usize,
}

impl Score {
    fn add(&mut self, found: &Truth, truth: &Truth) {
        self.right += found.intersection(truth).count();
        self.missed += truth.difference(found).count();
        self.wrong += found.difference(truth).count();
    }

    fn precision(&self) -> f64 {
        self.right as f64 / (self.right + self.wrong).max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.right as f64 / (self.right + self.missed).max(1) as f64
    }
}

fn seeds() -> u64 {
    std::env::var("CLAIMTOP_FLEETS").ok().and_then(|count| count.parse().ok()).unwrap_or(100)
}

/// Runs a scenario on many fleets; `strike` says what it did.
fn score(name: &str, strike: impl Fn(&mut Fleet) -> Vec<(Dimension, String)>) -> Score {
    let mut score = Score::default();
    for seed in 0..seeds() {
        let mut fleet = Fleet::new(seed * 7 + 1);
        fleet.add_noise();
        let truth: Truth = strike(&mut fleet).into_iter().collect();
        score.add(&named(&find(&fleet.facts)), &truth);
    }
    figures::tell(&format!(
        "causes, {name}: precision {:.2}, recall {:.2} over {} fleets",
        score.precision(),
        score.recall(),
        seeds()
    ));
    score
}

fn host(at: usize) -> (Dimension, String) {
    (Dimension::Host, format!("web-{at}"))
}

#[track_caller]
fn expect(score: &Score, precision: f64, recall: f64) {
    let (p, r) = (score.precision(), score.recall());
    assert!(p >= precision && r >= recall, "precision {p:.3}, recall {r:.3}");
}

#[test]
fn a_host_that_dies_is_named() {
    let score = score("a host dies", |fleet| {
        fleet.kill_host(3, Span::minutes(12));
        vec![host(3)]
    });
    expect(&score, 0.98, 0.97);
}

#[test]
fn two_hosts_that_die_at_different_times_are_both_named() {
    let score = score("two hosts, 15 min apart", |fleet| {
        fleet.kill_host(2, Span::minutes(12));
        fleet.kill_host(7, Span::minutes(27));
        vec![host(2), host(7)]
    });
    expect(&score, 0.98, 0.97);
}

#[test]
fn three_hosts_that_are_cut_off_together_are_one_cause() {
    let score = score("three hosts partitioned", |fleet| {
        for at in 1..=3 {
            fleet.kill_host(at, Span::minutes(12));
        }
        (1..=3).map(host).collect()
    });
    expect(&score, 0.98, 0.97);
    let mut fleet = Fleet::new(5);
    for at in 1..=3 {
        fleet.kill_host(at, Span::minutes(12));
    }
    assert_eq!(find(&fleet.facts).len(), 1, "one moment, one cause");
}

#[test]
fn a_kind_that_hangs_is_named() {
    let score = score("a kind hangs", |fleet| {
        fleet.hang(|_, claim| claim.kind.as_deref() == Some("reindex"));
        vec![(Dimension::Kind, "reindex".into())]
    });
    expect(&score, 0.98, 0.95);
}

#[test]
fn a_bad_version_is_named() {
    let score = score("a bad version", |fleet| {
        fleet.hang(|holder, _| holder.version.as_deref() == Some("v2"));
        vec![(Dimension::Version, "v2".into())]
    });
    expect(&score, 0.95, 0.95);
}

#[test]
fn a_dead_host_and_a_hanging_kind_are_both_named() {
    let score = score("a host dies and a kind hangs", |fleet| {
        fleet.kill_host(4, Span::minutes(12));
        fleet.hang(|_, claim| claim.kind.as_deref() == Some("reindex"));
        vec![host(4), (Dimension::Kind, "reindex".into())]
    });
    expect(&score, 0.97, 0.93);
}

#[test]
fn a_database_that_everybody_has_left_is_everything() {
    for seed in 0..seeds() {
        let mut fleet = Fleet::new(seed);
        for at in 0..fleet.hosts {
            fleet.kill_host(at, Span::minutes(12));
        }
        let causes = find(&fleet.facts);
        assert_eq!(
            causes.iter().map(|cause| cause.by).collect::<Vec<_>>(),
            [Dimension::Everything],
            "{seed}"
        );
    }
}

#[test]
fn deaths_that_have_nothing_in_common_have_no_cause() {
    let mut false_alarms = 0;
    for seed in 0..seeds() {
        let mut fleet = Fleet::new(seed + 1_000);
        fleet.add_noise();
        let share = 0.05 + fleet.dice.share() * 0.25;
        for at in 0..fleet.facts.holders.len() {
            if fleet.dice.share() < share {
                let ago = fleet.part_of(Span::minutes(120)).plus(Span::minutes(10));
                fleet.kill(at, ago);
            }
        }
        let causes = find(&fleet.facts);
        for cause in &causes {
            eprintln!(
                "fleet {seed}: {cause}, {} of {} holders of {} hosts died",
                cause.holders,
                fleet.facts.holders.len(),
                fleet.hosts
            );
        }
        false_alarms += causes.len().min(1);
    }
    figures::tell(&format!("causes, random deaths: {false_alarms} of {} fleets with a false cause", seeds()));
    assert_eq!(false_alarms, 0);
}

#[test]
fn a_quiet_fleet_has_no_cause() {
    for seed in 0..seeds() {
        let mut fleet = Fleet::new(seed);
        fleet.add_noise();
        assert_eq!(find(&fleet.facts), [], "{seed}");
    }
}
