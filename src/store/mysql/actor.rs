//! One MySQL or MariaDB database, acted on: the connection for acts, and transactions on it.

use super::connection::OnLink;
use super::dependencies::Dependencies;
use super::dialect::{self, MysqlDialect};
use super::identify;
use super::reader::{Reader, limits};
use super::writable_server;
use crate::domain::time::Moment;
use crate::mysql::{Begin, Link, MyError, Purpose, Target};
use crate::store::driver::{Driver as _, Failed, Turn};
use crate::store::look::ReadEngine;
use crate::store::{Options, StoreError, TransactionMark, clock};

/// Reads like a [`Reader`] and can write.
#[derive(Debug)]
pub struct Actor {
    pub(super) reader: Reader,
    /// For acts; opened by the first.
    pub(super) link: Link,
    pub(super) dialect: &'static MysqlDialect,
    pub(super) dependencies: Dependencies,
    /// The tables, triggers and foreign keys as they were read.
    catalog: Option<String>,
    /// The lock that the current transaction holds, by its name.
    pub(super) mark: Option<String>,
    /// The same of a transaction whose connection we gave up.
    pub(super) abandoned: Option<String>,
    /// What the audit table is to keep of the acts of this batch: the name of each, and its record.
    pub(super) records: Vec<(String, String)>,
}

/// Changes with every table, trigger and foreign key of the database.
const CATALOG: &str = "SELECT CONCAT_WS(' ',
    (SELECT CONCAT_WS('/', COUNT(*), SUM(CRC32(CONCAT_WS(',', table_name, ordinal_position, column_name, column_type,
       column_key, extra)))) FROM information_schema.columns WHERE table_schema = DATABASE()),
    (SELECT CONCAT_WS('/', COUNT(*), SUM(CRC32(CONCAT_WS(',', event_object_table, trigger_name, action_timing,
       event_manipulation, action_statement)))) FROM information_schema.triggers
     WHERE event_object_schema = DATABASE()),
    (SELECT CONCAT_WS('/', COUNT(*), SUM(CRC32(CONCAT_WS(',', table_name, constraint_name, delete_rule, update_rule))))
     FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()))";

/// How often the tables are read again if they change meanwhile.
const READ_AGAIN: usize = 3;

impl Actor {
    pub fn open(target: Target, options: Options) -> Result<Actor, StoreError> {
        let reader = Reader::open(target, options)?;
        let dialect = dialect::of(reader.flavor());
        let link = Link::closed(&reader.target, reader.flavor(), limits(&reader.options));
        let dependencies = Dependencies::default();
        let records = Vec::new();
        Ok(Actor { reader, link, dialect, dependencies, catalog: None, mark: None, abandoned: None, records })
    }

    /// Begins a transaction that may write, with the tables as they are.
    pub(super) fn begin_acting(&mut self) -> Result<Turn, StoreError> {
        let was_open = self.link.is_open();
        let mut begun = match self.begin_once() {
            // A connection that was lost since the last act says so only now; nothing was begun on it.
            Err(StoreError::Unreachable { .. }) if was_open => self.begin_once(),
            other => other,
        };
        for _ in 0..READ_AGAIN {
            let (turn, catalog) = begun?;
            if self.catalog.as_ref() == Some(&catalog) {
                return Ok(turn);
            }
            // An act has to know every trigger and foreign key of its tables.
            let _ = self.rollback();
            self.reader.read_tables_again()?;
            self.dependencies = self.asked("reading the tables", Dependencies::read)?;
            self.catalog = Some(catalog);
            begun = self.begin_once();
        }
        let _ = self.rollback();
        let (source_name, doing) = (self.reader.options.name(), "beginning".into());
        Err(StoreError::Server { source_name, said: "its tables keep changing; try again".into(), doing })
    }

    fn begin_once(&mut self) -> Result<(Turn, String), StoreError> {
        if !self.link.is_open() {
            self.connect()?;
        }
        // Whoever looks for the transaction later asks whether this lock is still held. It goes when the session ends,
        // after everything that the session was doing.
        let name = format!("claimtop-{}", uuid::Uuid::now_v7());
        let begun = self.asked("beginning", |link| {
            link.begin(Begin::Acting)?;
            let taken: mysql_async::Value = name.as_str().into();
            link.query("SELECT GET_LOCK(?, 0), SYSDATE(6), @@global.read_only", vec![taken])
        });
        let rows = begun.inspect_err(|_| drop(self.rollback_link()))?;
        let row = rows.first();
        if row.is_some_and(|row| row.is_true(2)) {
            let _ = self.rollback();
            return Err(writable_server::read_only(&self.reader.options));
        }
        let theirs = row.and_then(|row| Moment::parse(&row.text(1)?));
        let now = self.reader.options.frozen_at.or(theirs).unwrap_or_else(clock);
        let is_held = row.is_some_and(|row| row.is_true(0));
        let old = std::mem::replace(&mut self.mark, is_held.then_some(name));
        let catalog = self.read_catalog(old)?;
        let mark = TransactionMark {
            number: self.mark.clone(),
            running_since: None,
            is_audited: self.audit_table().is_some(),
        };
        Ok((Turn { now, transaction: mark.text() }, catalog))
    }

    /// The catalog as it is; the lock of the transaction before is of no use any more.
    fn read_catalog(&mut self, old: Option<String>) -> Result<String, StoreError> {
        self.asked("reading the tables", |link| {
            if let Some(old) = old {
                link.query("SELECT RELEASE_LOCK(?)", vec![old.into()])?;
            }
            let rows = link.query(CATALOG, Vec::new())?;
            Ok(rows.first().and_then(|row| row.text(0)).unwrap_or_default())
        })
    }

    /// Whether the tables are as they were read.
    pub(super) fn has_same_tables(&mut self) -> Result<bool, StoreError> {
        let now = self.read_catalog(None)?;
        Ok(self.catalog.as_ref() == Some(&now))
    }

    fn connect(&mut self) -> Result<(), StoreError> {
        let options = &self.reader.options;
        let mut link = Link::open(&self.reader.target, Purpose::Acts, limits(options))?;
        identify::expect(&mut link, options, &self.reader.fingerprint())?;
        writable_server::expect(&mut link, options)?;
        (self.link, self.mark) = (link, None);
        Ok(())
    }

    /// Takes everything back. A connection that is gone has done so.
    pub(super) fn rollback_link(&mut self) -> Result<(), MyError> {
        self.link.rollback()
    }

    /// Gives the connection up: what it was doing may still be done.
    pub(super) fn abandon(&mut self) {
        self.abandoned = self.mark.take();
        self.link.close();
    }

    /// Has the connection for acts do something.
    pub(super) fn asked<T>(
        &mut self,
        doing: &str,
        ask: impl FnOnce(&mut Link) -> Result<T, MyError>,
    ) -> Result<T, StoreError> {
        Ok(self.ask_for_act(doing, ask)?)
    }

    /// The same for what is part of an act.
    pub(super) fn ask_for_act<T>(
        &mut self,
        doing: &str,
        ask: impl FnOnce(&mut Link) -> Result<T, MyError>,
    ) -> Result<T, Failed> {
        let answer = ask(&mut self.link);
        self.on_link().answered(doing, answer)
    }

    pub(super) fn on_link(&mut self) -> OnLink<'_> {
        OnLink { link: &mut self.link, options: &self.reader.options, purpose: Purpose::Acts }
    }
}
