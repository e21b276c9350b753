//! One MySQL or MariaDB database, read: connect, fit profiles to it, poll.
//!
//! A poll is one transaction that may only read, with one picture of the data and one clock, the server's own. No
//! transaction outlives it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::compiler::MysqlCompiler;
use super::connection::{OnLink, failed};
use super::dialect;
use super::identify::fingerprint;
use super::replica::{self, ReplicaLag};
use super::schema;
use super::zone;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, Span, ZoneName};
use crate::mysql::link::Flavor;
use crate::mysql::{Begin, Limits, Link, MyError, Purpose, Target};
use crate::profile::format::Profile;
use crate::store::attempts::AttemptOrder;
use crate::store::bound::BoundZone;
use crate::store::driver::Failed;
use crate::store::fit::{Fit, FitTarget};
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::look::{Look, LookPurpose, ReadEngine};
use crate::store::schema::{Schema, Table};
use crate::store::selection::Selection;
use crate::store::server::{self, BacklogPlan, FoundOrder, Watch, WatchPlan, WatchedProfile};
use crate::store::suspend::uninterrupted;
use crate::store::watched::{self, BoardAt, PollContext, Watched};
use crate::store::{Filter, Options, StoreError, clock};

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) target: Target,
    pub(super) options: Options,
    link: Option<Link>,
    pub(super) watched: Vec<WatchedProfile>,
    pub(super) schema: Schema,
    fitted: Instant,
    /// The boards that were ever fitted, and how long to wait before that is tried again.
    known: BTreeSet<BoardId>,
    fits_for: Duration,
    fingerprint: String,
    context: PollContext,
    /// The number of bytes that the server has logged, where it counts them.
    written: Option<i64>,
}

/// Profiles are laid onto the tables again after this long: new ones may have come.
const FITS_FOR: Duration = Duration::from_secs(60);
/// The same while a board is missing that was there before: it may come back any moment.
const MISSING: Duration = Duration::from_secs(2);
/// How much longer than the server we wait before we give it up.
const GRACE: Duration = Duration::from_secs(1);

const FITTING: &str = "reading the tables";
const FINDING: &str = "looking for claims";

pub(super) fn limits(options: &Options) -> Limits {
    let answer = options.poll_timeout + GRACE;
    Limits { statement: options.poll_timeout, lock: options.busy_timeout, answer }
}

impl Reader {
    pub fn open(target: Target, options: Options) -> Result<Reader, StoreError> {
        let mut reader = Reader {
            target,
            options,
            link: None,
            watched: Vec::new(),
            schema: Schema::default(),
            fitted: Instant::now(),
            known: BTreeSet::new(),
            fits_for: FITS_FOR,
            fingerprint: String::new(),
            context: PollContext::default(),
            written: None,
        };
        reader.link = Some(reader.connect()?);
        Ok(reader)
    }

    /// The connection, a new one if there is none, with the profiles laid onto the tables.
    fn connect(&mut self) -> Result<Link, StoreError> {
        let known = self.link.take().filter(Link::is_open);
        if let Some(link) = known {
            if self.fitted.elapsed() < self.fits_for {
                return Ok(link);
            }
            let mut link = link;
            match self.fit(&mut link) {
                // The server has ended the session since the last poll.
                Err(StoreError::Unreachable { .. }) => {}
                other => return other.map(|()| link),
            }
        }
        let mut link = Link::open(&self.target, Purpose::Polls, limits(&self.options))?;
        self.fit(&mut link)?;
        Ok(link)
    }

    fn fit(&mut self, link: &mut Link) -> Result<(), StoreError> {
        let said = |error: MyError| self.options.my_sentence(&error, FITTING);
        let schema = schema::read(link, self.target.database()).map_err(said)?;
        let fingerprint = fingerprint(link).map_err(said)?;
        let dialect = dialect::of(link.flavor());
        let compiler = MysqlCompiler::new(link, self.options.profiles.are_named());
        let bound = FitTarget { compiler: &compiler, schema: &schema, options: &self.options }.fitting();
        if let Some(error) = compiler.unanswered.take() {
            return Err(said(error));
        }
        let remembered = self.options.registrations.of(&fingerprint);
        let all = Watched::all(bound?, &remembered, |board| {
            let backlog = BacklogPlan::of_all(board.backlog.as_ref(), self.options.effort);
            let plan = WatchPlan { holder_is_indexed: true, backlog, ..WatchPlan::default() };
            let watch = Watch::new(board, dialect, &schema, self.options.prober.clone());
            Ok::<_, StoreError>(watch.map(|watch| watch.with_plan(plan)))
        })?;
        let here: BTreeSet<BoardId> =
            BoardAt::all(&all).iter().map(|at| at.board().board_id.clone()).collect();
        self.fits_for = if self.known.is_subset(&here) { FITS_FOR } else { MISSING };
        self.known.extend(here);
        self.watched = all;
        self.schema = schema;
        self.fingerprint = fingerprint;
        self.fitted = Instant::now();
        Ok(())
    }

