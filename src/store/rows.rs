//! Single claims, read cell by cell: a cell that cannot be read spoils its own reading and nothing else.
//!
//! A statement that selects claims has the same columns on every engine: where the row is, the parts of its
//! id, the fields, the parts of its mark; then, if they are wanted, the states of its row and of its
//! holder's; then whatever else a caller wants.

use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::ops::Range;

use super::Prober;
use super::bound::{BoundBoard, BoundRegistry, TimeSql};
use super::driver::{Dialect, Row};
use super::named_params::NamedParams;
use super::seen::{RowsBehind, Seen};

use crate::domain::claim::{Claim, Lease, Registry, Session, Timeout, Worker};
use crate::domain::detail::Cursor;
use crate::domain::evidence::{conclude, why};
use crate::domain::rules::DeadlineRule;
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::{Moment, Reading};
use crate::domain::token::{RowDigest, SeenToken, row_digest};
use crate::domain::value::{Key, Value};
use crate::domain::verdict::{Verdict, judge};

/// How an engine tells the rows of a table apart, and their states.
#[derive(Debug)]
pub(super) struct RowLayout {
    /// Where a row is while a transaction lasts, as SQL.
    pub place: String,
    pub mark: MarkLayout,
    /// What tells the states of the claim's row apart, and of its holder's.
    pub claim_state: Vec<String>,
    pub session_state: Vec<String>,
    /// Which of the columns of the claim's state is the version of its row, where rows have versions.
    pub version: Option<usize>,
}

/// What a claim is found again by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkLayout {
    /// The place: SQLite's rowid.
    Rowid,
    /// The columns of a primary key.
    Key(Vec<String>),
    /// The id of the claim.
    Id,
    /// The id and, because several claims may have the same, the place of the row.
    IdAndPlace,
    /// Nothing: the rows of a view.
    None,
}

/// A column that rows are compared by, and its type as far as the engine knows one.
#[derive(Debug)]
struct ComparedColumn {
    sql: String,
    declared: String,
}

/// How to read the claims of one board.
#[derive(Debug)]
pub(super) struct RowReader {
    dialect: &'static dyn Dialect,
    layout: RowLayout,
    /// All columns but those of the state.
    columns: String,
    from: String,
    held: String,
    /// How many columns the id and the mark have.
    ids: usize,
    marks: usize,
    /// What finds a row by its mark, and what pages are sorted by.
    identity: Vec<ComparedColumn>,
    order: Vec<ComparedColumn>,
    prober: Option<Prober>,
}

/// How many fields follow the id.
const FIELDS: usize = 18;

impl RowReader {
    pub(super) fn new(
        board: &BoundBoard,
        dialect: &'static dyn Dialect,
        layout: RowLayout,
        prober: Option<Prober>,
    ) -> RowReader {
        let mut columns = vec![layout.place.clone()];
        columns.extend(board.id.iter().map(|id| dialect.selected(id)));
        columns.extend(fields(board, dialect));
        let marked: &[String] = if let MarkLayout::Key(key) = &layout.mark { key } else { &[] };
        columns.extend(marked.iter().map(|part| dialect.selected(part)));
        let plain = |sql: &String| ComparedColumn { sql: sql.clone(), declared: String::new() };
        let ids = || {
            let ids = board.id.iter().zip(&board.id_types);
            ids.map(|(sql, declared)| ComparedColumn { sql: format!("({sql})"), declared: declared.clone() })
                .collect()
        };
        let (identity, order): (Vec<ComparedColumn>, Vec<ComparedColumn>) = match &layout.mark {
            MarkLayout::Rowid => (vec![plain(&layout.place)], vec![plain(&layout.place)]),
            MarkLayout::Key(key) => (key.iter().map(plain).collect(), key.iter().map(plain).collect()),
            MarkLayout::Id => (ids(), ids()),
            MarkLayout::IdAndPlace => {
                let place = ComparedColumn { sql: format!("({})", layout.place), declared: "text".into() };
                (ids(), vec![place])
            }
            MarkLayout::None => (Vec::new(), Vec::new()),
        };
        RowReader {
            dialect,
            columns: columns.join(", "),
            from: board.joined(),
            held: board.is_held().into(),
            ids: board.id.len(),
            marks: marked.len(),
            identity,
            order,
            layout,
            prober,
        }
    }

    pub(super) fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// The claims, to be continued with conditions.
    pub(super) fn select(&self) -> String {
        self.select_and(&[])
    }

