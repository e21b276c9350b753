//! One PostgreSQL database, acted on: look at a claim, then change exactly that, or say what moved.
//!
//! The holder's registry row is locked first, then the claim's; only then a new statement reads both,
//! so that whoever beat meanwhile is seen. The row is compared with what was seen, judged again by the
//! database's clock, changed by a statement that carries every one of its columns and its version as a
//! guard, and recorded before the commit. A commit whose answer is lost is looked up.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use super::act::{Statements, statements};
use super::audit_table;
use super::batch_size::BatchSize;
use super::dependencies::CascadeEffect;
use super::error::PgError;
use super::identify;
use super::image;
use super::link::{Begin, Limits, Link, Purpose, Row};
use super::look;
use super::named_params::NamedParams;
use super::path;
use super::reader::{Options, Reader};
use super::schema;
use super::touched;
use super::watch::{Watch, query};
use crate::domain::recovery::{Outcome, permit};
use crate::domain::time::Moment;
use crate::store::act::{
    AT_THE_LAST_MOMENT, Acted, BLOCKED, NO_LONGER_CLAIMED, Note, Order, Pending, Recorder, TABLES_CHANGED,
    unrecorded,
};
use crate::store::image::{Change, Image};
use crate::store::look::ReadEngine;
use crate::store::schema::{Schema, Table};
use crate::store::seen::Seen;
use crate::store::side_effects::SideEffects;
use crate::store::watched;
use crate::store::{StoreError, TransactionMark, clock};

/// Reads like a [`Reader`] and can write.
#[derive(Debug)]
pub struct Actor {
    pub(super) reader: Reader,
    pub(super) link: Option<Link>,
    /// How many claims the next transaction of many takes.
    pub(super) batch_size: BatchSize,
    /// Where it begins to look for a partition: two who work at the same time hardly begin at the same.
    pub(super) first_partition: usize,
    /// Whether the role may not ask for partitions.
    pub(super) may_not_lock_partitions: bool,
    /// Schemas of the search path that triggers do not see in this transaction.
    kept_out: Option<String>,
}

/// What is known of a transaction that is under way.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) now: Moment,
    /// The text of its mark.
    pub(super) transaction: String,
}

/// What else a transaction begins with: columns of one row, after a comma.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) with: String,
    pub(super) columns: &'static str,
    pub(super) values: Vec<String>,
}

impl Question {
    fn values(&self) -> Vec<Option<&str>> {
        self.values.iter().map(|value| Some(value.as_str())).collect()
    }
}

/// What a locked row means: whoever holds it is alive.
pub(super) const BEING_CHANGED: &str = "somebody is changing it right now: its row is locked";
pub(super) const SESSION_BEING_CHANGED: &str = "its session is being written right now";

impl Actor {
    pub fn open(options: Options) -> Result<Actor, StoreError> {
        let (reader, batch_size) = (Reader::open(options)?, BatchSize::default());
        let first_partition = RandomState::new().hash_one(std::process::id()) as usize;
        Ok(Actor {
            reader,
            link: None,
            batch_size,
            first_partition,
            may_not_lock_partitions: false,
            kept_out: None,
        })
    }

    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// Tells this database from every other, whatever it is called.
    pub fn fingerprint(&self) -> String {
        self.reader.fingerprint()
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.reader.schema
    }

    /// Makes the table in which acts are recorded in their own transaction.
    pub fn create_audit_table(&mut self) -> Result<(), StoreError> {
        self.begin()?;
        let made = self.run(|link| {
            // It comes into the schema in which a table without one would, and only that is searched besides
            // the system's.
            let Some(home) = schema::home(link)? else {
                return Err(PgError::server("3F000", "no schema of the search path is there"));
            };
            link.batch(&format!("SET LOCAL search_path = {home}, pg_temp; {}", audit_table::CREATE))
        });
        let ended = self.run(|link| if made.is_ok() { link.commit() } else { link.rollback() });
        made.and(ended).map_err(|error| self.sentence(&error, "making claimtop_audit"))?;
        self.reader.fit_again();
        Ok(())
    }

    /// Does `order` to exactly what was `seen`. Nothing is written unless the outcome is applied.
    pub fn act(
        &mut self,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        let turn = self.begin()?;
        let acted = self.act_inside(&turn, seen, order, record);
        self.end(acted, order.action_id, order.dry_run)
    }

    /// Begins a transaction that may write; what is to be known of it.
    pub(super) fn begin(&mut self) -> Result<Turn, StoreError> {
        self.begin_asking(&Question::default()).map(|(turn, _)| turn)
    }

