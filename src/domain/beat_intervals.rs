//! How often claims and sessions usually beat, learned from what polls saw, and which of them are late by that measure.
//!
//! Late is not a set: it is said before a threshold is reached, and no act rests on it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use super::board_id::BoardId;
use super::claim::{Claim, Registry};
use super::time::{Moment, Span};
use super::verdict::{Set, Verdict};

/// So many usual intervals may pass before a beat is late.
const INTERVALS: i64 = 3;
/// Nothing is late before this.
const SOONEST: Span = Span::seconds(15);
/// So many gaps or ages are needed.
const ENOUGH: usize = 3;
/// The newest gaps that are kept of a group.
const KEPT: usize = 64;

/// How long after its last beat something is late.
pub fn late_after(usual: Span) -> Span {
    usual.times(INTERVALS).max(SOONEST)
}

/// The usual interval by one look. While sessions beat, the ages of their last beats are spread evenly over one
/// interval, so that half of them are younger than half of it.
pub fn interval_of_ages(mut ages: Vec<Span>) -> Option<Span> {
    if ages.len() < ENOUGH {
        return None;
    }
    ages.sort_unstable();
    Some(ages[ages.len() / 2].max(Span::ZERO).times(2))
}

/// How a claim beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeatPace {
    pub usual: Span,
    /// Since its last beat.
    pub silent: Span,
}

impl BeatPace {
    pub fn is_late(self) -> bool {
        self.silent > late_after(self.usual)
    }

    /// Whether it has to be said: a claim that is stale or orphaned is past being late.
    pub fn is_worth_saying(self, verdict: &Verdict) -> bool {
        self.is_late() && matches!(verdict.headline(), Set::Healthy | Set::Expiring)
    }
}

/// "beats every 30s, silent for 4m12s".
impl fmt::Display for BeatPace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "beats every {}, silent for {}", rounded(self.usual), rounded(self.silent))
    }
}

/// To a second: heartbeats are never exact.
fn rounded(span: Span) -> Span {
    let second = 1_000_000;
    if span.as_micros() < second {
        return span;
    }
    Span::micros((span.as_micros() + second / 2) / second * second)
}

/// Who beats alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum BeatGroup {
    /// The claims of one kind, by their own heartbeat.
    Kind(BoardId, Option<String>),
    /// One session of a profile.
    Session(String, String),
    /// All sessions of a profile.
    Sessions(String),
}

/// Something that beats.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Beater {
    Claim(BoardId, String, Option<String>, Option<Moment>),
    Session(String, String),
}

#[derive(Debug, Clone, Default)]
struct Learned {
    /// Times between two beats that were seen, the newest last.
    gaps: VecDeque<Span>,
    /// The interval by the ages of one look.
    estimate: Option<Span>,
}

impl Learned {
    fn usual(&self) -> Option<Span> {
        if self.gaps.len() < ENOUGH {
            return self.estimate;
        }
        let mut gaps: Vec<Span> = self.gaps.iter().copied().collect();
        gaps.sort_unstable();
        Some(gaps[gaps.len() / 2])
    }
}

/// The usual intervals of one source.
#[derive(Debug, Clone, Default)]
pub struct BeatIntervals {
    groups: BTreeMap<BeatGroup, Learned>,
    last: HashMap<Beater, Moment>,
}

