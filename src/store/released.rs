//! What a row says once it is no claim any more.

/// A job that nobody holds any more, as its own row tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// The state of the backlog that it is in: `queued`, `dead`, or another that the profile counts.
    pub state: String,
    /// The error that is written beside it.
    pub error: Option<String>,
}

/// `dead` before `queued`, and both before what a profile counts besides.
pub fn worst_first(states: &mut [(&String, &String)]) {
    let rank = |state: &str| match state {
        "dead" => 0,
        "queued" => 1,
        _ => 2,
    };
    states.sort_by_key(|(state, _)| rank(state));
}
