//! What a server says of itself: whether it follows another one and how far behind, and how much it has written.

use crate::domain::time::Span;
use crate::mysql::link::Flavor;
use crate::mysql::{Link, MyError};

/// How far a server is behind the one that it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplicaLag {
    /// It follows nobody.
    Primary,
    Behind(Span),
    /// Nothing that it shows can be dated: why.
    Unknown(String),
}

const BEHIND: [&str; 2] = ["Seconds_Behind_Master", "Seconds_Behind_Source"];

/// Asks how far behind it is.
pub(super) fn lag(link: &mut Link) -> Result<ReplicaLag, MyError> {
    let status = match link.named("SHOW REPLICA STATUS", &BEHIND) {
        Err(error) if error.is_not_allowed() => return unseen(link),
        // Servers before the word was changed.
        Err(error) if error.is_not_understood() => link.named("SHOW SLAVE STATUS", &BEHIND)?,
        other => other?,
    };
    Ok(match status {
        None => ReplicaLag::Primary,
        Some(seconds) => seconds.and_then(|text| text.parse().ok()).map_or_else(stopped, behind),
    })
}

fn behind(seconds: i64) -> ReplicaLag {
    ReplicaLag::Behind(Span::seconds(seconds))
}

fn stopped() -> ReplicaLag {
    ReplicaLag::Unknown(
        "it is a replica whose replication has stopped, so that nobody knows how old its rows are".into(),
    )
}

/// We may not see its replication: if it takes no writes either, it may be a replica.
fn unseen(link: &mut Link) -> Result<ReplicaLag, MyError> {
    let rows = link.query("SELECT @@global.read_only", Vec::new())?;
    if !rows.first().is_some_and(|row| row.is_true(0)) {
        return Ok(ReplicaLag::Primary);
    }
    let right = match link.flavor() {
        Flavor::MariaDb => "REPLICA MONITOR",
        Flavor::MySql => "REPLICATION CLIENT",
    };
    Ok(ReplicaLag::Unknown(format!(
        "it is read-only and may be a replica, and this account may not ask how far behind it is; GRANT {right} ON *.* \
         to it"
    )))
}

/// The bytes that it has logged so far. They move with every write of anybody, and not by reading. MySQL's counter
/// misses most of them.
pub(super) fn bytes_written(link: &mut Link) -> Result<Option<i64>, MyError> {
    if link.flavor() == Flavor::MySql {
        return Ok(None);
    }
    let rows = link.query("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'", Vec::new())?;
    Ok(rows.first().and_then(|row| row.text(1)?.parse().ok()))
}
