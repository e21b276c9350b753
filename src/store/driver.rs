//! The seam behind which an engine lives: what only SQLite, or only PostgreSQL, knows.
//!
//! Everything that reads and changes claims is written once, against these traits. An engine
//! implements them, and is named nowhere but where a source is opened.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use super::act::{Acted, Batch, Intents, Order};
use super::bound::{BoundBoard, BoundRegistry, BoundZone, TimeSql};
use super::error::StoreError;
use super::filter::Filter;
use super::found::{FoundBoard, Overdue, RowRef};
use super::image::{Change, Image, RowAt};
use super::named_params::NamedParams;
use super::prober::Prober;
use super::resolution::TransactionMark;
use super::schema::{Column, Table, quoted};
use super::scope::Scope;
use super::seen::{Place, Seen};
use super::selection::{Again, Noted, Selection};
use super::session::Registered;
use super::statements::Statements;
use super::watched::{self, Watched, WatchedBoard};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::Refusal;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, Reading, Span, TimeUnit};
use crate::domain::value::Value;
use crate::profile::format::{Act, Board, Profile};

/// One row of a result. Reading a cell never fails: what cannot be read is a value that says so.
///
/// A cell that is not there reads as NULL.
pub trait Row {
    /// The cell as the value that a column of this declared type holds.
    fn value(&self, at: usize, declared: &str) -> Value;

    /// A cell that is computed with: a number if it reads like one.
    fn number(&self, at: usize) -> Value;

    /// A cell that is read as a time; the ends of an engine's calendar are those of ours.
    fn time(&self, at: usize, declared: &str) -> Value;

    /// The cell as text; nothing for NULL.
    fn text(&self, at: usize) -> Option<String>;

    /// Whether a condition held.
    fn is_true(&self, at: usize) -> bool;

    /// A count; nothing counted is 0.
    fn count(&self, at: usize) -> u64 {
        self.number(at).int().unwrap_or(0).max(0).unsigned_abs()
    }
}

/// What an engine's SQL looks like. It needs no connection.
pub trait Dialect: Debug + Sync {
    /// An expression in a list of columns, so that [`Row`] can read it.
    fn selected(&self, sql: &str) -> String;

    /// The seconds in a length of time, in a list of columns.
    fn seconds(&self, sql: &str, _declared: &str) -> String {
        self.selected(sql)
    }

    /// What the earliest of some times is found by, with `min`; nothing, if their values cannot be compared
    /// safely.
    fn earliest(&self, time: &TimeSql) -> Option<String>;

    /// A time of that kind, as a row has it.
    fn read_earliest(&self, time: &TimeSql, row: &dyn Row, at: usize) -> Reading;

    /// The time of a trace as it is selected, and what sorts traces by it; times without a zone are in `zone`.
    fn trace_time(
        &self,
        at: &str,
        column: Option<&Column>,
        unit: TimeUnit,
        zone: Option<&BoundZone>,
    ) -> TraceTime;

    /// That a column holds exactly the value in `place`, whatever its type and collation, NULL included.
    fn holds_exactly(&self, column: &str, place: &str) -> String;

    /// That two expressions are equal, where NULL equals NULL.
    fn is_same(&self, one: &str, other: &str) -> String;

    /// Where the value of a parameter stands, as SQL.
    fn place(&self, name: &str, _value: &Value) -> String {
        format!(":{name}")
    }

    /// The assignment of a profile's expression to a column, in an `UPDATE`.
    ///
    /// The expression ends with a line break, so that a comment in it cannot swallow what follows.
    fn assignment(&self, column: &Column, expression: &str) -> String {
        format!("{} = ({expression}\n)", quoted(&column.name))
    }

    /// The version of the row called `alias`, as text, if the engine counts versions.
    fn version(&self, alias: &str) -> Option<String>;

    /// That a row of a board, as `c`, is the claim that was seen; of any version.
    fn is_claim(&self, board: &BoundBoard, seen: &Seen, params: &mut NamedParams) -> String;

    /// That a row of a registry, as `s`, is the session that was seen; of any version.
    fn is_session(&self, registry: &BoundRegistry, seen: &Registered, params: &mut NamedParams) -> String;

    /// That a row of a board, as `c`, has this key.
    fn has_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String;

    /// The same for a key that somebody typed: a number may be typed for a text, and a text for a number.
    fn has_typed_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String {
        self.has_key(board, key, params)
    }

    /// The number of the row called `alias`, where rows have numbers.
    fn row_number(&self, _table: &Table, _alias: &'static str) -> String {
        "NULL".into()
    }

