//! Bulk acts: many acts in short transactions, each with one intent and one outcome, and pauses in between.

use std::collections::VecDeque;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::audit_writer::AuditWriter;
use super::audited_actor::{ActReport, AuditedActor, RecoveryError, report_of};
use super::trail::{
    AppendedRange, BatchRows, Position, Record, RecordStage, Trail, TrailError, new_action_id,
};
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::store::suspend::uninterrupted;
use crate::store::{Acted, Batch, Intents, Order, Pending, Seen, numbered, prefix};

/// How long a batch may block other writers. SQLite retries the lock after 1, 3, 8, 18 and 33 ms: a writer that finds
/// it taken gets it on one of these retries.
const BATCH: Duration = Duration::from_millis(28);
/// How long the acts of the first batch may take. Later batches are sized by the ones before.
const FIRST: Duration = Duration::from_millis(6);
const MOST_AT_ONCE: usize = 10_000;

/// The result of one transaction.
struct BatchResult {
    /// The id of the acts, and the common start of all addresses.
    id: String,
    prefix: String,
    batch: Batch,
    /// When other writers could continue.
    released: Instant,
    /// Why the outcomes are not on record.
    unwritten: Option<TrailError>,
}

/// The result of one act of a bulk.
#[derive(Debug)]
pub struct PerformedAct<'a> {
    pub seen: &'a Seen,
    pub acted: Acted,
    action: Action,
    /// The id of the transaction, and the act's number in it.
    id: &'a str,
    number: usize,
    prefix: &'a str,
    unwritten: Option<&'a TrailError>,
}

impl PerformedAct<'_> {
    pub fn action_id(&self) -> String {
        numbered(self.id, self.number)
    }

    pub fn address(&self) -> String {
        self.seen.address_after(self.prefix)
    }

    /// The full report of the act.
    pub fn report(self) -> ActReport {
        let (id, address) = (self.action_id(), self.address());
        let mut report = report_of(self.seen, id, address, self.action, self.acted);
        report.note_unrecorded(self.unwritten);
        report
    }
}

/// Receives the result of each act; `false` ends the bulk after the current transaction.
pub(super) type EachAct<'a> = dyn FnMut(PerformedAct<'_>) -> bool + 'a;

/// A running bulk.
#[derive(Debug)]
pub(super) struct BulkRun {
    /// The id that undoes all its acts.
    pub(super) batch: String,
    /// How long the acts of the next transaction may take.
    budget: Duration,
    /// The time spent in pauses.
    paused: Duration,
}

impl BulkRun {
    pub(super) fn new() -> BulkRun {
        BulkRun { batch: new_action_id(), budget: FIRST, paused: Duration::ZERO }
    }
}

impl AuditedActor {
    /// Does `action` to many claims, in short transactions with pauses in between, so that other writers can
    /// continue. `each` receives the result of every act, on a server in any order. If it returns `false`, no further
    /// transaction begins, but it still receives the results of those that were done. An error that would hit every
    /// further claim also ends the bulk. Returns the time spent in pauses.
    pub fn perform_all(
        &mut self,
        all: Vec<&Seen>,
        action: Action,
        authorization: &Authorization,
        each: &mut EachAct<'_>,
    ) -> Result<Duration, RecoveryError> {
        self.settle_open_actions()?;
        let mut run = BulkRun::new();
        self.perform_each(all, action, authorization, &mut run, each)?;
        Ok(run.paused)
    }

    /// Does `action` to many claims, and returns when all records are on disk.
    pub(super) fn perform_each(
        &mut self,
        all: Vec<&Seen>,
        action: Action,
        authorization: &Authorization,
        run: &mut BulkRun,
        each: &mut EachAct<'_>,
    ) -> Result<BulkEnd, RecoveryError> {
        let ended = self.perform_batches(all, action, authorization, run, each);
        let _uninterrupted = uninterrupted();
        self.trail.sync()?;
        ended
    }

    fn perform_batches(
        &mut self,
        mut all: Vec<&Seen>,
        action: Action,
        authorization: &Authorization,
        run: &mut BulkRun,
        each: &mut EachAct<'_>,
    ) -> Result<BulkEnd, RecoveryError> {
        let mut boards: VecDeque<&mut [&Seen]> =
            all.chunk_by_mut(|one, other| one.place.board == other.place.board).collect();
        while let Some(rest) = boards.pop_front() {
            let together = rest.len().min(MOST_AT_ONCE);
            let done = self.perform_batch(&mut rest[..together], action, authorization, run)?;
            let BatchResult { id, prefix, batch: Batch { passed, tried, held, log }, released, unwritten } =
                done;
            let (now_done, others) = rest.split_at_mut(passed + tried.len());
            if !others.is_empty() {
                boards.push_front(others);
            }
            if let (Some(held), true) = (held, now_done.len() < together) {
                run.budget = next_budget(run.budget, held);
            }
            // All of them are done, so report each even if the receiver wants no more.
            let (mut go_on, mut stop) = (true, None);
            let too_late = (0..passed).map(|_| Acted::too_late());
            for (at, (seen, acted)) in now_done.iter().zip(too_late.chain(tried)).enumerate() {
                if stop.is_none() {
                    stop = acted.outcome.stops_a_bulk();
                }
                let (id, prefix, unwritten, number) = (&id, &prefix, unwritten.as_ref(), at + 1);
                go_on &= each(PerformedAct { seen, acted, action, id, number, prefix, unwritten });
            }
            if let Some(why) = stop {
                return Ok(BulkEnd::Stopped(why));
            }
            if !go_on {
                return Ok(BulkEnd::Early);
            }
            if let (Some(held), false) = (held, boards.is_empty()) {
                run.paused += pause(held, released);
            }
            // The sync never fails the bulk, and the next batch should not begin before it is done.
            let _ = log.map(JoinHandle::join);
        }
        Ok(BulkEnd::AtTheEnd)
    }

