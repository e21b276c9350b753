//! What PostgreSQL does for an act.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::actor::{Actor, Question};
use super::audit_table;
use super::cascade;
use super::cell::{is_true, sent};
use super::commit_resolution;
use super::dialect::PostgresDialect;
use super::error::PgError;
use super::image;
use super::link::Link;
use super::look;
use super::reader::Watched;
use super::schema::quoted;
use super::sentences::Sentences;
use super::statements::failed;
use super::watch::query;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::store::StoreError;
use crate::store::act::{Acted, Batch, Intents, Order};
use crate::store::driver::{
    BatchPart, BoardAt, ClaimReader, Connection, Dialect, Driver, Failed, Fate, NotCommitted, Row, Target,
    Turn,
};
use crate::store::filter::expect_board;
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::image::{Change, Image, RowAt};
use crate::store::look::ReadEngine;
use crate::store::named_params::NamedParams;
use crate::store::schema::Table;
use crate::store::seen::Seen;
use crate::store::selection::{Again, Noted, Selection};
use crate::store::statements::Statements;
use crate::store::watched;
use crate::store::{Filter, Prober, Scope, TransactionMark};

/// The claims of a database in one transaction.
pub(super) struct Claims<'a> {
    pub link: &'a mut Link,
    pub watched: &'a [Watched],
    pub sentences: Sentences<'a>,
    /// What the server said last instead of an answer.
    pub error: Option<PgError>,
}

impl Claims<'_> {
    fn answered<T>(&mut self, doing: &str, answer: Result<T, PgError>) -> Result<T, Failed> {
        answer.map_err(|error| {
            let failed = failed(&error, self.sentences.of(&error, doing));
            self.error = Some(error);
            failed
        })
    }
}

impl Connection for Claims<'_> {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn each(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        let rows = query(self.link, params, sql);
        self.answered(doing, rows)?.iter().for_each(|next| row(next));
        Ok(())
    }

    fn stream(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        let (put, first) = (params.put_into(sql), self.link.patience());
        let done = self.link.each_after(&first, &put.sql, &put.values(), |next| row(next));
        self.answered(doing, done)
    }

    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        let put = params.put_into(sql);
        let done = self.link.execute(&put.sql, &put.values());
        self.answered(doing, done)
    }

    fn run(&mut self, doing: &str, sql: &str) -> Result<(), Failed> {
        let done = self.link.batch(sql);
        self.answered(doing, done)
    }
}

impl ClaimReader for Claims<'_> {
    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(self.watched)
    }

    fn board(&self, id: &BoardId) -> Option<BoardAt<'_>> {
        BoardAt::find(self.watched, id)
    }

    fn registry_table(&self, id: &BoardId) -> Option<Table> {
        watched::find(self.watched, id)?.1.registry.clone()
    }

    fn claims(
        &mut self,
        id: &BoardId,
        condition: &str,
        params: NamedParams,
        now: Moment,
    ) -> Result<Vec<Seen>, Failed> {
        const DOING: &str = "looking at claims";
        let Some((_, watch)) = watched::find(self.watched, id) else { return Ok(Vec::new()) };
        self.run(DOING, "SAVEPOINT claimtop_key")?;
        match look::look(self.link, watch, condition, params, now) {
            // What somebody typed is no value of the key's type.
            Err(PgError::Server { code, .. }) if code.starts_with("22") => {
                self.run(DOING, "ROLLBACK TO claimtop_key")?;
                Ok(Vec::new())
            }
            found => self.answered(DOING, found),
        }
    }

    fn prober(&self) -> Option<Prober> {
        self.sentences.options.prober.clone()
    }
}

