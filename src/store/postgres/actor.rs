//! One PostgreSQL database, acted on: the connection for acts, and transactions on it.

use std::hash::{BuildHasher, RandomState};

use super::batch_size::BatchSize;
use super::identify;
use super::look;
use super::path;
use super::reader::Reader;
use super::sentences::Sentences;
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::link::{Begin, Limits, Link, Purpose, Row};
use crate::postgres::target::Target;
use crate::store::driver::Turn;
use crate::store::look::ReadEngine;
use crate::store::schema::Schema;
use crate::store::seen::Seen;
use crate::store::server::Watch;
use crate::store::{Options, StoreError, TransactionMark, clock};

/// Reads like a [`Reader`] and can write.
#[derive(Debug)]
pub struct Actor {
    pub(super) reader: Reader,
    /// For acts; opened by the first.
    pub(super) link: Link,
    /// How many claims the next transaction of many takes.
    pub(super) batch_size: BatchSize,
    /// Where it begins to look for a partition: two who work at the same time hardly begin at the same.
    pub(super) first_partition: usize,
    /// Whether the role may not ask for partitions.
    pub(super) may_not_lock_partitions: bool,
    /// Somebody else is at work on just the claims of this transaction.
    pub(super) is_crowded: bool,
    /// What the audit table is to keep of the acts of this transaction: the name of each, and its record.
    pub(super) records: Vec<(String, String)>,
    /// Schemas of the search path that triggers do not see in this transaction.
    pub(super) kept_out: Option<String>,
}

/// What else a transaction begins with: columns of one row, after a comma.
#[derive(Debug, Default)]
pub(super) struct BeginQuestion {
    pub(super) with: String,
    pub(super) columns: &'static str,
    pub(super) values: Vec<String>,
}

impl BeginQuestion {
    fn values(&self) -> Vec<Option<&str>> {
        self.values.iter().map(|value| Some(value.as_str())).collect()
    }
}

impl Actor {
    pub fn open(target: Target, options: Options) -> Result<Actor, StoreError> {
        let (reader, batch_size) = (Reader::open(target, options)?, BatchSize::default());
        let link = Link::closed(&reader.target, Purpose::Acts, reader.options.limits());
        let first_partition = RandomState::new().hash_one(std::process::id()) as usize;
        Ok(Actor {
            reader,
            link,
            batch_size,
            first_partition,
            may_not_lock_partitions: false,
            is_crowded: false,
            records: Vec::new(),
            kept_out: None,
        })
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.reader.schema
    }

    /// Begins a transaction that may write, with a question that is answered in the same round trip.
    pub(super) fn begin_asking(
        &mut self,
        question: &BeginQuestion,
    ) -> Result<(Turn, Vec<Option<String>>), StoreError> {
        let was_open = self.link.is_open();
        let begun = match self.begin_once(question) {
            // A connection that was lost since the last act says so only now; nothing was begun on it.
            Err(StoreError::Unreachable { .. }) if was_open => self.begin_once(question),
            other => other,
        };
        let (turn, mut answer) = begun?;
        if self.reader.version.is(answer.remove(0).as_deref()) {
            return Ok((turn, answer));
        }
        // An act has to know every trigger and foreign key of its tables: what those change belongs to its images.
        let _ = self.ask_link(Link::rollback);
        self.reader.aside("reading the tables", |_| Ok(()))?;
        let (turn, mut answer) = self.begin_once(question)?;
        answer.remove(0);
        Ok((turn, answer))
    }

    fn begin_once(&mut self, question: &BeginQuestion) -> Result<(Turn, Vec<Option<String>>), StoreError> {
        if !self.link.is_open() {
            let options = &self.reader.options;
            let limits = Limits { lock: options.busy_timeout, ..options.limits() };
            let mut link = Link::open(&self.reader.target, Purpose::Acts, limits)?;
            identify::expect(&mut link, options, &self.reader.fingerprint())?;
            self.link = link;
        }
        let columns = "clock_timestamp()::text, pg_current_xact_id()::text, \
                       extract(epoch FROM pg_postmaster_start_time())::text, \
                       extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text";
        let version = self.reader.version.sql();
        let sql = format!("{} SELECT {columns}, {version}{}", question.with, question.columns);
        let begun = self.ask_link(|link| link.begin_asking(Begin::Acting, &sql, &question.values()));
        if begun.is_err() {
            // A connection that is gone has taken everything back.
            let _ = self.ask_link(Link::rollback);
        }
        let rows = match begun {
            Err(error) if error.code() == Some("42501") && !question.with.is_empty() => {
                self.may_not_lock_partitions = true;
                return self.begin_once(&BeginQuestion::default());
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
        Ok((Turn { now, transaction: mark.text() }, texts(rows.first(), 4)))
    }

    /// Lets triggers that need it see the search path, as far as that is safe.
    fn show_path_to_triggers(&mut self) -> Result<(), StoreError> {
        let Actor { reader, link, .. } = self;
        if !reader.dependencies.need_path() {
            return Ok(());
        }
        let watches = reader.watched.iter().flat_map(|watched| &watched.boards);
        match path::widen(link, watches.map(|watch| watch.table.sql.as_str())) {
            Ok(kept_out) => self.kept_out = kept_out,
            Err(error) => {
                let _ = self.ask_link(Link::rollback);
                return Err(self.sentence(&error, "beginning"));
            }
        }
        Ok(())
    }

    /// Asks the question again.
    pub(super) fn ask(&mut self, question: &BeginQuestion) -> Result<Vec<Option<String>>, StoreError> {
        let sql = format!("{} SELECT NULL{}", question.with, question.columns);
        let rows = self.ask_link(|link| link.query(&sql, &question.values()));
        let rows = rows.map_err(|error| self.sentence(&error, "looking for claims that are left"))?;
        Ok(texts(rows.first(), 1))
    }

    /// Has the connection for acts do something.
    pub(super) fn ask_link<T>(
        &mut self,
        ask: impl FnOnce(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, PgError> {
        ask(&mut self.link)
    }

    pub(super) fn sentence(&self, error: &PgError, doing: &str) -> StoreError {
        Sentences::of_acts(&self.reader.options, self.kept_out.as_deref()).of(error, doing)
    }

    pub(super) fn has_audit_table(&self) -> bool {
        self.reader.audit_table.is_some()
    }

    pub(super) fn watch(&self, seen: &Seen) -> Option<&Watch> {
        look::at(&self.reader.watched, &seen.place)
    }
}

/// What stands in a row from a column on.
fn texts(row: Option<&Row>, from: usize) -> Vec<Option<String>> {
    row.map_or_else(Vec::new, |row| (from..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
}