impl BeatIntervals {
    /// Learns from every claim of some boards, at every poll that reads them whole. What is no longer held is
    /// forgotten.
    pub fn observe<'a>(&mut self, claims: impl IntoIterator<Item = (&'a BoardId, &'a Claim)>) {
        let mut last = HashMap::new();
        let mut gaps: Vec<(BeatGroup, Span)> = Vec::new();
        for (board, claim) in claims {
            for (beater, group, beat) in beats(board, claim) {
                let seen_before = last.insert(beater.clone(), beat).is_some();
                let gap = self.last.get(&beater).map(|known| beat.since(*known));
                if let Some(gap) = gap.filter(|gap| gap.is_positive() && !seen_before) {
                    gaps.push((group, gap));
                }
            }
        }
        self.last = last;
        for (group, gap) in gaps {
            if let BeatGroup::Session(profile, _) = &group {
                self.learn(BeatGroup::Sessions(profile.clone()), gap);
            }
            self.learn(group, gap);
        }
        let is_there = |profile: &String, name: &String| {
            self.last.contains_key(&Beater::Session(profile.clone(), name.clone()))
        };
        self.groups.retain(|group, _| match group {
            BeatGroup::Session(profile, name) => is_there(profile, name),
            BeatGroup::Kind(..) | BeatGroup::Sessions(_) => true,
        });
    }

    fn learn(&mut self, group: BeatGroup, gap: Span) {
        let gaps = &mut self.groups.entry(group).or_default().gaps;
        gaps.push_back(gap);
        if gaps.len() > KEPT {
            gaps.pop_front();
        }
    }

    /// Estimates intervals from the ages of healthy claims that were read once.
    pub fn estimate<'a>(&mut self, claims: impl IntoIterator<Item = (&'a BoardId, &'a Claim)>, now: Moment) {
        let mut ages: BTreeMap<BeatGroup, Vec<Span>> = BTreeMap::new();
        let mut seen = HashMap::new();
        for (board, claim) in claims {
            for (beater, group, beat) in beats(board, claim) {
                if seen.insert(beater, ()).is_none() {
                    let group = match group {
                        BeatGroup::Session(profile, _) => BeatGroup::Sessions(profile),
                        group => group,
                    };
                    ages.entry(group).or_default().push(now.since(beat).max(Span::ZERO));
                }
            }
        }
        for (group, ages) in ages {
            self.groups.entry(group).or_default().estimate = interval_of_ages(ages);
        }
    }

    /// How a claim beats, if its usual interval is known: by its own heartbeat, or else by its session's.
    pub fn pace(&self, board: &BoardId, claim: &Claim, now: Moment) -> Option<BeatPace> {
        let own = claim.beat_at.at().zip(self.usual(&BeatGroup::Kind(board.clone(), claim.kind.clone())));
        // A heartbeat may be left over from an earlier attempt.
        let own = own.map(|(beat, usual)| (claim.claimed_at.at().map_or(beat, |at| beat.max(at)), usual));
        let (beat, usual) = own.or_else(|| {
            let Registry::Listed(session) = &claim.registry else { return None };
            let usual = self.session(board.profile(), claim.holder.as_deref()?)?;
            Some((session.beat_at.at()?, usual))
        })?;
        Some(BeatPace { usual, silent: now.since(beat).max(Span::ZERO) })
    }

    /// How often a session beats: by its own beats, or else by those of all.
    pub fn session(&self, profile: &str, name: &str) -> Option<Span> {
        let own = self.usual(&BeatGroup::Session(profile.into(), name.into()));
        own.or_else(|| self.usual(&BeatGroup::Sessions(profile.into())))
    }

    fn usual(&self, group: &BeatGroup) -> Option<Span> {
        self.groups.get(group).and_then(Learned::usual)
    }
}