    /// That the row called `alias` is where a change has it; nothing, if the table cannot have such a row.
    fn is_at(&self, table: &Table, at: &RowAt, alias: &str, params: &mut NamedParams) -> Option<String>;

    /// Where a row of a table is that looks like this, if its looks tell; else where it was.
    fn at_of(&self, table: &Table, row: &Image, was: &RowAt) -> RowAt;

    /// Locks a session's row against writers of it, without waiting; nothing, if the transaction has locked it.
    fn shared_lock(&self) -> Option<&'static str>;

    /// Locks the row called `alias`, without waiting; nothing, if the transaction has locked it.
    fn exclusive_lock(&self, alias: &str) -> Option<String>;

    /// Deletes one row of a table for which a condition on `c` holds.
    fn delete_one(&self, table: &Table, condition: &str) -> String {
        format!("DELETE FROM {} AS c WHERE {condition}", table.sql)
    }

    /// Ends a savepoint, and checks at once what would be checked at the commit: there it would cost all acts
    /// of the transaction.
    fn release(&self, savepoint: &str) -> String {
        format!("RELEASE {savepoint}")
    }

    /// An instant that is compared with columns of `unit`; times without a zone are in `zone`.
    fn add_time(
        &self,
        params: &mut NamedParams,
        name: &str,
        unit: TimeUnit,
        zone: &BoundZone,
        moment: Moment,
    );

    /// An instant that an act may write, into columns of `unit` and of others.
    fn add_instant(
        &self,
        params: &mut NamedParams,
        name: &str,
        unit: TimeUnit,
        zone: &BoundZone,
        moment: Moment,
    ) {
        self.add_time(params, name, unit, zone, moment);
    }

    /// A length of time as it is added to columns of `unit`.
    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span);
}

/// How the time of a trace is selected and sorted, as SQL.
#[derive(Debug)]
pub struct TraceTime {
    pub selected: String,
    pub order: String,
}

/// Why a statement was not done.
#[derive(Debug)]
pub enum Failed {
    /// Somebody else holds a row that it needs.
    Locked(StoreError),
    /// The database does not understand it: a table, a column or a function is not there.
    NotUnderstood(StoreError),
    Other(StoreError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Other(error)
    }
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> StoreError {
        match failed {
            Failed::Locked(error) | Failed::NotUnderstood(error) | Failed::Other(error) => error,
        }
    }
}

/// An open connection, inside a transaction. `doing` names the step in an error.
pub trait Connection {
    fn dialect(&self) -> &'static dyn Dialect;

    /// Runs a statement and hands on its rows as they come. Parameters that the statement does not name
    /// are left out.
    fn each(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed>;

    /// The same where there may be more rows than fit into memory.
    fn stream(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        self.each(doing, sql, params, row)
    }

    /// Runs a statement; how many rows it changed.
    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed>;

    /// Runs a statement without parameters or rows: a savepoint, the way back to it, its release.
    fn run(&mut self, doing: &str, sql: &str) -> Result<(), Failed>;
}

/// Rows of a statement as values.
pub trait Query: Connection {
    /// What `read` makes of every row.
    fn all<T>(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Vec<T>, Failed> {
        let mut all = Vec::new();
        self.each(doing, sql, params, &mut |row| all.push(read(row)))?;
        Ok(all)
    }

    /// What `read` makes of the first row, if there is one.
    fn first<T>(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Option<T>, Failed> {
        Ok(self.all(doing, sql, params, read)?.into_iter().next())
    }

    /// Whether a statement selects anything.
    fn exists(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<bool, Failed> {
        Ok(self.first(doing, sql, params, |_| ())?.is_some())
    }

    /// The one count that a statement selects.
    fn count(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        Ok(self.first(doing, sql, params, |row| row.count(0))?.unwrap_or(0))
    }
}

impl<T: Connection + ?Sized> Query for T {}

/// A board of a source, and the profile that it is of.
#[derive(Debug, Clone, Copy)]
pub struct BoardAt<'a> {
    pub profile: &'a Profile,
    pub board: &'a BoundBoard,
}

impl<'a> BoardAt<'a> {
    /// Every board of some profiles.
    pub fn all<W: WatchedBoard>(watched: &'a [Watched<W>]) -> Vec<BoardAt<'a>> {
        let of = |watched: &'a Watched<W>| {
            let boards = watched.boards.iter();
            boards.map(|watch| BoardAt { profile: &watched.profile, board: watch.bound() })
        };
        watched.iter().flat_map(of).collect()
    }

    /// The one with an identity, if its tables are still there.
    pub fn find<W: WatchedBoard>(watched: &'a [Watched<W>], id: &BoardId) -> Option<BoardAt<'a>> {
        let (watched, watch) = watched::find(watched, id)?;
        Some(BoardAt { profile: &watched.profile, board: watch.bound() })
    }

    /// As the profile writes it.
    pub fn written(&self) -> Option<&'a Board> {
        self.profile.boards.iter().find(|written| written.name == self.board.name)
    }

    /// How a session of its registry ends, if the profile says so.
    pub fn end(&self) -> Option<&'a Act> {
        self.profile.registry(self.written()?)?.end.as_ref()
    }
}

/// The claims of a source on one connection, inside one transaction.
pub trait ClaimReader: Connection {
    fn boards(&self) -> Vec<BoardAt<'_>>;

