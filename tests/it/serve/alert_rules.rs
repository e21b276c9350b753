//! The alert rules and the dashboard: right by Prometheus' own tool, and about metrics that exist.

use claimtop::metrics::catalog;
use claimtop::worker::finalization::FinalizationMetrics as WorkerMetrics;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

use super::*;

const RULES: &str = include_str!("../../../assets/prometheus/claimtop.rules.yml");
const TESTS: &str = include_str!("../../../assets/prometheus/claimtop.rules.test.yml");
const DASHBOARD: &str = include_str!("../../../assets/grafana/claimtop.json");
const METRICS: &str = include_str!("../../../docs/metrics.md");

#[track_caller]
fn promtool(arguments: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/prometheus");
    let output = Command::new("promtool").args(arguments).current_dir(folder).output();
    let output = output.expect("promtool checks the alert rules; it is in Debian's package prometheus");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn promtool_finds_the_rules_right_and_every_alert_fires_as_it_should() {
    promtool(&["check", "rules", "claimtop.rules.yml"]);
    promtool(&["test", "rules", "claimtop.rules.test.yml"]);
}

/// What was scraped, if it stays so for ten minutes, fires this alert once, with these labels and its
/// source's.
#[track_caller]
pub fn assert_alert(alert: &str, labels: &[(&str, &str)], told: &Exposition) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rules.yml"), RULES).expect("the rules");
    let series = told.series("claimtop_").into_iter().map(|(series, value)| {
        format!("      - {{series: {}, values: '{value}x10'}}\n", serde_json::Value::from(series))
    });
    let (sources, _) = told.all("claimtop_up").remove(0);
    let mut expected: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    expected.push(format!("source={:?}", sources["source"]));
    expected.sort();
    let fired = format!("ALERTS{{alertname=\"{alert}\", alertstate=\"firing\", {}}}", expected.join(", "));
    let test = format!(
        "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n{}\
         \n    promql_expr_test:\n      - expr: {}\n        eval_time: 5m\n        exp_samples:\n          - \
         {{labels: {}, value: 1}}\n",
        series.collect::<String>(),
        serde_json::Value::from(format!("ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"}}")),
        serde_json::Value::from(fired),
    );
    let path = folder.path().join("test.yml");
    std::fs::write(&path, test).expect("a test");
    promtool(&["test", "rules", path.to_str().expect("UTF-8")]);
}

/// What was scraped twice, if it goes on like that every minute, fires this alert of finalization.
#[track_caller]
pub fn assert_rate_alert(alert: &str, before: &Exposition, after: &Exposition) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rules.yml"), RULES).expect("the rules");
    let earlier: BTreeMap<String, f64> = before.series("finalization_").into_iter().collect();
    let series = after.series("finalization_").into_iter().map(|(series, value)| {
        let first = earlier[&series];
        let values = format!("{first}+{}x20", value - first);
        format!("      - {{series: {}, values: '{values}'}}\n", Json::from(series))
    });
    let (labels, _) = after.all("claimtop_up").remove(0);
    let test = format!(
        "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n{}\
         \n    promql_expr_test:\n      - expr: {}\n        eval_time: 15m\n        exp_samples:\n          - \
         {{labels: {}, value: 1}}\n",
        series.collect::<String>(),
        Json::from(format!("ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"}}")),
        Json::from(format!(
            "ALERTS{{alertname=\"{alert}\", alertstate=\"firing\", severity=\"warning\", source={:?}}}",
            labels["source"]
        )),
    );
    let path = folder.path().join("test.yml");
    std::fs::write(&path, test).expect("a test");
    promtool(&["test", "rules", path.to_str().expect("UTF-8")]);
}

#[test]
fn every_alert_is_tested_both_ways() {
    for alert in RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let cases: Vec<&str> = TESTS.split("alertname: ").filter(|case| case.starts_with(alert)).collect();
        let quiet = |case: &&str| case.lines().nth(1).is_some_and(|next| next.contains("exp_alerts: []"));
        assert!(cases.iter().any(|case| !quiet(case)), "{alert} is never seen to fire");
        // The quick ones of the slow claims are other series of the same case.
        assert!(alert == "SlowFinalizationClaims" || cases.iter().any(quiet), "{alert} is never seen quiet");
    }
}

/// Every sample name that the program or the worker library has.
fn existing() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = catalog::ALL.iter().flat_map(|metric| metric.samples()).collect();
    let workers = WorkerMetrics::default();
    names.extend(workers.counters().iter().map(|counter| counter.name.to_owned()));
    for (name, _) in workers.histograms() {
        names.extend(["sum", "count", "bucket"].map(|end| format!("{name}_{end}")));
    }
    names
}

/// The words of an expression that could be metrics of ours.
fn metrics_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("claimtop_") || word.starts_with("finalization_"))
}

fn expressions(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::Object(fields) => {
            for (key, value) in fields {
                match value.as_str() {
                    Some(text) if ["expr", "query", "definition"].contains(&key.as_str()) => {
                        found.push(text.into());
                    }
                    _ => expressions(value, found),
                }
            }
        }
        Json::Array(all) => all.iter().for_each(|one| expressions(one, found)),
        _ => {}
    }
}

#[test]
fn rules_and_dashboard_name_only_metrics_that_exist() {
    let existing = existing();
    let dashboard: Json = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut all: Vec<String> =
        RULES.lines().filter(|line| line.contains("expr:")).map(str::to_owned).collect();
    assert!(all.len() >= 10);
    let rules = all.len();
    expressions(&dashboard, &mut all);
    assert!(all.len() >= rules + 25, "{all:#?}");
    for expression in &all {
        for name in metrics_in(expression) {
            assert!(existing.contains(name), "{name} in {expression} does not exist");
        }
    }
}

#[test]
fn a_running_server_names_every_metric_of_the_catalog() {
    let database = crate::support::Database::new(crate::support::COORDINATION);
    let server = Server::start(&[], &[&database.path()]);
    let told = server.wait_until_read();
    let families: BTreeSet<&str> = told.families.keys().map(String::as_str).collect();
    let name = |metric: &&catalog::Metric| {
        let unit = if metric.kind.in_seconds() { "_seconds" } else { "" };
        format!("{}{unit}", metric.name)
    };
    let wanted: Vec<String> = catalog::ALL.iter().map(name).collect();
    assert_eq!(families, wanted.iter().map(String::as_str).collect());
    let known: BTreeSet<String> = catalog::ALL.iter().flat_map(|metric| metric.samples()).collect();
    assert!(told.names().iter().all(|name| known.contains(*name)));
}

#[test]
fn the_docs_list_every_metric() {
    for metric in catalog::ALL {
        let sample = &metric.samples()[0];
        let name = sample.strip_suffix("_sum").unwrap_or(sample);
        assert!(METRICS.contains(&format!("`{name}`")), "{name} is not in docs/metrics.md");
    }
}
