//! One PostgreSQL database, read: connect, fit profiles to it, poll.
//!
//! A poll is one transaction that may only read, with one picture of the data and one clock, the
//! database's own. No transaction outlives it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use super::audit_table;
use super::cell::is_true;
use super::dependencies::Dependencies;
use super::dialect::{Postgres, is_whole};
use super::driver::Claims;
use super::error::PgError;
use super::found::Order;
use super::installed;
use super::link::{Begin, Limits, Link, Purpose};
use super::schema::{self, Catalog, literal};
use super::sentences::Sentences;
use super::target::Target;
use super::trust::{Allowed, Trust};
use super::watch::Watch;
use super::zone;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, Span, ZoneName};
use crate::profile::format::{Engine, Profile};
use crate::profile::rules::Operator;
use crate::store::attempts::AttemptOrder;
use crate::store::bound::BoundZone;
use crate::store::driver::Failed;
use crate::store::fit::{Fit, FitTarget};
use crate::store::found::RowRef;
use crate::store::look::{Look, ReadEngine};
use crate::store::options::{Effort, Profiles};
use crate::store::schema::{Schema, Table};
use crate::store::suspend::uninterrupted;
use crate::store::watched;
use crate::store::{Filter, Prober, Protected, Registrations, StoreError, Warn, clock};

/// What a reader is told about its source.
#[derive(Debug, Clone)]
pub struct Options {
    pub target: Target,
    pub profiles: Profiles,
    pub operator: Operator,
    pub effort: Effort,
    /// How long an act waits for a row that a worker holds.
    pub busy_timeout: Duration,
    pub poll_timeout: Duration,
    /// A clock that stands still, for tests on frozen data.
    pub frozen_at: Option<Moment>,
    /// Who asks the kernel about the holders' processes, if that is wanted.
    pub prober: Option<Prober>,
    /// Who was registered before.
    pub registrations: Registrations,
    /// What may not be acted on.
    pub protected: Protected,
    /// Functions, operators and types that profiles may use although they are not built in, or do more than
    /// read.
    pub allow_functions: Vec<String>,
    /// Hears what the operator should know once; unset, it is said with every poll.
    pub warn: Option<Warn>,
}

/// A profile under watch.
pub type Watched = watched::Watched<Watch>;

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) options: Options,
    link: Option<Link>,
    pub(super) watched: Vec<Watched>,
    pub(super) schema: Schema,
    pub(super) dependencies: Dependencies,
    /// The table of records, if it can be trusted.
    pub(super) audit_table: Option<Table>,
    fitted: Instant,
    /// The boards that were ever fitted, and how long to wait before that is tried again.
    known: BTreeSet<BoardId>,
    fits_for: Duration,
    fingerprint: String,
    sky: PollContext,
}

/// What surrounds a look at the data.
#[derive(Debug, Clone, Default)]
struct PollContext {
    /// The database's clock minus ours.
    clock_offset: Span,
    /// How far behind its primary it is, if it is a standby.
    lag: Option<Span>,
    /// Tables whose rows may be hidden from us.
    veiled: Vec<String>,
    /// What else the operator should know.
    warnings: Vec<String>,
}