    /// The board with an identity, if its tables are still there.
    fn board(&self, id: &BoardId) -> Option<BoardAt<'_>>;

    /// The table of a board's registry, if its rows can be told apart.
    fn registry_table(&self, id: &BoardId) -> Option<Table>;

    /// The claims of a board for which a condition on `c` holds, with their rows.
    fn claims(
        &mut self,
        id: &BoardId,
        condition: &str,
        params: NamedParams,
        now: Moment,
    ) -> Result<Vec<Seen>, Failed>;

    /// Who asks the kernel about processes, if anybody does.
    fn prober(&self) -> Option<Prober>;
}

/// What is known of a transaction that may write.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The database's clock when it began.
    pub now: Moment,
    /// The text of its [`TransactionMark`].
    pub transaction: Option<String>,
}

/// Why a commit did not succeed.
#[derive(Debug)]
pub enum NotCommitted {
    /// The database refused: nothing was written.
    Refused(Refusal),
    /// Whether it was written cannot be told, however often one asks.
    InDoubt(String),
    /// The answer was lost. The database can be asked by another connection.
    AnswerLost(String),
}

/// What a database knows of an earlier transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Committed,
    Aborted,
    UnderWay,
    /// It is over, and the database cannot say how it ended.
    Ended,
}

/// The row that an act is about.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub table: &'a Table,
    /// SQLite's number of it.
    pub rowid: i64,
    pub row: &'a Image,
}

/// The claims that one transaction of a bulk takes.
#[derive(Debug)]
pub struct BatchPart<'a, 'b> {
    pub all: &'a [&'b Seen],
    /// So many before them are known to be gone.
    pub passed: usize,
    /// When it should end; nothing, if there are few enough of them.
    pub until: Option<Instant>,
}

/// An engine that changes rows. All of it happens on one connection, in one transaction at a time.
pub trait Driver: Debug + Send {
    fn dialect(&self) -> &'static dyn Dialect;

    fn boards(&self) -> Vec<BoardAt<'_>>;

    /// The board with an identity, if its tables are still there.
    fn board(&self, id: &BoardId) -> Option<BoardAt<'_>>;

    /// The transaction that has begun.
    fn transaction(&mut self) -> Box<dyn ClaimReader + '_>;

    /// Connects again if the connection was lost, and reads the tables again if they have changed. An error if
    /// it is another database by now.
    fn refresh(&mut self) -> Result<(), StoreError>;

    /// Tells this database from every other, whatever it is called.
    fn fingerprint(&self) -> String;

    /// Whether the database has a clock of its own. A file has none: whoever writes to it brings one.
    fn has_clock(&self) -> bool;

    /// Stops the clock at an instant, or moves it to another.
    fn freeze(&mut self, at: Moment);

    /// An error that names the boards there are, unless `wanted` is one of them.
    fn expect_board(&mut self, wanted: Option<&str>) -> Result<(), StoreError>;

    /// One look: a snapshot for every profile that fits.
    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError>;

