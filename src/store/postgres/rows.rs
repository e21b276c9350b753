//! Single claims, read cell by cell: a rotten cell spoils its own reading and nothing else.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

use super::cell::{cell, is_true, number, text, time};
use super::link::Row;
use super::schema::quoted;
use crate::domain::claim::{Claim, Lease, Registry, Session, Timeout, Worker};
use crate::domain::evidence::{conclude, why};
use crate::domain::rules::DeadlineRule;
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::{Moment, Reading};
use crate::domain::value::{Key, Value};
use crate::domain::verdict::{Verdict, judge};
use crate::store::Prober;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::schema::Table;
use crate::store::seen::{Rows, Seen, Spot};

/// How to read the claims of one board.
#[derive(Debug)]
pub struct RowReader {
    columns: String,
    /// What tells the states of a row apart: all its columns and its version, and the same of the
    /// holder's.
    state: String,
    /// The version of the claim's row.
    version: String,
    from: String,
    held: String,
    keys: usize,
    /// Two claims may have the same key, or none.
    ambiguous: bool,
    prober: Option<Prober>,
}

/// Where the columns of the state begin, counted from the end of the others.
const STATES: usize = 4;
/// How many columns follow the key.
const FIELDS: usize = 16;

impl RowReader {
    pub fn new(
        board: &BoundBoard,
        table: &Table,
        registry: Option<&Table>,
        prober: Option<Prober>,
    ) -> RowReader {
        let null = || "NULL".to_owned();
        let as_text = |sql: &str| format!("({sql})::text");
        let any = |sql: &Option<String>| sql.as_ref().map_or_else(null, |sql| as_text(sql));
        let time = |sql: &Option<TimeSql>| sql.as_ref().map_or_else(null, |time| as_text(&time.selected));
        // Where the row is, for the length of one transaction.
        let place = if board.has_rowid { "c.tableoid::text || c.ctid::text".into() } else { null() };
        let mut columns = vec![place];
        columns.extend(board.id.iter().map(|id| as_text(id)));
        let timeout = match (&board.timeout, board.timeout_type.as_str()) {
            (Some(sql), "interval") => format!("extract(epoch FROM ({sql}))::text"),
            (sql, _) => any(sql),
        };
        columns.extend([
            any(&board.kind),
            board.holder.as_ref().map_or_else(null, |holder| as_text(&holder.text)),
            time(&board.claimed_at),
            time(&board.beat_at),
            time(&board.deadline),
            timeout,
            any(&board.disowned),
            any(&board.attempts),
            any(&board.max_attempts),
            any(&board.error),
            any(&board.pid),
            any(&board.host),
        ]);
        match &board.registry {
            Some(registry) => {
                columns.push(format!("({} IS NOT NULL)::text", registry.id.text));
                columns.extend(session_columns(registry));
            }
            None => columns.extend((0..4).map(|_| null())),
        }
        let [whole, version] = state("c", Some(table));
        let [of_holder, version_of_holder] = state("s", registry);
        let state = [whole, version.clone(), of_holder, version_of_holder];
        RowReader {
            columns: columns.join(", "),
            state: state.join(", "),
            version,
            from: board.joined(),
            held: board.is_held().into(),
            keys: board.id.len(),
            ambiguous: board.has_rowid && !is_told_apart(board, table),
            prober,
        }
    }

    /// The claims, to be continued with conditions; with what tells their states apart if `state` is
    /// wanted.
    pub fn select(&self, state: bool) -> String {
        let RowReader { columns, from, held, .. } = self;
        let state = if state { format!(", {}", self.state) } else { String::new() };
        format!("SELECT {columns}{state} FROM {from} WHERE ({held})")
    }

    /// The same without their states, each with the rank that its priority gives it.
    pub fn select_ranked(&self, priority: Option<&str>) -> String {
        let RowReader { columns, from, held, .. } = self;
        format!("SELECT {columns}, {} FROM {from} WHERE ({held})", rank(priority))
    }

    /// The rank of a row that was selected with it.
    pub fn rank(&self, row: &Row) -> u32 {
        number(row, 1 + self.keys + FIELDS).int().and_then(|rank| u32::try_from(rank).ok()).unwrap_or(0)
    }

    /// The same with further columns of the rows after the state.
    pub fn select_with(&self, more: &[String]) -> String {
        let RowReader { columns, state, from, held, .. } = self;
        format!("SELECT {columns}, {state}, {} FROM {from} WHERE ({held})", more.join(", "))
    }