    /// Runs `look` inside one transaction that only reads, with the database's clock at its start.
    pub(super) fn reading<T>(
        &mut self,
        doing: &str,
        mut look: impl FnMut(&mut Reader, &mut OnLink<'_>, Moment) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        let mut outcome = self.transaction(doing, &mut look)?;
        let is_idle = matches!(&outcome, Err(Failed::Other(StoreError::Unreachable { .. })));
        if outcome.as_ref().is_err_and(Failed::is_of_old_tables) || (is_idle && self.was_idle()) {
            // The tables have changed since the profiles were laid onto them, or the server has ended a session that
            // asked nothing for long.
            self.fit_again();
            outcome = self.transaction(doing, &mut look)?;
        }
        Ok(outcome?)
    }

    /// Whether the last connection was lost at its first question.
    fn was_idle(&self) -> bool {
        self.link.is_none()
    }

    /// Runs `look` between the beginning and the end of a transaction that only reads.
    fn transaction<T>(
        &mut self,
        doing: &str,
        mut look: impl FnMut(&mut Reader, &mut OnLink<'_>, Moment) -> Result<T, Failed>,
    ) -> Result<Result<T, Failed>, StoreError> {
        let _uninterrupted = uninterrupted();
        let mut link = self.connect()?;
        let options = self.options.clone();
        let mut connection = OnLink { link: &mut link, options: &options, purpose: Purpose::Polls };
        let outcome = self.begin(doing, &mut connection).and_then(|now| look(self, &mut connection, now));
        if link.is_open() {
            // Ends the transaction whatever happened; there is nothing to commit.
            let ended = link.rollback();
            self.link = Some(link);
            let ended = ended.map_err(|error| failed(&error, self.options.my_sentence(&error, doing)));
            return Ok(outcome.and_then(|result| ended.map(|()| result)));
        }
        Ok(outcome)
    }

    /// Begins a transaction with the server's clock, and asks whether the rows contradict their zones.
    fn begin(&mut self, doing: &str, connection: &mut OnLink<'_>) -> Result<Moment, Failed> {
        let said = |error: MyError| failed(&error, self.options.my_sentence(&error, doing));
        // What is written between the two is seen, and counts as new at the next poll.
        self.written = replica::bytes_written(connection.link).map_err(said)?;
        connection.link.begin(Begin::Reading).map_err(said)?;
        let asked = clock();
        let rows = connection.link.query("SELECT SYSDATE(6)", Vec::new()).map_err(said)?;
        let middle = asked.plus(Span::micros(clock().since(asked).as_micros() / 2));
        let theirs = rows.first().and_then(|row| Moment::parse(&row.text(0)?)).unwrap_or(middle);
        self.context.clock_offset = theirs.since(middle);
        let lag = replica::lag(connection.link).map_err(said)?;
        self.context.lag = match lag {
            ReplicaLag::Primary => None,
            ReplicaLag::Behind(lag) => Some(lag),
            ReplicaLag::Unknown(why) => {
                let (source_name, doing) = (self.options.name(), doing.into());
                return Err(StoreError::Server { source_name, said: why, doing }.into());
            }
        };
        // What a replica has not heard of yet cannot be held against anybody.
        let now =
            self.options.frozen_at.unwrap_or_else(|| theirs.minus(self.context.lag.unwrap_or_default()));
        for watch in self.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
            watch.examine_zone(connection, now)?;
        }
        Ok(now)
    }

    /// A look through the connection for acts, inside its transaction.
    pub(super) fn look_through<'a>(&'a self, link: &'a mut Link, now: Moment) -> Look<'a> {
        let Reader { options, schema, .. } = self;
        let connection = Box::new(OnLink { link, options, purpose: Purpose::Acts });
        Look { connection, boards: self.boards(), schema, options, now }
    }

    /// Reads the tables and lays the profiles onto them now.
    pub(super) fn read_tables_again(&mut self) -> Result<(), StoreError> {
        self.fit_again();
        self.reading(FITTING, |_, _, _| Ok(()))
    }

    /// Which of the two systems answers.
    pub(super) fn flavor(&self) -> Flavor {
        self.link.as_ref().map_or(Flavor::MySql, Link::flavor)
    }

    /// Lays the profiles onto the tables anew before the next look.
    fn fit_again(&mut self) {
        self.fitted = Instant::now().checked_sub(FITS_FOR).unwrap_or_else(Instant::now);
        self.fits_for = Duration::ZERO;
    }
}

impl ReadEngine for Reader {
    fn options(&self) -> &Options {
        &self.options
    }

