//! Facts, gathered from the claims and the holders of one source.

use std::collections::HashMap;

use super::facts::{ClaimFact, Facts, HolderFact, Prospect};
use super::hosts::hosts_of_names;
use crate::domain::claim::{Claim, Lease, Role};
use crate::domain::detail::Holder;
use crate::domain::evidence::{Conclusion, conclude};
use crate::domain::recovery::{self, Action, Authorization, Needs, Refusal, permit};
use crate::domain::rules::{DeadlineRule, Rules};
use crate::domain::snapshot::{Judged, Nature};
use crate::domain::time::{Moment, Reading, Span};
use crate::domain::verdict::{Reason, Set};

/// The facts of one source as they come together.
#[derive(Debug)]
pub struct Gathering {
    source: String,
    facts: Facts,
    /// What the claims of each holder say of it.
    seen: Vec<HolderClaims>,
    /// The number of each holder, by its profile and its name.
    numbers: HashMap<(String, String), usize>,
}

/// What claims say of their holder.
#[derive(Debug, Clone, Copy, Default)]
struct HolderClaims {
    claims: usize,
    in_trouble: usize,
    /// One of them shows that it works.
    lives: bool,
    /// They name several versions: none of them is the holder's.
    has_several_versions: bool,
}

/// The board that a claim is of, and the clock that it was read by.
#[derive(Debug, Clone, Copy)]
pub struct ClaimsOf<'a> {
    pub profile: &'a str,
    pub board: &'a str,
    pub role: Role,
    pub rules: &'a Rules,
    pub now: Moment,
}

impl<'a> ClaimsOf<'a> {
    pub fn new(profile: &'a str, board: &'a str, nature: &'a Nature, now: Moment) -> ClaimsOf<'a> {
        ClaimsOf { profile, board, role: nature.role, rules: &nature.rules, now }
    }
}

impl Gathering {
    pub fn of(source: &str) -> Gathering {
        Gathering {
            source: source.into(),
            facts: Facts::default(),
            seen: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Adds a holder that a registry lists.
    pub fn add_session(&mut self, holder: &Holder) {
        let name = holder.id.text().unwrap_or_else(|| holder.id.visible());
        let at = self.number(&holder.profile, &name, holder.now);
        let fact = &mut self.facts.holders[at];
        fact.host = holder.worker.host.clone();
        fact.version = holder.worker.version.clone();
        fact.last_sign = holder.beat_at.at();
        fact.started_at = holder.started_at.at();
        fact.given_up = holder.is_stale;
        fact.is_session = true;
    }

    /// Adds a claim that stands for so many.
    pub fn add_claim(&mut self, of: &ClaimsOf<'_>, judged: &Judged, count: u64) {
        let (claim, verdict) = (&judged.claim, &judged.verdict);
        let at = self.number(of.profile, claim.holder.as_deref().unwrap_or_default(), of.now);
        let conclusion = conclude(claim, verdict, of.rules, of.now);
        let is_bad = |reason: &Reason| matches!(reason.set(), Set::Stale | Set::Orphaned);
        let trouble = verdict.reasons.iter().find(is_bad);
        let seen = &mut self.seen[at];
        seen.claims += 1;
        seen.in_trouble += usize::from(trouble.is_some());
        seen.lives |= matches!(conclusion, Conclusion::Alive | Conclusion::Slow);
        let holder = &mut self.facts.holders[at];
        if holder.host.is_none() {
            holder.host = claim.worker.host.clone();
        }
        seen.has_several_versions |= match (&holder.version, &claim.worker.version) {
            (Some(known), Some(named)) => known != named,
            _ => false,
        };
        if holder.version.is_none() {
            holder.version = claim.worker.version.clone();
        }
        // A session's own beat tells when it was last heard of; a claim only if it beats.
        let sign = if holder.is_session { claim.beat_at.at() } else { claim.sign_of_life() };
        holder.last_sign = holder.last_sign.max(sign);
        let passed = verdict.deadline.filter(|deadline| *deadline < of.now);
        self.facts.claims.push(ClaimFact {
            holder: at,
            board: of.board.into(),
            kind: claim.kind.clone(),
            lock: (of.role == Role::Lock).then(|| claim.key.visible()),
            trouble,
            since: trouble.and_then(|_| passed.or(holder.last_sign)),
            claimed_at: claim.claimed_at.at(),
            is_due: is_due(claim, of.rules, of.now),
            prospect: prospect(judged, conclusion),
            count,
        });
    }

    /// The number of a holder, which is new if nobody has named it.
    fn number(&mut self, profile: &str, name: &str, now: Moment) -> usize {
        let key = (profile.to_owned(), name.to_owned());
        let (source, facts, seen) = (&self.source, &mut self.facts, &mut self.seen);
        *self.numbers.entry(key).or_insert_with(|| {
            facts.holders.push(HolderFact {
                source: source.clone(),
                name: name.into(),
                host: None,
                version: None,
                seen_at: now,
                last_sign: None,
                started_at: None,
                given_up: false,
                is_session: false,
            });
            seen.push(HolderClaims::default());
            facts.holders.len() - 1
        })
    }

    /// The facts, with what only all of them together tell.
    pub fn facts(mut self) -> Facts {
        for (holder, seen) in self.facts.holders.iter_mut().zip(&self.seen) {
            // Where nobody registers, a holder is gone if nothing of it works any more.
            let is_gone = seen.claims > 0 && seen.in_trouble == seen.claims;
            holder.given_up = (if holder.is_session { holder.given_up } else { is_gone }) && !seen.lives;
            if seen.has_several_versions {
                holder.version = None;
            }
        }
        let nameless = self.facts.holders.iter_mut().filter(|holder| holder.host.is_none());
        let nameless: Vec<&mut HolderFact> = nameless.filter(|holder| !holder.name.is_empty()).collect();
        let names: Vec<&str> = nameless.iter().map(|holder| holder.name.as_str()).collect();
        let hosts = hosts_of_names(&names);
        for (holder, host) in nameless.into_iter().zip(hosts) {
            holder.host = host;
        }
        self.facts
    }
}

/// Whether a claim has had the time to get into trouble. One that nothing renews leaves its table in time or
/// is in trouble: there all claims count.
fn is_due(claim: &Claim, rules: &Rules, now: Moment) -> bool {
    let limits = rules.for_kind(claim.kind.as_deref());
    let is_renewed = claim.beat_at != Reading::Absent || rules.deadline == DeadlineRule::Lease;
    let may_take: Option<Span> = match (rules.deadline, &claim.lease) {
        (DeadlineRule::Ttl, _) => limits.ttl,
        (DeadlineRule::Timeout, Lease::Timeout(timeout)) => timeout.span(),
        (DeadlineRule::Lease, _) => Some(limits.lease),
        _ => return false,
    };
    let held = claim.claimed_at.at().map(|since| now.since(since));
    !is_renewed || matches!((held, may_take), (Some(held), Some(may_take)) if held > may_take)
}

/// What the rules would answer to a plain reclaim.
fn prospect(judged: &Judged, conclusion: Conclusion) -> Prospect {
    let (claim, verdict) = (&judged.claim, &judged.verdict);
    match permit(Action::Reclaim, claim, verdict, conclusion, &Authorization::default()) {
        Ok(()) => Prospect::Free,
        Err(Refusal::NotPermitted { cause: recovery::PermissionCause::ProcessAlive { .. }, .. }) => {
            Prospect::Alive
        }
        Err(Refusal::NotPermitted { needs: Needs::Holder { .. }, .. }) => Prospect::NeedsName,
        Err(_) => Prospect::Refused,
    }
}
