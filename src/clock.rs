//! This host's clock.

use crate::domain::time::Moment;

/// The time on this host.
pub fn clock() -> Moment {
    let now = chrono::Utc::now().timestamp_micros();
    Moment::from_micros(now).unwrap_or(Moment::EARLIEST)
}