    /// The same with what tells their states apart, and with more columns after that.
    pub(super) fn select_with_state(&self, more: &[String]) -> String {
        let state = self.layout.claim_state.iter().chain(&self.layout.session_state);
        self.select_and(&state.chain(more).cloned().collect::<Vec<_>>())
    }

    /// The same, of the state only the version: it tells whether a row is still the one that was seen, and
    /// costs no text of it.
    pub(super) fn select_with_version(&self, more: &[String]) -> String {
        let state = self.layout.claim_state.iter().enumerate();
        let version =
            state.map(|(at, sql)| if Some(at) == self.layout.version { sql.as_str() } else { "NULL" });
        let rest = self.layout.session_state.iter().map(|_| "NULL");
        let columns = version.chain(rest).chain(more.iter().map(String::as_str));
        self.select_and(&columns.map(str::to_owned).collect::<Vec<_>>())
    }

    /// The same with other columns in place of the state.
    pub(super) fn select_and(&self, more: &[String]) -> String {
        let RowReader { columns, from, held, .. } = self;
        let more: String = more.iter().flat_map(|column| [", ", column]).collect();
        format!("SELECT {columns}{more} FROM {from} WHERE ({held})")
    }

    /// Whether its rows can be read in pages.
    pub(super) fn has_order(&self) -> bool {
        !self.order.is_empty()
    }

    /// Where the columns of the state, or others in their place, begin.
    pub(super) fn state_at(&self) -> usize {
        1 + self.ids + FIELDS + self.marks
    }

    /// Where further columns begin after those of the state.
    pub(super) fn width(&self) -> usize {
        self.state_at() + self.layout.claim_state.len() + self.layout.session_state.len()
    }

    /// Whether everything in a statement that selects claims comes from one table, and what it selects and
    /// asks is to the liking of `is_plain`.
    pub(super) fn rests_on(&self, table: &str, is_plain: impl Fn(&str) -> bool) -> bool {
        self.from == format!("{table} AS c") && is_plain(&self.columns) && is_plain(&self.held)
    }

    /// The clock, as a profile's own expressions may name it.
    pub(super) fn clock(&self, board: &BoundBoard, now: Moment) -> NamedParams {
        board.clock(self.dialect, now)
    }

    /// The claim in a row.
    pub(super) fn read(&self, row: &dyn Row, board: &BoundBoard, now: Moment) -> Judged {
        let mut claim = self.claim(row, board);
        let verdict = self.judged(&mut claim, board, now);
        let mark = self.mark(row, &claim);
        Judged { claim, verdict, seen: None, mark }
    }

    /// The same with the token that stands for the states that were selected.
    pub(super) fn read_with_state(&self, row: &dyn Row, board: &BoundBoard, now: Moment) -> Judged {
        let mut judged = self.read(row, board, now);
        judged.seen = Some(self.token(row, board, judged.verdict.rests_on_registry(&judged.claim)));
        judged
    }

    fn claim(&self, row: &dyn Row, board: &BoundBoard) -> Claim {
        let at = |field: usize| 1 + self.ids + field;
        let time = |field: usize, sql: &Option<TimeSql>| match sql {
            Some(sql) => sql.read(&row.time(at(field), &sql.cell.declared)),
            None => Reading::Absent,
        };
        let lease = match board.rules.deadline {
            DeadlineRule::Lease => Lease::Until(time(4, &board.deadline)),
            DeadlineRule::Timeout => Lease::Timeout(Timeout::read(&row.number(at(5)))),
            DeadlineRule::Ttl | DeadlineRule::Holder | DeadlineRule::Never | DeadlineRule::Endless => {
                Lease::Unwritten
            }
        };
        let registry = match &board.registry {
            None => Registry::None,
            Some(registry) if !row.is_true(at(13)) => registry.lacks(row.text(at(1)).as_deref()),
            Some(registry) => Registry::Listed(read_session(row, at(14), registry)),
        };
        let key = board.id_types.iter().enumerate().map(|(part, declared)| row.value(1 + part, declared));
        Claim {
            key: Key(key.collect()),
            kind: row.text(at(0)),
            holder: row.text(at(1)),
            claimed_at: time(2, &board.claimed_at),
            beat_at: time(3, &board.beat_at),
            lease,
            registry,
            worker: Worker::new(row.number(at(10)), row.text(at(11))).of_version(row.text(at(17))),
            disowned: row.is_true(at(6)),
            alive: row.is_true(at(12)),
            attempts: row.number(at(7)).int(),
            max_attempts: row.number(at(8)).int(),
            error: row.text(at(9)),
        }
    }

