//! How long a failed job waits before it is due again.

use crate::domain::time::Span;

/// The longest wait.
const LONGEST: Span = Span::minutes(10);

/// The wait after this many attempts: the base times the attempts, at most ten minutes. Time stamp jobs have a
/// shorter base.
pub fn backoff(kind: &str, attempts: i64) -> Span {
    let base = if kind == "run_tsa" { Span::seconds(30) } else { Span::seconds(60) };
    base.times(attempts.max(1)).min(LONGEST)
}
