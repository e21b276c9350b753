//! How tables hang together: foreign keys that take other rows along, and triggers that may do anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::link::Row;
use crate::store::driver::Row as _;
use crate::store::schema::Schema;
use crate::store::statements::RowEffect;

/// Foreign keys that do more than forbid. A partition's own are its parent's.
pub(super) const KEYS: &str = "
    SELECT n.nspname::text, r.relname::text, k.confrelid::text,
      (SELECT string_agg(a.attname, E'\\n' ORDER BY c.n) FROM unnest(k.conkey) WITH ORDINALITY AS c(attnum, n)
       JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = c.attnum),
      (SELECT string_agg(a.attname, E'\\n' ORDER BY c.n) FROM unnest(k.confkey) WITH ORDINALITY AS c(attnum, n)
       JOIN pg_attribute AS a ON a.attrelid = k.confrelid AND a.attnum = c.attnum),
      k.confdeltype::text, k.confupdtype::text, has_any_column_privilege(k.conrelid, 'UPDATE')::text
    FROM pg_constraint AS k JOIN pg_class AS r ON r.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = r.relnamespace
    WHERE k.contype = 'f' AND k.conparentid = 0 AND (k.confdeltype IN ('c', 'n', 'd') OR k.confupdtype IN ('c', 'n', 'd'))
    ORDER BY k.oid";

/// The triggers of all tables, those of a partition with its parents: whether one runs after a row is written,
/// and, of the commonest of all, which only puts the time into the row that is being written, into which
/// columns.
pub(super) const TRIGGERS: &str = r#"
    WITH RECURSIVE above(part, parent) AS (
      SELECT oid, oid FROM pg_class WHERE relhastriggers
      UNION SELECT a.part, i.inhparent FROM above AS a JOIN pg_inherits AS i ON i.inhrelid = a.parent)
    SELECT a.parent::text, (t.tgtype & 66 = 0)::text,
      CASE WHEN t.tgtype & 3 = 3 AND l.lanname = 'plpgsql' AND p.prosrc ~* ('^\s*BEGIN\s+'
        || '(new\."?\w+"?\s*:?=\s*((now|clock_timestamp|statement_timestamp)\s*\(\s*\)|current_timestamp)'
        || '(\s+at\s+time\s+zone\s+''utc'')?\s*;\s*)+RETURN\s+new\s*;\s*END\s*;?\s*$')
      THEN (SELECT string_agg(CASE m[1] WHEN '"' THEN m[2] ELSE lower(m[2]) END, E'\n')
        FROM regexp_matches(p.prosrc, 'new\.("?)(\w+)"?\s*:?=', 'gi') AS m) END,
      (coalesce(p.proconfig::text LIKE '%search\_path=%', false) OR p.proname = 'claimtop_audit_stays')::text
    FROM above AS a JOIN pg_trigger AS t ON t.tgrelid = a.part
    JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_language AS l ON l.oid = p.prolang
    WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'"#;

/// The foreign keys and triggers of all tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Dependencies {
    keys: Vec<ForeignKey>,
    /// Tables with triggers that may do anything, and whether those may change a row again once it is written.
    triggered: BTreeMap<String, bool>,
    /// Whether a trigger may find tables by the search path.
    need_path: bool,
    /// The columns into which triggers put the time, by the table.
    stamped: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, Clone)]
pub(super) struct ForeignKey {
    /// The table that refers to another.
    pub from: String,
    pub columns: Vec<String>,
    pub to: String,
    pub referenced: Vec<String>,
    on_delete: ForeignKeyRule,
    on_update: ForeignKeyRule,
    /// Whether we may lock the rows that refer.
    pub can_lock: bool,
}

/// What becomes of a row when the one it refers to changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignKeyRule {
    Nothing,
    /// The same as of that.
    Cascade,
    /// It refers to nothing any more, or to its default.
    Reset,
}