    /// The same, with a question that is answered in the same round trip.
    pub(super) fn begin_asking(
        &mut self,
        question: &Question,
    ) -> Result<(Turn, Vec<Option<String>>), StoreError> {
        let was_open = self.link.is_some();
        match self.begin_once(question) {
            // A connection that was lost since the last act says so only now; nothing was begun on it.
            Err(StoreError::Unreachable { .. }) if was_open => self.begin_once(question),
            other => other,
        }
    }

    fn begin_once(&mut self, question: &Question) -> Result<(Turn, Vec<Option<String>>), StoreError> {
        if !self.link.as_ref().is_some_and(Link::is_open) {
            let options = &self.reader.options;
            let limits = Limits { lock: options.busy_timeout, ..options.limits() };
            let mut link = Link::open(&options.target, Purpose::Acts, limits)?;
            identify::expect(&mut link, options, &self.reader.fingerprint())?;
            self.link = Some(link);
        }
        let columns = "clock_timestamp()::text, pg_current_xact_id()::text, \
                       extract(epoch FROM pg_postmaster_start_time())::text, \
                       extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text";
        let sql = format!("{} SELECT {columns}{}", question.with, question.columns);
        let begun = self.run(|link| link.begin_asking(Begin::Acting, &sql, &question.values()));
        if begun.is_err() {
            // A connection that is gone has taken everything back.
            let _ = self.run(Link::rollback);
        }
        let rows = match begun {
            Err(error) if error.code() == Some("42501") && !question.with.is_empty() => {
                self.may_not_lock_partitions = true;
                return self.begin_once(&Question::default());
            }
            begun => begun.map_err(|error| self.sentence(&error, "beginning"))?,
        };
        self.show_path_to_triggers()?;
        let text = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
        let now = self.reader.options.frozen_at.or_else(|| Moment::parse(text(0))).unwrap_or_else(clock);
        let mark = TransactionMark {
            number: Some(text(1).to_owned()),
            running_since: Some(format!("{}/{}", text(2), text(3))),
            is_audited: self.has_audit_table(),
        };
        Ok((Turn { now, transaction: mark.to_string() }, texts(rows.first(), 4)))
    }