    /// The same, of the state only the version: it tells whether a row is still the one that was seen, and
    /// costs no text of it.
    pub fn select_versions(&self, more: &[String]) -> String {
        let RowReader { columns, version, from, held, .. } = self;
        let more: String = more.iter().flat_map(|column| [", ", column]).collect();
        format!("SELECT {columns}, NULL, {version}, NULL, NULL{more} FROM {from} WHERE ({held})")
    }

    /// How many columns come before those of [`Self::select_with`].
    pub fn width(&self) -> usize {
        1 + self.keys + FIELDS + STATES
    }

    /// Whether a mark needs the row's place besides its key.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// Where the row was while the transaction lasts.
    pub fn place<'a>(&self, row: &'a Row) -> Option<&'a str> {
        row.get(0)
    }

    /// The claim in `row`; its token too if the row was selected with its state.
    pub fn read(&self, row: &Row, board: &BoundBoard, now: Moment) -> Judged {
        let at = |field: usize| 1 + self.keys + field;
        let reading = |field: usize, sql: &Option<TimeSql>| match sql {
            Some(sql) => sql.read(&time(row, at(field), &sql.cell.declared)),
            None => Reading::Absent,
        };
        let lease = match board.rules.deadline {
            DeadlineRule::Lease => Lease::Until(reading(4, &board.deadline)),
            DeadlineRule::Timeout => Lease::Timeout(Timeout::read(&number(row, at(5)))),
            DeadlineRule::Ttl | DeadlineRule::Holder | DeadlineRule::Never => Lease::Unwritten,
        };
        let registry = match &board.registry {
            None => Registry::None,
            Some(registry) if !is_true(row, at(12)) => registry.lacks(text(row, at(1)).as_deref()),
            Some(registry) => Registry::Listed(read_session(row, at(13), registry)),
        };
        let key = board.id_types.iter().enumerate().map(|(part, kind)| cell(row, 1 + part, kind));
        let mut claim = Claim {
            key: Key(key.collect()),
            kind: text(row, at(0)),
            holder: text(row, at(1)),
            claimed_at: reading(2, &board.claimed_at),
            beat_at: reading(3, &board.beat_at),
            lease,
            registry,
            worker: Worker::new(number(row, at(10)), text(row, at(11))),
            disowned: is_true(row, at(6)),
            attempts: number(row, at(7)).int(),
            max_attempts: number(row, at(8)).int(),
            error: text(row, at(9)),
        };
        let verdict = self.judged(&mut claim, board, now);
        let has_state = row.len() >= at(FIELDS) + STATES && row.bytes(at(FIELDS)).is_some();
        let seen = has_state.then(|| self.token(row, board, verdict.rests_on_registry(&claim)));
        let mut mark = claim.key.clone();
        if let (true, Some(place)) = (self.ambiguous, self.place(row)) {
            mark.0.push(Value::Text(place.into()));
        }
        Judged { claim, verdict, seen, mark: Some(Mark::Key(mark)) }
    }

    /// What the clock, and the kernel where it is asked, say of a claim by now.
    fn judged(&self, claim: &mut Claim, board: &BoundBoard, now: Moment) -> Verdict {
        if let Some(prober) = &self.prober {
            prober.probe_holder_of(claim);
        }
        judge(claim, &board.rules, now)
    }

    /// A claim that was seen before, judged once more. Mostly the clock says what it said then.
    pub fn judge_again<'a>(&self, seen: &'a Seen, board: &BoundBoard, now: Moment) -> Cow<'a, Seen> {
        let (claim, was, rules) = (&seen.judged.claim, &seen.judged.verdict, &board.rules);
        let verdict = judge(claim, rules, now);
        let is_alike = Verdict { overrun: was.overrun, ..verdict.clone() } == *was
            && conclude(claim, &verdict, rules, now) == seen.conclusion
            && why(claim, &verdict, rules, now) == seen.why;
        if self.prober.is_none() && is_alike {
            return Cow::Borrowed(seen);
        }
        let mut claim = claim.clone();
        let verdict = self.judged(&mut claim, board, now);
        let rows =
            Rows { row: seen.row.clone(), version: seen.version.clone(), spot: seen.spot, session: None };
        let judged = Judged { claim, verdict, seen: None, mark: None };
        Cow::Owned(Seen::new(seen.place.clone(), judged, rows, rules, now))
    }

    /// Whether everything that a claim is judged by stands in its own row: nothing is joined, selected from
    /// elsewhere, or asked of a function that could.
    pub fn rests_on_its_row(&self, table: &Table) -> bool {
        let expressions = [&self.columns, &self.held];
        self.from == format!("{} AS c", table.sql) && expressions.iter().all(|sql| looks_nowhere_else(sql))
    }

    /// The version of the row, if it was selected with its state.
    pub fn version(&self, row: &Row) -> Option<String> {
        row.get(1 + self.keys + FIELDS + 1).map(str::to_owned)
    }

    /// Where in its table that version of the row is.
    pub fn spot(&self, row: &Row) -> Option<Spot> {
        let place = self.place(row)?;
        place.find('(').and_then(|at| Spot::parse(&place[at..]))
    }

    /// A digest of the claim's whole row and, where the verdict rests on it, of the registry's.
    fn token(&self, row: &Row, board: &BoundBoard, with_session: bool) -> String {
        let first = 1 + self.keys + FIELDS;
        let digest = |at: usize| {
            let mut hash = Sha256::new();
            for column in [at, at + 1] {
                let bytes = row.bytes(column);
                hash.update([u8::from(bytes.is_some())]);
                hash.update((bytes.map_or(0, <[u8]>::len) as u64).to_be_bytes());
                hash.update(bytes.unwrap_or_default());
            }
            hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        match (with_session, board.registry.is_some()) {
            (true, true) => format!("c{}-s{}", digest(first), digest(first + 2)),
            _ => format!("c{}", digest(first)),
        }
    }
}

