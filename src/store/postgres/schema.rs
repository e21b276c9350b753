//! Reading the tables of a database.
//!
//! What is on the search path that the session was given goes by its bare name, as in psql; the path
//! itself is never used to resolve anything.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::dependencies::{self, Dependencies};
use super::names::Name;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row, Step};
use crate::postgres::search_path;
use crate::store::driver::Row as _;
use crate::store::schema::{Column, Names, Schema, Table, TableTrust};
pub(super) use crate::store::schema::{literal, quoted};

/// Every table and view, less the system's own: which it is, whether we may read it, whose it is, and whether
/// its name means it: the first of the path that has the name does, after the system's own. A later one of
/// another owner is named too, unless the first belongs to somebody who may do everything anyway.
const TABLES: &str = "
    WITH path AS (
      SELECT n.oid, n.nspname, p.place FROM unnest(($1::text)::text[]) WITH ORDINALITY AS p(name, place)
      JOIN pg_namespace AS n ON n.nspname = p.name
      UNION ALL SELECT n.oid, n.nspname, 0 FROM pg_namespace AS n WHERE n.nspname = 'pg_catalog'),
    named AS NOT MATERIALIZED (
      SELECT c.oid, c.relname, c.relkind, c.relowner, p.nspname, p.place
      FROM path AS p JOIN pg_class AS c ON c.relnamespace = p.oid),
    trusted AS (
      SELECT oid FROM pg_roles WHERE rolsuper OR rolname = current_user
      UNION SELECT datdba FROM pg_database WHERE datname = current_database())
    SELECT c.oid::text, n.nspname::text, c.relname::text, c.relkind::text,
      coalesce(c.oid = (SELECT o.oid FROM named AS o WHERE o.relname = c.relname ORDER BY o.place LIMIT 1), false)::text,
      (has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'))::text,
      pg_get_userbyid(c.relowner)::text, (c.relowner IN (SELECT oid FROM trusted))::text,
      (SELECT o.nspname::text FROM named AS o JOIN named AS own ON own.oid = c.oid
       WHERE o.relname = c.relname AND o.place > own.place AND o.relowner <> c.relowner
         AND o.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relowner NOT IN (SELECT oid FROM trusted)
       ORDER BY o.place LIMIT 1),
      (c.relrowsecurity OR c.relkind = 'f')::text
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
    ORDER BY c.oid";

/// Their columns, less those that we may not read; and whether the type of each came after the server was made.
const COLUMNS: &str = "
    SELECT a.attrelid::text, a.attname::text, format_type(a.atttypid, a.atttypmod), (a.attgenerated <> '')::text,
      (a.atttypid >= 16384)::text
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
      AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum";

/// What tells rows apart: the primary key, or else a unique index on columns that are never NULL.
const KEYS: &str = "
    SELECT DISTINCT ON (i.indrelid) i.indrelid::text,
      (SELECT string_agg(a.attname, E'\\n' ORDER BY k.n)
       FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
       JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum)
    FROM pg_index AS i
    WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (i.indisprimary OR NOT EXISTS (SELECT FROM pg_attribute AS a
           WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[]) AND NOT a.attnotnull))
    ORDER BY i.indrelid, i.indisprimary DESC, i.indnatts";