    /// Where the claims are that a filter looks for.
    fn find_all(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError>;

    /// Those of the claims that are still there, as they are now.
    fn look_at(&mut self, found: &[(&BoardId, &[RowRef])]) -> Result<Vec<Seen>, StoreError>;

    /// The claims in the sets of a filter, worst first.
    fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError>;

    /// Claims that were noted, as they are now.
    fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError>;

    /// How many claims a board has, and how many are past their deadline; nothing, if polls count them in full.
    fn count_overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError>;

    /// Lets `look` read claims apart from acts: no lock is taken, and nothing can be written. It may be called a
    /// second time, if the tables turn out to have changed.
    fn reading(
        &mut self,
        doing: &str,
        look: &mut dyn FnMut(&mut dyn ClaimReader, Moment) -> Result<(), Failed>,
    ) -> Result<(), StoreError>;

    /// The table, if it is there.
    fn table(&self, name: &str) -> Option<Table>;

    /// The same, unless its name may mean another one by now.
    fn certain(&self, name: &str) -> Option<Table> {
        self.table(name)
    }

    /// The table of records, if it is there and can be trusted.
    fn audit_table(&mut self) -> Option<Table>;

    /// Creates it.
    fn create_audit_table(&mut self) -> Result<(), StoreError>;

    /// What an action on a board may change, by the profile of this name, its statements, and what triggers and
    /// foreign keys make of them; nothing, if no profile that fits knows it.
    fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError>;

    /// Begins a transaction that may write. It never waits longer than the operator allows.
    fn begin(&mut self) -> Result<Turn, StoreError>;

    /// Commits. Nothing may be written if it answers `Refused`.
    fn commit(&mut self) -> Result<(), NotCommitted>;

    /// Takes everything back.
    fn rollback(&mut self) -> Result<(), StoreError>;

    /// Whether the transaction goes on after a row was refused.
    fn goes_on(&self) -> bool {
        true
    }

    /// What became of an earlier transaction. Asked inside a transaction; where writers are kept out by that,
    /// the earlier one is over.
    fn fate(&mut self, mark: &TransactionMark) -> Result<Fate, StoreError>;

    /// A claim as it is now, inside the transaction, if it is one.
    fn fresh(&mut self, seen: &Seen, now: Moment) -> Result<Option<Seen>, Failed>;

    /// A session's row may have another number by now.
    fn place_of(&self, seen: &Registered) -> Place {
        seen.place.clone()
    }

    /// The condition for a claim, as `c` and `s`, to be still stale or orphaned, if the database can tell.
    fn still_stale(&self, _id: &BoardId, _now: Moment, _params: &mut NamedParams) -> Option<String> {
        None
    }

    /// Runs the statements of an act; every row that they changed, by triggers and foreign keys too, with its
    /// images. Nothing, if the act itself did not find exactly the one row.
    fn change(&mut self, target: &Target<'_>, statements: &Statements)
    -> Result<Option<Vec<Change>>, Failed>;

    /// Whether triggers of a table may put a claim back.
    fn has_triggers(&self, table: &str) -> bool;

    /// Whether triggers of a table may change a row once more after it is written.
    fn changes_rows_again(&self, _table: &str) -> bool {
        false
    }

    /// Rows that the transaction has written so far, by their tables, where triggers write rows that nobody sees.
    fn rows_written(&mut self) -> Result<BTreeMap<String, u64>, Failed> {
        Ok(BTreeMap::new())
    }

    /// Keeps triggers from firing, or lets them fire again; whether the engine can.
    fn silence_triggers(&mut self, _silent: bool) -> Result<bool, Failed> {
        Ok(false)
    }

    /// The columns of a table that we may not write.
    fn unwritable_columns(&mut self, _table: &Table) -> Result<Vec<String>, Failed> {
        Ok(Vec::new())
    }

    /// Whether we may delete rows of a table.
    fn may_delete(&mut self, _table: &Table) -> Result<bool, Failed> {
        Ok(true)
    }

    /// Inserts a row that was deleted, as far as possible where it was; where it is.
    fn insert(&mut self, table: &Table, at: &RowAt, row: &Image) -> Result<Option<RowAt>, Failed>;

    /// Begins a transaction for some of the claims of one board, which come first in `all` then.
    fn begin_batch<'a, 'b>(
        &mut self,
        all: &'a mut [&'b Seen],
        budget: Duration,
    ) -> Result<(Turn, BatchPart<'a, 'b>), StoreError>;

    /// Does the order to the claims of a batch that were not tried yet, as far as it can without looking at
    /// each again; what it does not do is done one by one.
    fn act_fast(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
        tried: &mut Vec<Acted>,
        intents: &mut dyn Intents,
    ) -> Result<(), StoreError>;

    /// Has the intents of a batch written, and the rows of the audit table that [`Driver::act_fast`] left for
    /// this moment.
    fn record_batch(&mut self, _turn: &Turn, intents: &mut dyn Intents) -> Result<(), String> {
        intents.write()
    }

    /// Learns from a batch that has ended, and says how long others were kept out.
    fn end_batch(&mut self, batch: Batch, began: Instant) -> Batch;
}
