//! The schema of a demo on a server: created by the demo, marked as its own, and removed with it.

use std::path::Path;
use std::time::Duration;

use super::error::DemoError;
use crate::postgres::{Limits, Link, PgError, Purpose, Target};
use crate::reference::System;
use crate::reference::postgres::{Wrapper, install};

pub(super) const NAME: &str = "claimtop_demo";

/// Long enough for workers that used its tables a moment ago to end.
const LIMITS: Limits = Limits {
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(20),
    answer: Duration::from_secs(35),
};

/// The address of the same database, with the schema as its search path.
pub(super) fn inside(text: &str) -> String {
    match text.split_once("://") {
        Some((_, rest)) => {
            let joint = if rest.contains('?') { '&' } else { '?' };
            format!("{text}{joint}options=-csearch_path%3D{NAME}")
        }
        None => format!("{text} options='-csearch_path={NAME}'"),
    }
}

pub(super) struct DemoSchema<'a> {
    target: &'a Target,
    mark: String,
}

/// The SQLSTATE of a deadlock, which ends one of the waiting transactions.
const DEADLOCK: &str = "40P01";

/// How often the schema is dropped before a deadlock is reported.
const ATTEMPTS: usize = 5;

/// The start of the comment on every demo's schema.
const MARK: &str = "claimtop demo";

impl DemoSchema<'_> {
    /// The schema of the demo in this folder: the mark contains the folder.
    pub(super) fn of<'a>(target: &'a Target, folder: &Path) -> DemoSchema<'a> {
        DemoSchema { target, mark: format!("{MARK} of {}", folder.display()) }
    }

    pub(super) fn create(&self, systems: &[System]) -> Result<(), DemoError> {
        let mut link = Link::open(self.target, Purpose::Acts, LIMITS)?;
        match comment(&mut link)? {
            Some(text) if text.starts_with(MARK) => {
                return Err(DemoError::LeftBehind(self.target.label().into()));
            }
            Some(_) => return Err(DemoError::ForeignSchema(self.target.label().into())),
            None => {}
        }
        let mark = self.mark.replace('\'', "''");
        // Create the schema and its mark together: without the mark no demo would remove it.
        let made =
            link.batch(&format!("BEGIN; CREATE SCHEMA {NAME}; COMMENT ON SCHEMA {NAME} IS '{mark}'; COMMIT"));
        if let Err(error) = made {
            let _ = link.rollback();
            return Err(error.into());
        }
        install(&mut link, systems, Wrapper::Without)?;
        Ok(())
    }

    /// Drops the schema with everything in it, if this demo created it.
    pub(super) fn remove(&self) -> Result<(), DemoError> {
        let mut link = Link::open(self.target, Purpose::Acts, LIMITS)?;
        if comment(&mut link)?.as_deref() != Some(&self.mark) {
            return Ok(());
        }
        // The server may still be executing a statement of a killed worker, which locks tables in another order.
        let mut dropped = drop_schema(&mut link);
        for _ in 1..ATTEMPTS {
            match &dropped {
                Err(error) if error.code() == Some(DEADLOCK) => dropped = drop_schema(&mut link),
                _ => break,
            }
        }
        Ok(dropped?)
    }
}

fn drop_schema(link: &mut Link) -> Result<(), PgError> {
    let dropped = link.batch(&format!(
        "BEGIN; SET LOCAL lock_timeout = '20s'; SET LOCAL client_min_messages = warning; \
         DROP SCHEMA IF EXISTS {NAME} CASCADE; COMMIT"
    ));
    if dropped.is_err() {
        // If this fails as well, so does the next attempt, and that is reported.
        let _ = link.rollback();
    }
    dropped
}

/// The comment of the schema; empty if it has none, `None` if there is no such schema.
fn comment(link: &mut Link) -> Result<Option<String>, DemoError> {
    let sql = format!(
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = '{NAME}'"
    );
    let rows = link.query(&sql, &[])?;
    Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_leads_into_the_schema() {
        for text in ["postgres://ann@db.example/app", "postgres://ann@/app?host=/tmp", "host=/tmp dbname=app"]
        {
            let inside = inside(text);
            assert!(inside.starts_with(text) && inside.contains("search_path"), "{inside}");
            Target::parse(&inside, None).expect("an address");
        }
    }
}