    /// Lets triggers that need it see the search path, as far as that is safe.
    fn show_path_to_triggers(&mut self) -> Result<(), StoreError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(()) };
        if !reader.dependencies.need_path() {
            return Ok(());
        }
        let watches = reader.watched.iter().flat_map(|watched| &watched.boards);
        match path::widen(link, watches.map(|watch| watch.table.sql.as_str())) {
            Ok(kept_out) => self.kept_out = kept_out,
            Err(error) => {
                let _ = self.run(Link::rollback);
                return Err(self.sentence(&error, "beginning"));
            }
        }
        Ok(())
    }

    /// Asks the question again.
    pub(super) fn ask(&mut self, question: &Question) -> Result<Vec<Option<String>>, StoreError> {
        let sql = format!("{} SELECT NULL{}", question.with, question.columns);
        let rows = self.run(|link| link.query(&sql, &question.values()));
        let rows = rows.map_err(|error| self.sentence(&error, "looking for claims that are left"))?;
        Ok(texts(rows.first(), 1))
    }

    /// Has the connection for acts do something.
    pub(super) fn run<T>(&mut self, ask: impl FnOnce(&mut Link) -> Result<T, PgError>) -> Result<T, PgError> {
        match &mut self.link {
            Some(link) => ask(link),
            None => Err(PgError::Lost("it was never opened".into())),
        }
    }

    pub(super) fn sentence(&self, error: &PgError, doing: &str) -> StoreError {
        let options = &self.reader.options;
        if error.is_of_a_row() {
            let source_name = options.target.label().to_owned();
            return StoreError::RowRefused { source_name, said: error.to_string(), doing: doing.into() };
        }
        match error.code() {
            Some(code) if code == "25006" || (code == "0A000" && doing == "beginning") => {
                StoreError::ReadOnly {
                    path: options.target.label().into(),
                    why: "it is a standby, or the role may only read".into(),
                }
            }
            Some("42501") => StoreError::ReadOnly {
                path: options.target.label().into(),
                why: format!("{error}; `assets/schema/postgres/roles.sql` has a role that may"),
            },
            Some("42P01" | "42883" | "42704") if self.kept_out.is_some() => StoreError::Server {
                source_name: options.target.label().to_owned(),
                said: format!(
                    "{error}; triggers do not see the schemas {}, because other roles may create functions there: \
                     REVOKE CREATE ON SCHEMA from them, or give the trigger's function a search_path of its own",
                    self.kept_out.as_deref().unwrap_or_default()
                ),
                doing: doing.into(),
            },
            _ => options.sentence(error, doing),
        }
    }

    /// Commits what was applied and takes everything else back.
    pub(super) fn end(
        &mut self,
        acted: Result<Acted, StoreError>,
        action_id: &str,
        dry_run: bool,
    ) -> Result<Acted, StoreError> {
        let commit = matches!(&acted, Ok(Acted { outcome: Outcome::Applied, .. })) && !dry_run;
        if !commit {
            // A connection that is gone has taken everything back.
            let _ = self.run(Link::rollback);
            return acted;
        }
        let acted = acted?;
        match self.run(Link::commit) {
            Ok(()) => Ok(acted),
            Err(error) => {
                let outcome =
                    self.resolve_commit(&error, action_id, acted.transaction.as_deref(), &acted.changes);
                Ok(match outcome {
                    Outcome::Refused(_) => Acted { preview: acted.preview, ..Acted::nothing(outcome) },
                    other => Acted { outcome: other, ..acted },
                })
            }
        }
    }

    pub(super) fn has_audit_table(&self) -> bool {
        self.reader.audit_table.is_some()
    }

    pub(super) fn act_inside(
        &mut self,
        turn: &Turn,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        let moved = |what: &str| Ok(Acted::nothing(Outcome::Moved(what.into())));
        if look::at(&self.reader.watched, &seen.place).is_none() {
            return moved(TABLES_CHANGED);
        }
        match self.lock(seen) {
            Ok(Locked::Both) => {}
            Ok(Locked::NoClaim) => return moved(NO_LONGER_CLAIMED),
            Err(error) if is_locked(&error) => return moved(BEING_CHANGED),
            Err(error) => return Err(self.sentence(&error, "locking the claim")),
        }
        let fresh = match self.fresh(turn, seen)? {
            Some(fresh) => fresh,
            None => return moved(NO_LONGER_CLAIMED),
        };
        if let Some(what) = seen.moved(&fresh) {
            return moved(&what);
        }
        let judged = &fresh.judged;
        if let Err(refusal) =
            permit(order.action, &judged.claim, &judged.verdict, fresh.conclusion, order.word)
        {
            return Ok(Acted::nothing(Outcome::Refused(refusal)));
        }
        let Some((watched, watch)) = watched::find(&self.reader.watched, &seen.place.board) else {
            return moved(TABLES_CHANGED);
        };
        let statements = match statements(&watched.profile, watch, &fresh, order) {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Acted::nothing(Outcome::Refused(refusal.into()))),
        };
        let preview = if order.dry_run { statements.preview() } else { Vec::new() };
        let table = watch.table.clone();
        let changes = match self.perform(&table, &fresh.row, &statements) {
            Ok(Ok(changes)) => changes,
            Ok(Err(outcome)) => return Ok(Acted { preview, ..Acted::nothing(outcome) }),
            Err(error) if is_locked(&error) => return moved(BEING_CHANGED),
            Err(error) => return Err(self.sentence(&error, "acting")),
        };
        let transaction = Some(turn.transaction.clone());
        let mut effects = self.side_effects(&table, &fresh, &changes);
        if order.action.frees() && self.reader.dependencies.has_triggers(&table.name) {
            let now = self.fresh(turn, &fresh)?;
            effects.still_held = now.is_some_and(|now| now.judged.claim.holder == fresh.judged.claim.holder);
        }
        let acted = Acted { outcome: Outcome::Applied, changes, preview, transaction, effects };
        if order.dry_run {
            return Ok(acted);
        }
        let pending = Pending {
            seen: &fresh,
            profile: seen.place.board.profile(),
            board: seen.place.board.board(),
            address: fresh.address(),
            changes: &acted.changes,
            db_at: turn.now,
            transaction: acted.transaction.as_deref(),
        };
        if let Err(problem) = record(&pending) {
            return Ok(Acted::nothing(unrecorded(&problem)));
        }
        let (action, address, word) = (order.action.as_str(), &pending.address, order.word);
        let note = Note { action, address, word, changes: &acted.changes };
        self.note(order.action_id, turn.now, &note)?;
        Ok(acted)
    }

    /// Locks the holder's row and then the claim's.
    fn lock(&mut self, seen: &Seen) -> Result<Locked, PgError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(Locked::NoClaim) };
        let Some(watch) = look::at(&reader.watched, &seen.place) else { return Ok(Locked::NoClaim) };
        if let (Some(registry), Some(holder)) = (&watch.board.registry, &seen.judged.claim.holder) {
            let mut params = NamedParams::default();
            params.add("holder", &registry.id.declared, Some(holder.clone()));
            let sql = format!(
                "SELECT 'x' FROM {} WHERE {} {} :holder FOR SHARE NOWAIT",
                registry.from, registry.id.text, registry.equality
            );
            query(link, &params, &sql)?;
        }
        let mut params = watch.clock(seen.now);
        let key = watch.has_key(&seen.judged.claim.key.0, &mut params);
        let sql = format!("SELECT 'x' FROM {} WHERE {key} FOR UPDATE OF c NOWAIT", watch.board.from);
        let rows = query(link, &params, &sql)?;
        Ok(if rows.is_empty() { Locked::NoClaim } else { Locked::Both })
    }

    /// The claim as it is now, if it is one.
    fn fresh(&mut self, turn: &Turn, seen: &Seen) -> Result<Option<Seen>, StoreError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(None) };
        let Some(watch) = look::at(&reader.watched, &seen.place) else { return Ok(None) };
        let mut params = NamedParams::default();
        let condition = format!(" AND {}", watch.has_key(&seen.judged.claim.key.0, &mut params));
        let found = look::look(link, watch, &condition, params, turn.now);
        let mut found = found.map_err(|error| reader.options.sentence(&error, "looking at the claim"))?;
        // Where two rows go by one id, the one that was seen is meant.
        let same = found.iter().position(|fresh| fresh.version == seen.version);
        let at = same.unwrap_or(0);
        Ok((at < found.len()).then(|| found.swap_remove(at)))
    }

    /// Runs the statements of an act on one row and says which rows they changed, and how.
    pub(super) fn perform(
        &mut self,
        table: &Table,
        row: &Image,
        statements: &Statements,
    ) -> Result<Result<Vec<Change>, Outcome>, PgError> {
        let params = &statements.params;
        if let Some(sql) = &statements.blocked_by
            && !self.run(|link| query(link, params, sql))?.is_empty()
        {
            return Ok(Err(Outcome::Refused(BLOCKED.into())));
        }
        let mut changes = self.beside(params, &statements.before, false)?;
        let cascade = self.cascade_of(table, statements.effect.clone(), &[row])?;
        let rows = self.run(|link| query(link, params, &statements.act))?;
        let [left] = &rows[..] else { return Ok(Err(Outcome::Moved(AT_THE_LAST_MOMENT.into()))) };
        let after = (statements.effect != CascadeEffect::Deleted).then(|| image::read(table, left, 0));
        let mut left = BTreeMap::from([(0, after)]);
        let followed = self.after_cascade(cascade, &mut left)?;
        let after = left.into_values().next().flatten();
        changes.push(image::change(table, Some(row.clone()), after));
        changes.extend(self.beside(params, &statements.also, true)?);
        changes.extend(followed.into_values().flatten());
        Ok(Ok(changes))
    }

    /// What an act did to other rows of tables with claims.
    pub(super) fn side_effects(&self, table: &Table, fresh: &Seen, changes: &[Change]) -> SideEffects {
        let is_own =
            |change: &Change| change.table == table.name && change.before.as_ref() == Some(&fresh.row);
        let boards = self.reader.watched.iter().flat_map(|watched| &watched.boards);
        SideEffects::of(changes, is_own, &boards.map(|watch| &watch.board))
    }

    fn beside(
        &mut self,
        params: &NamedParams,
        all: &[String],
        optional: bool,
    ) -> Result<Vec<Change>, PgError> {
        let mut changes = Vec::new();
        if all.is_empty() {
            return Ok(changes);
        }
        let Actor { reader, link: Some(link), .. } = self else { return Ok(changes) };
        for sql in all {
            changes.extend(touched::run(link, &reader.schema, params, sql, optional)?);
        }
        Ok(changes)
    }

    /// The record as a row of the same transaction, where the database has the table for it.
    pub(super) fn note(&mut self, action_id: &str, at: Moment, note: &Note<'_>) -> Result<(), StoreError> {
        let Some(table) = self.reader.audit_table.clone() else { return Ok(()) };
        let written = self.run(|link| audit_table::insert(link, &table, action_id, &at.rfc3339(), note));
        written.map_err(|error| self.sentence(&error, "writing the record"))
    }

    pub(super) fn watch(&self, seen: &Seen) -> Option<&Watch> {
        look::at(&self.reader.watched, &seen.place)
    }
}

enum Locked {
    Both,
    NoClaim,
}

/// What stands in a row from a column on.
fn texts(row: Option<&Row>, from: usize) -> Vec<Option<String>> {
    row.map_or_else(Vec::new, |row| (from..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
}

/// Whether somebody else holds the row.
pub(super) fn is_locked(error: &PgError) -> bool {
    matches!(error.code(), Some("55P03" | "40P01" | "40001"))
}
