//! `claimtop init` on MySQL and MariaDB.

use std::time::Duration;

use super::{InitError, InitResult};
use crate::reference::System;
use crate::reference::mysql::{MysqlError, install};
use crate::store::error::ConnectFailure;
use crate::store::mysql::{Limits, Link, MyError, Purpose, Target, fingerprint};
use crate::store::{StoreError, WriteAccess};

/// Long enough to create indexes on tables that already have rows.
const STATEMENT: Duration = Duration::from_secs(60);

pub(super) fn lay(
    access: &WriteAccess,
    target: &Target,
    systems: &[System],
    patience: Duration,
) -> Result<InitResult, InitError> {
    let lock = patience.max(Duration::from_secs(10));
    let limits = Limits { statement: STATEMENT, lock, answer: STATEMENT + Duration::from_secs(5) };
    let mut link = Link::open(target, Purpose::Acts, limits).map_err(StoreError::from)?;
    let found = fingerprint(&mut link).map_err(|error| explain(target, error.into()))?;
    access.admit(target.label(), &found)?;
    let laid = install(&mut link, systems).map_err(|error| explain(target, error))?;
    Ok(InitResult { laid, what_else: WHAT_ELSE.to_owned() })
}

fn explain(target: &Target, error: MysqlError) -> InitError {
    let source_name = target.label().to_owned();
    match error {
        error if is_refusal(&error) => InitError::Mysql { source_name, error: Box::new(error) },
        MysqlError::Server(error @ MyError::Server { .. }) => {
            let doing = "making the tables; what was made before stays, run it again".into();
            StoreError::Server { source_name, said: error.to_string(), doing }.into()
        }
        MysqlError::Server(error) => {
            let failure = ConnectFailure::from(error.to_string());
            let why = failure.advising("whether the tables were made is not known, run it again").into();
            StoreError::Unreachable { source_name, why }.into()
        }
        error => InitError::Mysql { source_name, error: Box::new(error) },
    }
}

/// Whether the server refuses writes.
pub(super) fn is_refusal(error: &MysqlError) -> bool {
    match error {
        MysqlError::ReadOnly => true,
        MysqlError::Server(error) => error.is_not_allowed() || error.is_read_only(),
        MysqlError::OnlyOnSqlite(_) | MysqlError::Busy | MysqlError::Differs(_) => false,
    }
}

/// It is printed, not done: it grants privileges.
const WHAT_ELSE: &str = "\nNot done, but worth doing:\n  \
    least privilege   mariadb DATABASE < assets/schema/mysql/roles.sql, then\n                    \
    GRANT claimtop_watcher TO somebody who looks, claimtop_operator TO somebody who acts\n";
