//! What the server knows of an earlier transaction, whose answer was lost.

use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::driver::Fate;
use crate::store::resolution::TransactionMark;

/// Since when the server has been running without a crash: a crash of one of its processes restarts all but the
/// first, and sets its statistics back.
const RUNNING_SINCE: &str = "SELECT extract(epoch FROM pg_postmaster_start_time())::text,
                             extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text";

/// What the server says of a transaction. Whatever is an error may leave the one that asks failed.
pub(super) fn fate(link: &mut Link, mark: &TransactionMark) -> Result<Fate, PgError> {
    let Some(number) = mark.number.as_deref() else { return Ok(Fate::Ended) };
    let sql = "SELECT pg_xact_status(($1::text)::xid8)";
    let rows = match link.query(sql, &[Some(number)]) {
        // A number that the server has not given yet belonged to what a crash has swallowed.
        Err(PgError::Server { code, .. }) if code == "22023" => return Ok(Fate::Aborted),
        answer => answer?,
    };
    Ok(match rows.first().and_then(|row| row.get(0)) {
        // Committed by us, or by another transaction that got the number of ours after a crash.
        Some("committed") if runs_since(link)? == mark.running_since => Fate::Committed,
        // So old that the server has forgotten it, or of an earlier run.
        Some("committed") | None => Fate::Ended,
        Some("aborted") => Fate::Aborted,
        Some(_) => Fate::UnderWay,
    })
}

fn runs_since(link: &mut Link) -> Result<Option<String>, PgError> {
    let rows = link.query(RUNNING_SINCE, &[])?;
    let text = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    Ok((!rows.is_empty()).then(|| format!("{}/{}", text(0), text(1))))
}
