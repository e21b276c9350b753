//! One source, read, whatever engine it is of.

use super::look::{Look, LookPurpose, ReadEngine};
use super::opening;
use super::{Options, StoreError, Tally};
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::store::driver::Failed;

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) engine: Box<dyn ReadEngine>,
}

impl Reader {
    pub fn open(options: Options) -> Result<Reader, StoreError> {
        Ok(Reader { engine: opening::reader(options)? })
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
            for watch in look.watches() {
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
        self.engine.expect_board(wanted)
    }

    /// Runs `look` inside one transaction that only reads.
    pub(super) fn look<T>(
        &mut self,
        doing: &str,
        look: impl FnMut(&mut Look<'_>) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.engine.looking(doing, LookPurpose::Display, look)
    }
}
