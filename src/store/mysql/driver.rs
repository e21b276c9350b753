//! What MySQL and MariaDB do for an act.

use std::time::{Duration, Instant};

use super::actor::Actor;
use super::audit_table;
use super::batch::MOST;
use super::commit_resolution;
use crate::domain::recovery::Refusal;
use crate::domain::time::Moment;
use crate::mysql::MyError;
use crate::store::act::{Acted, Batch, Intents, Order};
use crate::store::driver::{
    ActTarget, BatchPart, Changed, Connection, Dialect, Driver, Failed, Fate, NotCommitted, Turn,
};
use crate::store::image::{Image, RowAt};
use crate::store::look::{Look, ReadEngine};
use crate::store::named_params::NamedParams;
use crate::store::schema::{Schema, Table, quoted};
use crate::store::scope::Reach;
use crate::store::seen::Seen;
use crate::store::statements::Statements;
use crate::store::{Scope, StoreError, TransactionMark};

/// The server says with these that a commit was refused, and everything taken back. Any other error at a commit, that
/// of a session that was ended for example, leaves open what became of it.
const NOT_COMMITTED: [u16; 2] = [1213, 3101];

impl Actor {
    /// Whether our account may set these columns of a table.
    fn may_set(&mut self, table: &Table, columns: &[String]) -> Result<bool, Failed> {
        let set: Vec<String> = columns.iter().map(|name| format!("{0} = {0}", quoted(name))).collect();
        self.is_allowed(&format!("UPDATE {} SET {} WHERE FALSE", table.sql, set.join(", ")))
    }

    /// Whether our account may do what a statement does, which finds no row.
    fn is_allowed(&mut self, sql: &str) -> Result<bool, Failed> {
        match self.link.execute(sql, Vec::new()) {
            Err(error) if error.is_not_allowed() => Ok(false),
            answer => self.on_link().answered("putting the rows back", answer).map(|_| true),
        }
    }
}

impl Driver for Actor {
    fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    fn reader(&self) -> &dyn ReadEngine {
        &self.reader
    }

    fn reader_mut(&mut self) -> &mut dyn ReadEngine {
        &mut self.reader
    }

