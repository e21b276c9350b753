//! The doctor's checklist: a page for people, one JSON object per source.

use serde_json::{Value as Json, json};
use std::fmt::Write as _;

use super::json;
use super::paint::Paint;
use crate::doctor::{CheckState, Diagnosis, DoctorCheck};
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

pub fn line(source: &str, engine: &str, diagnosis: &Diagnosis) -> String {
    let checks: Vec<Json> = diagnosis.checks.iter().map(check_json).collect();
    let state = if diagnosis.unreachable.is_some() { CheckState::Failed } else { diagnosis.worst() };
    json::line(&json!({
        "source": source, "engine": engine, "state": state.as_str(),
        "error": diagnosis.unreachable, "checks": checks,
    }))
}

fn check_json(check: &DoctorCheck) -> Json {
    json!({"name": check.name, "state": check.state.as_str(), "said": check.message, "fix": check.fix})
}

pub fn page(source: &str, diagnosis: &Diagnosis, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.bold(&safe(source)));
    for check in &diagnosis.checks {
        let (set, mark) = match check.state {
            CheckState::Ok => (Set::Healthy, "✓"),
            CheckState::Warning => (Set::Expiring, "!"),
            CheckState::Failed => (Set::Stale, "✗"),
        };
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "  {} {:<12}  {}", paint.set(set, mark), check.name, safe(&check.message));
        if let Some(fix) = &check.fix {
            let _ = writeln!(out, "    {:<12}  fix: {}", "", safe(fix));
        }
    }
    let of = |state: CheckState| diagnosis.checks.iter().filter(|check| check.state == state).count();
    let (ok, warnings, failed) = (of(CheckState::Ok), of(CheckState::Warning), of(CheckState::Failed));
    let _ = writeln!(out, "  {ok} fine, {warnings} to look at, {failed} failed");
    out
}
