//! What each message does to the model, and what it asks for.

mod bulk;
mod clocks;
mod confirmation;
mod filter;
mod groups;
mod habits;
mod immediate;
mod mouse;
mod notices;
mod paging;
mod panes;
mod refusals;
mod selection;
mod several_sources;
mod source_names;
mod undo;
mod views;

use claimtop::app::Effect;
use claimtop::domain::recovery::{Action, Authorization};

use super::stage::claims::state_of;

/// An act that was asked for.
#[derive(Debug)]
struct Asked {
    action: Action,
    /// The address of the claim.
    claim: String,
    seen: Option<String>,
    authorization: Authorization,
}

/// The acts among the effects.
fn acts(effects: &[Effect]) -> Vec<Asked> {
    let act = |effect: &Effect| match effect {
        Effect::Act { target, action, authorization } => Some(Asked {
            action: *action,
            claim: target.id.address.clone(),
            seen: target.seen.map(state_of),
            authorization: authorization.clone(),
        }),
        _ => None,
    };
    effects.iter().filter_map(act).collect()
}

/// The one act among the effects.
fn act(effects: &[Effect]) -> Asked {
    let mut all = acts(effects);
    assert_eq!(all.len(), 1, "{effects:?}");
    all.remove(0)
}
