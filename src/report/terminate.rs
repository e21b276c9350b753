//! The result of ending a server session, for people and as JSON.

use serde_json::json;

use super::json::line;
use crate::domain::recovery::{Outcome, TERMINATE};
use crate::domain::visible::{safe, visible};
use crate::recovery::Termination;
use crate::store::Backend;

/// The object that `terminate --json` prints.
pub fn json(done: &Termination) -> String {
    let mut object = json!({
        "action_id": Some(&done.action_id).filter(|_| !done.dry_run),
        "action": TERMINATE,
        "outcome": done.outcome.as_str(),
        "id": done.id,
        "address": done.address,
        "holder": done.holder,
        "backend": done.backend,
        "undo": null,
        "why": done.outcome.why(),
        "before": null,
        "after": null,
    });
    if done.dry_run {
        object["dry_run"] = json!(true);
    }
    line(&object) + "\n"
}

/// The same in a few lines.
pub fn text(done: &Termination) -> String {
    let address = safe(&done.address);
    let session = done.backend.as_ref().map_or_else(|| "its session".into(), described);
    let mut out = match &done.outcome {
        Outcome::Applied if done.dry_run => {
            format!("would {TERMINATE} {address}: end {session}\n  it could not be undone\n")
        }
        Outcome::Applied => {
            format!("{TERMINATE} {address}: ended {session} as {}\n  it cannot be undone\n", done.action_id)
        }
        Outcome::Moved(_) | Outcome::Refused(_) | Outcome::Unknown(_) => {
            let why = done.outcome.why().unwrap_or_default();
            let seen = done.backend.as_ref().map(|backend| format!("  held by {}\n", described(backend)));
            let said = format!("{TERMINATE} {address}: {}: {}\n", done.outcome.as_str(), safe(&why));
            said + &seen.unwrap_or_default()
        }
    };
    if let Some(why) = &done.unrecorded {
        out.push_str(&format!("  done, but its outcome could not be written: {}\n", safe(why)));
    }
    out
}

/// "the server session 4312 (user app, puma, from 10.0.0.7, idle since ...)".
fn described(backend: &Backend) -> String {
    let Backend { pid, started, user, application, client, state } = backend;
    let mut parts = Vec::new();
    parts.extend(user.as_deref().map(|user| format!("user {}", visible(user))));
    parts.extend(application.as_deref().map(visible));
    parts.extend(client.as_deref().map(|client| format!("from {}", visible(client))));
    parts.extend(state.as_deref().map(visible));
    parts.push(format!("since {started}"));
    format!("the server session {pid} ({})", parts.join(", "))
}
