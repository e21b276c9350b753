//! What PostgreSQL does for an act.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::actor::{Actor, BeginQuestion};
use super::audit_table;
use super::cascade;
use super::cell::sent;
use super::commit_resolution;
use super::connection::{OnLink, failed, query};
use super::dialect::PostgresDialect;
use super::schema::quoted;
use super::sentences::Sentences;
use crate::domain::recovery::{Outcome, Refusal};
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::home;
use crate::postgres::link::Link;
use crate::store::act::{Acted, Batch, Intents, Order};
use crate::store::driver::{
    ActTarget, BatchPart, Changed, Connection, Dialect, Driver, Failed, Fate, NotCommitted, Row as _, Turn,
};
use crate::store::image::{Image, RowAt};
use crate::store::image_sql;
use crate::store::look::{Look, ReadEngine};
use crate::store::named_params::NamedParams;
use crate::store::schema::{Schema, Table};
use crate::store::seen::Seen;
use crate::store::statements::Statements;
use crate::store::{Scope, StoreError, TransactionMark};

impl Actor {
    /// Takes everything back if the tables have changed since the transaction began. What it has written keeps their
    /// changes out until it ends.
    fn expect_the_tables(&mut self) -> Result<(), Refusal> {
        let sql = format!("SELECT {}", self.reader.version.sql());
        let refusal = match self.ask_link(|link| link.query(&sql, &[])) {
            Ok(rows) if self.reader.version.is(rows.first().and_then(|row| row.get(0))) => return Ok(()),
            Ok(_) => Refusal::Database("its tables were changed while the act ran; try again".into()),
            Err(error) => self.sentence(&error, "committing").as_refusal(),
        };
        // A connection that is gone has taken everything back.
        let _ = self.ask_link(Link::rollback);
        Err(refusal)
    }

    /// Has the connection for acts do something that is part of an act.
    fn ask_for_act<T>(
        &mut self,
        doing: &str,
        ask: impl FnOnce(&mut Link) -> Result<T, PgError>,
    ) -> Result<T, Failed> {
        self.ask_link(ask).map_err(|error| failed(&error, self.sentence(&error, doing)))
    }
}

impl Driver for Actor {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn reader(&self) -> &dyn ReadEngine {
        &self.reader
    }

    fn reader_mut(&mut self) -> &mut dyn ReadEngine {
        &mut self.reader
    }

