//! Single claims, read cell by cell: a rotten cell spoils its own reading and nothing else.

use rusqlite::Row;
use sha2::{Digest, Sha256};

use super::cell::cell;
use super::holders::{read_session, session_columns};
use crate::domain::claim::{Claim, Lease, Registry, Timeout, Worker};
use crate::domain::rules::DeadlineRule;
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::{Moment, Reading};
use crate::domain::token::{SeenToken, row_digest};
use crate::domain::value::{Key, Value};
use crate::domain::verdict::judge;
use crate::store::Prober;
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::schema::quoted;

/// How to read the claims of one board.
#[derive(Debug)]
pub struct RowReader {
    /// `SELECT rowid, ... FROM ... WHERE held`, to be continued with conditions on `c`.
    pub select: String,
    /// How many columns make up the key; they follow the rowid.
    keys: usize,
    /// The first of the columns of the primary key, where that takes the place of the rowid.
    mark: usize,
    /// The first of the raw columns of `c`, followed by those of `s`.
    raw: usize,
    prober: Option<Prober>,
}

impl RowReader {
    pub fn new(board: &BoundBoard, prober: Option<Prober>) -> RowReader {
        let null = || "NULL".to_owned();
        let text = |sql: &Option<String>| sql.clone().unwrap_or_else(null);
        let time = |sql: &Option<TimeSql>| sql.as_ref().map_or_else(null, |time| time.cell.text.clone());
        let mut columns = vec![if board.has_rowid { "c.rowid".into() } else { null() }];
        let key = board.key.iter().map(|name| format!("c.{}", quoted(name)));
        columns.extend(board.id.iter().cloned());
        columns.push(text(&board.kind));
        columns.push(board.holder.as_ref().map_or_else(null, |holder| holder.text.clone()));
        columns.push(time(&board.claimed_at));
        columns.push(time(&board.beat_at));
        columns.push(time(&board.deadline));
        columns.push(text(&board.timeout));
        columns.push(text(&board.disowned));
        columns.push(text(&board.attempts));
        columns.push(text(&board.max_attempts));
        columns.push(text(&board.error));
        columns.push(text(&board.pid));
        columns.push(text(&board.host));
        let mut from = board.from.clone();
        match &board.registry {
            Some(registry) => {
                columns.push(format!("{} IS NOT NULL", registry.id.text));
                columns.extend(session_columns(registry));
                from = board.joined();
            }
            None => columns.extend((0..4).map(|_| null())),
        }
        let mark = columns.len();
        columns.extend(key);
        let raw = columns.len();
        columns.push("c.*".into());
        if board.registry.is_some() {
            columns.push("s.*".into());
        }
        let held = board.is_held();
        RowReader {
            select: format!("SELECT {} FROM {from} WHERE {held}", columns.join(", ")),
            keys: board.id.len(),
            mark,
            raw,
            prober,
        }
    }

    /// The claim in `row`, and the token that stands for its state if `token` is wanted.
    pub fn read(&self, row: &Row<'_>, board: &BoundBoard, now: Moment, token: bool) -> Judged {
        let at = |field: usize| cell(row, 1 + self.keys + field);
        let time = |field: usize, sql: &Option<TimeSql>| match sql {
            Some(time) => time.read(&at(field)),
            None => Reading::Absent,
        };
        let lease = match board.rules.deadline {
            DeadlineRule::Lease => Lease::Until(time(4, &board.deadline)),
            DeadlineRule::Timeout => Lease::Timeout(Timeout::read(&at(5))),
            DeadlineRule::Ttl | DeadlineRule::Holder | DeadlineRule::Never => Lease::Unwritten,
        };
        let registry = match &board.registry {
            None => Registry::None,
            Some(registry) if at(12) == Value::Int(0) => registry.lacks(at(1).text().as_deref()),
            Some(registry) => Registry::Listed(read_session(row, 1 + self.keys + 13, registry)),
        };
        let mut claim = Claim {
            key: Key((1..=self.keys).map(|part| cell(row, part)).collect()),
            kind: at(0).text(),
            holder: at(1).text(),
            claimed_at: time(2, &board.claimed_at),
            beat_at: time(3, &board.beat_at),
            lease,
            registry,
            worker: Worker::new(at(10), at(11).text()),
            disowned: matches!(at(6), Value::Int(number) if number != 0),
            attempts: at(7).int(),
            max_attempts: at(8).int(),
            error: at(9).text(),
        };
        if let Some(prober) = &self.prober {
            prober.probe_holder_of(&mut claim);
        }
        let verdict = judge(&claim, &board.rules, now);
        let seen = token.then(|| self.token(row, board, verdict.rests_on_registry(&claim)));
        let mark = self.mark(row, board);
        Judged { claim, verdict, seen, mark }
    }

    fn mark(&self, row: &Row<'_>, board: &BoundBoard) -> Option<Mark> {
        if board.has_rowid {
            return cell(row, 0).int().map(Mark::Rowid);
        }
        let key = (self.mark..self.raw).map(|part| cell(row, part));
        board.is_addressable().then(|| Mark::Key(Key(key.collect())))
    }

    /// A digest of the claim's whole row and, where the verdict rests on it, of the registry's.
    fn token(&self, row: &Row<'_>, board: &BoundBoard, with_session: bool) -> SeenToken {
        let all = row.as_ref().column_count();
        let end = self.raw + board.width;
        let digest = |range: std::ops::Range<usize>| {
            let mut hash = Sha256::new();
            for column in range {
                absorb(&mut hash, &cell(row, column));
            }
            row_digest(hash)
        };
        let session = (with_session && board.registry.is_some()).then(|| digest(end..all));
        SeenToken { claim: digest(self.raw..end), session }
    }
}

/// Types are part of a value: the number 1 and the text '1' are different states.
fn absorb(hash: &mut Sha256, value: &Value) {
    let (tag, bytes): (u8, Vec<u8>) = match value {
        Value::Null => (0, Vec::new()),
        Value::Int(number) => (1, number.to_be_bytes().into()),
        Value::Real(number) => (2, number.to_bits().to_be_bytes().into()),
        Value::Text(text) => (3, text.as_bytes().into()),
        Value::BadText(bytes) => (5, bytes.clone()),
        Value::Bytes(bytes) => (4, bytes.clone()),
    };
    hash.update([tag]);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(&bytes);
}
