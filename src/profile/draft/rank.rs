//! Which tables look like claims, the likeliest first.

use super::column::DraftColumn;
use super::held::{Held, is_named_for_claims};
use super::names::ColumnPart;
use super::roles::Roles;
use super::sample::{DatabaseSample, TableSample};
use super::words::Words;
use crate::domain::time::Moment;
use crate::profile::format::Engine;

/// One table, and how much of a claim is in it.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    pub table: &'a TableSample,
    pub columns: Vec<DraftColumn<'a>>,
    pub roles: Roles,
    pub held: Held,
    pub score: i32,
}

/// From this score on a table is worth a draft.
pub const LIKELY: i32 = 8;

/// All tables, the likeliest first.
pub fn rank(database: &DatabaseSample) -> Vec<Candidate<'_>> {
    let of = |table| Candidate::new(table, database);
    let mut ranked: Vec<Candidate<'_>> = database.tables.iter().map(of).collect();
    ranked.sort_by(|one, other| {
        let by_sign = || other.sign().is_some().cmp(&one.sign().is_some());
        let by_name = || one.table.name.cmp(&other.table.name);
        other.score.cmp(&one.score).then_with(by_sign).then_with(by_name)
    });
    ranked
}

impl<'a> Candidate<'a> {
    pub fn new(table: &'a TableSample, database: &DatabaseSample) -> Candidate<'a> {
        let mut candidate = Candidate::alone(table, database.engine, database.now);
        let points_here = |other: &TableSample| {
            other.references.iter().any(|reference| {
                reference.table == table.name && reference.columns.iter().any(|name| is_holder(other, name))
            })
        };
        if database.tables.iter().any(points_here) {
            // Holders of another table are registered here.
            candidate.score -= 6;
        }
        candidate
    }

    /// What the table says of itself.
    fn alone(table: &'a TableSample, engine: Engine, now: Moment) -> Candidate<'a> {
        let columns = DraftColumn::all(table, engine, now);
        let named = Roles::by_name(&columns);
        let held = Held::guess(&columns, &named, table);
        let roles = Roles::by_rows(&columns, table, &held, now);
        let held = Held::guess(&columns, &roles, table);
        let mut candidate = Candidate { table, columns, roles, held, score: 0 };
        candidate.score = candidate.weigh(now);
        candidate
    }

    pub fn column(&self, part: ColumnPart) -> Option<&DraftColumn<'a>> {
        self.roles.column(part, &self.columns)
    }

    /// The column that is set while somebody has the row.
    pub fn sign(&self) -> Option<&'a str> {
        let sign = self.column(ColumnPart::Holder).or_else(|| self.column(ColumnPart::ClaimedAt))?;
        Some(sign.name)
    }

    /// Whether it is a table of jobs, although no column says who works on one: its workers may lock rows or keys.
    pub fn is_for_jobs(&self) -> bool {
        let is_queue = Words::of(&self.table.name).contains(&["queue", "job", "task"]);
        let parts = [
            ColumnPart::Attempts,
            ColumnPart::Kind,
            ColumnPart::Error,
            ColumnPart::RunAt,
            ColumnPart::Priority,
        ];
        let known = parts.into_iter().filter(|part| self.roles.get(*part).is_some()).count();
        is_queue && known >= 4 && !self.has_all_ended()
    }

