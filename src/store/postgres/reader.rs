//! One PostgreSQL database, read: connect, fit profiles to it, poll.
//!
//! A poll is one transaction that may only read, with one picture of the data and one clock, the
//! database's own. No transaction outlives it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::audit_table;
use super::catalog_version::CatalogVersion;
use super::column_type::is_whole;
use super::compiler::Postgres;
use super::connection::OnLink;
use super::dependencies::Dependencies;
use super::dialect::PostgresDialect;
use super::installed;
use super::rights::Rights;
use super::schema::{self, DatabaseCatalog, literal};
use super::sentences::Sentences;
use super::trust::{Allowed, Trust};
use super::watch_plan;
use super::zone;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, Span, ZoneName};
use crate::postgres::error::PgError;
use crate::postgres::link::{Begin, Limits, Link, Purpose};
use crate::postgres::target::Target;
use crate::profile::format::Profile;
use crate::store::attempts::{AttemptNumbers, AttemptOrder};
use crate::store::bound::BoundZone;
use crate::store::driver::{Failed, Row as _};
use crate::store::fit::{Fit, FitTarget};
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::look::{Look, LookPurpose, ReadEngine};
use crate::store::schema::{Schema, Table};
use crate::store::selection::Selection;
use crate::store::server::{self, FoundOrder, Watch, WatchedProfile};
use crate::store::suspend::uninterrupted;
use crate::store::watched::{self, BoardAt, PollContext, Watched};
use crate::store::{Filter, Options, StoreError, clock};

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) target: Target,
    pub(super) options: Arc<Options>,
    link: Option<Link>,
    pub(super) watched: Vec<WatchedProfile>,
    pub(super) schema: Schema,
    pub(super) dependencies: Dependencies,
    /// The table of records, if it can be trusted.
    pub(super) audit_table: Option<Table>,
    /// The tables as they were when the profiles were fitted to them, and when that was.
    pub(super) version: CatalogVersion,
    fitted: Instant,
    fingerprint: String,
    context: PollContext,
}

const FINDING: &str = "looking for claims";

/// Profiles are laid onto the tables again after this long: tables of other profiles may have come.
const FITS_FOR: Duration = Duration::from_secs(60);
/// How much longer than the server we wait before we give it up.
const GRACE: Duration = Duration::from_secs(1);

impl Options {
    fn allowed(&self) -> Allowed {
        Allowed { functions: self.allow_functions.clone(), views: self.profiles.are_named() }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { statement: self.poll_timeout, lock: self.busy_timeout, answer: self.poll_timeout + GRACE }
    }

    pub(super) fn sentence(&self, error: &PgError, doing: &str) -> StoreError {
        let source_name = self.name();
        match error {
            PgError::Server { code, .. } if code == "57014" => {
                StoreError::TooSlow { path: source_name.into(), limit_ms: self.poll_timeout.as_millis() }
            }
            PgError::Server { code, .. } if code == "55P03" => StoreError::Locked {
                path: source_name.into(),
                waited_ms: self.busy_timeout.as_millis(),
                code: code.clone(),
            },
            PgError::Server { .. } => {
                StoreError::Server { source_name, said: error.to_string(), doing: doing.into() }
            }
            PgError::Lost(_) | PgError::TimedOut(_) => {
                StoreError::Unreachable { source_name, why: error.to_string().into() }
            }
        }
    }
}

impl Reader {
    pub fn open(target: Target, options: Options) -> Result<Reader, StoreError> {
        let mut reader = Reader {
            target,
            options: Arc::new(options),
            link: None,
            watched: Vec::new(),
            schema: Schema::default(),
            dependencies: Dependencies::default(),
            audit_table: None,
            version: CatalogVersion::default(),
            fitted: Instant::now(),
            fingerprint: String::new(),
            context: PollContext::default(),
        };
        reader.connect()?;
        Ok(reader)
    }

    /// A look through one of the connections to the database.
    pub(super) fn look_through<'a>(&'a self, connection: OnLink<'a>, now: Moment) -> Look<'a> {
        let (boards, schema, options) = (self.boards(), &self.schema, &self.options);
        Look { connection: Box::new(connection), boards, schema, options, now }
    }

    /// Connects, if there is no connection, and lays the profiles onto the tables.
    fn connect(&mut self) -> Result<&mut Link, StoreError> {
        if self.link.as_ref().is_some_and(Link::is_open) && self.fitted.elapsed() < FITS_FOR {
            return self.link.as_mut().ok_or_else(|| gone(&self.options));
        }
        let mut link = match self.link.take().filter(Link::is_open) {
            Some(link) => link,
            None => Link::open(&self.target, Purpose::Polls, self.options.limits())?,
        };
        link.begin(Begin::Reading).map_err(|error| self.reading_tables(&error))?;
        self.fit(&mut link)?;
        link.rollback().map_err(|error| self.reading_tables(&error))?;
        Ok(self.link.insert(link))
    }

    fn reading_tables(&self, error: &PgError) -> StoreError {
        self.options.sentence(error, "reading the tables")
    }

