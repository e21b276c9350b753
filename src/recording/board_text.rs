//! What is true of a board at every poll, and the parts of a poll that are no counts, as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::claim::{Role, StampedBy};
use crate::domain::fencing::Fencing;
use crate::domain::recovery::Action;
use crate::domain::rules::{DeadlineRule, Rules, Thresholds};
use crate::domain::snapshot::{BoardSnapshot, Census, Extension, Gaps, HeldBy, Nature, Sessions, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Reason;
use crate::domain::zone_doubt::ZoneDoubt;

#[derive(Debug, Serialize, Deserialize)]
struct NatureText {
    role: String,
    deadline: String,
    thresholds: ThresholdsText,
    #[serde(default)]
    kinds: BTreeMap<String, ThresholdsText>,
    clock_noise: i64,
    tick: i64,
    session_tick: i64,
    doubt: Option<DoubtText>,
    stamped_by: String,
    fenced: Option<bool>,
    held_by: String,
    self_heals_after: Option<i64>,
    acts: Vec<String>,
    extension: String,
    zone: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ThresholdsText {
    ttl: Option<i64>,
    lease: i64,
    warn_before: Option<i64>,
    silent_after: i64,
    orphan_after: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DoubtText {
    Shifted { by: i64, read_as: String },
    Undetermined(String),
}

const ROLES: [(Role, &str); 3] = [(Role::Task, "task"), (Role::Job, "job"), (Role::Lock, "lock")];
const DEADLINES: [(DeadlineRule, &str); 6] = [
    (DeadlineRule::Lease, "lease"),
    (DeadlineRule::Timeout, "timeout"),
    (DeadlineRule::Ttl, "ttl"),
    (DeadlineRule::Holder, "holder"),
    (DeadlineRule::Never, "never"),
    (DeadlineRule::Endless, "endless"),
];
const STAMPED: [(StampedBy, &str); 2] = [(StampedBy::Holder, "holder"), (StampedBy::Database, "database")];
const HELD: [(HeldBy, &str); 2] = [(HeldBy::Row, "row"), (HeldBy::Session, "session")];
const EXTENSIONS: [(Extension, &str); 2] = [(Extension::AnyLength, "any_length"), (Extension::Anew, "anew")];
const ACTIONS: [Action; 4] = [Action::Reclaim, Action::Release, Action::Extend, Action::Requeue];

/// The word of a value; every value is in its table.
fn word<T: PartialEq>(all: &[(T, &'static str)], value: &T) -> String {
    all.iter().find(|(known, _)| known == value).map_or("", |(_, word)| *word).into()
}

fn value<T: Copy>(all: &[(T, &'static str)], word: &str) -> Option<T> {
    all.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
}

impl ThresholdsText {
    fn of(thresholds: &Thresholds) -> ThresholdsText {
        ThresholdsText {
            ttl: thresholds.ttl.map(Span::as_micros),
            lease: thresholds.lease.as_micros(),
            warn_before: thresholds.warn_before.map(Span::as_micros),
            silent_after: thresholds.silent_after.as_micros(),
            orphan_after: thresholds.orphan_after.as_micros(),
        }
    }

    fn thresholds(self) -> Thresholds {
        Thresholds {
            ttl: self.ttl.map(Span::micros),
            lease: Span::micros(self.lease),
            warn_before: self.warn_before.map(Span::micros),
            silent_after: Span::micros(self.silent_after),
            orphan_after: Span::micros(self.orphan_after),
        }
    }
}

pub(super) fn nature_text(nature: &Nature) -> String {
    let rules = &nature.rules;
    let kinds = rules.kinds.iter().map(|(kind, limits)| (kind.clone(), ThresholdsText::of(limits)));
    super::row_text::text(&NatureText {
        role: word(&ROLES, &nature.role),
        deadline: word(&DEADLINES, &rules.deadline),
        thresholds: ThresholdsText::of(&rules.thresholds),
        kinds: kinds.collect(),
        clock_noise: rules.clock_noise.as_micros(),
        tick: rules.tick.as_micros(),
        session_tick: rules.session_tick.as_micros(),
        doubt: rules.doubt.as_deref().map(|doubt| match doubt {
            ZoneDoubt::Shifted { by, read_as } => {
                DoubtText::Shifted { by: by.as_micros(), read_as: read_as.clone() }
            }
            ZoneDoubt::Undetermined(why) => DoubtText::Undetermined(why.clone()),
        }),
        stamped_by: word(&STAMPED, &nature.stamped_by),
        fenced: nature.fencing.written(),
        held_by: word(&HELD, &nature.held_by),
        self_heals_after: nature.self_heals_after.map(Span::as_micros),
        acts: nature.acts.iter().map(|action| action.as_str().into()).collect(),
        extension: word(&EXTENSIONS, &nature.extension),
        zone: nature.zone.clone(),
    })
}

pub(super) fn read_nature(text: &str) -> Option<Nature> {
    let text: NatureText = serde_json::from_str(text).ok()?;
    let acts = text.acts.iter();
    let acts = acts.map(|word| ACTIONS.into_iter().find(|action| action.as_str() == word));
    Some(Nature {
        role: value(&ROLES, &text.role)?,
        rules: Rules {
            deadline: value(&DEADLINES, &text.deadline)?,
            thresholds: text.thresholds.thresholds(),
            kinds: text.kinds.into_iter().map(|(kind, limits)| (kind, limits.thresholds())).collect(),
            clock_noise: Span::micros(text.clock_noise),
            tick: Span::micros(text.tick),
            session_tick: Span::micros(text.session_tick),
            doubt: text.doubt.map(|doubt| {
                Arc::new(match doubt {
                    DoubtText::Shifted { by, read_as } => {
                        ZoneDoubt::Shifted { by: Span::micros(by), read_as }
                    }
                    DoubtText::Undetermined(why) => ZoneDoubt::Undetermined(why),
                })
            }),
        },
        stamped_by: value(&STAMPED, &text.stamped_by)?,
        fencing: Fencing::of(text.fenced),
        held_by: value(&HELD, &text.held_by)?,
        self_heals_after: text.self_heals_after.map(Span::micros),
        acts: acts.collect::<Option<Vec<_>>>()?,
        extension: value(&EXTENSIONS, &text.extension)?,
        zone: text.zone,
    })
}

/// How many claims have each reason, in the order of [`Reason::ALL`]; zeros at the end are left out.
pub(super) fn reasons_text(reasons: &BTreeMap<Reason, u64>) -> String {
    let mut counts: Vec<u64> =
        Reason::ALL.iter().map(|reason| reasons.get(reason).copied().unwrap_or(0)).collect();
    while counts.last() == Some(&0) {
        counts.pop();
    }
    super::row_text::text(&counts)
}

pub(super) fn read_reasons(text: &str) -> Option<BTreeMap<Reason, u64>> {
    let counts: Vec<u64> = serde_json::from_str(text).ok()?;
    Some(Reason::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect())
}

/// What a poll found on a board besides its counts.
#[derive(Debug, Serialize, Deserialize, Default)]
pub(super) struct Details {
    /// The registry, and the sessions in all, alive and stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sessions: Option<(String, u64, u64, u64)>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    backlog: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oldest_queued: Option<i64>,
    /// Rows that the census looked at, since when, and whether it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    census: Option<(u64, i64, bool)>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inexact: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    indexes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    backlog_at_least: Vec<String>,
}

pub(super) fn details_text(board: &BoardSnapshot) -> String {
    let gaps = &board.gaps;
    super::row_text::text(&Details {
        sessions: board.sessions.as_ref().map(|all| (all.registry.clone(), all.total, all.alive, all.stale)),
        backlog: board.backlog.clone(),
        oldest_queued: board.oldest_queued.map(Moment::micros),
        census: gaps.census.map(|census| (census.looked_at, census.since.micros(), census.complete)),
        more: gaps.more,
        total_since: gaps.total_since.map(Moment::micros),
        inexact: gaps.reasons.iter().map(|reason| reason.as_str().into()).collect(),
        indexes: gaps.indexes.clone(),
        backlog_at_least: gaps.backlog.clone(),
    })
}

/// Puts the details into a board.
pub(super) fn read_details(text: &str, board: &mut BoardSnapshot) -> Option<()> {
    let details: Details = serde_json::from_str(text).ok()?;
    board.sessions =
        details.sessions.map(|(registry, total, alive, stale)| Sessions { registry, total, alive, stale });
    board.backlog = details.backlog;
    board.oldest_queued = details.oldest_queued.and_then(Moment::from_micros);
    let census = match details.census {
        Some((looked_at, since, complete)) => {
            Some(Census { looked_at, since: Moment::from_micros(since)?, complete })
        }
        None => None,
    };
    let reason = |word: &String| Reason::ALL.into_iter().find(|reason| reason.as_str() == word);
    board.gaps = Gaps {
        census,
        more: details.more,
        total_since: details.total_since.and_then(Moment::from_micros),
        reasons: details.inexact.iter().map(reason).collect::<Option<Vec<_>>>()?,
        indexes: details.indexes,
        backlog: details.backlog_at_least,
    };
    Some(())
}

/// What a snapshot tells besides its boards and its clock.
#[derive(Debug, Serialize, Deserialize, Default, PartialEq)]
pub(super) struct Notes {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generic: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub veiled: Option<String>,
    /// About the whole source: the same in every profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Notes {
    pub(super) fn of(snapshot: &Snapshot, warnings: &[String]) -> Notes {
        Notes {
            generic: snapshot.generic,
            notices: snapshot.notices.clone(),
            replica: snapshot.replica.map(Span::as_micros),
            veiled: snapshot.veiled.clone(),
            warnings: warnings.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_a_board_are_read_as_they_were_written() {
        for (deadline, _) in DEADLINES {
            let mut rules = Rules::new(deadline);
            rules
                .kinds
                .insert("mail".into(), Thresholds { ttl: Some(Span::seconds(5)), ..Thresholds::default() });
            rules.doubt =
                Some(Arc::new(ZoneDoubt::Shifted { by: Span::minutes(-60), read_as: "utc".into() }));
            let nature = Nature {
                role: Role::Lock,
                rules,
                stamped_by: StampedBy::Database,
                fencing: Fencing::Unfenced,
                held_by: HeldBy::Session,
                self_heals_after: Some(Span::minutes(3)),
                acts: vec![Action::Reclaim, Action::Extend],
                extension: Extension::AnyLength,
                zone: Some("utc".into()),
            };
            assert_eq!(read_nature(&nature_text(&nature)), Some(nature));
        }
    }

    #[test]
    fn reasons_are_read_as_they_were_written() {
        let all: BTreeMap<Reason, u64> = Reason::ALL.into_iter().zip(1..).collect();
        for reasons in [BTreeMap::new(), all, [(Reason::TtlExceeded, 3)].into()] {
            assert_eq!(read_reasons(&reasons_text(&reasons)), Some(reasons));
        }
    }
}
