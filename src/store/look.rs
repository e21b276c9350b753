//! One look at a source: what reading asks of an engine, and what it gets.

use std::fmt::{self, Debug, Formatter};

use super::attempts::AttemptOrder;
use super::bound::BoundZone;
use super::driver::{Connection, Failed, Row};
use super::found::RowRef;
use super::named_params::NamedParams;
use super::schema::{Schema, Table};
use super::watched::{Watched, WatchedBoard};
use super::{Filter, Prober, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::{Judged, Snapshot};
use crate::domain::time::{Moment, ZoneName};
use crate::profile::format::Profile;
use crate::store::driver::Query;

/// An engine that reads one source. It owns the connection and knows how to find trouble by index;
/// everything else is asked in SQL that is the same for all engines.
pub trait ReadEngine: Debug + Send {
    /// What the source is called.
    fn label(&self) -> String;

    /// Names the database as the trail does.
    fn fingerprint(&self) -> String;

    /// Who asks the kernel about the holders' processes, if that is wanted.
    fn prober(&self) -> Option<Prober>;

    /// The zone that the operator has set for times without one.
    fn operator_zone(&self) -> Option<ZoneName>;

    /// Stops the clock at an instant, or moves it to another.
    fn freeze(&mut self, at: Moment);

    /// Another number means that something was written since the last poll; nothing, where the database does
    /// not count its writes.
    fn data_version(&self) -> Option<i64> {
        None
    }

    /// Why rows may be hidden from us.
    fn veiled(&self) -> Option<String> {
        None
    }

    /// The identities of all boards, in order.
    fn board_ids(&self) -> Vec<BoardId>;

    /// Counts every set of every board: a snapshot for every profile that fits.
    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError>;

    /// Runs `look` inside one transaction that only reads, with one clock. Where the tables have changed since
    /// the profiles were laid onto them, that is done again, and `look` may run a second time.
    fn look(
        &mut self,
        doing: &str,
        look: &mut dyn FnMut(&mut Look<'_>) -> Result<(), Failed>,
    ) -> Result<(), StoreError>;

    /// Asks anew whether the rows contradict the zones in which their times are read, where a look does not.
    fn examine_zones(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Where the claims of a board are that have one of the sets of a filter, worst first; at most its limit
    /// of each. Nothing, if the rows are nowhere to come back to: those of a view.
    fn find_worst(&mut self, board: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError>;

    /// The zone that a name means for the times of a table; nothing, if nobody knows.
    fn zone(&mut self, name: &ZoneName, table: &Table) -> Result<Option<BoundZone>, StoreError>;

    /// What the attempts in a table are numbered by; nothing, if they are not.
    fn attempt_order(&mut self, table: &Table) -> Result<Option<AttemptOrder>, StoreError>;
}

/// A transaction that only reads, its clock, and the boards that can be read in it.
pub struct Look<'a> {
    pub connection: &'a mut dyn Connection,
    pub boards: Vec<&'a dyn WatchedBoard>,
    pub profiles: Vec<&'a Profile>,
    pub schema: &'a Schema,
    pub now: Moment,
}

impl Debug for Look<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Look<'a> {
    pub fn new<W: WatchedBoard>(
        connection: &'a mut dyn Connection,
        watched: &'a [Watched<W>],
        schema: &'a Schema,
        now: Moment,
    ) -> Look<'a> {
        let boards = watched.iter().flat_map(|watched| &watched.boards);
        Look {
            connection,
            boards: boards.map(|watch| watch as &dyn WatchedBoard).collect(),
            profiles: watched.iter().map(|watched| &watched.profile).collect(),
            schema,
            now,
        }
    }

    /// The board with an identity, if its tables are still there.
    pub fn board(&self, id: &BoardId) -> Option<&'a dyn WatchedBoard> {
        self.boards.iter().copied().find(|watch| watch.bound().board_id == *id)
    }

    /// Hands on every claim of a board that meets a condition, read one by one.
    pub fn each_claim(
        &mut self,
        doing: &str,
        watch: &dyn WatchedBoard,
        condition: &str,
        each: &mut dyn FnMut(Judged),
    ) -> Result<(), Failed> {
        let (rows, board, now) = (watch.rows(), watch.bound(), self.now);
        let sql = format!("{}{condition}", rows.select());
        let clock = rows.clock(board, now);
        self.connection.stream(doing, &sql, &clock, &mut |row| each(rows.read(row, board, now)))
    }

    /// The claims that meet a condition, with their tokens.
    pub fn claims(
        &mut self,
        doing: &str,
        watch: &dyn WatchedBoard,
        condition: &str,
        params: NamedParams,
    ) -> Result<Vec<Judged>, Failed> {
        let (rows, board, now) = (watch.rows(), watch.bound(), self.now);
        let sql = format!("{}{condition}", rows.select_with_state(&[]));
        let mut all = rows.clock(board, now);
        all.extend(params);
        let read = |row: &dyn Row| rows.read_with_state(row, board, now);
        self.connection.all(doing, &sql, &all, read)
    }
}
