//! What an act leaves in its cascade: the rows of other tables that foreign keys take along, with their images,
//! and the tables in which triggers did more than that.

mod rows;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use self::rows::{name, read_again, referring};
use super::actor::Actor;
use super::dependencies::{Dependencies, ForeignKey};
use crate::domain::value::Value;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::image::{Change, Image};
use crate::store::schema::{Schema, Table};
use crate::store::statements::RowEffect;

/// Rows that one foreign key may take along and an undo still brings back.
const MOST: usize = 10_000;

/// Rows that this transaction has written so far, by their table; those of a partition count as its parent's.
const WRITTEN: &str = "
    SELECT n.nspname::text, r.relname::text,
      (greatest(sum(w.inserted), sum(w.deleted)) + sum(w.updated))::text
    FROM (SELECT oid, pg_stat_get_xact_tuples_inserted(oid) AS inserted,
            pg_stat_get_xact_tuples_updated(oid) AS updated, pg_stat_get_xact_tuples_deleted(oid) AS deleted
          FROM pg_class WHERE relkind = 'r' AND relnamespace <> 'pg_catalog'::regnamespace) AS w
    JOIN pg_class AS r ON r.oid = coalesce(pg_partition_root(w.oid), w.oid)
    JOIN pg_namespace AS n ON n.oid = r.relnamespace
    WHERE w.inserted + w.updated + w.deleted > 0 GROUP BY 1, 2";

/// What is known before an act of what it may reach.
#[derive(Debug)]
pub(super) struct Cascade {
    table: Table,
    followers: Vec<CascadeFollower>,
    /// Tables of which rows are changed that nobody can tell.
    untold: BTreeSet<String>,
    /// Rows written before the act, where triggers may write more.
    written: Option<BTreeMap<String, u64>>,
}

/// A row that a foreign key takes along.
#[derive(Debug)]
struct CascadeFollower {
    /// The number of the row whose act it follows.
    of: usize,
    /// The follower that it refers to; nothing, if that is the row of the act itself.
    to: Option<usize>,
    table: Table,
    by: ForeignKey,
    before: Image,
}

/// Rows of one table that share an effect.
struct CascadeStep {
    table: Table,
    effect: RowEffect,
    rows: Vec<CascadeRow>,
}

/// A row of a step: whose act it follows, and which follower it is.
struct CascadeRow {
    of: usize,
    follower: Option<usize>,
    row: Image,
}

impl Actor {
    /// Looks at what such an effect of some rows will reach; nothing, if that is only those rows.
    pub(super) fn cascade_of(
        &mut self,
        table: &Table,
        effect: RowEffect,
        rows: &[&Image],
    ) -> Result<Option<Cascade>, PgError> {
        let Actor { reader, link, .. } = self;
        if !reader.dependencies.reach_beyond(&table.name, &effect) {
            return Ok(None);
        }
        Cascade::before(link, &reader.schema, &reader.dependencies, table, effect, rows).map(Some)
    }

    /// What came of it, for each of the rows that are `left`; those may have changed once more.
    pub(super) fn after_cascade(
        &mut self,
        cascade: Option<Cascade>,
        left: &mut BTreeMap<usize, Option<Image>>,
    ) -> Result<BTreeMap<usize, Vec<Change>>, PgError> {
        match (cascade, self) {
            (Some(cascade), Actor { reader, link, .. }) => {
                cascade.after(link, &reader.schema, &reader.dependencies, left)
            }
            _ => Ok(BTreeMap::new()),
        }
    }
}

impl Cascade {
    fn before(
        link: &mut Link,
        schema: &Schema,
        dependencies: &Dependencies,
        table: &Table,
        effect: RowEffect,
        rows: &[&Image],
    ) -> Result<Cascade, PgError> {
        let (followers, untold) = (Vec::new(), BTreeSet::new());
        let mut cascade = Cascade { table: table.clone(), followers, untold, written: None };
        // Each row once: foreign keys may lead back to where they came from.
        let mut known: HashMap<(String, String), Known> = HashMap::new();
        let mut steps = Vec::new();
        if dependencies.following(&table.name, &effect).next().is_some() {
            let root =
                |row: &&Image| ((table.name.clone(), name(table, row)), Known { at: None, deleted: true });
            known.extend(rows.iter().map(root));
            let rows_of_step = rows.iter().enumerate();
            let rows_of_step =
                rows_of_step.map(|(of, row)| CascadeRow { of, follower: None, row: (*row).clone() });
            steps.push(CascadeStep { table: table.clone(), effect, rows: rows_of_step.collect() });
        }
        while let Some(step) = steps.pop() {
            for (by, effect) in dependencies.following(&step.table.name, &step.effect) {
                match cascade.taken_along(link, schema, &step, by, effect, &mut known)? {
                    Some(next) if next.rows.is_empty() => {}
                    Some(next) => steps.push(next),
                    None => drop(cascade.untold.insert(by.from.clone())),
                }
            }
        }
        let has_triggers = |follower: &CascadeFollower| dependencies.has_triggers(&follower.table.name);
        if dependencies.has_triggers(&table.name) || cascade.followers.iter().any(has_triggers) {
            cascade.written = Some(written(link, schema)?);
        }
        Ok(cascade)
    }