/// The rank of a claim by its priority, as a column.
pub fn rank(priority: Option<&str>) -> String {
    priority.map_or_else(
        || "NULL".into(),
        |sql| format!("(dense_rank() OVER (ORDER BY ({sql}) NULLS LAST))::text"),
    )
}

/// Whether an expression selects nothing, and every word before an opening bracket is one that reads only what
/// it is given.
fn looks_nowhere_else(sql: &str) -> bool {
    const KNOWN: [&str; 13] = [
        "in", "and", "or", "not", "any", "case", "when", "then", "else", "coalesce", "greatest", "least",
        "extract",
    ];
    let sql = sql.to_lowercase();
    !sql.contains("select")
        && sql.match_indices('(').all(|(at, _)| {
            let before = sql[..at].trim_end();
            let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '"');
            let word = before.rsplit(|letter| !is_part(letter)).next().unwrap_or_default();
            word.is_empty() || KNOWN.contains(&word)
        })
}

/// Whether the key of the table is among the columns of a claim's id.
fn is_told_apart(board: &BoundBoard, table: &Table) -> bool {
    let is_named = |column: &str| board.id.contains(&format!("c.{}", quoted(column)));
    !table.key.is_empty() && table.key.iter().all(is_named)
}

/// A row's columns as one text, and its version.
fn state(alias: &str, table: Option<&Table>) -> [String; 2] {
    let Some(table) = table else { return ["NULL".into(), "NULL".into()] };
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("{alias}.{}", quoted(&column.name))).collect();
    let version = if table.has_rowid { format!("{alias}.xmin::text") } else { "NULL".into() };
    [format!("ROW({})::text", columns.join(", ")), version]
}

/// The columns of a registry row, in the order that [`read_session`] expects.
pub fn session_columns(registry: &BoundRegistry) -> [String; 3] {
    let time = |time: &Option<TimeSql>| {
        time.as_ref().map_or_else(|| "NULL".into(), |time| format!("({})::text", time.selected))
    };
    [format!("({})::text", registry.beat_at.selected), time(&registry.stale_at), time(&registry.started_at)]
}

/// The session in the columns of `row` that begin at `first`.
pub fn read_session(row: &Row, first: usize, registry: &BoundRegistry) -> Session {
    let reading = |at: usize, sql: &TimeSql| sql.read(&time(row, at, &sql.cell.declared));
    Session {
        beat_at: reading(first, &registry.beat_at),
        stale_at: registry.stale_at.as_ref().map(|sql| reading(first + 1, sql)),
        started_at: registry.started_at.as_ref().map_or(Reading::Absent, |sql| reading(first + 2, sql)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expressions_that_can_look_nowhere_else_are_known() {
        for sql in [
            "(c.\"id\")::text, null",
            "status in ('running')",
            "(coalesce (c.a, c.b))::text",
            "a and (b or (c))",
        ] {
            assert!(looks_nowhere_else(sql), "{sql}");
        }
        for sql in [
            "is_alive(c.id)",
            "(SELECT 1)",
            "exists (select 1)",
            "(ops.\"is alive\"(c.id))",
            "(random())::text",
            "c.a + f (1)",
        ] {
            assert!(!looks_nowhere_else(sql), "{sql}");
        }
    }
}
