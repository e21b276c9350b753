//! One look at a source: what reading asks of an engine, and what it gets.

use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Debug, Formatter};

use super::attempts::AttemptOrder;
use super::bound::BoundZone;
use super::driver::{Connection, Failed, QueryRows, Row};
use super::found::{FoundBoard, Overdue, RowRef};
use super::named_params::NamedParams;
use super::schema::{Schema, Table};
use super::seen::Seen;
use super::seen_reader::SeenReader;
use super::selection::Selection;
use super::watched::{BoardAt, WatchedBoard};
use super::{Filter, Options, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::{Judged, Snapshot};
use crate::domain::time::{Moment, ZoneName};
use crate::domain::verdict::Set;
use crate::profile::format::Profile;

/// An engine that reads one source. It owns the connection and knows how to find trouble by index;
/// everything else is asked in SQL that is the same for all engines.
pub(super) trait ReadEngine: Debug + Send {
    fn options(&self) -> &Options;

    /// Stops the clock at an instant, or moves it to another.
    fn freeze(&mut self, at: Moment);

    /// Names the database as the trail does.
    fn fingerprint(&self) -> String;

    /// Another number means that something was written since the last poll; nothing, where the database does
    /// not count its writes.
    fn data_version(&self) -> Option<i64> {
        None
    }

    /// Why rows may be hidden from us.
    fn veiled(&self) -> Option<String> {
        None
    }

    /// All boards, in order.
    fn boards(&self) -> Vec<BoardAt<'_>>;

    /// Counts every set of every board: a snapshot for every profile that fits.
    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError>;

    /// Runs `look` inside one transaction that only reads, with one clock. Where the tables have changed since
    /// the profiles were laid onto them, that is done again, and `look` may run a second time.
    fn look(
        &mut self,
        doing: &str,
        purpose: LookPurpose,
        look: &mut dyn FnMut(&mut Look<'_>) -> Result<(), Failed>,
    ) -> Result<(), StoreError>;

    /// Asks anew whether the rows contradict the zones in which their times are read, where a look does not.
    fn examine_zones(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Where the claims of a board are that have one of the sets of a filter, worst first; at most its limit
    /// of each. Nothing, if the rows are nowhere to come back to: those of a view.
    fn find_worst(&mut self, board: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError>;

    /// Where all claims of a board are that have one of these sets, in any order.
    fn find_in_sets(&mut self, board: &BoardId, sets: &[Set]) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.find_worst(board, &Filter { sets: sets.to_vec(), ..Filter::default() })
    }

    /// Where the claims of a filter are on every board that can be acted on, the most urgent first.
    fn find_all(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError>;

    /// The same claims with their rows, if the engine has a faster way to them than [`Look::seen_at`].
    fn select_all(&mut self, _filter: &Filter) -> Result<Option<Selection>, StoreError> {
        Ok(None)
    }

    /// How many claims a board has, and how many are past their deadline; nothing, if polls count them in full.
    fn count_overdue(&mut self, _board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        Ok(None)
    }

    /// The zone that a name means for the times of a table; nothing, if nobody knows.
    fn zone(&mut self, name: &ZoneName, table: &Table) -> Result<Option<BoundZone>, StoreError>;

    /// What the attempts in a table are numbered by; nothing, if they are not.
    fn attempt_order(&mut self, table: &Table) -> Result<Option<AttemptOrder>, StoreError>;
}

impl dyn ReadEngine + '_ {
    /// The board with an identity, if its tables are still there.
    pub(super) fn board(&self, id: &BoardId) -> Option<BoardAt<'_>> {
        self.boards().into_iter().find(|at| at.board().board_id == *id)
    }

    /// The identities of all boards, in order.
    pub(super) fn board_ids(&self) -> Vec<BoardId> {
        self.boards().iter().map(|at| at.board().board_id.clone()).collect()
    }

    /// An error that names the boards of a source, unless `wanted` is one of them.
    pub(super) fn expect_board(&self, wanted: Option<&str>) -> Result<(), StoreError> {
        let Some(wanted) = wanted else { return Ok(()) };
        let ids = self.board_ids();
        let boards: Vec<&str> = ids.iter().map(BoardId::board).collect();
        if boards.contains(&wanted) {
            return Ok(());
        }
        let (path, boards) = (self.options().name().into(), boards.join(", "));
        Err(StoreError::NoBoard { path, wanted: wanted.into(), boards })
    }

    /// What `look` makes of one look.
    pub(super) fn looking<T>(
        &mut self,
        doing: &str,
        purpose: LookPurpose,
        mut look: impl FnMut(&mut Look<'_>) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        let mut answer = None;
        self.look(doing, purpose, &mut |one| {
            answer = Some(look(one)?);
            Ok(())
        })?;
        answer.ok_or_else(|| StoreError::Gone { path: self.options().name().into() })
    }
}

/// What a look is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookPurpose {
    /// Somebody waits for a screen or a list: it takes no longer than a poll may.
    Display,
    /// An act is prepared: it takes as long as the engine lets it.
    Act,
}

/// A transaction, its clock, and the boards that can be read in it.
pub(super) struct Look<'a> {
    pub connection: Box<dyn Connection + 'a>,
    pub boards: Vec<BoardAt<'a>>,
    pub schema: &'a Schema,
    pub options: &'a Options,
    pub now: Moment,
}

impl Debug for Look<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Look<'a> {
    /// Every board as it is watched.
    pub(super) fn watches(&self) -> Vec<&'a dyn WatchedBoard> {
        self.boards.iter().map(|at| at.watch).collect()
    }

    /// The profiles that they are of, each once.
    pub(super) fn profiles(&self) -> Vec<&'a Profile> {
        let mut profiles: Vec<&Profile> = self.boards.iter().map(|at| at.profile).collect();
        profiles.dedup_by_key(|profile| &profile.name);
        profiles
    }

    /// The board with an identity and its profile, if its tables are still there.
    pub(super) fn at(&self, id: &BoardId) -> Option<BoardAt<'a>> {
        self.boards.iter().copied().find(|at| at.board().board_id == *id)
    }

    /// The board with an identity, if its tables are still there.
    pub(super) fn board(&self, id: &BoardId) -> Option<&'a dyn WatchedBoard> {
        self.at(id).map(|at| at.watch)
    }

    /// Hands on every claim of a board that meets a condition, read one by one.
    pub(super) fn each_claim(
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
    pub(super) fn claims(
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
        self.connection.all(doing, &sql, &all, |row| rows.read_with_state(row, board, now))
    }

    /// The claims of a board that meet a condition, each with its whole row and its holder's.
    pub(super) fn seen(
        &mut self,
        doing: &str,
        watch: &dyn WatchedBoard,
        condition: &str,
        params: NamedParams,
    ) -> Result<Vec<Seen>, Failed> {
        let (rows, board, now) = (watch.rows(), watch.bound(), self.now);
        let Some(reader) = SeenReader::new(watch, self.schema) else { return Ok(Vec::new()) };
        let sql = format!("{} AND {condition}", rows.select_with_state(&reader.columns()));
        let mut all = rows.clock(board, now);
        all.extend(params);
        let identity = |row: &dyn Row| row.text(0).or_else(|| row.text(rows.width()));
        let read = |row: &dyn Row| (identity(row), reader.read(row, now));
        let mut found = self.connection.all(doing, &sql, &all, read)?;
        // A registry that lists a holder twice shows each of its claims twice.
        found.dedup_by(|(other, _), (one, _)| one.is_some() && one == other);
        Ok(found.into_iter().map(|(_, seen)| seen).collect())
    }

    /// Those of the claims at some places that are still there, in their order, with their tokens.
    pub(super) fn claims_at(
        &mut self,
        watch: &dyn WatchedBoard,
        places: &[RowRef],
    ) -> Result<Vec<Judged>, Failed> {
        let (rows, board, now) = (watch.rows(), watch.bound(), self.now);
        self.read_at(watch, places, &[], |row| rows.read_with_state(row, board, now))
    }

    /// The same without their tokens, in any order.
    pub(super) fn claims_among(
        &mut self,
        watch: &dyn WatchedBoard,
        places: &[RowRef],
    ) -> Result<Vec<Judged>, Failed> {
        let (rows, board, now) = (watch.rows(), watch.bound(), self.now);
        let mut all = Vec::with_capacity(places.len());
        for some in places.chunks(rows.dialect().places_at_once(board)) {
            let mut params = rows.clock(board, now);
            let sql = format!("{} AND {}", rows.select(), rows.dialect().is_among(board, some, &mut params));
            let read = |row: &dyn Row| rows.read(row, board, now);
            all.extend(self.connection.all("looking at claims", &sql, &params, read)?);
        }
        Ok(all)
    }

    /// Those at some places that are still there, in their order, each with its whole row and its holder's.
    pub(super) fn seen_at(
        &mut self,
        watch: &dyn WatchedBoard,
        places: &[RowRef],
    ) -> Result<Vec<Seen>, Failed> {
        let now = self.now;
        let Some(reader) = SeenReader::new(watch, self.schema) else { return Ok(Vec::new()) };
        self.read_at(watch, places, &reader.columns(), |row| reader.read(row, now))
    }

    /// Those of the claims at some places that are still there, in any order; without the tables of the places.
    pub(super) fn seen_among(
        &mut self,
        watch: &dyn WatchedBoard,
        places: &[RowRef],
    ) -> Result<Vec<Seen>, Failed> {
        let now = self.now;
        let Some(reader) = SeenReader::new(watch, self.schema) else { return Ok(Vec::new()) };
        let mut all = Vec::with_capacity(places.len());
        self.each_part_at(
            watch,
            places,
            &reader.columns(),
            |row| reader.read(row, now),
            |_, here| {
                all.extend(here.into_iter().map(|(_, seen)| seen));
            },
        )?;
        Ok(all)
    }

    fn read_at<T>(
        &mut self,
        watch: &dyn WatchedBoard,
        places: &[RowRef],
        columns: &[String],
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Vec<T>, Failed> {
        let mut all = Vec::with_capacity(places.len());
        self.each_part_at(watch, places, columns, read, |some, here| {
            let mut found: HashMap<Option<RowRef>, VecDeque<T>> = HashMap::new();
            for (place, one) in here {
                found.entry(place).or_default().push_back(one);
            }
            for wanted in some {
                // Of a partitioned table several rows are at one place, each in a part of its own. A row that has only
                // a key was looked for alone, and tells no place.
                let place = Some(wanted.clone());
                let place = if found.contains_key(&place) { place } else { None };
                all.extend(found.get_mut(&place).and_then(VecDeque::pop_front));
            }
        })?;
        Ok(all)
    }

    /// Hands on what is at some places, as many at once as the engine goes to.
    fn each_part_at<T>(
        &mut self,
        watch: &dyn WatchedBoard,
        places: &[RowRef],
        columns: &[String],
        read: impl Fn(&dyn Row) -> T,
        mut part: impl FnMut(&[RowRef], Vec<(Option<RowRef>, T)>),
    ) -> Result<(), Failed> {
        let (rows, board) = (watch.rows(), watch.bound());
        let (dialect, select) = (rows.dialect(), rows.select_with_state(columns));
        for some in places.chunks(dialect.places_at_once(board)) {
            let mut params = rows.clock(board, self.now);
            let sql = format!("{select} AND {}", dialect.is_among(board, some, &mut params));
            let read = |row: &dyn Row| (row.text(0).and_then(|place| RowRef::parse(&place)), read(row));
            part(some, self.connection.all("looking at claims", &sql, &params, read)?);
        }
        Ok(())
    }
}