    fn connection(&mut self) -> Box<dyn Connection + '_> {
        Box::new(self.on_link())
    }

    fn look(&mut self, now: Moment) -> Look<'_> {
        let Actor { reader, link, .. } = self;
        reader.look_through(link, now)
    }

    fn schema(&self) -> &Schema {
        &self.reader.schema
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        self.reader.read_tables_again()
    }

    fn fingerprint(&self) -> String {
        self.reader.fingerprint()
    }

    fn has_clock(&self) -> bool {
        true
    }

    fn audit_table(&mut self) -> Option<Table> {
        self.safe_audit_table()
    }

    fn create_audit_table(&mut self) -> Result<(), StoreError> {
        self.begin()?;
        self.asked("making claimtop_audit", audit_table::create)?;
        self.rollback()?;
        self.reader.read_tables_again()
    }

    fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        let watched = self.reader.watched.iter().find(|watched| watched.profile.name == profile);
        let schema = &self.reader.schema;
        let scope = watched.and_then(|watched| Scope::of(&watched.profile, board, action, schema));
        let Some(mut scope) = scope else { return Ok(None) };
        self.begin()?;
        self.rollback()?;
        scope.close(|scope, name, _| {
            let sets = self.dependencies.stamped(name).iter().map(|column| column.to_lowercase()).collect();
            let sets_any = self.dependencies.has_triggers(name);
            scope.add(name, Reach { sets, sets_any, ..Reach::default() })
        });
        Ok(Some(scope))
    }

    fn begin(&mut self) -> Result<Turn, StoreError> {
        self.begin_acting()
    }

    fn commit(&mut self) -> Result<(), NotCommitted> {
        let refusal = match self.has_same_tables() {
            Ok(true) => None,
            Ok(false) => {
                Some(Refusal::Database("its tables were changed while the act ran; try again".into()))
            }
            Err(error) => Some(error.as_refusal()),
        };
        if let Some(refusal) = refusal {
            let _ = self.rollback();
            return Err(NotCommitted::Refused(refusal));
        }
        let Err(error) = self.link.commit() else { return Ok(()) };
        match &error {
            MyError::Server { code, .. } if NOT_COMMITTED.contains(code) => {
                let _ = self.rollback();
                let sentence = self.reader.options.my_sentence(&error, "committing");
                Err(NotCommitted::Refused(sentence.as_refusal()))
            }
            _ => {
                self.abandon();
                Err(NotCommitted::AnswerLost(error.to_string()))
            }
        }
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        // A connection that is gone has taken everything back.
        if self.rollback_link().is_err() {
            self.abandon();
        }
        Ok(())
    }

    fn goes_on(&self) -> bool {
        self.link.is_open()
    }

    fn fate(&mut self, mark: &TransactionMark) -> Result<Fate, StoreError> {
        let abandoned = self.abandoned.clone();
        self.asked("looking up the transaction", |link| {
            commit_resolution::fate(link, mark, abandoned.as_deref())
        })
    }

    fn change(&mut self, target: &ActTarget<'_>, statements: &Statements) -> Result<Changed, Failed> {
        self.perform(target, statements)
    }

    fn has_triggers(&self, table: &str) -> bool {
        self.dependencies.has_triggers(table)
    }

    fn unwritable_columns(&mut self, table: &Table) -> Result<Vec<String>, Failed> {
        let columns: Vec<String> = table.written().map(|column| column.name.clone()).collect();
        if self.may_set(table, &columns)? {
            return Ok(Vec::new());
        }
        let mut unwritable = Vec::new();
        for column in columns {
            if !self.may_set(table, std::slice::from_ref(&column))? {
                unwritable.push(column);
            }
        }
        Ok(unwritable)
    }

    fn may_delete(&mut self, table: &Table) -> Result<bool, Failed> {
        self.is_allowed(&self.dialect.delete_one(table, "FALSE"))
    }

    fn stamped_columns(&self, table: &Table) -> Vec<String> {
        self.dependencies.stamped(&table.name).to_vec()
    }

    /// A plain INSERT: one that ignores errors would cut values off as well.
    fn insert(&mut self, table: &Table, _: &RowAt, row: &Image) -> Result<Option<RowAt>, Failed> {
        if table.expect_safe_for_acts().is_err() {
            return Ok(None);
        }
        let mut params = NamedParams::default();
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for (at, (name, value)) in row.iter().enumerate() {
            let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
            params.add_value(&format!("was{at}"), kind, value.clone());
            names.push(quoted(name));
            places.push(format!(":was{at}"));
        }
        let (names, places) = (names.join(", "), places.join(", "));
        let sql = format!("INSERT INTO {} ({names}) VALUES ({places})", table.sql);
        let added = self.on_link().execute("putting the rows back", &sql, &params)?;
        Ok((added == 1).then(|| RowAt::Key(row.part(&table.key))))
    }

    fn begin_batch<'a, 'b>(
        &mut self,
        all: &'a mut [&'b Seen],
        budget: Duration,
    ) -> Result<(Turn, BatchPart<'a, 'b>), StoreError> {
        let turn = self.begin()?;
        self.records.clear();
        let all = &all[..all.len().min(MOST)];
        Ok((turn, BatchPart { all, passed: 0, until: Some(Instant::now() + budget) }))
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

    fn record_batch(&mut self, turn: &Turn, intents: &mut dyn Intents) -> Result<(), String> {
        intents.write()?;
        self.write_records(turn).map_err(|failed| StoreError::from(failed).to_string())
    }

    fn end_batch(&mut self, batch: Batch, _: Instant) -> Batch {
        batch
    }
}
