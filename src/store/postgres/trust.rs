//! What a profile's SQL may use: built-in functions without side effects, tables by their schema, and what
//! the operator allows by name.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::named_params::array;
use super::names::{Name, NameRole, names, rewritten};
use super::schema::Types;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::bind::{Fragment, Problem};
use crate::store::schema::{Schema, Table};

/// Built-in functions that are called volatile, and still do nothing but tell something.
const HARMLESS: [&str; 12] = [
    "clock_timestamp",
    "timeofday",
    "random",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "pg_is_in_recovery",
    "pg_last_xact_replay_timestamp",
    "pg_xact_commit_timestamp",
    "pg_blocking_pids",
    "pg_relation_size",
    "current_query",
];

/// Built-in functions that are not called volatile, and read whatever they are told by name, or use up
/// transaction numbers.
const TELLTALE: [&str; 11] = [
    "table_to_xml",
    "table_to_xmlschema",
    "table_to_xml_and_xmlschema",
    "schema_to_xml",
    "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema",
    "database_to_xml",
    "database_to_xmlschema",
    "database_to_xml_and_xmlschema",
    "txid_current",
    "pg_current_xact_id",
];

const SIDE_EFFECTS: &str = "
    SELECT DISTINCT p.proname::text FROM pg_proc AS p
    WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY ((($1::text)::text[])::name[])
      AND ((p.provolatile = 'v' AND p.proname <> ALL ((($2::text)::text[])::name[]))
           OR p.proname = ANY ((($3::text)::text[])::name[]))";

/// What the operator allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Functions, operators and types by name, as in `app.priority_of`.
    pub functions: Vec<String>,
    /// Whether somebody named the profile: then it may read views and foreign tables.
    pub views: bool,
}

/// Resolves the names of profiles on one database.
#[derive(Debug)]
pub(super) struct Trust<'a> {
    schema: &'a Schema,
    types: &'a Types,
    allowed: Allowed,
    /// Whether a built-in function of this name may do more than tell something.
    known: RefCell<BTreeMap<String, bool>>,
}