impl Dependencies {
    /// What the rows of [`KEYS`] and [`TRIGGERS`] tell; `names` are the tables that can be read, by their number in the
    /// catalog.
    pub(super) fn new(
        keys: &[Row],
        triggers: &[Row],
        schema: &Schema,
        names: &BTreeMap<String, String>,
    ) -> Dependencies {
        let mut dependencies = Dependencies::default();
        for row in keys {
            let text = |at: usize| row.get(at).unwrap_or_default();
            let list = |at: usize| text(at).split('\n').map(str::to_owned).collect::<Vec<String>>();
            let Some(to) = names.get(text(2)) else { continue };
            dependencies.keys.push(ForeignKey {
                // One that cannot be read still has a name.
                from: schema.name_in(text(0), text(1)),
                columns: list(3),
                to: to.clone(),
                referenced: list(4),
                on_delete: ForeignKeyRule::of(text(5)),
                on_update: ForeignKeyRule::of(text(6)),
                can_lock: row.is_true(7),
            });
        }
        for row in triggers {
            dependencies.need_path |= row.get(2).is_none() && !row.is_true(3);
            let Some(name) = row.get(0).and_then(|oid| names.get(oid)) else { continue };
            match row.get(2) {
                Some(columns) => {
                    let stamped = dependencies.stamped.entry(name.clone()).or_default();
                    stamped.extend(columns.split('\n').map(str::to_owned));
                }
                None => *dependencies.triggered.entry(name.clone()).or_default() |= row.is_true(1),
            }
        }
        dependencies
    }

    pub(super) fn keys(&self) -> &[ForeignKey] {
        &self.keys
    }

    /// The foreign keys by which the effect of a table's rows reaches others, and the effect of those.
    pub(super) fn following<'a>(
        &'a self,
        table: &'a str,
        effect: &'a RowEffect,
    ) -> impl Iterator<Item = (&'a ForeignKey, RowEffect)> + 'a {
        let keys = self.keys.iter().filter(move |key| key.to == table);
        keys.filter_map(move |key| Some((key, key.passes_on(effect)?)))
    }

    /// Whether some trigger may look for tables in the search path of whoever writes.
    pub(super) fn need_path(&self) -> bool {
        self.need_path
    }

    pub(super) fn has_triggers(&self, table: &str) -> bool {
        self.triggered.contains_key(table)
    }

    /// Whether a row may not be as the statement that wrote it has left it.
    pub(super) fn changes_rows_again(&self, table: &str) -> bool {
        self.triggered.get(table).copied().unwrap_or(false)
    }

    /// Whether a column of a row that is written gets the time.
    pub(super) fn stamps(&self, table: &str, column: &str) -> bool {
        self.stamped.get(table).is_some_and(|columns| columns.contains(column))
    }

    /// Whether what becomes of a row of this table may reach others.
    pub(super) fn reach_beyond(&self, table: &str, effect: &RowEffect) -> bool {
        self.has_triggers(table) || self.following(table, effect).next().is_some()
    }
}

impl ForeignKey {
    /// What becomes of the rows that refer.
    fn passes_on(&self, effect: &RowEffect) -> Option<RowEffect> {
        let changed = || Some(RowEffect::Changed(self.columns.clone()));
        match effect {
            RowEffect::Deleted => match self.on_delete {
                ForeignKeyRule::Nothing => None,
                ForeignKeyRule::Cascade => Some(RowEffect::Deleted),
                ForeignKeyRule::Reset => changed(),
            },
            RowEffect::Changed(columns) => {
                let columns: BTreeSet<String> = columns.iter().map(|name| name.to_lowercase()).collect();
                let is_its = self.referenced.iter().any(|name| columns.contains(&name.to_lowercase()));
                if is_its && self.on_update != ForeignKeyRule::Nothing { changed() } else { None }
            }
        }
    }
}

impl ForeignKeyRule {
    fn of(letter: &str) -> ForeignKeyRule {
        match letter {
            "c" => ForeignKeyRule::Cascade,
            "n" | "d" => ForeignKeyRule::Reset,
            _ => ForeignKeyRule::Nothing,
        }
    }
}
