//! `claimtop init` on a server, and what is left to do there by hand.

use std::time::Duration;

use super::{InitError, InitMode, InitResult};
use crate::domain::visible::safe;
use crate::reference::postgres::{PostgresError, Wrapper, install, rollback};
use crate::reference::{InstalledObject, System};
use crate::store::error::ConnectFailure;
use crate::store::postgres::{Begin, Limits, Link, PgError, Purpose, Target, fingerprint_of, home};
use crate::store::{StoreError, WriteAccess};

/// Long enough to create indexes on tables that already have rows.
const STATEMENT: Duration = Duration::from_secs(60);

pub(super) fn lay(
    access: &WriteAccess,
    target: &Target,
    (systems, mode): (&[System], InitMode),
    patience: Duration,
) -> Result<InitResult, InitError> {
    // Wait for other processes that do the same.
    let lock = patience.max(Duration::from_secs(10));
    let limits = Limits { statement: STATEMENT, lock, answer: STATEMENT + Duration::from_secs(5) };
    let mut link = Link::open(target, Purpose::Acts, limits).map_err(StoreError::from)?;
    let found = fingerprint_of(&mut link).map_err(|error| explain(target, error.into()))?;
    access.admit(target.label(), &found)?;
    let laid = match mode {
        InitMode::Tables => install(&mut link, systems, Wrapper::Without),
        InitMode::Wrapper => install(&mut link, systems, Wrapper::With),
        InitMode::Rollback => rollback(&mut link),
    };
    let laid = laid.map_err(|error| explain(target, error))?;
    if mode == InitMode::Rollback {
        return Ok(InitResult { laid, what_else: String::new() });
    }
    let found = link.begin(Begin::Reading).and_then(|()| home(&mut link));
    let found = found.and_then(|home| link.rollback().map(|()| home));
    let found = found.map_err(|error| explain(target, error.into()))?.unwrap_or_default();
    let call = format!("SELECT {found}.reclaim_stale_jobs()").replace('\'', "''");
    Ok(InitResult { what_else: what_else(&laid, &format!("'{call}'")), laid })
}

fn explain(target: &Target, error: PostgresError) -> InitError {
    let source_name = target.label().to_owned();
    match error {
        PostgresError::Connect(error) => StoreError::from(error).into(),
        error if is_refusal(&error) => InitError::Server { source_name, error: Box::new(error) },
        PostgresError::Server(error @ PgError::Server { .. }) => {
            let doing = "making the tables; nothing was changed".into();
            StoreError::Server { source_name, said: error.to_string(), doing }.into()
        }
        PostgresError::Server(error) => {
            let failure = ConnectFailure::from(error.to_string());
            let why = failure.advising("whether the tables were made is not known, run it again").into();
            StoreError::Unreachable { source_name, why }.into()
        }
        error => InitError::Server { source_name, error: Box::new(error) },
    }
}

/// Whether the server refuses writes.
pub(super) fn is_refusal(error: &PostgresError) -> bool {
    match error {
        PostgresError::Standby | PostgresError::ReadOnly | PostgresError::MayNotCompare => true,
        PostgresError::Server(error) => matches!(error.code(), Some("42501" | "25006")),
        PostgresError::OnlyOnSqlite(_)
        | PostgresError::NoSchema
        | PostgresError::Lookalike(..)
        | PostgresError::Differs(_)
        | PostgresError::Connect(_) => false,
    }
}

/// What a server needs besides tables. It is printed, not done: it grants privileges, and needs extensions that may
/// be missing.
fn what_else(laid: &[InstalledObject], call: &str) -> String {
    let mut text = "\nNot done, but worth doing:\n  \
        least privilege   psql URL -f assets/schema/postgres/roles.sql, then\n                    \
        GRANT claimtop_watcher TO somebody who looks, claimtop_operator TO somebody who acts\n"
        .to_owned();
    if laid.iter().any(|it| it.system == System::ExecutorJobs) {
        text.push_str(&format!(
            "  reclaiming        with pg_cron: SELECT cron.schedule('reclaim-stale-jobs', '30 seconds',\n                    \
             {}); or without: claimtop sweep URL --every 30s,\n                    \
             or `claimtop init --wrapper` and workers that call fetch_executor_job()\n",
            safe(call)
        ));
    }
    text
}