/// Tables whose rows cannot be read without running somebody's code: a part of them is a foreign table, their
/// policies call functions, or a column is of a type whose owner made a function for turning it into others.
/// What is built in leaves no trace in pg_depend.
const CODE: &str = "
    WITH RECURSIVE below(root, part) AS (
      SELECT inhparent, inhrelid FROM pg_inherits
      UNION SELECT b.root, i.inhrelid FROM below AS b JOIN pg_inherits AS i ON i.inhparent = b.part)
    SELECT b.root::text, 'a part of it is the foreign table ' || b.part::regclass::text
    FROM below AS b JOIN pg_class AS c ON c.oid = b.part WHERE c.relkind = 'f'
    UNION ALL
    SELECT p.polrelid::text, 'its row-level security calls ' || pg_describe_object(d.refclassid, d.refobjid, 0)
    FROM pg_policy AS p JOIN pg_depend AS d ON d.classid = 'pg_policy'::regclass AND d.objid = p.oid
    WHERE (d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
           OR d.refobjid IN (SELECT oid FROM pg_class WHERE relkind IN ('v', 'f')))
      AND row_security_active(p.polrelid)
    UNION ALL
    SELECT a.attrelid::text, 'its column ' || a.attname || ' is turned into other types by ' || k.castfunc::regprocedure::text
    FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
    JOIN pg_cast AS k ON k.castsource IN (t.oid, t.typbasetype)
    JOIN pg_type AS s ON s.oid = k.castsource AND s.typnamespace <> 'pg_catalog'::regnamespace
    JOIN pg_proc AS p ON p.oid = k.castfunc AND p.pronamespace <> 'pg_catalog'::regnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND NOT EXISTS (SELECT FROM pg_depend AS d
      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')";

/// The types of columns that are not built in: as SQL, whether the bare name means it, whether turning something
/// into it runs somebody's code, and its equality where that is not built in. Only a superuser can say what
/// the equality of a type is.
const TYPES: &str = "
    SELECT n.nspname::text, t.typname::text, format_type(t.oid, NULL),
      (n.nspname = (SELECT p.name FROM unnest(($1::text)::text[]) WITH ORDINALITY AS p(name, place)
         JOIN pg_namespace AS o ON o.nspname = p.name JOIN pg_type AS other ON other.typnamespace = o.oid
         WHERE other.typname = t.typname ORDER BY p.place LIMIT 1)
       AND NOT EXISTS (SELECT FROM pg_type AS b WHERE b.typname = t.typname
                       AND b.typnamespace = 'pg_catalog'::regnamespace))::text,
      (EXISTS (SELECT FROM pg_cast AS k JOIN pg_proc AS p ON p.oid = k.castfunc
               WHERE k.casttarget = t.oid AND p.pronamespace <> 'pg_catalog'::regnamespace
                 AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass
                                 AND d.objid = p.oid AND d.deptype = 'e'))
       OR EXISTS (SELECT FROM pg_constraint AS k JOIN pg_depend AS d
                    ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
                  WHERE k.contypid = t.oid AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)))::text,
      (SELECT 'OPERATOR(' || quote_ident(m.nspname) || '.' || o.oprname || ')'
       FROM pg_opclass AS c JOIN pg_am AS a ON a.oid = c.opcmethod AND a.amname = 'btree'
       JOIN pg_amop AS s ON s.amopfamily = c.opcfamily AND s.amopstrategy = 3
         AND s.amoplefttype = c.opcintype AND s.amoprighttype = c.opcintype
       JOIN pg_operator AS o ON o.oid = s.amopopr JOIN pg_namespace AS m ON m.oid = o.oprnamespace
       WHERE c.opcdefault AND c.opcintype = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
         AND m.nspname <> 'pg_catalog')
    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND t.oid IN (SELECT a.atttypid FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
                    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped)";

/// What a database holds.
#[derive(Debug, Clone, Default)]
pub(super) struct DatabaseCatalog {
    pub schema: Schema,
    /// How the tables hang together.
    pub dependencies: Dependencies,
    pub types: Types,
}

/// The types of columns that are not built in.
#[derive(Debug, Clone, Default)]
pub(super) struct Types(Vec<UserType>);

#[derive(Debug, Clone)]
struct UserType {
    schema: String,
    name: String,
    sql: String,
    /// Whether the bare name means it.
    is_visible: bool,
    /// Whether turning something into it runs somebody's code.
    runs: bool,
    equality: Option<String>,
}

/// Names of types that the grammar itself knows.
const GRAMMAR: [&str; 19] = [
    "int",
    "integer",
    "smallint",
    "bigint",
    "real",
    "float",
    "decimal",
    "dec",
    "numeric",
    "boolean",
    "bit",
    "varchar",
    "char",
    "character",
    "national",
    "nchar",
    "double",
    "time",
    "timestamp",
];

impl Types {
    /// As SQL, the type that a bare name means.
    pub(super) fn bare(&self, name: &str) -> Option<&str> {
        let it = self.0.iter().find(|it| it.is_visible && !it.runs && it.name == name);
        it.filter(|_| !GRAMMAR.contains(&name) && name != "interval").map(|it| it.sql.as_str())
    }

    /// Whether it is the type of a column, and turning something into it runs nobody's code.
    pub(super) fn is_plain(&self, name: &Name) -> bool {
        self.0.iter().any(|it| Some(&it.schema) == name.schema.as_ref() && it.name == name.name && !it.runs)
    }

    /// The operator that compares two values of a type.
    pub(super) fn equality(&self, declared: &str) -> &str {
        let it = self.0.iter().find(|it| it.sql == declared);
        it.and_then(|it| it.equality.as_deref()).unwrap_or("=")
    }
}

