//! The contents of the first schema of the search path, as the catalog shows them.

use std::collections::BTreeMap;

use super::super::server_columns::{CatalogColumn, ObjectDifference, compare};
use super::super::upgrade;
use crate::postgres::{Link, PgError, Row};

/// A table, view, index, function or trigger.
#[derive(Debug)]
pub(super) struct CatalogObject {
    pub kind: String,
    pub name: String,
    /// Its definition, part by part; empty for a table, which is described by its columns.
    parts: Vec<(String, String)>,
    columns: BTreeMap<String, CatalogColumn>,
}

#[derive(Debug)]
pub(super) struct SchemaCatalog(Vec<CatalogObject>);

/// Relations share one namespace, functions another, and triggers have one per table. A function is found by its name
/// alone: another one with other arguments would be called instead of ours.
const OBJECTS: &str = "
  SELECT 'relation', CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view'
           WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'I' THEN 'index'
           WHEN 'S' THEN 'sequence' ELSE 'relation' END,
         c.relname::text,
         CASE WHEN c.relkind IN ('v', 'm') THEN jsonb_build_object('text', pg_get_viewdef(c.oid, true))
              WHEN c.relkind IN ('i', 'I') THEN jsonb_build_object('definition', pg_get_indexdef(c.oid, 0, true))
              ELSE '{}' END::text,
         coalesce(d.deptype IS NOT NULL, false)::text
  FROM pg_class c
  LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i'
    AND (c.relkind = 'S' OR d.refclassid = 'pg_constraint'::regclass)
  WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind <> 't'
  UNION ALL
  SELECT 'function', CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END,
         p.proname::text,
         jsonb_build_object('arguments', pg_get_function_identity_arguments(p.oid),
           'result', coalesce(pg_get_function_result(p.oid), ''), 'language', l.lanname, 'body', p.prosrc,
           'rights', p.prosecdef, 'volatility', p.provolatile)::text, 'false'
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
  WHERE p.pronamespace = quote_ident(current_schema())::regnamespace
  UNION ALL
  SELECT 'trigger on ' || c.relname, 'trigger', t.tgname::text,
         jsonb_build_object('text', pg_get_triggerdef(t.oid, true))::text, 'false'
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND NOT t.tgisinternal
  ORDER BY 1, 3, 4";

const COLUMNS: &str = "
  SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
         coalesce(array_position(i.indkey::int2[], a.attnum) - array_lower(i.indkey::int2[], 1) + 1, 0)::text,
         (NOT a.attnotnull)::text,
         (NOT a.attnotnull OR a.atthasdef OR a.attidentity <> '')::text
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind IN ('r', 'p')
    AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY 1, 2";

impl SchemaCatalog {
    pub(super) fn read(link: &mut Link) -> Result<SchemaCatalog, PgError> {
        let mut columns: BTreeMap<String, BTreeMap<String, CatalogColumn>> = BTreeMap::new();
        for row in link.query(COLUMNS, &[])? {
            let column = CatalogColumn {
                kind: text(&row, 2),
                key: text(&row, 3),
                may_be_empty: text(&row, 4) == "true",
                may_be_left_out: text(&row, 5) == "true",
            };
            columns.entry(text(&row, 0)).or_default().insert(text(&row, 1), column);
        }
        let objects = link.query(OBJECTS, &[])?.into_iter().map(|row| {
            let (space, kind, name) = (text(&row, 0), text(&row, 1), text(&row, 2));
            let columns = match kind.as_str() {
                "table" => columns.remove(&name).unwrap_or_default(),
                _ => BTreeMap::new(),
            };
            // Objects that belong to a constraint or a column are compared with it.
            let own = text(&row, 4) != "true";
            (own, CatalogObject { kind, name, parts: parts(space, &text(&row, 3)), columns })
        });
        Ok(SchemaCatalog(objects.filter(|(own, _)| *own).map(|(_, object)| object).collect()))
    }

    /// Whether the table is there without this column.
    pub(super) fn lacks(&self, table: &str, column: &str) -> bool {
        let is_it = |it: &&CatalogObject| it.kind == "table" && it.name == table;
        self.0.iter().find(is_it).is_some_and(|it| !it.columns.contains_key(column))
    }

    pub(super) fn objects(&self) -> &[CatalogObject] {
        &self.0
    }

    /// The object with this name; if there are several functions, one that differs.
    pub(super) fn find(&self, wanted: &CatalogObject) -> Option<&CatalogObject> {
        let mut same = self.0.iter().filter(|it| it.space() == wanted.space() && it.name == wanted.name);
        let first = same.next()?;
        Some(same.find(|it| !it.differences(wanted).is_empty()).unwrap_or(first))
    }
}

const SPACE: &str = "space";

fn parts(space: String, object: &str) -> Vec<(String, String)> {
    let parsed: BTreeMap<String, serde_json::Value> = serde_json::from_str(object).unwrap_or_default();
    let word = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    let told = parsed.into_iter().map(|(part, value)| (part, word(value)));
    std::iter::once((SPACE.to_owned(), space)).chain(told).collect()
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).unwrap_or_default().to_owned()
}

impl CatalogObject {
    fn space(&self) -> Option<&str> {
        self.parts.iter().find(|(part, _)| part == SPACE).map(|(_, space)| space.as_str())
    }

    /// Whether this is `wanted` in an earlier version of ours.
    pub(super) fn is_former(&self, wanted: &CatalogObject) -> bool {
        let is_body = |part: &str| part == "body";
        let mut rest = self.parts.iter().zip(&wanted.parts).filter(|((part, _), _)| !is_body(part));
        let body = self.parts.iter().find(|(part, _)| is_body(part));
        rest.all(|(is, wanted)| is == wanted)
            && body.is_some_and(|(_, body)| upgrade::is_former(&self.name, body))
    }

    /// How this differs from `wanted`; empty if it is usable.
    pub(super) fn differences(&self, wanted: &CatalogObject) -> Vec<ObjectDifference> {
        if self.kind != wanted.kind {
            return vec![ObjectDifference::new(format!("it is no {}", wanted.kind))];
        }
        if self.kind == "table" {
            return compare(&self.columns, &wanted.columns);
        }
        let other = self.parts.iter().zip(&wanted.parts).filter(|(is, wanted)| is != wanted);
        other.map(|((part, is), (_, wanted))| ObjectDifference::new(unlike(part, is, wanted))).collect()
    }
}

/// Long texts are not quoted: a person has to compare them anyway.
fn unlike(part: &str, is: &str, wanted: &str) -> String {
    match part {
        "text" | "body" => format!("its {part} is another"),
        "rights" => "it runs with the rights of another".into(),
        "arguments" => format!("its arguments are ({is}), not ({wanted})"),
        _ => format!("its {part} is {is}, not {wanted}"),
    }
}