    fn mark(&self, row: &dyn Row, claim: &Claim) -> Option<Mark> {
        match &self.layout.mark {
            MarkLayout::Rowid => row.number(0).int().map(Mark::Rowid),
            MarkLayout::Key(_) => {
                let parts = (0..self.marks).map(|part| row.value(1 + self.ids + FIELDS + part, ""));
                Some(Mark::Key(Key(parts.collect())))
            }
            MarkLayout::Id => Some(Mark::Key(claim.key.clone())),
            MarkLayout::IdAndPlace => {
                let mut key = claim.key.clone();
                key.0.extend(row.text(0).map(Value::Text));
                Some(Mark::Key(key))
            }
            MarkLayout::None => None,
        }
    }

    /// What the clock, and the kernel where it is asked, say of a claim by now.
    fn judged(&self, claim: &mut Claim, board: &BoundBoard, now: Moment) -> Verdict {
        if let Some(prober) = &self.prober {
            prober.probe_holder_of(claim);
        }
        judge(claim, &board.rules, now)
    }

    /// A claim that was seen before, judged once more. Mostly the clock says what it said then.
    pub(super) fn judge_again<'a>(&self, seen: &'a Seen, board: &BoundBoard, now: Moment) -> Cow<'a, Seen> {
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
        let rows = RowsBehind {
            row: seen.row.clone(),
            version: seen.version.clone(),
            spot: seen.spot,
            session: None,
        };
        let judged = Judged { claim, verdict, seen: None, mark: None };
        Cow::Owned(Seen::new(seen.place.clone(), judged, rows, board, now))
    }

    /// The version of the claim's row, if it was selected with its state and rows have versions.
    pub(super) fn version(&self, row: &dyn Row) -> Option<String> {
        row.text(self.state_at() + self.layout.version?)
    }

    /// A digest of the claim's whole row and, where the verdict rests on it, of the registry's.
    fn token(&self, row: &dyn Row, board: &BoundBoard, with_session: bool) -> SeenToken {
        let claim = self.state_at();
        let session = claim + self.layout.claim_state.len();
        let of_session = || digest(row, session..self.width());
        SeenToken {
            claim: digest(row, claim..session),
            session: (with_session && board.registry.is_some()).then(of_session),
        }
    }

    /// That a row is the one at a mark; its values go to `params`. Nothing, if the mark is of another kind.
    pub(super) fn is_at(&self, mark: &Mark, params: &mut NamedParams) -> Option<String> {
        match (mark, &self.layout.mark) {
            (_, MarkLayout::None) => None,
            (Mark::Rowid(rowid), MarkLayout::Rowid) => Some(self.same(&[Value::Int(*rowid)], params)),
            (Mark::Rowid(_), _) | (Mark::Key(_), MarkLayout::Rowid) => None,
            (Mark::Key(key), _) => Some(self.same(&key.0, params)),
        }
    }

    fn same(&self, values: &[Value], params: &mut NamedParams) -> String {
        let parts = self.identity.iter().zip(values).enumerate();
        conditions(parts.map(|(at, (part, value))| self.equal(part, &format!("key{at}"), value, params)))
    }

    fn equal(&self, part: &ComparedColumn, name: &str, value: &Value, params: &mut NamedParams) -> String {
        if *value == Value::Null {
            return format!("{} IS NULL", part.sql);
        }
        params.add_value(name, &part.declared, value.clone());
        format!("{} = {}", part.sql, self.dialect.place(name, value))
    }

    /// What follows the conditions of a page: from where its rows are read, their order and how many. Nothing,
    /// if the rows have no order.
    pub(super) fn page(&self, from: &Cursor, rows: usize, params: &mut NamedParams) -> Option<String> {
        if self.order.is_empty() {
            return None;
        }
        let (edge, order) = match from {
            Cursor::First => (None, "ASC"),
            Cursor::From(mark) => (Some((">=", mark)), "ASC"),
            Cursor::After(mark) => (Some((">", mark)), "ASC"),
            Cursor::Before(mark) => (Some(("<", mark)), "DESC"),
            Cursor::Last => (None, "DESC"),
        };
        let edge = edge.map_or_else(String::new, |(how, mark)| self.beyond(how, mark, params));
        let sorted: Vec<String> = self.order.iter().map(|part| format!("{} {order}", part.sql)).collect();
        Some(format!("{edge} ORDER BY {} LIMIT {}", sorted.join(", "), rows.saturating_add(1)))
    }

    fn beyond(&self, how: &str, mark: &Mark, params: &mut NamedParams) -> String {
        let values = match mark {
            Mark::Rowid(rowid) => vec![Value::Int(*rowid)],
            // The row's place, where there is one, comes last.
            Mark::Key(key) => key.0[key.0.len().saturating_sub(self.order.len())..].to_vec(),
        };
        let places: Vec<String> = (self.order.iter().zip(&values).enumerate())
            .map(|(at, (part, value))| {
                let name = format!("edge{at}");
                params.add_value(&name, &part.declared, value.clone());
                self.dialect.place(&name, value)
            })
            .collect();
        let columns: Vec<&str> = self.order.iter().map(|part| part.sql.as_str()).collect();
        match (&columns[..], &places[..]) {
            ([column], [place]) => format!(" AND {column} {how} {place}"),
            _ => format!(" AND ({}) {how} ({})", columns.join(", "), places.join(", ")),
        }
    }
}

