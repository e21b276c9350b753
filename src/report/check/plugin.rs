//! The output of a monitoring plugin: all performance data after a bar on the first line.

use super::thresholds::{CheckThresholds, Gauge};
use super::{CheckResult, text};
use crate::domain::snapshot::Snapshot;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::report::paint::Paint;
use crate::store::recoveries::Recoveries;

/// The page with the performance data on its first line. Failed sources are included, because monitoring reads no
/// other stream.
pub fn plugin(looked: &[CheckResult], thresholds: &CheckThresholds) -> String {
    let failures = looked.iter().flat_map(CheckResult::failures);
    let failures: String = failures.map(|error| format!("UNKNOWN  {}\n", safe(&error))).collect();
    let page = format!("{}{failures}", text(looked, thresholds, Paint::Plain)).replace('|', "¦");
    let found: Vec<(&CheckResult, &Snapshot)> = looked
        .iter()
        .flat_map(|source| source.result.iter().flatten().map(move |snapshot| (source, snapshot)))
        .collect();
    // One label per requested source, even if it did not answer: a label that comes and goes breaks graphs.
    let single = looked.len() == 1 && found.len() <= 1;
    let data: Vec<String> = found
        .iter()
        .flat_map(|(source, snapshot)| {
            let name = &source.source;
            let prefix = if single { String::new() } else { format!("{name} {} ", snapshot.profile) };
            measured(&prefix, snapshot, source.reclaims(snapshot).map(Recoveries::total), thresholds)
        })
        .collect();
    let page = if single { page } else { format!("{}\n{page}", sum(looked, thresholds)) };
    if data.is_empty() {
        return page;
    }
    match page.split_once('\n') {
        Some((first, rest)) => format!("{first} | {}\n{rest}", data.join(" ")),
        None => format!("{page} | {}\n", data.join(" ")),
    }
}

/// One line for several sources: monitoring shows only the first.
fn sum(looked: &[CheckResult], thresholds: &CheckThresholds) -> String {
    let word = match looked.iter().map(|source| source.exit(thresholds)).fold(Exit::Fine, Exit::and) {
        Exit::Fine => "OK",
        Exit::Warning => "WARNING",
        Exit::Critical => "CRITICAL",
        Exit::Error | Exit::Moved | Exit::Refused | Exit::Unknown => "UNKNOWN",
    };
    let snapshots = || looked.iter().flat_map(|source| source.result.iter().flatten());
    let counted = Gauge::CLAIMS.map(|gauge| {
        let claims: u64 = snapshots().map(|snapshot| gauge.of(&snapshot.counts(), None)).sum();
        format!("{claims} {}", gauge.as_str())
    });
    let total: u64 = snapshots().map(|snapshot| snapshot.counts().total).sum();
    format!("{word}  {} of {total} claims in {} sources", counted.join(", "), looked.len())
}

/// `label=value;warn;crit`, see the guidelines of the Monitoring Plugins project.
fn measured(
    prefix: &str,
    snapshot: &Snapshot,
    reclaims: Option<u64>,
    thresholds: &CheckThresholds,
) -> Vec<String> {
    let counts = snapshot.counts();
    let number = |limit: Option<u64>| limit.map_or_else(String::new, |limit| limit.to_string());
    let mut all: Vec<String> = Gauge::ALL
        .into_iter()
        .filter(|gauge| *gauge != Gauge::Reclaims || reclaims.is_some())
        .map(|gauge| {
            let (value, bounds) = (gauge.of(&counts, reclaims), thresholds.of(gauge));
            format!(
                "{}={value};{};{}",
                label(prefix, gauge.as_str()),
                number(bounds.warn),
                number(bounds.crit)
            )
        })
        .collect();
    for (name, value) in [("healthy", counts.healthy), ("total", counts.total)] {
        all.push(format!("{}={value};;", label(prefix, name)));
    }
    all
}

/// Quoted where needed, without the characters that labels must not contain.
fn label(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        return name.into();
    }
    let whole = safe(&format!("{prefix}{name}")).replace(['=', '|'], "_").replace('\'', "''");
    format!("'{whole}'")
}
