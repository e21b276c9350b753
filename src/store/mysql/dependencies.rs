//! How tables hang together: foreign keys that take other rows along, triggers, and columns that set themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::put;
use crate::domain::recovery::{Refusal, UntoldRows};
use crate::domain::value::Value;
use crate::mysql::{Link, MyError};
use crate::store::image::Image;
use crate::store::named_params::NamedParams;
use crate::store::schema::{Schema, Table, quoted};
use crate::store::statements::RowEffect;

/// Foreign keys, column by column: the table that refers, the key, its column, the other table and its column, and
/// what follows a DELETE and an UPDATE there.
const KEYS: &str = "SELECT k.table_name, k.constraint_name, k.column_name, k.referenced_table_name,
      k.referenced_column_name, r.delete_rule, r.update_rule
    FROM information_schema.key_column_usage AS k
    JOIN information_schema.referential_constraints AS r ON r.constraint_schema = k.constraint_schema
      AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name
    WHERE k.table_schema = DATABASE() AND r.constraint_schema = DATABASE()
      AND k.referenced_table_schema = DATABASE()
    ORDER BY k.table_name, k.constraint_name, k.ordinal_position";

const TRIGGERS: &str =
    "SELECT event_object_table FROM information_schema.triggers WHERE event_object_schema = DATABASE()";

/// Columns that the server sets: numbers that it hands out, and the time of the last write.
const OWN: &str = "SELECT table_name, column_name, extra LIKE '%on update%', extra LIKE '%auto_increment%'
    FROM information_schema.columns WHERE table_schema = DATABASE() AND extra <> ''";

/// Tables in parts: a row that is written there counts twice.
const PARTITIONED: &str = "SELECT table_name FROM information_schema.tables
    WHERE table_schema = DATABASE() AND create_options LIKE '%partitioned%'";

/// The foreign keys, triggers and self-set columns of all tables, as far as our account may see them.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    keys: Vec<ForeignKey>,
    triggered: BTreeSet<String>,
    stamped: BTreeMap<String, Vec<String>>,
    numbered: BTreeMap<String, String>,
    partitioned: BTreeSet<String>,
}

#[derive(Debug)]
struct ForeignKey {
    from: String,
    name: String,
    columns: Vec<String>,
    to: String,
    referenced: Vec<String>,
    follows_delete: bool,
    follows_update: bool,
}

impl Dependencies {
    pub(super) fn read(link: &mut Link) -> Result<Dependencies, MyError> {
        let mut all = Dependencies { keys: foreign_keys(link)?, ..Dependencies::default() };
        for row in link.query(OWN, Vec::new())? {
            let text = |at: usize| row.text(at).unwrap_or_default();
            if row.is_true(2) {
                all.stamped.entry(text(0)).or_default().push(text(1));
            } else if row.is_true(3) {
                all.numbered.insert(text(0), text(1));
            }
        }
        let mut names = |sql: &str| {
            let rows = link.query(sql, Vec::new())?;
            Ok::<_, MyError>(rows.iter().filter_map(|row| row.text(0)).collect())
        };
        all.triggered = names(TRIGGERS)?;
        all.partitioned = names(PARTITIONED)?;
        Ok(all)
    }

    pub(super) fn has_triggers(&self, table: &str) -> bool {
        self.triggered.contains(table)
    }

    /// The columns that get the time of every write that does not name them.
    pub(super) fn stamped(&self, table: &str) -> &[String] {
        self.stamped.get(table).map_or(&[], Vec::as_slice)
    }

    /// The column whose numbers the server hands out.
    pub(super) fn numbered(&self, table: &str) -> Option<&str> {
        self.numbered.get(table).map(String::as_str)
    }

    /// How often the server counts a row that is written.
    pub(super) fn counted(&self, table: &str) -> u64 {
        if self.partitioned.contains(table) { 2 } else { 1 }
    }

    /// Whether some foreign key may take rows of others along.
    pub(super) fn passes_on(&self, table: &str, effect: &RowEffect) -> bool {
        self.keys.iter().any(|key| key.to == table && key.passes_on(effect))
    }

    /// Unless an effect on a row reaches no others by foreign keys. The row is locked, so nobody can refer to it anew.
    pub(super) fn expect_no_followers(
        &self,
        link: &mut Link,
        schema: &Schema,
        table: &Table,
        effect: &RowEffect,
        row: &Image,
    ) -> Result<Result<(), Refusal>, MyError> {
        for key in self.keys.iter().filter(|key| key.to == table.name && key.passes_on(effect)) {
            let by_foreign_key = UntoldRows::ForeignKey { table: key.from.clone() };
            let Some(from) = schema.table(&key.from) else {
                return Ok(Err(Refusal::UntoldRows(by_foreign_key)));
            };
            if key.is_referred_to(link, from, row)? {
                return Ok(Err(Refusal::UntoldRows(by_foreign_key)));
            }
        }
        Ok(Ok(()))
    }
}

impl ForeignKey {
    fn passes_on(&self, effect: &RowEffect) -> bool {
        match effect {
            RowEffect::Deleted => self.follows_delete,
            RowEffect::Changed(columns) => {
                let is_set = |name: &String| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
                self.follows_update && self.referenced.iter().any(is_set)
            }
        }
    }

    fn is_referred_to(&self, link: &mut Link, from: &Table, row: &Image) -> Result<bool, MyError> {
        let mut params = NamedParams::default();
        let mut conditions = Vec::new();
        for (at, (column, referenced)) in self.columns.iter().zip(&self.referenced).enumerate() {
            let value = row.get(referenced).cloned().unwrap_or(Value::Null);
            if value == Value::Null {
                return Ok(false);
            }
            let declared = from.column(column).map_or("", |column| column.declared.as_str());
            params.add_value(&format!("ref{at}"), declared, value);
            conditions.push(format!("{} = :ref{at}", quoted(column)));
        }
        let put =
            put(&params, &format!("SELECT 1 FROM {} WHERE {} LIMIT 1", from.sql, conditions.join(" AND ")));
        Ok(!link.query(&put.sql, put.values)?.is_empty())
    }
}

fn foreign_keys(link: &mut Link) -> Result<Vec<ForeignKey>, MyError> {
    let mut keys: Vec<ForeignKey> = Vec::new();
    for row in link.query(KEYS, Vec::new())? {
        let text = |at: usize| row.text(at).unwrap_or_default();
        let follows = |at: usize| matches!(text(at).as_str(), "CASCADE" | "SET NULL" | "SET DEFAULT");
        if keys.last().is_none_or(|last| (&last.from, &last.name) != (&text(0), &text(1))) {
            keys.push(ForeignKey {
                from: text(0),
                name: text(1),
                columns: Vec::new(),
                to: text(3),
                referenced: Vec::new(),
                follows_delete: follows(5),
                follows_update: follows(6),
            });
        }
        if let Some(last) = keys.last_mut() {
            last.columns.push(text(2));
            last.referenced.push(text(4));
        }
    }
    Ok(keys)
}