/// The fields of a claim, in the order in which [`RowReader::claim`] reads them.
fn fields(board: &BoundBoard, dialect: &dyn Dialect) -> Vec<String> {
    let null = || "NULL".to_owned();
    let any = |sql: &Option<String>| sql.as_ref().map_or_else(null, |sql| dialect.selected(sql));
    let time =
        |sql: &Option<TimeSql>| sql.as_ref().map_or_else(null, |time| dialect.selected(&time.selected));
    let timeout = board.timeout.as_ref().map_or_else(null, |sql| dialect.seconds(sql, &board.timeout_type));
    let mut fields = vec![
        any(&board.kind),
        board.holder.as_ref().map_or_else(null, |holder| dialect.selected(&holder.text)),
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
        any(&board.alive),
    ];
    match &board.registry {
        Some(registry) => {
            fields.push(dialect.selected(&format!("{} IS NOT NULL", registry.id.text)));
            fields.extend(session_columns(registry, dialect));
        }
        None => fields.extend((0..4).map(|_| null())),
    }
    fields.push(any(&board.version));
    fields
}

/// The columns of a registry row, in the order that [`read_session`] expects.
pub(super) fn session_columns(registry: &BoundRegistry, dialect: &dyn Dialect) -> [String; 3] {
    let time = |time: &TimeSql| dialect.selected(&time.selected);
    let maybe = |sql: &Option<TimeSql>| sql.as_ref().map_or_else(|| "NULL".into(), time);
    [maybe(&registry.beat_at), maybe(&registry.stale_at), maybe(&registry.started_at)]
}

/// The session in the columns of a row that begin at `first`.
pub(super) fn read_session(row: &dyn Row, first: usize, registry: &BoundRegistry) -> Session {
    let reading = |at: usize, sql: &TimeSql| sql.read(&row.time(at, &sql.cell.declared));
    Session {
        beat_at: registry.beat_at.as_ref().map_or(Reading::Absent, |sql| reading(first, sql)),
        stale_at: registry.stale_at.as_ref().map(|sql| reading(first + 1, sql)),
        started_at: registry.started_at.as_ref().map_or(Reading::Absent, |sql| reading(first + 2, sql)),
    }
}

fn conditions(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" AND ")
}

/// Stands for the values of some columns.
fn digest(row: &dyn Row, columns: Range<usize>) -> RowDigest {
    let mut hash = Sha256::new();
    for column in columns {
        absorb(&mut hash, &row.value(column, ""));
    }
    row_digest(hash)
}

/// Types are part of a value: the number 1 and the text '1' are different states.
fn absorb(hash: &mut Sha256, value: &Value) {
    let (tag, bytes): (u8, Cow<'_, [u8]>) = match value {
        Value::Null => (0, Cow::default()),
        Value::Int(number) => (1, number.to_be_bytes().to_vec().into()),
        Value::Real(number) => (2, number.to_bits().to_be_bytes().to_vec().into()),
        Value::Text(text) => (3, text.as_bytes().into()),
        Value::BadText(bytes) => (5, bytes.into()),
        Value::Bytes(bytes) => (4, bytes.into()),
    };
    hash.update([tag]);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(&bytes);
}