    fn freeze(&mut self, at: Moment) {
        self.options.frozen_at = Some(at);
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn data_version(&self) -> Option<i64> {
        self.written
    }

    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(&self.watched)
    }

    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let started = Instant::now();
        let now = self.reading("polling", |reader, connection, now| {
            let effort = reader.options.effort;
            for watch in reader.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                watch.refresh(connection, now, effort)?;
            }
            Ok(now)
        })?;
        Ok(self.context.snapshots(&self.watched, now, started))
    }

    fn look(
        &mut self,
        doing: &str,
        _: LookPurpose,
        look: &mut dyn FnMut(&mut Look<'_>) -> Result<(), Failed>,
    ) -> Result<(), StoreError> {
        self.reading(doing, |reader, connection, now| {
            let OnLink { link, options, purpose } = connection;
            let connection = Box::new(OnLink { link, options, purpose: *purpose });
            let (boards, schema) = (reader.boards(), &reader.schema);
            look(&mut Look { connection, boards, schema, options: &reader.options, now })
        })
    }

    fn find_worst(&mut self, board: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.reading("listing", |reader, connection, now| {
            let Some((_, watch)) = watched::find(&reader.watched, board) else { return Ok(Some(Vec::new())) };
            if !watch.board.is_addressable() {
                return Ok(None);
            }
            if filter.sets.is_empty() {
                return Ok(Some(Vec::new()));
            }
            watch.spotted(connection, now, filter, FoundOrder::WorstFirst).map(Some)
        })
    }

    fn find_all(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.reading(FINDING, |reader, connection, now| {
            server::find_all(&reader.watched, connection, now, filter)
        })
    }

    fn select_all(&mut self, filter: &Filter) -> Result<Option<Selection>, StoreError> {
        let selection = self.reading(FINDING, |reader, connection, now| {
            server::select_all(&reader.watched, connection, now, filter, &reader.schema)
        })?;
        Ok(Some(selection))
    }

    fn count_overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        self.reading("counting", |reader, connection, now| {
            server::overdue(&reader.watched, connection, now, board)
        })
    }

    fn zone(&mut self, name: &ZoneName, _: &Table) -> Result<Option<BoundZone>, StoreError> {
        let zone = self.reading("reading the zone", |reader, connection, _| {
            let said =
                |error: MyError| failed(&error, reader.options.my_sentence(&error, "reading the zone"));
            zone::bound(connection.link, name).map_err(said)
        })?;
        Ok(zone.ok().filter(|zone| zone.unknown.is_none()))
    }

    fn attempt_order(&mut self, _: &Table) -> Result<Option<AttemptOrder>, StoreError> {
        Ok(None)
    }
}

/// Lays each of the profiles onto the database.
pub fn fits(target: &Target, options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let mut link = Link::open(target, Purpose::Polls, limits(options))?;
    let said = |error: MyError| options.my_sentence(&error, FITTING);
    let schema = schema::read(&mut link, target.database()).map_err(said)?;
    let compiler = MysqlCompiler::new(&mut link, options.profiles.are_named());
    let fits = FitTarget { compiler: &compiler, schema: &schema, options }.describe(profiles);
    match compiler.unanswered.take() {
        Some(error) => Err(said(error)),
        None => fits,
    }
}