/// Reads everything anew.
pub(super) fn read(link: &mut Link) -> Result<DatabaseCatalog, PgError> {
    let path = search_path(link)?;
    let [columns, keys, found, foreign_keys, triggers] = link.query_each([
        Step::query(COLUMNS, &[]),
        Step::query(KEYS, &[]),
        Step::query(TABLES, &[Some(&path)]),
        Step::query(dependencies::KEYS, &[]),
        Step::query(dependencies::TRIGGERS, &[]),
    ])?;
    let mut of_table: HashMap<&str, Vec<&Row>> = HashMap::new();
    for column in &columns {
        of_table.entry(column.get(0).unwrap_or_default()).or_default().push(column);
    }
    let keys: HashMap<&str, &str> = keys.iter().filter_map(|key| Some((key.get(0)?, key.get(1)?))).collect();
    // Where everything is built in, there is nobody's code, and no other type.
    let (mut code, mut types) = (Vec::new(), Vec::new());
    if columns.iter().any(|column| column.is_true(4)) || found.iter().any(|table| table.is_true(9)) {
        [code, types] = link.query_each([Step::query(CODE, &[]), Step::query(TYPES, &[Some(&path)])])?;
    }
    let mut unreadable: BTreeMap<String, Option<String>> = BTreeMap::new();
    let (mut tables, mut names) = (Vec::new(), BTreeMap::new());
    for row in found {
        let text = |at: usize| row.get(at).unwrap_or_default();
        let (oid, schema, name) = (text(0), text(1), text(2));
        let sql = format!("{}.{}", quoted(schema), quoted(name));
        if !row.is_true(5) {
            let known = unreadable.entry(name.to_owned()).or_default();
            let is_it = row.is_true(4) && matches!(text(3), "r" | "p") && row.get(8).is_none();
            *known = known.take().or_else(|| is_it.then_some(sql));
            continue;
        }
        let columns: Vec<Column> = of_table
            .get(oid)
            .into_iter()
            .flatten()
            .map(|column| Column {
                name: column.get(1).unwrap_or_default().into(),
                declared: column.get(2).unwrap_or_default().into(),
                generated: column.get(3) == Some("true"),
            })
            .collect();
        let key = keys.get(oid);
        let table = Table {
            name: if row.is_true(4) { name.into() } else { format!("{schema}.{name}") },
            sql,
            // Rows have a place of their own, and can be locked and written.
            has_rowid: matches!(text(3), "r" | "p"),
            key: key
                .map(|key| Arc::new(Names::new(key.split('\n').map(str::to_owned).collect())))
                .unwrap_or_default(),
            names: Names::written(&columns),
            columns,
            standing: standing(&row, &code),
        };
        names.insert(oid.to_owned(), table.name.clone());
        tables.push(table);
    }
    let types = types.iter().map(user_type).collect();
    let schema = Schema::new(tables, Default::default()).beside(unreadable);
    let dependencies = Dependencies::new(&foreign_keys, &triggers, &schema, &names);
    Ok(DatabaseCatalog { schema, dependencies, types: Types(types) })
}

/// How far a table can be relied on.
fn standing(row: &Row, code: &[Row]) -> TableTrust {
    let text = |at: usize| row.get(at).unwrap_or_default();
    let (name, owner) = (text(2), text(6));
    let by_kind = match text(3) {
        "v" | "m" => Some(format!("{name} is a view")),
        "f" => Some(format!("{name} is a foreign table")),
        _ => None,
    };
    let by_code = || code.iter().find(|code| code.get(0) == row.get(0)).and_then(|code| code.get(1));
    TableTrust {
        unsafe_for_acts: None,
        runs: by_kind.or_else(|| by_code().map(|why| format!("of {name}, {why}"))),
        ambiguous: row.get(8).map(|other| {
            format!(
                "{name} is in the schemas {} and {other}, with different owners; set search_path for this role, or \
                 write the schema into the profile",
                text(1)
            )
        }),
        owner: owner.into(),
        owner_is_trusted: row.is_true(7),
    }
}

fn user_type(row: &Row) -> UserType {
    let text = |at: usize| row.get(at).unwrap_or_default().to_owned();
    UserType {
        schema: text(0),
        name: text(1),
        sql: text(2),
        is_visible: row.is_true(3),
        runs: row.is_true(4),
        equality: row.get(5).map(str::to_owned),
    }
}