    fn connection(&mut self) -> Box<dyn Connection + '_> {
        let Actor { reader, link, kept_out, .. } = self;
        let sentences = Sentences::of_acts(&reader.options, kept_out.as_deref());
        Box::new(OnLink { link, sentences })
    }

    fn look(&mut self, now: Moment) -> Look<'_> {
        let Actor { reader, link, kept_out, .. } = self;
        let sentences = Sentences::of_acts(&reader.options, kept_out.as_deref());
        reader.look_through(OnLink { link, sentences }, now)
    }

    fn schema(&self) -> &Schema {
        &self.reader.schema
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        self.reader.aside("reading the tables", |_| Ok(()))
    }

    fn fingerprint(&self) -> String {
        self.reader.fingerprint()
    }

    fn has_clock(&self) -> bool {
        true
    }

    fn audit_table(&mut self) -> Option<Table> {
        self.reader.audit_table.clone()
    }

    fn create_audit_table(&mut self) -> Result<(), StoreError> {
        self.begin_asking(&BeginQuestion::default())?;
        let made = self.ask_link(|link| {
            // It comes into the schema in which a table without one would, and only that is searched besides
            // the system's.
            let Some(home) = home(link)? else {
                return Err(PgError::server("3F000", "no schema of the search path is there"));
            };
            link.batch(&format!("SET LOCAL search_path = {home}, pg_temp; {}", audit_table::CREATE))
        });
        let ended = self.ask_link(|link| if made.is_ok() { link.commit() } else { link.rollback() });
        made.and(ended).map_err(|error| self.sentence(&error, "making claimtop_audit"))?;
        self.reader.fit_again();
        Ok(())
    }

    fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        self.scope_of(profile, board, action)
    }

    fn begin(&mut self) -> Result<Turn, StoreError> {
        self.begin_asking(&BeginQuestion::default()).map(|(turn, _)| turn)
    }

    fn commit(&mut self) -> Result<(), NotCommitted> {
        self.expect_the_tables().map_err(NotCommitted::Refused)?;
        self.ask_link(Link::commit).map_err(|error| {
            if error.ends_the_link() {
                NotCommitted::AnswerLost(error.to_string())
            } else {
                NotCommitted::Refused(self.sentence(&error, "committing").as_refusal())
            }
        })
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        // A connection that is gone has taken everything back.
        let _ = self.ask_link(Link::rollback);
        Ok(())
    }

    fn fate(&mut self, mark: &TransactionMark) -> Result<Fate, StoreError> {
        Ok(self.ask_for_act("looking up the transaction", |link| commit_resolution::fate(link, mark))?)
    }

    fn change(&mut self, target: &ActTarget<'_>, statements: &Statements) -> Result<Changed, Failed> {
        self.perform(target, statements).map_err(|error| failed(&error, self.sentence(&error, "acting")))
    }

    fn has_triggers(&self, table: &str) -> bool {
        self.reader.dependencies.has_triggers(table)
    }

    fn changes_rows_again(&self, table: &str) -> bool {
        self.reader.dependencies.changes_rows_again(table)
    }

    fn rows_written(&mut self) -> Result<BTreeMap<String, u64>, Failed> {
        let written = cascade::written(&mut self.link, &self.reader.schema);
        written.map_err(|error| failed(&error, self.sentence(&error, "putting the rows back")))
    }

    fn unwritable_columns(&mut self, table: &Table) -> Result<Vec<String>, Failed> {
        let sql =
            "SELECT attname::text FROM pg_attribute WHERE attrelid = ($1::text)::regclass AND attnum > 0
                     AND NOT attisdropped AND NOT has_column_privilege(attrelid, attnum, 'UPDATE')";
        let rows = self.ask_for_act("putting the rows back", |link| link.query(sql, &[Some(&table.sql)]))?;
        Ok(rows.iter().filter_map(|row| row.get(0)).map(str::to_owned).collect())
    }

    fn may_delete(&mut self, table: &Table) -> Result<bool, Failed> {
        let sql = "SELECT has_table_privilege(($1::text)::regclass, 'DELETE')::text";
        let rows = self.ask_for_act("putting the rows back", |link| link.query(sql, &[Some(&table.sql)]))?;
        Ok(rows.first().is_some_and(|row| row.is_true(0)))
    }

    fn insert(&mut self, table: &Table, _: &RowAt, row: &Image) -> Result<Option<RowAt>, Failed> {
        let mut params = NamedParams::default();
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for (at, (name, value)) in row.iter().enumerate() {
            let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
            params.add(&format!("was{at}"), kind, sent(value));
            names.push(quoted(name));
            places.push(format!(":was{at}"));
        }
        let sql = format!(
            "INSERT INTO {} AS c ({}) OVERRIDING SYSTEM VALUE VALUES ({}) RETURNING {}",
            table.sql,
            names.join(", "),
            places.join(", "),
            image_sql::columns(&PostgresDialect, table, "c")
        );
        let rows = self.ask_for_act("putting the rows back", |link| query(link, &params, &sql))?;
        // A trigger may have changed the row.
        Ok(rows.first().map(|left| RowAt::Key(image_sql::read(table, left, 0).part(&table.key))))
    }

    fn begin_batch<'a, 'b>(
        &mut self,
        all: &'a mut [&'b Seen],
        _: Duration,
    ) -> Result<(Turn, BatchPart<'a, 'b>), StoreError> {
        self.begin_part(all)
    }

    fn act_fast(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
        tried: &mut Vec<Acted>,
        intents: &mut dyn Intents,
    ) -> Result<(), StoreError> {
        if tried.is_empty() {
            *tried = self.act_at_once(turn, part, order, intents)?;
        }
        Ok(())
    }

    /// Writes the intents down while the server writes what is kept in the database: the rows are locked
    /// meanwhile.
    fn record_batch(&mut self, turn: &Turn, intents: &mut dyn Intents) -> Result<(), String> {
        let records = std::mem::take(&mut self.records);
        let Some(table) = self.reader.audit_table.clone().filter(|_| !records.is_empty()) else {
            return intents.write();
        };
        let mut written = Ok(());
        let at = turn.now.rfc3339();
        let inserted = self.ask_link(|link| {
            audit_table::insert_all(link, &table, &at, records, || written = intents.write())
        });
        inserted.map_err(|error| self.sentence(&error, "writing the record").to_string())?;
        written
    }

    fn end_batch(&mut self, batch: Batch, began: Instant) -> Batch {
        let gone = batch.tried.iter().filter(|acted| is_gone(acted)).count();
        self.batch_size = self.batch_size.after(began.elapsed(), batch.tried.len(), gone);
        batch
    }
}

/// Whether it was somebody else's act that left nothing to do.
fn is_gone(acted: &Acted) -> bool {
    matches!(&acted.outcome, Outcome::Moved(moved) if moved.is_somebody_elses_act())
}
