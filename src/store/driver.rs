//! The seam behind which an engine lives: what only SQLite, or only PostgreSQL, knows.
//!
//! Everything that reads and changes claims is written once, against these traits. An engine
//! implements them, and is named nowhere but where a source is opened.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use super::act::{Acted, Batch, Intents, Order};
pub(super) use super::connection::{Connection, Executed, Failed, OnRow, QueryRows};
pub(super) use super::dialect::{Dialect, Row, RowComparison, TimeForm, TraceTime};
use super::error::StoreError;
use super::image::{Change, Image, RowAt};
use super::look::{Look, ReadEngine};
use super::resolution::TransactionMark;
use super::schema::{Schema, Table};
use super::scope::Scope;
use super::seen::Seen;
use super::statements::Statements;
use super::watched::BoardAt;
use crate::domain::board_id::BoardId;
use crate::domain::recovery::Refusal;
use crate::domain::time::Moment;
use crate::profile::format::Statement;

/// What is known of a transaction that may write.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// The database's clock when it began.
    pub now: Moment,
    /// The text of its [`TransactionMark`].
    pub transaction: Option<String>,
}

/// Why a commit did not succeed.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// The database refused: nothing was written.
    Refused(Refusal),
    /// Whether it was written cannot be told, however often one asks.
    InDoubt(String),
    /// The answer was lost. The database can be asked by another connection.
    AnswerLost(String),
}

/// What a database knows of an earlier transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Committed,
    Aborted,
    UnderWay,
    /// It is over, and the database cannot say how it ended.
    Ended,
}

/// The rows that the statements of an act changed, or why all of it has to be taken back.
pub(super) type Changed = Result<Vec<Change>, NotChanged>;

/// Why the statements of an act have to be taken back.
#[derive(Debug)]
pub(super) enum NotChanged {
    /// The act itself did not find exactly the one row.
    NotTheRow,
    /// A statement beside it found another number of rows than the profile demands.
    OtherRows { sql: String, wanted: u64, found: u64 },
    /// It could not be guarded, or not be undone.
    Refused(Refusal),
}

impl NotChanged {
    /// Unless a statement found as many rows as it has to.
    pub(super) fn unless_found(statement: &Statement, found: u64) -> Result<(), NotChanged> {
        match statement.rows {
            Some(wanted) if wanted != found => {
                Err(NotChanged::OtherRows { sql: statement.sql.clone(), wanted, found })
            }
            _ => Ok(()),
        }
    }
}

/// The row that an act is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActTarget<'a> {
    pub table: &'a Table,
    /// SQLite's number of it.
    pub rowid: i64,
    pub row: &'a Image,
}

/// The claims that one transaction of a bulk takes.
#[derive(Debug)]
pub(super) struct BatchPart<'a, 'b> {
    pub all: &'a [&'b Seen],
    /// So many before them are known to be gone.
    pub passed: usize,
    /// When it should end; nothing, if there are few enough of them.
    pub until: Option<Instant>,
}

/// An engine that changes rows. All of it happens on one connection, in one transaction at a time.
pub(super) trait Driver: Debug + Send {
    fn dialect(&self) -> &'static dyn Dialect;

    /// What reads the same source, on a connection of its own.
    fn reader(&self) -> &dyn ReadEngine;

    fn reader_mut(&mut self) -> &mut dyn ReadEngine;

    /// The connection for acts, inside the transaction that has begun.
    fn connection(&mut self) -> Box<dyn Connection + '_>;

    /// The same, with the boards.
    fn look(&mut self, now: Moment) -> Look<'_>;

    /// The tables as they are on that connection.
    fn schema(&self) -> &Schema;

    /// Connects again if the connection was lost, and reads the tables again if they have changed. An error if
    /// it is another database by now.
    fn refresh(&mut self) -> Result<(), StoreError>;

    /// Tells this database from every other, whatever it is called.
    fn fingerprint(&self) -> String;

    /// Whether the database has a clock of its own. A file has none: whoever writes to it brings one.
    fn has_clock(&self) -> bool;

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

    /// Runs the statements of an act; every row that they changed, by triggers and foreign keys too, with its
    /// images. Or why all of it has to be taken back.
    fn change(&mut self, target: &ActTarget<'_>, statements: &Statements) -> Result<Changed, Failed>;

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

    /// The columns of a table that the engine sets at every write that does not name them.
    fn stamped_columns(&self, _table: &Table) -> Vec<String> {
        Vec::new()
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

impl dyn Driver + '_ {
    pub(super) fn boards(&self) -> Vec<BoardAt<'_>> {
        self.reader().boards()
    }

    /// The board with an identity, if its tables are still there.
    pub(super) fn board(&self, id: &BoardId) -> Option<BoardAt<'_>> {
        self.reader().board(id)
    }

    /// The table, if it is there.
    pub(super) fn table(&self, name: &str) -> Option<Table> {
        self.schema().table(name).cloned()
    }

    /// The same, unless its name may mean another one by now.
    pub(super) fn certain(&self, name: &str) -> Option<Table> {
        self.schema().certain(name).cloned()
    }
}
