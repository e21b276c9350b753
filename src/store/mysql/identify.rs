//! Which database a connection leads to, whatever the server is called.

use std::time::Duration;

use crate::mysql::link::Flavor;
use crate::mysql::{Limits, Link, MyError, Purpose, Target};
use crate::store::{Options, StoreError};

/// How long a server has to say which one it is.
const LIMIT: Duration = Duration::from_secs(2);

/// The fingerprint of the database that a target leads to now.
pub fn identify(target: &Target) -> Result<String, StoreError> {
    let limits = Limits { statement: LIMIT, lock: LIMIT, answer: LIMIT };
    let mut link = Link::open(&target.hurried(LIMIT), Purpose::Polls, limits)?;
    fingerprint(&mut link).map_err(|error| StoreError::Unreachable {
        source_name: target.label().to_owned(),
        why: error.to_string().into(),
    })
}

/// An error, unless it is the database that was read, and it may be written.
pub(super) fn expect(link: &mut Link, options: &Options, read: &str) -> Result<(), StoreError> {
    let label = &options.name();
    let found = fingerprint(link).map_err(|error| options.my_sentence(&error, "identifying the database"))?;
    options.protected.admit(label, &found)?;
    if found == read {
        return Ok(());
    }
    Err(StoreError::Unreachable {
        source_name: label.to_owned(),
        why: "another database answers there now than the one that was read; look again".into(),
    })
}

/// The server's own name and the database. MySQL makes its name up when its data is made; MariaDB derives it from the
/// machine and the port.
pub fn fingerprint(link: &mut Link) -> Result<String, MyError> {
    let server = match link.flavor() {
        Flavor::MySql => "@@server_uuid",
        Flavor::MariaDb => "@@server_uid",
    };
    let asked = link.query(&format!("SELECT {server}, DATABASE()"), Vec::new());
    let rows = match asked {
        // Before 10.11 it has no name: then the place where its data is stands for it.
        Err(error) if error.code() == Some(1193) => {
            link.query("SELECT CONCAT(@@hostname, ':', @@port, ':', @@datadir), DATABASE()", Vec::new())?
        }
        other => other?,
    };
    let text = |at: usize| rows.first().and_then(|row| row.text(at)).unwrap_or_default();
    Ok(format!("mysql:{}:{}", text(0), text(1)))
}