    /// Lays the profiles onto the tables as they are in the current transaction.
    fn fit(&mut self, link: &mut Link) -> Result<(), StoreError> {
        let said = |error: PgError| self.reading_tables(&error);
        let DatabaseCatalog { schema, dependencies, types, .. } = schema::read(link).map_err(said)?;
        let fingerprint = fingerprint(link).map_err(said)?;
        let compiler = Postgres::new(link, Trust::new(&schema, &types, self.options.allowed()));
        let bound = FitTarget { compiler: &compiler, schema: &schema, options: &self.options }.fitting();
        if let Some(error) = compiler.unanswered.take() {
            return Err(said(error));
        }
        let remembered = self.options.registrations.of(&fingerprint);
        let mut all = Watched::all(bound?, &remembered, |board| {
            let watch = Watch::new(board, &PostgresDialect, &schema, self.options.prober.clone());
            let planned = watch.map(|watch| {
                let plan = watch_plan::plan(link, &watch, clock(), self.options.effort)?;
                Ok(watch.with_plan(plan))
            });
            planned.transpose().map_err(said)
        })?;
        for watched in &mut all {
            watched.notices.extend(differing(link, watched).map_err(said)?);
        }
        let Rights { veiled, warning } = Rights::read(link, &all).map_err(said)?;
        let profiles = all.iter().map(|watched| &watched.profile);
        let version = self.version.clone().read(link, profiles, &schema, &dependencies).map_err(said)?;
        let claims = all.iter().flat_map(|watched| &watched.boards).map(|watch| &watch.table);
        let (audit_table, distrust) = audit_table::trusted(&schema, claims);
        let mut warnings: Vec<String> = distrust.into_iter().collect();
        warnings.extend(warning.map(str::to_owned));
        if let Some(warn) = &self.options.warn {
            let label = self.target.label();
            warnings.drain(..).for_each(|warning| warn.say(&format!("{label}: {warning}")));
        }
        self.context.warnings = warnings;
        self.audit_table = audit_table;
        self.watched = all;
        self.version = version;
        self.schema = schema;
        self.dependencies = dependencies;
        self.context.veiled = veiled;
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
        if outcome.as_ref().is_err_and(Failed::is_of_old_tables) {
            // The tables have changed since the profiles were laid onto them.
            self.fit_again();
            outcome = self.transaction(doing, &mut look)?;
        }
        Ok(outcome?)
    }