    fn weigh(&self, now: Moment) -> i32 {
        let has = |part: ColumnPart| i32::from(self.roles.get(part).is_some());
        let is_queue = Words::of(&self.table.name).contains(&["queue", "job", "task"]);
        let state = match &self.held {
            Held::Unknown { .. } if is_queue => 5,
            Held::Values { .. } => 5,
            Held::Flag { .. } => 4,
            Held::Set { .. } => 3,
            Held::Unknown { .. } | Held::Ahead { .. } => 2,
            Held::Every | Held::Unseen => 0,
        };
        let holder = self.roles.score(ColumnPart::Holder).min(12) / 2;
        let claimed_at =
            if self.roles.score(ColumnPart::ClaimedAt) >= 10 { 3 } else { has(ColumnPart::ClaimedAt) };
        let deadline = if holder + claimed_at > 0 || self.ends_a_claim() { 3 } else { 1 };
        let times = claimed_at
            + 2 * has(ColumnPart::Heartbeat)
            + deadline * has(ColumnPart::Deadline)
            + has(ColumnPart::Timeout);
        let job = [
            ColumnPart::Attempts,
            ColumnPart::MaxAttempts,
            ColumnPart::Kind,
            ColumnPart::Error,
            ColumnPart::RunAt,
            ColumnPart::Priority,
        ];
        let job: i32 = job.into_iter().map(has).sum::<i32>() + i32::from(self.has_payload());
        let job = job + i32::from(self.columns.iter().any(|column| column.words.is(&["queueid"])));
        let is_held = self.table.rows.iter().any(|row| self.held.holds(row, now));
        let rows = i32::from(!self.table.rows.is_empty()) + 2 * i32::from(is_held);
        let busy = |column| self.table.changes.changed(column) > 0;
        let watched = if self.held.column().is_some_and(busy) { 5 } else { 0 };
        let is_a_claim = holder > 0 || claimed_at >= 3 || has(ColumnPart::Deadline) > 0 || state >= 4;
        let results = if self.holds_results() { 8 } else { 0 };
        let score = state + holder + times + job + rows + watched + self.by_name() - results;
        if is_a_claim { score } else { score.min(LIKELY - 3) }
    }

    /// Whether the name of its deadline speaks of a claim; otherwise the row itself may be what expires.
    fn ends_a_claim(&self) -> bool {
        let about_claims = ["lock", "lease", "until", "visib", "claim", "reserv"];
        let ends =
            |column: &DraftColumn<'_>| column.words.contains(&about_claims) || column.words.is(&["vt"]);
        self.column(ColumnPart::Deadline).is_some_and(ends)
    }

    /// Whether its rows say what is to be done.
    fn has_payload(&self) -> bool {
        const PAYLOAD: [&str; 9] = [
            "payload",
            "body",
            "data",
            "message",
            "args",
            "arguments",
            "params",
            "handler",
            "serializedparams",
        ];
        self.columns.iter().any(|column| column.words.is(&PAYLOAD))
    }

    /// Whether it keeps what became of jobs: a job that waits has a time or a priority, and a result has neither.
    fn holds_results(&self) -> bool {
        const RESULT: [&str; 4] = ["result", "results", "returnvalue", "output"];
        let waits = [
            ColumnPart::RunAt,
            ColumnPart::Priority,
            ColumnPart::Deadline,
            ColumnPart::Heartbeat,
            ColumnPart::MaxAttempts,
        ];
        self.columns.iter().any(|column| column.words.is(&RESULT))
            && self.roles.get(ColumnPart::EndedAt).is_some()
            && waits.into_iter().all(|part| self.roles.get(part).is_none())
    }

    fn has_all_ended(&self) -> bool {
        let has_ended =
            |row: &Vec<_>| self.column(ColumnPart::EndedAt).is_some_and(|column| column.is_set(row));
        !self.table.rows.is_empty() && self.table.rows.iter().all(has_ended)
    }

    fn by_name(&self) -> i32 {
        let words = Words::of(&self.table.name);
        let is_for_claims = is_named_for_claims(&self.table.name);
        let mut score = 0;
        if is_for_claims {
            score += 4;
        }
        if words.contains(&["job", "task", "queue"])
            || words.has(&["work", "executions", "message", "messages", "runs", "q"])
        {
            score += 2;
        }
        if self.has_all_ended() {
            // A table of what is over.
            score -= 8;
        }
        let is_history = words.has(&[
            "log",
            "logs",
            "event",
            "events",
            "history",
            "audit",
            "archive",
            "migrations",
            "old",
        ]) || words.ends(&["log", "meta", "stats", "archive"]);
        // The lock of a log or of migrations is a lock.
        if is_history && !is_for_claims {
            score -= 6;
        }
        let registers = words.has(&["workers", "processes", "sessions", "servers", "server", "producers"])
            || words.has(&["lockers", "instances", "nodes", "agents", "peers", "executors", "schedulers"])
            || words.ends(&["workers", "processes", "schedulerstate"]);
        if registers && self.roles.get(ColumnPart::Attempts).is_none() {
            score -= 8;
        }
        score
    }
}

/// Whether a column is the holder of its table, by its name.
fn is_holder(table: &TableSample, column: &str) -> bool {
    table.columns.iter().any(|known| known.name == column)
        && Words::of(column)
            .has(&["worker", "session", "process", "owner", "holder", "by", "agent", "server"])
}