impl Actor {
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

    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(&self.reader.watched)
    }

    fn board(&self, id: &BoardId) -> Option<BoardAt<'_>> {
        BoardAt::find(&self.reader.watched, id)
    }

    fn transaction(&mut self) -> Box<dyn ClaimReader + '_> {
        let Actor { reader, link, kept_out, .. } = self;
        let sentences = Sentences::of_acts(&reader.options, kept_out.as_deref());
        Box::new(Claims { link, watched: &reader.watched, sentences, error: None })
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        Actor::refresh(self)
    }

    fn fingerprint(&self) -> String {
        self.reader.fingerprint()
    }

    fn has_clock(&self) -> bool {
        true
    }

    fn freeze(&mut self, at: Moment) {
        self.reader.freeze(at);
    }

    fn expect_board(&mut self, wanted: Option<&str>) -> Result<(), StoreError> {
        expect_board(&self.reader, wanted)
    }

    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        self.reader.poll()
    }

    fn find_all(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.places_of(filter)
    }

    fn look_at(&mut self, found: &[(&BoardId, &[RowRef])]) -> Result<Vec<Seen>, StoreError> {
        Actor::look_at(self, found)
    }

    fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        Actor::selection(self, filter)
    }

    fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        Actor::look_again(self, all)
    }

    fn count_overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        Actor::count_overdue(self, board)
    }

    fn reading(
        &mut self,
        doing: &str,
        look: &mut dyn FnMut(&mut dyn ClaimReader, Moment) -> Result<(), Failed>,
    ) -> Result<(), StoreError> {
        let options = self.reader.options.clone();
        self.reader.reading(doing, |link, watched, now| {
            let sentences = Sentences::of_polls(&options);
            let mut reader = Claims { link, watched, sentences, error: None };
            let looked = look(&mut reader, now);
            match (looked, reader.error) {
                (Ok(()), _) => Ok(Ok(())),
                (Err(_), Some(error)) => Err(error),
                (Err(failed), None) => Ok(Err(StoreError::from(failed))),
            }
        })?
    }

    fn table(&self, name: &str) -> Option<Table> {
        self.reader.schema.table(name).cloned()
    }

    fn certain(&self, name: &str) -> Option<Table> {
        self.reader.schema.certain(name).cloned()
    }

    fn audit_table(&mut self) -> Option<Table> {
        self.reader.audit_table.clone()
    }

    fn create_audit_table(&mut self) -> Result<(), StoreError> {
        self.create_table_of_records()
    }

    fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        Actor::scope(self, profile, board, action)
    }

    fn begin(&mut self) -> Result<Turn, StoreError> {
        self.begin_asking(&Question::default()).map(|(turn, _)| turn)
    }

    fn commit(&mut self) -> Result<(), NotCommitted> {
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

    fn fresh(&mut self, seen: &Seen, now: Moment) -> Result<Option<Seen>, Failed> {
        let Some((_, watch)) = watched::find(&self.reader.watched, &seen.place.board) else {
            return Ok(None);
        };
        let mut params = NamedParams::default();
        let condition = PostgresDialect.is_claim(&watch.board, seen, &mut params);
        let found = look::look(&mut self.link, watch, &condition, params, now);
        let mut found =
            found.map_err(|error| failed(&error, self.sentence(&error, "looking at the claim")))?;
        // Where two rows go by one id, the one that was seen is meant.
        let same = found.iter().position(|fresh| fresh.version == seen.version);
        let at = same.unwrap_or(0);
        Ok((at < found.len()).then(|| found.swap_remove(at)))
    }

    fn change(
        &mut self,
        target: &Target<'_>,
        statements: &Statements,
    ) -> Result<Option<Vec<Change>>, Failed> {
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
        Ok(rows.first().is_some_and(|row| is_true(row, 0)))
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
            image::columns(table, "c").join(", ")
        );
        let rows = self.ask_for_act("putting the rows back", |link| query(link, &params, &sql))?;
        // A trigger may have had its say.
        Ok(rows.first().map(|left| RowAt::Key(image::key(table, &image::read(table, left, 0)))))
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
        self.learn_from(&batch, began.elapsed());
        batch
    }
}