/// Profiles are laid onto the tables again after this long: new ones may have come.
const FITS_FOR: Duration = Duration::from_secs(60);
/// The same while a board is missing that was there before: it may come back any moment.
const MISSING: Duration = Duration::from_secs(2);
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
        let source_name = self.target.label().to_owned();
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
    pub fn open(options: Options) -> Result<Reader, StoreError> {
        let mut reader = Reader {
            options,
            link: None,
            watched: Vec::new(),
            schema: Schema::default(),
            dependencies: Dependencies::default(),
            audit_table: None,
            fitted: Instant::now(),
            known: BTreeSet::new(),
            fits_for: FITS_FOR,
            fingerprint: String::new(),
            sky: PollContext::default(),
        };
        reader.connect()?;
        Ok(reader)
    }

    fn snapshots(&self, now: Moment, started: Instant) -> Vec<Snapshot> {
        let poll_cost = Span::micros(i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX));
        let snapshot = |watched: &Watched| Snapshot {
            profile: watched.name.clone(),
            generic: watched.profile.generic,
            now,
            clock_offset: self.sky.clock_offset,
            poll_cost,
            boards: watched.boards.iter().map(|watch| watch.snapshot(now)).collect(),
            notices: watched.notices.iter().cloned().chain(self.sky.notices()).collect(),
            replica: self.sky.lag,
            veiled: self.veiled(),
        };
        self.watched.iter().map(snapshot).collect()
    }

    /// Connects, if there is no connection, and lays the profiles onto the tables.
    fn connect(&mut self) -> Result<&mut Link, StoreError> {
        if self.link.as_ref().is_some_and(Link::is_open) && self.fitted.elapsed() < self.fits_for {
            return self.link.as_mut().ok_or_else(|| gone(&self.options));
        }
        let mut link = match self.link.take().filter(Link::is_open) {
            Some(link) => link,
            None => Link::open(&self.options.target, Purpose::Polls, self.options.limits())?,
        };
        self.fit(&mut link)?;
        Ok(self.link.insert(link))
    }

    fn fit(&mut self, link: &mut Link) -> Result<(), StoreError> {
        let said = |error: PgError| self.options.sentence(&error, "reading the tables");
        link.begin(Begin::Reading).map_err(said)?;
        let Catalog { schema, dependencies, types, .. } = schema::read(link).map_err(said)?;
        let fingerprint = fingerprint(link).map_err(said)?;
        let trust = Trust::new(&schema, &types, self.options.allowed());
        let dialect = Postgres::new(link, trust);
        let ground = FitTarget {
            dialect: &dialect,
            engine: Engine::Postgres,
            schema: &schema,
            operator: &self.options.operator,
            source: Path::new(self.options.target.label()),
        };
        let bound = ground.fitting(&self.options.profiles);
        if let Some(error) = dialect.unanswered.take() {
            return Err(said(error));
        }
        let mut all = Vec::new();
        for profile in bound? {
            let mut boards = Vec::new();
            for mut board in profile.boards {
                if let Some(registry) = &mut board.registry {
                    registry.remembered = self.options.registrations.of(&fingerprint);
                }
                let Some(mut watch) = Watch::new(board, &schema, self.options.prober.clone()) else {
                    continue;
                };
                watch.plan(link, clock(), self.options.effort).map_err(said)?;
                boards.push(watch);
            }
            let name = profile.profile.name.clone();
            let mut notices: Vec<String> = profile.left_out.iter().map(ToString::to_string).collect();
            notices.extend(differing(link, &profile.profile, &boards).map_err(said)?);
            all.push(Watched { name, profile: profile.profile, notices, boards });
        }
        let veiled = veiled(link, &all).map_err(said)?;
        let is_superuser = link.query(IS_SUPERUSER, &[]).map_err(said)?;
        let is_superuser = is_superuser.first().is_some_and(|row| is_true(row, 0));
        link.rollback().map_err(said)?;
        let claims = all.iter().flat_map(|watched| &watched.boards).map(|watch| &watch.table);
        let (audit_table, distrust) = audit_table::trusted(&schema, claims);
        let mut warnings: Vec<String> = distrust.into_iter().collect();
        warnings.extend(is_superuser.then(|| SUPERUSER.to_owned()));
        if let Some(warn) = &self.options.warn {
            let label = self.options.target.label();
            warnings.drain(..).for_each(|warning| warn.say(&format!("{label}: {warning}")));
        }
        self.sky.warnings = warnings;
        self.audit_table = audit_table;
        let here: BTreeSet<BoardId> = all.iter().flat_map(Watched::board_ids).cloned().collect();
        self.fits_for = if self.known.is_subset(&here) { FITS_FOR } else { MISSING };
        self.known.extend(here);
        self.watched = all;
        self.schema = schema;
        self.dependencies = dependencies;
        self.sky.veiled = veiled;
        self.fingerprint = fingerprint;
        self.fitted = Instant::now();
        Ok(())
    }

    /// Runs `look` inside one transaction that only reads, with the database's clock at its start.
    pub(super) fn reading<T>(
        &mut self,
        doing: &str,
        mut look: impl FnMut(&mut Link, &mut Vec<Watched>, Moment) -> Result<T, PgError>,
    ) -> Result<T, StoreError> {
        let mut outcome = self.read_once(&mut look)?;
        if outcome.as_ref().is_err_and(is_of_old_tables) {
            // The tables have changed since the profiles were laid onto them.
            self.fit_again();
            outcome = self.read_once(&mut look)?;
        }
        outcome.map_err(|error| self.options.sentence(&error, doing))
    }

    fn read_once<T>(
        &mut self,
        look: &mut impl FnMut(&mut Link, &mut Vec<Watched>, Moment) -> Result<T, PgError>,
    ) -> Result<Result<T, PgError>, StoreError> {
        self.transaction(|reader, link, now| look(link, &mut reader.watched, now))
    }

    /// Runs `look` between the beginning and the end of a transaction that only reads.
    fn transaction<T>(
        &mut self,
        mut look: impl FnMut(&mut Reader, &mut Link, Moment) -> Result<T, PgError>,
    ) -> Result<Result<T, PgError>, StoreError> {
        let _uninterrupted = uninterrupted();
        self.connect()?;
        let Some(mut link) = self.link.take() else { return Err(gone(&self.options)) };
        let outcome = self.begin(&mut link).and_then(|now| look(self, &mut link, now));
        if link.is_open() {
            // Ends the transaction whatever happened; there is nothing to commit.
            let ended = link.rollback();
            self.link = Some(link);
            return Ok(outcome.and_then(|result| ended.map(|()| result)));
        }
        Ok(outcome)
    }

    /// Begins a transaction with the database's clock, and asks whether the rows contradict their zones.
    fn begin(&mut self, link: &mut Link) -> Result<Moment, PgError> {
        let asked = clock();
        // A standby that has replayed nothing yet cannot be newer than its own start.
        let rows = link.begin_asking(
            Begin::Reading,
            "SELECT clock_timestamp()::text, pg_is_in_recovery()::text,
             coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())::text",
            &[],
        )?;
        let middle = asked.plus(Span::micros(clock().since(asked).as_micros() / 2));
        let read = |at: usize| rows.first().and_then(|row| Moment::parse(row.get(at)?));
        let theirs = read(0).unwrap_or(middle);
        self.sky.clock_offset = theirs.since(middle);
        let is_standby = rows.first().is_some_and(|row| is_true(row, 1));
        let replayed = read(2).filter(|_| is_standby);
        self.sky.lag = is_standby.then(|| replayed.map_or(Span::ZERO, |at| theirs.since(at)));
        // What a standby has not heard of yet cannot be held against anybody.
        let now = self.options.frozen_at.unwrap_or_else(|| replayed.unwrap_or(theirs).min(theirs));
        for watch in self.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
            watch.examine_zone(link, now)?;
        }
        Ok(now)
    }

    /// One look, and whether it failed because the tables are others than the profiles were laid onto.
    fn look_once(
        &mut self,
        doing: &str,
        look: &mut dyn FnMut(&mut Look<'_>) -> Result<(), Failed>,
    ) -> Result<(Result<(), StoreError>, bool), StoreError> {
        let mut is_of_old = false;
        let outcome = self.transaction(|reader, link, now| {
            let Reader { options, watched, schema, .. } = reader;
            let mut connection =
                Claims { link, watched, sentences: Sentences::of_polls(options), error: None };
            let done = look(&mut Look::new(&mut connection, watched, schema, now));
            is_of_old = connection.error.as_ref().is_some_and(is_of_old_tables);
            Ok(done)
        })?;
        let outcome = match outcome {
            Ok(done) => done.map_err(StoreError::from),
            Err(error) => {
                is_of_old = is_of_old_tables(&error);
                Err(self.options.sentence(&error, doing))
            }
        };
        let is_of_old = outcome.is_err() && is_of_old;
        Ok((outcome, is_of_old))
    }

    /// Asks something apart from polls, in a transaction of its own that only reads.
    pub(super) fn aside<T>(
        &mut self,
        doing: &str,
        mut ask: impl FnMut(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, StoreError> {
        self.reading(doing, |link, _, _| ask(link))
    }

    /// Lays the profiles onto the tables anew before the next look.
    pub(super) fn fit_again(&mut self) {
        self.fitted = Instant::now().checked_sub(FITS_FOR).unwrap_or_else(Instant::now);
    }
}

impl ReadEngine for Reader {
    fn label(&self) -> String {
        self.options.target.label().to_owned()
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn prober(&self) -> Option<Prober> {
        self.options.prober.clone()
    }

    fn operator_zone(&self) -> Option<ZoneName> {
        self.options.operator.zone.clone()
    }

    fn freeze(&mut self, at: Moment) {
        self.options.frozen_at = Some(at);
    }

    fn veiled(&self) -> Option<String> {
        (!self.sky.veiled.is_empty()).then(|| self.sky.veiled.join("; "))
    }

    fn board_ids(&self) -> Vec<BoardId> {
        watched::ids(&self.watched, None)
    }

    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let started = Instant::now();
        let effort = self.options.effort;
        let now = self.reading("polling", |link, watched, now| {
            for watch in watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                watch.refresh(link, now, effort)?;
            }
            Ok(now)
        })?;
        Ok(self.snapshots(now, started))
    }

    fn look(
        &mut self,
        doing: &str,
        look: &mut dyn FnMut(&mut Look<'_>) -> Result<(), Failed>,
    ) -> Result<(), StoreError> {
        let (outcome, is_of_old) = self.look_once(doing, look)?;
        if !is_of_old {
            return outcome;
        }
        self.fit_again();
        self.look_once(doing, look)?.0
    }

    fn find_worst(&mut self, board: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.reading("listing", |link, watched, now| {
            let Some((_, watch)) = watched::find(watched, board) else { return Ok(Some(Vec::new())) };
            if !watch.board.has_rowid {
                return Ok(None);
            }
            if filter.sets.is_empty() {
                return Ok(Some(Vec::new()));
            }
            watch.spotted(link, now, filter, Order::WorstFirst).map(Some)
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
            return Ok(Some(AttemptOrder { number: "id".into(), only: None }));
        }
        if table.column("attempted_at").is_none() {
            return Ok(None);
        }
        let bound = |link: &mut Link| zone::bound(link, &ZoneName::Server, &table.sql);
        let zone = self.aside("reading attempts", bound)?.unwrap_or_default();
        let number = "(extract(epoch FROM attempted_at::timestamp) * 1000000)::bigint".into();
        let now = format!("(now() AT TIME ZONE {})", literal(&zone.sql));
        let only = Some(format!("attempted_at < {now} - interval '{COMMITTED_AFTER}'"));
        Ok(Some(AttemptOrder { number, only }))
    }
}

/// After this long an attempt that was stamped is committed.
const COMMITTED_AFTER: &str = "5 seconds";

impl PollContext {
    fn notices(&self) -> Vec<String> {
        let lag = self.lag.map(|lag| {
            format!(
                "this is a standby, {lag} behind: claims are judged as of then, and nothing can be changed here"
            )
        });
        lag.into_iter().chain(self.warnings.clone()).collect()
    }
}

const IS_SUPERUSER: &str = "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user";

/// What a superuser is told.
const SUPERUSER: &str = "connected as a superuser: triggers and policies of any table owner run with all rights; log in \
                         as a role of assets/schema/postgres/roles.sql instead";

/// Tells this database from every other, whatever it is called.
pub(super) fn fingerprint(link: &mut Link) -> Result<String, PgError> {
    let sql = "SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::text,
               current_database()::text, has_function_privilege('pg_control_system()', 'EXECUTE')::text";
    let rows = link.query(sql, &[])?;
    let may_ask = rows.first().is_some_and(|row| is_true(row, 2));
    let system = "SELECT system_identifier::text FROM pg_control_system()";
    let system = if may_ask { link.query(system, &[])? } else { Vec::new() };
    let text = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    let system = system.first().and_then(|row| row.get(0)).unwrap_or("server");
    Ok(format!("postgres:{system}:{}:{}", text(0), text(1)))
}

/// A sentence for every table whose rows are hidden from us by its policies.
fn veiled(link: &mut Link, watched: &[Watched]) -> Result<Vec<String>, PgError> {
    let mut sentences: Vec<String> = Vec::new();
    for watch in watched.iter().flat_map(|watched| &watched.boards) {
        for table in [Some(&watch.table), watch.registry.as_ref()].into_iter().flatten() {
            let sql = "SELECT row_security_active(($1::text)::regclass)::text, current_user::text";
            let rows = link.query(sql, &[Some(&table.sql)])?;
            let Some(row) = rows.first().filter(|row| is_true(row, 0)) else { continue };
            let sentence = format!(
                "row-level security is active on {} for the role {}: rows may be hidden; use a role with BYPASSRLS, \
                 or a policy that lets it see all",
                table.name,
                row.get(1).unwrap_or_default()
            );
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    Ok(sentences)
}

/// A sentence if the system's own functions in the database recover otherwise than these rules.
fn differing(link: &mut Link, profile: &Profile, boards: &[Watch]) -> Result<Option<String>, PgError> {
    let mut count = 0;
    for watch in boards {
        let written = profile.boards.iter().find(|written| written.name == watch.board.name);
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

/// A table or column that was there when the profiles were fitted and is not any more, is another, or
/// may not be read any more.
fn is_of_old_tables(error: &PgError) -> bool {
    matches!(error.code(), Some("42P01" | "42703" | "42883" | "42804" | "42501" | "0A000"))
}

fn gone(options: &Options) -> StoreError {
    StoreError::Gone { path: options.target.label().into() }
}

/// Lays each of the profiles onto the database.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let mut link = Link::open(&options.target, Purpose::Polls, options.limits())?;
    let said = |error: PgError| options.sentence(&error, "reading the tables");
    link.begin(Begin::Reading).map_err(said)?;
    let Catalog { schema, types, .. } = schema::read(&mut link).map_err(said)?;
    let trust = Trust::new(&schema, &types, options.allowed());
    let dialect = Postgres::new(&mut link, trust);
    let ground = FitTarget {
        dialect: &dialect,
        engine: Engine::Postgres,
        schema: &schema,
        operator: &options.operator,
        source: Path::new(options.target.label()),
    };
    let fits = ground.describe(profiles);
    match dialect.unanswered.take() {
        Some(error) => Err(said(error)),
        None => fits,
    }
}
