//! What a server has to be for acts: new enough, no replica, and with a log that takes them.

use super::replica::{self, ReplicaLag};
use crate::mysql::link::Flavor;
use crate::mysql::{Link, MyError};
use crate::store::{Options, StoreError};

/// The first version of each that can pass over locked rows.
const MARIADB: (u32, u32) = (10, 6);
const MYSQL: (u32, u32) = (8, 0);

/// An error, unless acts are safe on this server.
pub(super) fn expect(link: &mut Link, options: &Options) -> Result<(), StoreError> {
    let refused = |why: String| Err(StoreError::ReadOnly { path: options.name().into(), why });
    let said = |error: MyError| options.my_sentence(&error, "beginning");
    let (name, oldest) = match link.flavor() {
        Flavor::MariaDb => ("MariaDB", MARIADB),
        Flavor::MySql => ("MySQL", MYSQL),
    };
    if number_of(link.version()) < oldest {
        let (major, minor) = oldest;
        let version = link.version();
        return refused(format!(
            "acts need {name} {major}.{minor} or newer, which can lock a row without waiting; this is {version}"
        ));
    }
    if replica::lag(link).map_err(said)? != ReplicaLag::Primary {
        return refused("it is a replica: act on its primary".into());
    }
    // Of a server without the variables nothing is known against it.
    let log = link.query("SELECT @@log_bin = 1 AND @@session.binlog_format = 'STATEMENT'", Vec::new());
    if log.is_ok_and(|rows| rows.first().is_some_and(|row| row.is_true(0))) {
        return refused(
            "its binary log is in the format STATEMENT, which takes no writes of the isolation that acts need; set \
             binlog_format to ROW or MIXED"
                .into(),
        );
    }
    Ok(())
}

/// That the server takes no writes.
pub(super) fn read_only(options: &Options) -> StoreError {
    let why = "the server is read-only (read_only = ON); if it is a replica, act on its primary".into();
    StoreError::ReadOnly { path: options.name().into(), why }
}

/// The first two numbers of a version.
fn number_of(version: &str) -> (u32, u32) {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(number_of("10.11.19-MariaDB-0+deb12u1"), (10, 11));
        assert!(number_of("10.5.29-MariaDB") < MARIADB && number_of("10.6.1-MariaDB") >= MARIADB);
        assert!(
            number_of("5.7.44-log") < MYSQL && number_of("8.0.36") >= MYSQL && number_of("9.7.4") >= MYSQL
        );
    }
}