impl<'a> Trust<'a> {
    pub(super) fn new(schema: &'a Schema, types: &'a Types, allowed: Allowed) -> Trust<'a> {
        Trust { schema, types, allowed, known: RefCell::default() }
    }

    pub(super) fn types(&self) -> &Types {
        self.types
    }

    /// Why a table may not be used as the profile writes it. A name that could be a trap stops everything; a
    /// view is left alone.
    pub(super) fn usable(&self, table: &Table, written: &str) -> Result<(), Problem> {
        if let Some(why) = table.standing.ambiguous.as_ref().filter(|_| !written.contains('.')) {
            return Err(Problem::Refused(why.clone()));
        }
        match &table.standing.runs {
            Some(why) if !self.allowed.views => Err(Problem::Missing(format!(
                "{why}: name the profile (--profile, or `profiles` in the config) to use it"
            ))),
            _ => Ok(()),
        }
    }

    /// The same SQL with the schema of every table and type, if it may run.
    pub(super) fn resolve(
        &self,
        link: &mut Link,
        sql: &str,
        fragment: Fragment,
    ) -> Result<Result<String, Problem>, PgError> {
        let all = match names(sql, fragment) {
            Ok(all) => all,
            Err(why) => return Ok(Err(Problem::Refused(why))),
        };
        if let Some(refused) = self.refusal(link, &all)? {
            return Ok(Err(Problem::Refused(refused)));
        }
        let mut changes = Vec::new();
        for name in &all {
            let full = match name.role {
                NameRole::Table => match self.table(name) {
                    Ok(full) => full,
                    Err(problem) => return Ok(Err(problem)),
                },
                NameRole::Type if name.schema.is_none() => self.types.bare(&name.name).map(str::to_owned),
                _ => None,
            };
            changes.extend(full.map(|full| (name.at.clone(), full)));
        }
        Ok(Ok(rewritten(sql, changes)))
    }

    /// A table by its schema; nothing, if it is one of the system's, or none that we can see.
    fn table(&self, name: &Name) -> Result<Option<String>, Problem> {
        let (table, written) = match &name.schema {
            Some(schema) => (self.schema.table_in(schema, &name.name), format!("{schema}.{}", name.name)),
            None => (self.schema.bare(&name.name), name.name.clone()),
        };
        let Some(table) = table else {
            // Something may be added to what cannot be read.
            let unreadable = self.schema.unreadable_as(&name.name).filter(|_| name.schema.is_none());
            return Ok(unreadable.map(str::to_owned));
        };
        self.usable(table, &written)?;
        Ok(Some(table.sql.clone()))
    }

    /// Why one of the functions, operators or types may not be used.
    fn refusal(&self, link: &mut Link, all: &[Name]) -> Result<Option<String>, PgError> {
        for name in
            all.iter().filter(|name| name.schema.as_deref().is_some_and(|schema| schema != "pg_catalog"))
        {
            let what = match name.role {
                NameRole::Function => "function",
                NameRole::Operator => "operator",
                NameRole::Type if !self.types.is_plain(name) => "type",
                _ => continue,
            };
            let full = format!("{}.{}", name.schema.as_deref().unwrap_or_default(), name.name);
            if !self.allowed.functions.contains(&full) {
                return Ok(Some(not_built_in(what, &full)));
            }
        }
        let is_asked = |name: &&Name| match name.role {
            NameRole::Function => name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog"),
            NameRole::Attribute => !self.schema.has_column(&name.name),
            _ => false,
        };
        let asked: Vec<&str> = all.iter().filter(is_asked).map(|name| name.name.as_str()).collect();
        self.learn(link, &asked)?;
        let known = self.known.borrow();
        let is_allowed = |name: &str| {
            let is = |allowed: &String| allowed.strip_prefix("pg_catalog.").unwrap_or(allowed) == name;
            self.allowed.functions.iter().any(is)
        };
        let bad = asked.iter().find(|name| known.get(**name) == Some(&true) && !is_allowed(name));
        Ok(bad.map(|name| {
            format!(
                "the function {name} may do more than read; if that is wanted, write allow_functions = \
                 [\"{name}\"] for this source in the config"
            )
        }))
    }

    /// The functions and operators of a piece of SQL, resolved before, that the operator allows although they may do
    /// more than read: a rollback may not take back what they do.
    pub(super) fn effects(&self, sql: &str) -> Vec<String> {
        let known = self.known.borrow();
        let mut found = Vec::new();
        for name in names(sql, Fragment::Whole).unwrap_or_default() {
            let is_code = matches!(name.role, NameRole::Function | NameRole::Operator);
            let called = match name.schema.as_deref() {
                Some(schema) if schema != "pg_catalog" && is_code => format!("{schema}.{}", name.name),
                _ if known.get(&name.name) == Some(&true) => name.name,
                _ => continue,
            };
            if !found.contains(&called) {
                found.push(called);
            }
        }
        found
    }

    /// Looks up the functions that are not known yet.
    fn learn(&self, link: &mut Link, asked: &[&str]) -> Result<(), PgError> {
        let mut known = self.known.borrow_mut();
        let new: Vec<&str> = asked.iter().copied().filter(|name| !known.contains_key(*name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let lists = [array(new.iter().map(Some)), array(HARMLESS.map(Some)), array(TELLTALE.map(Some))];
        let values: Vec<Option<&str>> = lists.iter().map(|list| Some(list.as_str())).collect();
        let bad = link.query(SIDE_EFFECTS, &values)?;
        known.extend(new.iter().map(|name| ((*name).to_owned(), false)));
        known.extend(bad.iter().filter_map(|row| Some((row.get(0)?.to_owned(), true))));
        Ok(())
    }
}

fn not_built_in(what: &str, full: &str) -> String {
    format!(
        "the {what} {full} is not built in, and would run with our rights; if that is wanted, write \
         allow_functions = [\"{full}\"] for this source in the config"
    )
}
