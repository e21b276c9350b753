//! Many acts: in short transactions, with one intent and one outcome each, and pauses between them.

use std::collections::VecDeque;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::audit_writer::AuditWriter;
use super::audited_actor::{AuditedActor, RecoveryError, Report, report_of};
use super::trail::{Lines, Position, Record, Stage, Stretch, Trail, TrailError, new_action_id};
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::store::suspend::uninterrupted;
use crate::store::{Acted, Batch, Intents, Order, Pending, Seen, numbered, prefix};

/// How long a batch may keep other writers waiting. SQLite looks for the lock again after 1, 3, 8,
/// 18 and 33 ms: whoever finds it taken has it at the latest then.
const BATCH: Duration = Duration::from_millis(28);
/// How long the acts of the first batch may take; from then on the batches before tell.
const FIRST: Duration = Duration::from_millis(6);
const MOST_AT_ONCE: usize = 10_000;

/// What came of one transaction.
struct Done {
    /// The name of the acts, and what all addresses begin with.
    id: String,
    prefix: String,
    batch: Batch,
    /// When it let other writers in again.
    released: Instant,
    /// Why what came of the acts is not on record.
    unwritten: Option<TrailError>,
}

/// What came of one act among many.
#[derive(Debug)]
pub struct Told<'a> {
    pub seen: &'a Seen,
    pub acted: Acted,
    action: Action,
    /// The name of the transaction, and its number there.
    id: &'a str,
    number: usize,
    prefix: &'a str,
    unwritten: Option<&'a TrailError>,
}

impl Told<'_> {
    pub fn action_id(&self) -> String {
        numbered(self.id, self.number)
    }

    pub fn address(&self) -> String {
        self.seen.address_after(self.prefix)
    }

    /// Everything that is to be said of it.
    pub fn report(self) -> Report {
        let (id, address) = (self.action_id(), self.address());
        let mut report = report_of(self.seen, id, address, self.action, self.acted);
        report.note_unrecorded(self.unwritten);
        report
    }
}

/// Hears what came of each act; `false` ends the bulk after the current transaction.
pub(super) type Each<'a> = dyn FnMut(Told<'_>) -> bool + 'a;

/// A bulk that is under way.
#[derive(Debug)]
pub(super) struct Run {
    /// What all its acts are undone by.
    pub(super) batch: String,
    /// How long the acts of the next transaction may take.
    budget: Duration,
    /// The time spent in pauses.
    paused: Duration,
}

impl Run {
    pub(super) fn new() -> Run {
        Run { batch: new_action_id(), budget: FIRST, paused: Duration::ZERO }
    }
}

impl AuditedActor {
    /// Does `action` to many claims, in short transactions with pauses between them so that other
    /// writers get their turn; `each` hears of every one as it is done, on a server in an order of its own, and
    /// may end it with `false`: then nothing more is begun, and it hears the rest of what was done.
    /// An error that would hit every further claim ends it as well.
    /// The answer is the time spent in pauses.
    pub fn perform_all(
        &mut self,
        all: Vec<&Seen>,
        action: Action,
        authorization: &Authorization,
        each: &mut Each<'_>,
    ) -> Result<Duration, RecoveryError> {
        self.settle_open_actions()?;
        let mut run = Run::new();
        self.perform_each(all, action, authorization, &mut run, each)?;
        Ok(run.paused)
    }

    /// Does `action` to many claims, and returns when the disk has every record of it.
    pub(super) fn perform_each(
        &mut self,
        all: Vec<&Seen>,
        action: Action,
        authorization: &Authorization,
        run: &mut Run,
        each: &mut Each<'_>,
    ) -> Result<Ended, RecoveryError> {
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
        run: &mut Run,
        each: &mut Each<'_>,
    ) -> Result<Ended, RecoveryError> {
        let mut boards: VecDeque<&mut [&Seen]> =
            all.chunk_by_mut(|one, other| one.place.board == other.place.board).collect();
        while let Some(rest) = boards.pop_front() {
            let together = rest.len().min(MOST_AT_ONCE);
            let done = self.perform_batch(&mut rest[..together], action, authorization, run)?;
            let Done { id, prefix, batch: Batch { passed, tried, held, log }, released, unwritten } = done;
            let (now_done, others) = rest.split_at_mut(passed + tried.len());
            if !others.is_empty() {
                boards.push_front(others);
            }
            if let (Some(held), true) = (held, now_done.len() < together) {
                run.budget = next_budget(run.budget, held);
            }
            // All of them are done: also who wants no more has to hear of each.
            let (mut go_on, mut stop) = (true, None);
            let too_late = (0..passed).map(|_| Acted::too_late());
            for (at, (seen, acted)) in now_done.iter().zip(too_late.chain(tried)).enumerate() {
                if stop.is_none() {
                    stop = acted.outcome.stops_a_bulk();
                }
                let (id, prefix, unwritten, number) = (&id, &prefix, unwritten.as_ref(), at + 1);
                go_on &= each(Told { seen, acted, action, id, number, prefix, unwritten });
            }
            if let Some(why) = stop {
                return Ok(Ended::Stopped(why));
            }
            if !go_on {
                return Ok(Ended::Early);
            }
            if let (Some(held), false) = (held, boards.is_empty()) {
                run.paused += pause(held, released);
            }
            // It never fails; and the next batch should not begin before it is done.
            let _ = log.map(JoinHandle::join);
        }
        Ok(Ended::AtTheEnd)
    }

