//! Causes as JSON. The claims of a cause are numbers of facts, which are not recorded: they are left out.

use serde::{Deserialize, Serialize};

use crate::domain::cause::{Cause, Dimension, Touched, Trouble};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Reason;

#[derive(Debug, Serialize, Deserialize)]
struct CauseText {
    by: String,
    names: Vec<String>,
    trouble: String,
    claims: u64,
    of: u64,
    is_estimate: bool,
    holders: usize,
    of_holders: usize,
    since: Option<i64>,
    spread: Option<i64>,
    boards: Vec<String>,
    sources: Vec<String>,
    locks: Vec<String>,
    hosts: usize,
    all_hosts: bool,
    reason: Option<String>,
    are_sessions: bool,
    /// For people; a reader does not need it.
    sentence: String,
}

const DIMENSIONS: [Dimension; 5] =
    [Dimension::Everything, Dimension::Source, Dimension::Version, Dimension::Host, Dimension::Kind];

pub(super) fn causes_text(causes: &[Cause]) -> String {
    let text = |cause: &Cause| CauseText {
        by: cause.by.as_str().into(),
        names: cause.names.clone(),
        trouble: match cause.trouble {
            Trouble::Silent => "silent".into(),
            Trouble::Hanging => "hanging".into(),
        },
        claims: cause.count,
        of: cause.of,
        is_estimate: cause.is_estimate,
        holders: cause.holders,
        of_holders: cause.of_holders,
        since: cause.since.map(Moment::micros),
        spread: cause.spread.map(Span::as_micros),
        boards: cause.touched.boards.iter().cloned().collect(),
        sources: cause.touched.sources.iter().cloned().collect(),
        locks: cause.touched.locks.clone(),
        hosts: cause.touched.hosts,
        all_hosts: cause.touched.all_hosts,
        reason: cause.touched.reason.map(|reason| reason.as_str().into()),
        are_sessions: cause.touched.are_sessions,
        sentence: cause.to_string(),
    };
    super::row_text::text(&causes.iter().map(text).collect::<Vec<_>>())
}

pub(super) fn read_causes(text: &str) -> Option<Vec<Cause>> {
    let all: Vec<CauseText> = serde_json::from_str(text).ok()?;
    let cause = |text: CauseText| {
        Some(Cause {
            by: DIMENSIONS.into_iter().find(|by| by.as_str() == text.by)?,
            names: text.names,
            trouble: match text.trouble.as_str() {
                "silent" => Trouble::Silent,
                _ => Trouble::Hanging,
            },
            claims: Vec::new(),
            count: text.claims,
            of: text.of,
            is_estimate: text.is_estimate,
            holders: text.holders,
            of_holders: text.of_holders,
            since: text.since.and_then(Moment::from_micros),
            spread: text.spread.map(Span::micros),
            touched: Touched {
                boards: text.boards.into_iter().collect(),
                sources: text.sources.into_iter().collect(),
                locks: text.locks,
                hosts: text.hosts,
                all_hosts: text.all_hosts,
                reason: match text.reason {
                    Some(word) => Reason::ALL.into_iter().find(|reason| reason.as_str() == word),
                    None => None,
                },
                are_sessions: text.are_sessions,
            },
        })
    };
    all.into_iter().map(cause).collect()
}
