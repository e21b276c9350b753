//! One source, read, whatever engine it is of.

use super::{Attempts, Filter, Fit, Listed, Options, Released, StoreError, Tally, Trace, postgres, sqlite};
use crate::domain::close_up::{Examined, Holder, Horizon, Kinds, Page, PageRequest, Whole};
use crate::domain::snapshot::{Mark, Snapshot};
use crate::domain::time::Moment;
use crate::domain::value::Key;
use crate::profile::format::Profile;

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub enum Reader {
    Sqlite(Box<sqlite::Reader>),
    Postgres(Box<postgres::Reader>),
}

/// Asks whichever it is.
macro_rules! either {
    ($self:ident, $reader:ident => $ask:expr) => {
        match $self {
            Reader::Sqlite($reader) => $ask,
            Reader::Postgres($reader) => $ask,
        }
    };
}

impl Reader {
    pub fn open(options: impl Into<Options>) -> Result<Reader, StoreError> {
        Ok(match options.into() {
            Options::Sqlite(options) => Reader::Sqlite(Box::new(sqlite::Reader::open(*options)?)),
            Options::Postgres(options) => Reader::Postgres(Box::new(postgres::Reader::open(*options)?)),
        })
    }

    /// One look: a snapshot for every profile that fits.
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        either!(self, reader => reader.poll())
    }

    /// The same counts by reading every claim one by one: slow, and obviously right.
    pub fn tally(&mut self) -> Result<Vec<Tally>, StoreError> {
        either!(self, reader => reader.tally())
    }

    /// Stands for the state of the data at the last poll, where the database counts its writes; another
    /// number means that something was written.
    pub fn data_version(&self) -> Option<i64> {
        match self {
            Reader::Sqlite(reader) => reader.data_version(),
            Reader::Postgres(_) => None,
        }
    }

    /// Names the database as the trail does.
    pub fn fingerprint(&self) -> String {
        either!(self, reader => reader.fingerprint())
    }

    /// What came after the number up to which somebody has read; without one, none of the attempts but
    /// the number of the last. Nothing where no such table is.
    pub fn attempts(&mut self, after: Option<i64>) -> Result<Option<Attempts>, StoreError> {
        either!(self, reader => reader.attempts(after))
    }

    /// Why rows may be hidden from us.
    pub fn veiled(&self) -> Option<String> {
        match self {
            Reader::Sqlite(_) => None,
            Reader::Postgres(reader) => reader.veiled(),
        }
    }

    /// Stops this reader's clock at an instant, or moves it to another.
    pub fn freeze(&mut self, at: Moment) {
        either!(self, reader => reader.freeze(at));
    }

    /// Hands the claims that `filter` takes to `each`, until that says `false`.
    pub fn list(&mut self, filter: &Filter, each: impl FnMut(Listed) -> bool) -> Result<(), StoreError> {
        either!(self, reader => reader.list(filter, each))
    }

    /// An error that names the boards there are, unless `wanted` is one of them.
    pub fn expect_board(&self, wanted: Option<&str>) -> Result<(), StoreError> {
        either!(self, reader => reader.expect_board(wanted))
    }

    /// Up to `limit` traces of each kind that the profiles name and the database has.
    pub fn history(&mut self, limit: usize) -> Result<Vec<Trace>, StoreError> {
        either!(self, reader => reader.history(limit))
    }

    /// Everybody in the registries, and, where there is none, everybody who holds a claim that
    /// names its process; or only the one that is named.
    pub fn holders(&mut self, only: Option<&str>) -> Result<Vec<Holder>, StoreError> {
        either!(self, reader => reader.holders(only))
    }

    /// One page of a board.
    pub fn page(&mut self, request: &PageRequest) -> Result<Page, StoreError> {
        either!(self, reader => reader.page(request))
    }

    /// Every board of at most `most` claims, read whole.
    pub fn whole(&mut self, most: usize) -> Result<Vec<Whole>, StoreError> {
        either!(self, reader => reader.whole(most))
    }

    /// The claim at a mark, with every column, if it is still the one with this id.
    pub fn examine(
        &mut self,
        profile: &str,
        board: &str,
        mark: &Mark,
        address: &str,
    ) -> Result<Option<Examined>, StoreError> {
        either!(self, reader => reader.examine(profile, board, mark, address))
    }

    /// What the row of a job says that nobody holds any more, where the profile knows the state it is in.
    pub fn released(
        &mut self,
        profile: &str,
        board: &str,
        key: &Key,
    ) -> Result<Option<Released>, StoreError> {
        either!(self, reader => reader.released(profile, board, key))
    }

    /// Every board that has kinds or a backlog.
    pub fn kinds(&mut self) -> Result<Vec<Kinds>, StoreError> {
        either!(self, reader => reader.kinds())
    }

    /// The coming `minutes` of all boards together.
    pub fn horizon(&mut self, minutes: usize) -> Result<Horizon, StoreError> {
        either!(self, reader => reader.horizon(minutes))
    }
}

/// Lays each of the profiles onto the database.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    match options {
        Options::Sqlite(options) => sqlite::fits(options, profiles),
        Options::Postgres(options) => postgres::fits(options, profiles),
    }
}
