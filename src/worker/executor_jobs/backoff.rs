//! How long a job that failed is left alone.

use crate::domain::time::Span;

/// No job waits longer.
const LONGEST: Span = Span::minutes(10);

/// The wait after this many attempts: the base times the attempt, ten minutes at most. Time stamps
/// are asked for again sooner than everything else.
pub fn backoff(kind: &str, attempts: i64) -> Span {
    let base = if kind == "run_tsa" { Span::seconds(30) } else { Span::seconds(60) };
    base.times(attempts.max(1)).min(LONGEST)
}
