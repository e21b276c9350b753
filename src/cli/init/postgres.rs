//! The same on a server, and what is left to do there by hand.

use std::time::Duration;

use super::Done;
use crate::cli::recovery::Refusal;
use crate::domain::visible::safe;
use crate::reference::postgres::{PostgresError, install};
use crate::reference::{Laid, System};
use crate::store::error::ConnectFailure;
use crate::store::postgres::{Begin, Limits, Link, PgError, Purpose, Target, fingerprint_of, home};
use crate::store::{StoreError, WriteAccess};

/// Long enough for the indexes of tables that somebody has filled already.
const STATEMENT: Duration = Duration::from_secs(60);

pub(super) fn lay(
    access: &WriteAccess,
    target: &Target,
    systems: &[System],
    patience: Duration,
) -> Result<Done, Refusal> {
    // Others who do the same are waited for, each of them for a moment.
    let lock = patience.max(Duration::from_secs(10));
    let limits = Limits { statement: STATEMENT, lock, answer: STATEMENT + Duration::from_secs(5) };
    let mut link = Link::open(target, Purpose::Acts, limits)?;
    let found = fingerprint_of(&mut link).map_err(|error| explain(target, error.into()))?;
    access.admit(target.label(), &found)?;
    let laid = install(&mut link, systems).map_err(|error| explain(target, error))?;
    let found = link.begin(Begin::Reading).and_then(|()| home(&mut link));
    let found = found.and_then(|home| link.rollback().map(|()| home));
    let found = found.map_err(|error| explain(target, error.into()))?.unwrap_or_default();
    let call = format!("SELECT {found}.reclaim_stale_jobs()").replace('\'', "''");
    Ok(Done { what_else: what_else(&laid, &format!("'{call}'")), laid })
}

fn explain(target: &Target, error: PostgresError) -> Refusal {
    let label = target.label();
    let told = format!("{label}: {error}");
    match error {
        PostgresError::Standby | PostgresError::ReadOnly | PostgresError::MayNotCompare => {
            Refusal::Refused(told)
        }
        PostgresError::OnlyOnSqlite(_)
        | PostgresError::NoSchema
        | PostgresError::Lookalike(..)
        | PostgresError::Differs(_) => Refusal::Error(told),
        PostgresError::Server(PgError::Server { code, .. }) if code == "42501" || code == "25006" => {
            Refusal::Refused(format!("{told}; nothing was changed"))
        }
        PostgresError::Server(error @ PgError::Server { .. }) => {
            let doing = "making the tables; nothing was changed".into();
            StoreError::Server { source_name: label.into(), said: error.to_string(), doing }.into()
        }
        PostgresError::Server(error) => {
            let failure = ConnectFailure::from(error.to_string());
            let why = failure.advising("whether the tables were made is not known, run it again").into();
            StoreError::Unreachable { source_name: label.into(), why }.into()
        }
    }
}

/// What a server needs besides tables. It is told, never done: it gives rights away, and needs
/// extensions that not everybody has.
fn what_else(laid: &[Laid], call: &str) -> String {
    let mut text = "\nNot done, but worth doing:\n  \
        least privilege   psql URL -f assets/schema/postgres/roles.sql, then\n                    \
        GRANT claimtop_watcher TO somebody who looks, claimtop_operator TO somebody who acts\n"
        .to_owned();
    if laid.iter().any(|it| it.system == System::ExecutorJobs) {
        text.push_str(&format!(
            "  reclaiming        with pg_cron: SELECT cron.schedule('reclaim-stale-jobs', '30 seconds',\n                    \
             {}); or without: claimtop sweep URL --every 30s\n",
            safe(call)
        ));
    }
    text
}
