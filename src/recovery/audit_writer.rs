//! Writes records of acts on one source: intents, outcomes, and the rows of a batch.

use serde_json::{Value as Json, json};

use super::trail::{Record, RecordStage, RecordedEvidence, RowToWrite, UserIdentity};
use crate::domain::recovery::{Authorization, Outcome, TERMINATE};
use crate::domain::verdict::Reason;
use crate::store::session::END;
use crate::store::{
    Acted, Actor, Backend, Differences, Images, Order, Pending, Registered, Seen, Side, clock,
};

/// Who started an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActInitiator {
    /// A person, on the command line or the dashboard.
    Operator,
    /// An automatic sweep.
    Sweeper,
}

impl ActInitiator {
    /// Marks the record with the initiator.
    pub(super) fn sign(self, record: Record) -> Record {
        match self {
            ActInitiator::Operator => record,
            ActInitiator::Sweeper => Record { by: "sweeper".into(), ..record },
        }
    }
}

/// Who acts on which source, and what was added to the act.
pub(super) struct AuditWriter<'a> {
    pub(super) who: &'a UserIdentity,
    pub(super) source: &'a str,
    pub(super) fingerprint: &'a str,
    pub(super) authorization: &'a Authorization,
}

impl AuditWriter<'_> {
    pub(super) fn intent(&self, order: &Order<'_>, pending: &Pending<'_>) -> Record {
        Record {
            profile: pending.seen.place.board.profile().into(),
            board: pending.seen.place.board.board().into(),
            before: Images { changes: pending.changes, side: Side::Before }.json(),
            after: Images { changes: pending.changes, side: Side::After }.json(),
            db_at: Some(pending.db_at.rfc3339()),
            transaction: pending.transaction.map(str::to_owned),
            ..self.of_claim(
                RecordStage::Intent,
                (order.action_id, order.action.as_str()),
                pending.seen,
                &pending.address,
            )
        }
    }

    pub(super) fn outcome(&self, actor: &Actor, seen: &Seen, order: &Order<'_>, acted: &Acted) -> Record {
        let (profile, board) = actor.names(seen);
        Record {
            profile,
            board,
            outcome: Some(acted.outcome.as_str().into()),
            why: acted.outcome.why().or_else(|| acted.effects.sentence()),
            ..self.of_claim(
                RecordStage::Outcome,
                (order.action_id, order.action.as_str()),
                seen,
                &actor.address(seen),
            )
        }
    }

    /// The termination of a server session: its intent or its outcome.
    pub(super) fn terminate(
        &self,
        stage: RecordStage,
        id: &str,
        seen: &Seen,
        backend: Option<&Backend>,
    ) -> Record {
        let mut record = self.of_claim(stage, (id, TERMINATE), seen, &seen.address());
        record.profile = seen.place.board.profile().into();
        record.board = seen.place.board.board().into();
        record.evidence["backend"] = json!(backend);
        record
    }

    fn of_claim(&self, stage: RecordStage, (id, action): (&str, &str), seen: &Seen, address: &str) -> Record {
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
            ..self.blank(stage, id, action)
        }
    }

    /// What all acts of a batch on one board share.
    pub(super) fn shared(&self, stage: RecordStage, actor: &Actor, seen: &Seen, order: &Order<'_>) -> Record {
        let (profile, board) = actor.names(seen);
        Record { profile, board, ..self.blank(stage, order.action_id, order.action.as_str()) }
    }

    /// The intent of one act of a batch.
    pub(super) fn line<'a>(
        &self,
        n: usize,
        pending: &'a Pending<'_>,
    ) -> RowToWrite<'a, Images<'a>, Differences<'a>> {
        RowToWrite {
            before: Some(Images { changes: pending.changes, side: Side::Before }),
            after: Some(Differences(pending.changes)),
            evidence: Some(self.evidence(pending.seen)),
            ..self.row(n, &pending.address, pending.seen)
        }
    }

    /// An act of a batch with a different outcome than the others. The evidence for an act that was not done is not
    /// repeated: somebody else may have been faster with many of them.
    pub(super) fn exception<'a>(
        &self,
        n: usize,
        address: &'a str,
        seen: &'a Seen,
        outcome: &'a str,
        why: Option<&'a str>,
    ) -> RowToWrite<'a, Images<'a>, Differences<'a>> {
        RowToWrite { outcome: Some(outcome), why, ..self.row(n, address, seen) }
    }

    fn row<'a>(
        &self,
        n: usize,
        address: &'a str,
        seen: &'a Seen,
    ) -> RowToWrite<'a, Images<'a>, Differences<'a>> {
        RowToWrite {
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

    fn evidence<'a>(&self, seen: &'a Seen) -> RecordedEvidence<'a> {
        RecordedEvidence {
            conclusion: seen.conclusion.as_str(),
            forced: self.authorization.force,
            kind: seen.judged.claim.kind.as_deref(),
            process: seen.judged.claim.worker.process.as_str(),
            reasons: seen.judged.verdict.reasons.iter().map(Reason::as_str).collect(),
            why: &seen.why,
        }
    }

    /// The end of a registered session: its intent or its outcome.
    pub(super) fn end(&self, stage: RecordStage, seen: &Registered, id: &str, acted: &Acted) -> Record {
        let is_outcome = stage == RecordStage::Outcome;
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

    /// The refusal to release a whole session.
    pub(super) fn refusal(&self, session: &str, id: &str, outcome: &Outcome) -> Record {
        Record {
            address: session.into(),
            holder: Some(session.into()),
            outcome: Some(outcome.as_str().into()),
            why: outcome.why(),
            ..self.blank(RecordStage::Outcome, id, "release")
        }
    }

    fn blank(&self, stage: RecordStage, action_id: &str, action: &str) -> Record {
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
