//! Recoveries within the last hour, whoever did them: too many mean that workers die, or that a deadline is too short.

use serde_json::{Value as Json, json};

use crate::domain::visible::visible;
use crate::store::recoveries::{RECENT, Recoveries};

/// The object of one profile, by kind and status as the query of executor jobs groups them; null if nobody counted.
pub(super) fn reclaims_json(found: Option<&Recoveries>) -> Json {
    let Some(found) = found else { return Json::Null };
    let kinds = found.kinds.iter();
    let kinds = kinds.map(|one| json!({"type": one.kind, "status": one.state, "reclaim_count": one.count}));
    json!({
        "within_s": RECENT.as_millis() / 1_000,
        "total": found.total(),
        "at_least": found.at_least,
        "kinds": kinds.collect::<Vec<_>>(),
    })
}

/// `12 within an hour: 10 run_tsa queued, 2 run_tsa dead`; nothing if there were none.
pub(super) fn reclaims_text(found: Option<&Recoveries>) -> Option<String> {
    let found = found.filter(|found| found.total() > 0)?;
    let name = |text: &Option<String>| text.as_deref().map_or_else(|| "-".into(), visible);
    let kinds = found.kinds.iter();
    let kinds = kinds.map(|one| format!("{} {} {}", one.count, name(&one.kind), name(&one.state)));
    let more = if found.at_least { "at least " } else { "" };
    Some(format!("{more}{} within an hour: {}", found.total(), kinds.collect::<Vec<_>>().join(", ")))
}