    /// Runs `look` between the beginning and the end of a transaction that only reads.
    fn transaction<T>(
        &mut self,
        doing: &str,
        mut look: impl FnMut(&mut Reader, &mut OnLink<'_>, Moment) -> Result<T, Failed>,
    ) -> Result<Result<T, Failed>, StoreError> {
        let _uninterrupted = uninterrupted();
        self.connect()?;
        let Some(mut link) = self.link.take() else { return Err(gone(&self.options)) };
        let options = Arc::clone(&self.options);
        let mut connection = OnLink { link: &mut link, sentences: Sentences::of_polls(&options) };
        let begun = self.begin(doing, &mut connection);
        let outcome = begun.map(|begun| begun.and_then(|now| look(self, &mut connection, now)));
        if !connection.link.is_open() {
            return outcome;
        }
        // Ends the transaction whatever happened; there is nothing to commit.
        let ended = connection.link.rollback();
        let ended = connection.answered(doing, ended);
        self.link = Some(link);
        Ok(outcome?.and_then(|result| ended.map(|()| result)))
    }

    /// Begins a transaction with the database's clock, lays the profiles onto the tables if those have changed,
    /// and asks whether the rows contradict their zones.
    fn begin(
        &mut self,
        doing: &str,
        connection: &mut OnLink<'_>,
    ) -> Result<Result<Moment, Failed>, StoreError> {
        let asked = clock();
        // A standby that has replayed nothing yet cannot be newer than its own start.
        let question = format!(
            "SELECT clock_timestamp()::text, pg_is_in_recovery()::text,
             coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())::text, {}",
            self.version.sql()
        );
        let rows = connection.link.begin_asking(Begin::Reading, &question, &[]);
        let rows = match connection.answered(doing, rows) {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let middle = asked.plus(Span::micros(clock().since(asked).as_micros() / 2));
        let read = |at: usize| rows.first().and_then(|row| Moment::parse(row.get(at)?));
        let theirs = read(0).unwrap_or(middle);
        self.context.clock_offset = theirs.since(middle);
        let is_standby = rows.first().is_some_and(|row| row.is_true(1));
        let replayed = read(2).filter(|_| is_standby);
        self.context.lag = is_standby.then(|| replayed.map_or(Span::ZERO, |at| theirs.since(at)));
        // What a standby has not heard of yet cannot be held against anybody.
        let now = self.options.frozen_at.unwrap_or_else(|| replayed.unwrap_or(theirs).min(theirs));
        if !self.version.is(rows.first().and_then(|row| row.get(3))) {
            self.fit(connection.link)?;
        }
        let mut watches = self.watched.iter_mut().flat_map(|watched| &mut watched.boards);
        Ok(watches.try_for_each(|watch| watch.examine_zone(connection, now)).map(|()| now))
    }

    /// Asks something apart from polls, in a transaction of its own that only reads.
    pub(super) fn aside<T>(
        &mut self,
        doing: &str,
        mut ask: impl FnMut(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, StoreError> {
        self.reading(doing, |_, connection, _| {
            let answer = ask(connection.link);
            connection.answered(doing, answer)
        })
    }

    /// Lays the profiles onto the tables anew before the next look.
    pub(super) fn fit_again(&mut self) {
        self.fitted = Instant::now().checked_sub(FITS_FOR).unwrap_or_else(Instant::now);
    }
}

impl ReadEngine for Reader {
    fn options(&self) -> &Options {
        &self.options
    }

    fn freeze(&mut self, at: Moment) {
        Arc::make_mut(&mut self.options).frozen_at = Some(at);
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn veiled(&self) -> Option<String> {
        self.context.veiled()
    }

    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(&self.watched)
    }

    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let started = Instant::now();
        let now = self.reading("polling", |reader, connection, now| {
            for watch in reader.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                watch.refresh(connection, now, reader.options.effort)?;
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
            let OnLink { link, sentences } = connection;
            look(&mut reader.look_through(OnLink { link, sentences: *sentences }, now))
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

    fn zone(&mut self, name: &ZoneName, table: &Table) -> Result<Option<BoundZone>, StoreError> {
        let zone = self.aside("reading the zone", |link| zone::bound(link, name, &table.sql))?;
        Ok(zone.ok().filter(|zone| zone.unknown.is_none()))
    }

    /// Where attempts have no number, the microsecond of each stands for one. They are committed a moment after
    /// they are stamped: younger ones wait for the next look, so that none is passed over.
    fn attempt_order(&mut self, table: &Table) -> Result<Option<AttemptOrder>, StoreError> {
        if table.column("id").is_some_and(|id| is_whole(&id.declared)) {
            return Ok(Some(AttemptOrder { number: "id".into(), numbers: AttemptNumbers::Serial }));
        }
        if table.column("attempted_at").is_none() {
            return Ok(None);
        }
        let bound = |link: &mut Link| zone::bound(link, &ZoneName::Server, &table.sql);
        let zone = self.aside("reading attempts", bound)?.unwrap_or_default();
        let number = "(extract(epoch FROM attempted_at::timestamp) * 1000000)::bigint".into();
        let now = format!("(now() AT TIME ZONE {})", literal(&zone.sql));
        let only = format!("attempted_at < {now} - interval '{COMMITTED_AFTER}'");
        Ok(Some(AttemptOrder { number, numbers: AttemptNumbers::Times { only } }))
    }
}

/// After this long an attempt that was stamped is committed.
const COMMITTED_AFTER: &str = "5 seconds";

/// Tells this database from every other, whatever it is called.
pub(super) fn fingerprint(link: &mut Link) -> Result<String, PgError> {
    let sql = "SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::text,
               current_database()::text, has_function_privilege('pg_control_system()', 'EXECUTE')::text";
    let rows = link.query(sql, &[])?;
    let may_ask = rows.first().is_some_and(|row| row.is_true(2));
    let system = "SELECT system_identifier::text FROM pg_control_system()";
    let system = if may_ask { link.query(system, &[])? } else { Vec::new() };
    let text = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    let system = system.first().and_then(|row| row.get(0)).unwrap_or("server");
    Ok(format!("postgres:{system}:{}:{}", text(0), text(1)))
}

/// A sentence if the system's own functions in the database recover otherwise than these rules.
fn differing(link: &mut Link, watched: &WatchedProfile) -> Result<Option<String>, PgError> {
    let mut count = 0;
    for watch in &watched.boards {
        let written = watched.profile.boards.iter().find(|written| written.name == watch.board.name);
        if let Some(written) = written {
            count += installed::compared(link, written, &watch.board.rules)?.len();
        }
    }
    let points = if count == 1 { "1 point".into() } else { format!("{count} points") };
    Ok((count > 0).then(|| {
        format!(
            "the system's own recovery in this database differs in {points} from these rules; `claimtop doctor` \
             compares them and names the settings that match"
        )
    }))
}

fn gone(options: &Options) -> StoreError {
    StoreError::Gone { path: options.name().into() }
}

/// Lays each of the profiles onto the database.
pub fn fits(target: &Target, options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let mut link = Link::open(target, Purpose::Polls, options.limits())?;
    let said = |error: PgError| options.sentence(&error, "reading the tables");
    link.begin(Begin::Reading).map_err(said)?;
    let DatabaseCatalog { schema, types, .. } = schema::read(&mut link).map_err(said)?;
    let compiler = Postgres::new(&mut link, Trust::new(&schema, &types, options.allowed()));
    let fits = FitTarget { compiler: &compiler, schema: &schema, options }.describe(profiles);
    match compiler.unanswered.take() {
        Some(error) => Err(said(error)),
        None => fits,
    }
}
