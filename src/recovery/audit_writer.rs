//! Writing down acts on one source: intents, outcomes, and the lines of a batch.

use serde_json::{Value as Json, json};

use super::trail::{Evidence, Line, Record, Stage, Who};
use crate::domain::recovery::{Authorization, Outcome};
use crate::domain::verdict::Reason;
use crate::store::session::END;
use crate::store::{Acted, Actor, Differences, Images, Order, Pending, Registered, Seen, Side, clock};

/// In whose name acts are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Somebody who looked.
    Operator,
    /// Nobody was watching.
    Sweeper,
}

impl By {
    /// The record, in this name.
    pub(super) fn sign(self, record: Record) -> Record {
        match self {
            By::Operator => record,
            By::Sweeper => Record { by: "sweeper".into(), ..record },
        }
    }
}

/// Knows who acts, on what, and what they said to it.
pub(super) struct AuditWriter<'a> {
    pub(super) who: &'a Who,
    pub(super) source: &'a str,
    pub(super) fingerprint: &'a str,
    pub(super) authorization: &'a Authorization,
}

impl AuditWriter<'_> {
    pub(super) fn intent(&self, order: &Order<'_>, pending: &Pending<'_>) -> Record {
        Record {
            profile: pending.profile.into(),
            board: pending.board.into(),
            before: Images { changes: pending.changes, side: Side::Before }.json(),
            after: Images { changes: pending.changes, side: Side::After }.json(),
            db_at: Some(pending.db_at.rfc3339()),
            transaction: pending.transaction.map(str::to_owned),
            ..self.of_claim(Stage::Intent, order, pending.seen, &pending.address)
        }
    }

    pub(super) fn outcome(&self, actor: &Actor, seen: &Seen, order: &Order<'_>, acted: &Acted) -> Record {
        let (profile, board) = actor.names(seen);
        Record {
            profile,
            board,
            outcome: Some(acted.outcome.as_str().into()),
            why: acted.outcome.why().or_else(|| acted.effects.sentence()),
            ..self.of_claim(Stage::Outcome, order, seen, &actor.address(seen))
        }
    }

    fn of_claim(&self, stage: Stage, order: &Order<'_>, seen: &Seen, address: &str) -> Record {
        let reasons: Vec<&str> = seen.judged.verdict.reasons.iter().map(Reason::as_str).collect();
        Record {
            address: address.into(),
            holder: seen.judged.claim.holder.clone(),
            evidence: json!({
                "reasons": reasons,
                "conclusion": seen.conclusion.as_str(),
                "why": seen.why,
                "process": seen.judged.claim.worker.process.as_str(),
                "forced": self.authorization.force,
                "kind": seen.judged.claim.kind,
            }),
            ..self.blank(stage, order.action_id, order.action.as_str())
        }
    }

    /// What all acts of a batch on one board share.
    pub(super) fn shared(&self, stage: Stage, actor: &Actor, seen: &Seen, order: &Order<'_>) -> Record {
        let (profile, board) = actor.names(seen);
        Record { profile, board, ..self.blank(stage, order.action_id, order.action.as_str()) }
    }

    /// One act of a batch, about to be done.
    pub(super) fn line<'a>(
        &self,
        n: usize,
        pending: &'a Pending<'_>,
    ) -> Line<'a, Images<'a>, Differences<'a>> {
        Line {
            before: Some(Images { changes: pending.changes, side: Side::Before }),
            after: Some(Differences(pending.changes)),
            evidence: Some(self.evidence(pending.seen)),
            ..self.row(n, &pending.address, pending.seen)
        }
    }

    /// One act of a batch that came to something else than the others. What speaks for an act that was not
    /// done is not repeated: there may be many that somebody else was quicker with.
    pub(super) fn exception<'a>(
        &self,
        n: usize,
        address: &'a str,
        seen: &'a Seen,
        outcome: &'a str,
        why: Option<&'a str>,
    ) -> Line<'a, Images<'a>, Differences<'a>> {
        Line { outcome: Some(outcome), why, ..self.row(n, address, seen) }
    }

    fn row<'a>(&self, n: usize, address: &'a str, seen: &'a Seen) -> Line<'a, Images<'a>, Differences<'a>> {
        Line {
            address,
            before: None,
            after: None,
            evidence: None,
            holder: seen.judged.claim.holder.as_deref(),
            n,
            outcome: None,
            why: None,
        }
    }

    fn evidence<'a>(&self, seen: &'a Seen) -> Evidence<'a> {
        Evidence {
            conclusion: seen.conclusion.as_str(),
            forced: self.authorization.force,
            kind: seen.judged.claim.kind.as_deref(),
            process: seen.judged.claim.worker.process.as_str(),
            reasons: seen.judged.verdict.reasons.iter().map(Reason::as_str).collect(),
            why: &seen.why,
        }
    }

    /// The end of a session: about to be done, or done.
    pub(super) fn end(&self, stage: Stage, seen: &Registered, id: &str, acted: &Acted) -> Record {
        let is_outcome = stage == Stage::Outcome;
        let image = |side| if is_outcome { Json::Null } else { acted.images(side) };
        Record {
            profile: seen.profile.clone(),
            board: seen.table.clone(),
            address: seen.address(),
            holder: seen.id.text(),
            evidence: json!({
                "given_up": seen.is_stale,
                "beat_at": seen.session.beat_at.at().map(|beat| beat.rfc3339()),
                "process": seen.worker.process.as_str(),
                "why": seen.worker.evidence,
                "forced": self.authorization.force,
            }),
            before: image(Side::Before),
            after: image(Side::After),
            db_at: (!is_outcome).then(|| clock().rfc3339()),
            outcome: is_outcome.then(|| acted.outcome.as_str().into()),
            why: acted.outcome.why().filter(|_| is_outcome),
            transaction: acted.transaction.clone(),
            ..self.blank(stage, id, END)
        }
    }

    /// That a whole session may not be released.
    pub(super) fn refusal(&self, session: &str, id: &str, outcome: &Outcome) -> Record {
        Record {
            address: session.into(),
            holder: Some(session.into()),
            outcome: Some(outcome.as_str().into()),
            why: outcome.why(),
            ..self.blank(Stage::Outcome, id, "release")
        }
    }

    fn blank(&self, stage: Stage, action_id: &str, action: &str) -> Record {
        Record {
            stage,
            action_id: action_id.into(),
            action: action.into(),
            at: clock().rfc3339(),
            db_at: None,
            by: "operator".into(),
            who: self.who.clone(),
            source: self.source.into(),
            fingerprint: self.fingerprint.into(),
            profile: String::new(),
            board: String::new(),
            address: String::new(),
            holder: None,
            reason: self.authorization.reason.clone(),
            evidence: Json::Null,
            before: Json::Null,
            after: Json::Null,
            outcome: None,
            why: None,
            refers_to: None,
            transaction: None,
            batch: None,
            inferred: false,
            tool: tool(),
        }
    }
}

pub(super) fn tool() -> String {
    format!("claimtop {}", env!("CARGO_PKG_VERSION"))
}