/// What of a claim beats: itself, and its session.
fn beats(board: &BoardId, claim: &Claim) -> impl Iterator<Item = (Beater, BeatGroup, Moment)> {
    let own = claim.beat_at.at().map(|beat| {
        let beater =
            Beater::Claim(board.clone(), claim.key.address(), claim.holder.clone(), claim.claimed_at.at());
        (beater, BeatGroup::Kind(board.clone(), claim.kind.clone()), beat)
    });
    let session = match (&claim.registry, &claim.holder) {
        (Registry::Listed(session), Some(name)) => session.beat_at.at().map(|beat| {
            let profile = board.profile().to_owned();
            let beater = Beater::Session(profile.clone(), name.clone());
            (beater, BeatGroup::Session(profile, name.clone()), beat)
        }),
        _ => None,
    };
    own.into_iter().chain(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::claim::Session;
    use crate::domain::rules::{DeadlineRule, Rules};
    use crate::domain::time::Reading;
    use crate::domain::value::{Key, Value};
    use crate::domain::verdict::judge;

    fn at(seconds: i64) -> Moment {
        Moment::from_micros(seconds * 1_000_000).expect("an instant")
    }

    fn claim(id: &str, claimed: i64, beat: i64) -> Claim {
        Claim {
            key: Key(vec![Value::Text(id.into())]),
            kind: Some("mail".into()),
            holder: Some(format!("worker-{id}")),
            claimed_at: Reading::At(at(claimed)),
            beat_at: Reading::At(at(beat)),
            ..Claim::blank()
        }
    }

    fn board() -> BoardId {
        BoardId::new("queue", "job")
    }

    #[test]
    fn an_interval_is_learned_from_the_beats_of_a_kind() {
        let (board, mut known) = (board(), BeatIntervals::default());
        for beat in [0, 30, 61, 90] {
            let seen = [claim("a", 0, beat), claim("b", 0, beat + 5)];
            known.observe(seen.iter().map(|claim| (&board, claim)));
        }
        let pace = known.pace(&board, &claim("c", 0, 100), at(352)).expect("a pace");
        assert_eq!(pace.to_string(), "beats every 30s, silent for 4m12s");
        assert!(pace.is_late());
        assert!(!known.pace(&board, &claim("c", 0, 100), at(180)).expect("a pace").is_late());
        // A new attempt with the heartbeat of an earlier one.
        assert!(!known.pace(&board, &claim("c", 340, 100), at(352)).expect("a pace").is_late());
    }

    #[test]
    fn a_claim_without_a_heartbeat_is_measured_by_its_session() {
        let (board, mut known) = (board(), BeatIntervals::default());
        let of_session = |beat: i64| Claim {
            beat_at: Reading::Absent,
            registry: Registry::Listed(Session {
                beat_at: Reading::At(at(beat)),
                stale_at: None,
                started_at: Reading::Absent,
            }),
            ..claim("a", 0, 0)
        };
        for beat in [0, 10, 20, 30] {
            // Two claims of one session are one heartbeat.
            known.observe([(&board, &of_session(beat)), (&board, &of_session(beat))]);
        }
        let pace = known.pace(&board, &of_session(30), at(90)).expect("a pace");
        assert_eq!((pace.usual, pace.silent), (Span::seconds(10), Span::minutes(1)));
        assert!(pace.is_late());
        known.observe([]);
        assert_eq!(known.session("queue", "worker-a"), Some(Span::seconds(10)), "that of all sessions stays");
    }

    #[test]
    fn one_look_is_enough_for_an_estimate_and_few_claims_are_not() {
        let (board, mut known) = (board(), BeatIntervals::default());
        let claims: Vec<Claim> = (0..60).map(|age| claim(&age.to_string(), 0, 1_000 - age)).collect();
        known.estimate(claims[..2].iter().map(|claim| (&board, claim)), at(1_000));
        assert_eq!(known.pace(&board, &claims[0], at(1_000)), None);
        known.estimate(claims.iter().map(|claim| (&board, claim)), at(1_000));
        let usual = known.pace(&board, &claims[0], at(1_000)).expect("a pace").usual;
        assert_eq!(usual, Span::minutes(1));
    }

    #[test]
    fn late_is_said_only_of_claims_that_are_not_stale_already() {
        let pace = BeatPace { usual: Span::seconds(30), silent: Span::minutes(4) };
        let mut rules = Rules::new(DeadlineRule::Ttl);
        rules.thresholds.ttl = Some(Span::minutes(30));
        let verdict = judge(&claim("a", 0, 0), &rules, at(240));
        assert!(pace.is_worth_saying(&verdict));
        assert!(verdict.reasons.is_empty(), "late is no reason");
        let verdict = judge(&claim("a", 0, 0), &rules, at(1_801));
        assert!(!pace.is_worth_saying(&verdict));
    }
}
