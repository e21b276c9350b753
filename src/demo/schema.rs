//! The schema that a demo has on a server: made by it, marked as its own, and gone with it.

use std::path::Path;
use std::time::Duration;

use super::error::DemoError;
use crate::reference::System;
use crate::reference::postgres::install;
use crate::store::postgres::{Limits, Link, PgError, Purpose, Target};

pub const NAME: &str = "claimtop_demo";

/// Long enough for those to end who were at its tables a moment ago.
const LIMITS: Limits = Limits {
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(20),
    answer: Duration::from_secs(35),
};

/// The text that leads to the same database, into the schema.
pub fn inside(text: &str) -> String {
    match text.split_once("://") {
        Some((_, rest)) => {
            let joint = if rest.contains('?') { '&' } else { '?' };
            format!("{text}{joint}options=-csearch_path%3D{NAME}")
        }
        None => format!("{text} options='-csearch_path={NAME}'"),
    }
}

pub struct Schema<'a> {
    target: &'a Target,
    mark: String,
}

/// The server's code for a deadlock: one of those who wait for each other was told to give way.
const DEADLOCK: &str = "40P01";

/// How often the schema is dropped before a deadlock is reported.
const ATTEMPTS: usize = 5;

/// How the comment of every demo's schema begins.
const MARK: &str = "claimtop demo";

impl Schema<'_> {
    /// The demo's in this folder: nobody else's has this mark.
    pub fn of<'a>(target: &'a Target, folder: &Path) -> Schema<'a> {
        Schema { target, mark: format!("{MARK} of {}", folder.display()) }
    }

    pub fn make(&self, systems: &[System]) -> Result<(), DemoError> {
        let mut link = Link::open(self.target, Purpose::Acts, LIMITS)?;
        match comment(&mut link)? {
            Some(text) if text.starts_with(MARK) => {
                return Err(DemoError::LeftBehind(self.target.label().into()));
            }
            Some(_) => return Err(DemoError::ForeignSchema(self.target.label().into())),
            None => {}
        }
        let mark = self.mark.replace('\'', "''");
        // Both or neither: a schema without the mark would be nobody's.
        let made =
            link.batch(&format!("BEGIN; CREATE SCHEMA {NAME}; COMMENT ON SCHEMA {NAME} IS '{mark}'; COMMIT"));
        if let Err(error) = made {
            let _ = link.rollback();
            return Err(error.into());
        }
        install(&mut link, systems)?;
        Ok(())
    }

    /// Drops it with everything in it, if it is ours.
    pub fn remove(&self) -> Result<(), DemoError> {
        let mut link = Link::open(self.target, Purpose::Acts, LIMITS)?;
        if comment(&mut link)?.as_deref() != Some(&self.mark) {
            return Ok(());
        }
        // The server may still be busy for a worker that was just killed, and lock tables in another order.
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

/// The schema's comment, empty if it has none; none if there is no such schema.
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
