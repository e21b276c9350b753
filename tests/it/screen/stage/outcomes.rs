//! What acts may come to.

use claimtop::domain::change::ClaimChange;
use claimtop::domain::recovery::{Clue, Moved, Needs, Outcome, PermissionCause, Refusal, Unknown};
use claimtop::domain::time::Span;
use claimtop::domain::value::Value;

/// The holder has renewed the claim meanwhile.
pub fn renewed(ago: &str, by: &str) -> Outcome {
    let ago = Some(Span::parse(ago).expect("a span"));
    Outcome::Moved(Moved::Claim(ClaimChange::Renewed { by: Some(by.into()), ago }))
}

/// The process of the holder is alive.
pub fn alive(pid: i64, holder: &str) -> Outcome {
    let (cause, holder) = (PermissionCause::ProcessAlive { pid: Value::Int(pid) }, Some(holder.into()));
    Outcome::Refused(Refusal::NotPermitted { cause, needs: Needs::Force { holder } })
}

/// The answer to the commit was lost.
pub fn lost() -> Outcome {
    Outcome::Unknown(Unknown { error: "the connection was lost".into(), clue: Clue::NotSought })
}
