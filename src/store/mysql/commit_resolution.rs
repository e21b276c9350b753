//! What the server knows of an earlier transaction, whose answer was lost.
//!
//! It forgets transactions when they end. So each of ours holds a lock with a name of its own, which the server gives
//! back when the session ends: after the commit, or after everything was taken back. While the lock is held the
//! transaction may still be committed; once it is free, the rows tell what became of it.

use crate::mysql::{Link, MyError};
use crate::store::driver::Fate;
use crate::store::resolution::TransactionMark;

/// Whether a transaction is over. The session of one that we have `abandoned` is ended.
pub(super) fn fate(
    link: &mut Link,
    mark: &TransactionMark,
    abandoned: Option<&str>,
) -> Result<Fate, MyError> {
    let Some(name) = mark.number.as_deref() else { return Ok(Fate::Ended) };
    let rows = link.query("SELECT IS_USED_LOCK(?)", vec![name.into()])?;
    let Some(session) = rows.first().and_then(|row| row.text(0)?.parse::<u64>().ok()) else {
        return Ok(Fate::Ended);
    };
    if abandoned == Some(name) {
        match link.run(&format!("KILL {session}")) {
            // It has ended meanwhile.
            Err(MyError::Server { code: 1094, .. }) => {}
            other => other?,
        }
    }
    Ok(Fate::UnderWay)
}