    /// The rows that a foreign key takes along; nothing, if nobody can tell them.
    fn taken_along(
        &mut self,
        link: &mut Link,
        schema: &Schema,
        step: &CascadeStep,
        by: &ForeignKey,
        effect: RowEffect,
        known: &mut HashMap<(String, String), Known>,
    ) -> Result<Option<CascadeStep>, PgError> {
        let can_be_told = |table: &&Table| {
            by.columns.iter().all(|column| table.column(column).is_some())
                && (effect == RowEffect::Deleted || !table.key.is_empty())
        };
        let Some(table) = schema.table(&by.from).filter(can_be_told) else { return Ok(None) };
        let found = referring(link, table, by, step)?;
        if found.len() > MOST {
            return Ok(None);
        }
        let mut next = CascadeStep { table: table.clone(), effect, rows: Vec::new() };
        let deleted = next.effect == RowEffect::Deleted;
        for (number, row) in found {
            let Some(cascade_row) = step.rows.get(number) else { continue };
            let it = (table.name.clone(), name(table, &row));
            let follower = match known.get(&it) {
                None => {
                    let (table, by, before) = (table.clone(), by.clone(), row.clone());
                    self.followers.push(CascadeFollower {
                        of: cascade_row.of,
                        to: cascade_row.follower,
                        table,
                        by,
                        before,
                    });
                    Some(self.followers.len() - 1)
                }
                // What is deleted goes further than what is changed.
                Some(before) if deleted && !before.deleted => before.at,
                Some(_) => continue,
            };
            known.insert(it, Known { at: follower, deleted });
            next.rows.push(CascadeRow { of: cascade_row.of, follower, row });
        }
        Ok(Some(next))
    }

    fn after(
        mut self,
        link: &mut Link,
        schema: &Schema,
        dependencies: &Dependencies,
        left: &mut BTreeMap<usize, Option<Image>>,
    ) -> Result<BTreeMap<usize, Vec<Change>>, PgError> {
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        *known.entry(self.table.name.clone()).or_default() += left.len() as u64;
        if dependencies.changes_rows_again(&self.table.name) && !self.table.key.is_empty() {
            let rows: Vec<&Image> = left.values().flatten().collect();
            let now = read_again(link, &self.table, &rows)?;
            for row in left.values_mut().flatten() {
                if let Some(again) = now.get(&name(&self.table, row)).filter(|again| *again != row) {
                    *row = again.clone();
                    *known.entry(self.table.name.clone()).or_default() += 1;
                }
            }
        }
        let mut changes: BTreeMap<usize, Vec<Change>> = left.keys().map(|of| (*of, Vec::new())).collect();
        let after = self.followers_after(link, left)?;
        for (follower, after) in self.followers.iter().zip(after) {
            if after.as_ref() != Some(&follower.before) {
                *known.entry(follower.table.name.clone()).or_default() += 1;
                let change = Change::of(&follower.table, Some(follower.before.clone()), after);
                changes.entry(follower.of).or_default().push(change);
            }
        }
        if let Some(before) = self.written.take() {
            let now = written(link, schema)?;
            if !now.contains_key(&self.table.name) && !left.is_empty() {
                // The server does not count: then only that there are triggers is known.
                self.untold.insert(self.table.name.clone());
            }
            for (table, count) in now {
                let more = count.saturating_sub(before.get(&table).copied().unwrap_or(0));
                if more > known.get(&table).copied().unwrap_or(0) {
                    self.untold.insert(table);
                }
            }
        }
        for own in changes.values_mut() {
            own.extend(self.untold.iter().map(|table| Change::untold(table)));
        }
        Ok(changes)
    }

    /// What is left of each follower.
    fn followers_after(
        &self,
        link: &mut Link,
        left: &BTreeMap<usize, Option<Image>>,
    ) -> Result<Vec<Option<Image>>, PgError> {
        let mut by_table: BTreeMap<&str, (&Table, Vec<&Image>)> = BTreeMap::new();
        for CascadeFollower { table, before, .. } in &self.followers {
            by_table.entry(&table.name).or_insert((table, Vec::new())).1.push(before);
        }
        let mut now: HashMap<&str, HashMap<String, Image>> = HashMap::new();
        for (name, (table, rows)) in by_table {
            now.insert(name, read_again(link, table, &rows)?);
        }
        let mut all: Vec<Option<Image>> = Vec::new();
        for CascadeFollower { of, to, table, by, before } in &self.followers {
            let mut after =
                now.get(table.name.as_str()).and_then(|now| now.get(&name(table, before))).cloned();
            let referred = match to {
                Some(to) => all.get(*to).and_then(Option::as_ref),
                None => left.get(of).and_then(Option::as_ref),
            };
            // Its own key may have changed along.
            if let (None, Some(referred)) = (&after, referred) {
                let moved = before.map(|column, value| carried(column, value, by, referred));
                if name(table, &moved) != name(table, before) {
                    after = read_again(link, table, &[&moved])?.into_values().next();
                }
            }
            all.push(after);
        }
        Ok(all)
    }
}

/// A row that was reached.
struct Known {
    /// Which follower it is; nothing, if the act is on it.
    at: Option<usize>,
    deleted: bool,
}

/// A cell as it is if it follows the row that is referred to.
fn carried(column: &str, value: &Value, by: &ForeignKey, referred: &Image) -> Value {
    let at = by.columns.iter().position(|own| own == column);
    at.and_then(|at| referred.get(by.referenced.get(at)?)).unwrap_or(value).clone()
}

pub(super) fn written(link: &mut Link, schema: &Schema) -> Result<BTreeMap<String, u64>, PgError> {
    let rows = link.query(WRITTEN, &[])?;
    let read = |row: &Row| Some((schema.name_in(row.get(0)?, row.get(1)?), row.get(2)?.parse().ok()?));
    Ok(rows.iter().filter_map(read).collect())
}
