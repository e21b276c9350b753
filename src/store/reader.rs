//! One source, read, whatever engine it is of.

use super::filter::expect_board;
use super::look::{Look, ReadEngine};
use super::{Fit, Options, StoreError, Tally, postgres, sqlite};
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::profile::format::Profile;
use crate::store::driver::Failed;

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) engine: Box<dyn ReadEngine>,
}

impl Reader {
    pub fn open(options: impl Into<Options>) -> Result<Reader, StoreError> {
        let engine: Box<dyn ReadEngine> = match options.into() {
            Options::Sqlite(options) => Box::new(sqlite::Reader::open(*options)?),
            Options::Postgres(options) => Box::new(postgres::Reader::open(*options)?),
        };
        Ok(Reader { engine })
    }

    /// Reads the counts of every board and its worst claims: a snapshot for every profile that fits.
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        self.engine.poll()
    }

    /// The same counts by reading every claim one by one: slow, and obviously right.
    pub fn tally(&mut self) -> Result<Vec<Tally>, StoreError> {
        self.engine.examine_zones()?;
        self.look("counting", |look| {
            let mut tallies = Vec::new();
            for watch in look.boards.clone() {
                let mut tally = Tally::new(look.now);
                look.each_claim("counting", watch, "", &mut |judged| tally.add(judged, 0))?;
                tallies.push(tally);
            }
            Ok(tallies)
        })
    }

    /// Stands for the state of the data at the last poll, where the database counts its writes; another
    /// number means that something was written.
    pub fn data_version(&self) -> Option<i64> {
        self.engine.data_version()
    }

    /// Names the database as the trail does.
    pub fn fingerprint(&self) -> String {
        self.engine.fingerprint()
    }

    /// Why rows may be hidden from us.
    pub fn veiled(&self) -> Option<String> {
        self.engine.veiled()
    }

    /// Stops this reader's clock at an instant, or moves it to another.
    pub fn freeze(&mut self, at: Moment) {
        self.engine.freeze(at);
    }

    /// An error that names the boards there are, unless `wanted` is one of them.
    pub fn expect_board(&self, wanted: Option<&str>) -> Result<(), StoreError> {
        expect_board(&*self.engine, wanted)
    }

    /// Runs `look` inside one transaction that only reads.
    pub(super) fn look<T>(
        &mut self,
        doing: &str,
        mut look: impl FnMut(&mut Look<'_>) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        let mut answer = None;
        self.engine.look(doing, &mut |one| {
            answer = Some(look(one)?);
            Ok(())
        })?;
        answer.ok_or_else(|| StoreError::Gone { path: self.engine.label().into() })
    }
}

/// Lays each of the profiles onto the database.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    match options {
        Options::Sqlite(options) => sqlite::fits(options, profiles),
        Options::Postgres(options) => postgres::fits(options, profiles),
    }
}
