//! Retries: how often, after how long, and for which failures.

use rusqlite::ErrorCode;
use std::fmt;
use std::time::Duration;

use crate::worker::WorkerError;

/// The waits between five tries.
pub(super) const WAITS: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

/// Contention is temporary: a busy database, or a row that another agent wrote first.
pub(super) fn is_worth_it(error: &WorkerError) -> bool {
    match error {
        WorkerError::Busy { .. } => true,
        WorkerError::Sql(error) => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::ConstraintViolation | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ),
        WorkerError::Open { .. } | WorkerError::Invalid(_) => false,
        #[cfg(feature = "postgres")]
        WorkerError::Connect(_) | WorkerError::Server(_) | WorkerError::Unknown(_) => false,
    }
}

/// How to wait between two tries.
pub(super) struct Pause(Box<dyn FnMut(Duration) + Send>);

impl Pause {
    pub(super) fn of(pause: impl FnMut(Duration) + Send + 'static) -> Pause {
        Pause(Box::new(pause))
    }

    pub(super) fn wait(&mut self, wait: Duration) {
        (self.0)(wait);
    }
}

impl Default for Pause {
    fn default() -> Pause {
        Pause::of(sleep)
    }
}

impl fmt::Debug for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pause")
    }
}

#[allow(clippy::disallowed_methods, reason = "contention has no event that one could wait for")]
fn sleep(wait: Duration) {
    std::thread::sleep(wait);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn failure(code: i32) -> WorkerError {
        WorkerError::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn only_contention_is_worth_another_try() {
        assert!(is_worth_it(&WorkerError::Busy { waited_ms: 5_000 }));
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED, ffi::SQLITE_CONSTRAINT_UNIQUE] {
            assert!(is_worth_it(&failure(code)), "{code}");
        }
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR, ffi::SQLITE_CORRUPT, ffi::SQLITE_READONLY] {
            assert!(!is_worth_it(&failure(code)), "{code}");
        }
        assert!(!is_worth_it(&WorkerError::Invalid("an agent needs a name".into())));
    }
}
