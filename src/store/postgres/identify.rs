//! Which database a connection leads to, whatever the server is called.

use std::time::Duration;

use super::reader::fingerprint;
use crate::postgres::error::PgError;
use crate::postgres::link::{Begin, Limits, Link, Purpose};
use crate::postgres::target::Target;
use crate::store::{Options, StoreError};

/// How long a server has to say which one it is.
const LIMIT: Duration = Duration::from_secs(2);

/// The fingerprint of the database that a target leads to now.
pub fn identify(target: &Target) -> Result<String, StoreError> {
    let limits = Limits { statement: LIMIT, lock: LIMIT, answer: LIMIT };
    let mut link = Link::open(&target.hurried(LIMIT), Purpose::Polls, limits)?;
    fingerprint_of(&mut link).map_err(|error| StoreError::Unreachable {
        source_name: target.label().to_owned(),
        why: error.to_string().into(),
    })
}

/// The same of an open connection.
pub fn fingerprint_of(link: &mut Link) -> Result<String, PgError> {
    link.begin(Begin::Reading)?;
    let found = fingerprint(link);
    link.rollback().and(found)
}

/// Refuses a new connection for acts that leads to another database than the one that was read, or to one
/// that may not be written.
pub(super) fn expect(link: &mut Link, options: &Options, read: &str) -> Result<(), StoreError> {
    let label = &options.name();
    let found = fingerprint_of(link).map_err(|error| options.sentence(&error, "identifying the database"))?;
    options.protected.admit(label, &found)?;
    if found == read {
        return Ok(());
    }
    Err(StoreError::Unreachable {
        source_name: label.to_owned(),
        why: "another database answers there now than the one that was read; look again".into(),
    })
}