    /// As many of the claims, all of one board, as fit into one short transaction, at least one.
    fn perform_batch(
        &mut self,
        all: &mut [&Seen],
        action: Action,
        authorization: &Authorization,
        run: &Run,
    ) -> Result<Done, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let _at_work = self.trail.at_work();
        let AuditedActor { actor, trail, who, by, source, fingerprint, settled, .. } = self;
        let audit = AuditWriter { who, source, fingerprint, authorization };
        let id = new_action_id();
        let order = Order { action, authorization, action_id: &id, dry_run: false };
        let of_bulk = |record| by.sign(Record { batch: Some(run.batch.clone()), ..record });
        let of = of_bulk(audit.shared(Stage::Intent, actor, all[0], &order));
        let lines = Lines::default();
        let mut intents = LinesOf { audit: &audit, trail, of, lines, added: Ok(()), written: None };
        let batch = actor.act_batch(all, &order, run.budget, &mut intents)?;
        let intended = intents.written;
        let (profile, board) = actor.names(all[0]);
        let prefix = prefix(&profile, &board);
        // The outcome is written while the others have their turn.
        let released = Instant::now();
        let unwritten = if batch.tried.is_empty() {
            None
        } else {
            let shared = of_bulk(audit.shared(Stage::Outcome, actor, all[0], &order));
            let begun = all.iter().copied().enumerate().skip(batch.passed).zip(&batch.tried);
            match write_outcomes(trail, &audit, shared, &prefix, begun) {
                Ok(told) => {
                    *settled = settled_by(*settled, intended, told, &batch.tried);
                    None
                }
                Err(error) => Some(error),
            }
        };
        Ok(Done { id, prefix, batch, released, unwritten })
    }
}

/// The intents of a batch, on their way to the trail.
struct LinesOf<'a> {
    audit: &'a AuditWriter<'a>,
    trail: &'a mut Trail,
    of: Record,
    lines: Lines,
    /// The first failure to put one into words.
    added: serde_json::Result<()>,
    /// Where they stand.
    written: Option<Stretch>,
}

impl Intents for LinesOf<'_> {
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

/// Writes down what came of a batch: that all were applied, but for those that were not.
fn write_outcomes<'a>(
    trail: &mut Trail,
    audit: &AuditWriter<'_>,
    shared: Record,
    prefix: &str,
    all: impl Iterator<Item = ((usize, &'a Seen), &'a Acted)>,
) -> Result<Stretch, TrailError> {
    let (mut others, mut applied) = (Lines::default(), 0);
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

/// Up to where what became of every act is known, after a batch: what one has just written oneself, with nothing
/// of others in between, need not be read again.
fn settled_by(before: Position, intended: Option<Stretch>, told: Stretch, tried: &[Acted]) -> Position {
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
pub(super) enum Ended {
    AtTheEnd,
    /// Nobody wanted to hear more.
    Early,
    /// The rest would have met the same error.
    Stopped(String),
}

/// How long the next batch may act so that it keeps the lock for [`BATCH`], with its record and commit.
fn next_budget(budget: Duration, held: Duration) -> Duration {
    let share = BATCH.as_secs_f64() / held.as_secs_f64().max(1e-6);
    budget.mul_f64(share.clamp(0.25, 2.0)).clamp(Duration::from_millis(2), BATCH)
}

/// Waits until the lock has been free for twice as long as it was held, so that a waiting writer is
/// the next one to have it; how long that took.
#[allow(clippy::disallowed_methods, reason = "nothing tells when other writers have had their turn")]
fn pause(held: Duration, released: Instant) -> Duration {
    let length = (held * 2).max(Duration::from_millis(10)).saturating_sub(released.elapsed());
    std::thread::sleep(length);
    length
}