    /// Acts on as many of the claims, all of one board, as fit into one short transaction; at least one.
    fn perform_batch(
        &mut self,
        all: &mut [&Seen],
        action: Action,
        authorization: &Authorization,
        run: &BulkRun,
    ) -> Result<BatchResult, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let _at_work = self.trail.at_work();
        let AuditedActor { actor, trail, who, by, source, fingerprint, settled, .. } = self;
        let audit = AuditWriter { who, source, fingerprint, authorization };
        let id = new_action_id();
        let order = Order { action, authorization, action_id: &id, dry_run: false };
        let of_bulk = |record| by.sign(Record { batch: Some(run.batch.clone()), ..record });
        let of = of_bulk(audit.shared(RecordStage::Intent, actor, all[0], &order));
        let lines = BatchRows::default();
        let mut intents = BatchIntents { audit: &audit, trail, of, lines, added: Ok(()), written: None };
        let batch = actor.act_batch(all, &order, run.budget, &mut intents)?;
        let intended = intents.written;
        let (profile, board) = actor.names(all[0]);
        let prefix = prefix(&profile, &board);
        // Write the outcome while other writers continue.
        let released = Instant::now();
        let unwritten = if batch.tried.is_empty() {
            None
        } else {
            let shared = of_bulk(audit.shared(RecordStage::Outcome, actor, all[0], &order));
            let begun = all.iter().copied().enumerate().skip(batch.passed).zip(&batch.tried);
            match write_outcomes(trail, &audit, shared, &prefix, begun) {
                Ok(told) => {
                    *settled = settled_by(*settled, intended, told, &batch.tried);
                    None
                }
                Err(error) => Some(error),
            }
        };
        Ok(BatchResult { id, prefix, batch, released, unwritten })
    }
}

/// The intents of a batch, to be written to the trail.
struct BatchIntents<'a> {
    audit: &'a AuditWriter<'a>,
    trail: &'a mut Trail,
    of: Record,
    lines: BatchRows,
    /// The first failure to serialize an intent.
    added: serde_json::Result<()>,
    /// The position of the line in the journal.
    written: Option<AppendedRange>,
}

impl Intents for BatchIntents<'_> {
    fn add(&mut self, number: usize, pending: &Pending<'_>) {
        if self.lines.is_empty() {
            self.of.db_at = Some(pending.db_at.rfc3339());
            self.of.transaction = pending.transaction.map(str::to_owned);
        }
        if self.added.is_ok() {
            self.added = self.lines.add(&self.audit.line(number, pending));
        }
    }

    fn take_back(&mut self, count: usize) {
        self.lines.take_back(count);
    }

    fn write(&mut self) -> Result<(), String> {
        std::mem::replace(&mut self.added, Ok(())).map_err(|error| error.to_string())?;
        let written = self.trail.append_batch(&self.of, &self.lines).map_err(|error| error.to_string())?;
        self.written = Some(written);
        Ok(())
    }
}

/// Records the outcomes of a batch: applied, except for those that were not.
fn write_outcomes<'a>(
    trail: &mut Trail,
    audit: &AuditWriter<'_>,
    shared: Record,
    prefix: &str,
    all: impl Iterator<Item = ((usize, &'a Seen), &'a Acted)>,
) -> Result<AppendedRange, TrailError> {
    let (mut others, mut applied) = (BatchRows::default(), 0);
    for ((at, seen), tried) in all {
        let said = tried.effects.sentence();
        if tried.outcome == Outcome::Applied && said.is_none() {
            applied += 1;
        } else {
            let address = seen.address_after(prefix);
            let why = tried.outcome.why().or(said);
            others.add(&audit.exception(at + 1, &address, seen, tried.outcome.as_str(), why.as_deref()))?;
        }
    }
    let shared = Record { outcome: Some(Outcome::Applied.as_str().into()), ..shared };
    trail.append_outcomes(&shared, &others, applied)
}

/// The position up to which the outcome of every act is known after a batch. Lines that this process has just written,
/// with no lines of others in between, need not be read again.
fn settled_by(
    before: Position,
    intended: Option<AppendedRange>,
    told: AppendedRange,
    tried: &[Acted],
) -> Position {
    let from = intended.map_or(told.from, |intended| intended.from);
    let goes_on = intended.is_none_or(|intended| intended.to == Some(told.from));
    let is_open = |tried: &Acted| matches!(tried.outcome, Outcome::Unknown(_));
    match told.to {
        Some(to) if from == before && goes_on && !tried.iter().any(is_open) => to,
        _ => before,
    }
}

/// How far a bulk came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BulkEnd {
    AtTheEnd,
    /// The receiver wanted no more.
    Early,
    /// Every further act would have met the same error.
    Stopped(String),
}

/// How long the acts of the next batch may take, so that it holds the lock for [`BATCH`] including record and commit.
fn next_budget(budget: Duration, held: Duration) -> Duration {
    let share = BATCH.as_secs_f64() / held.as_secs_f64().max(1e-6);
    budget.mul_f64(share.clamp(0.25, 2.0)).clamp(Duration::from_millis(2), BATCH)
}

/// Waits until the lock has been free for twice as long as it was held, so that a waiting writer gets it next. Returns
/// the duration of the pause.
#[allow(clippy::disallowed_methods, reason = "nothing tells when other writers have had their turn")]
fn pause(held: Duration, released: Instant) -> Duration {
    let length = (held * 2).max(Duration::from_millis(10)).saturating_sub(released.elapsed());
    std::thread::sleep(length);
    length
}
