//! What the program prints about a recording.

use serde_json::Value as Json;
use std::process::Output;

use super::*;
use crate::support::{command, lines, stderr, stdout};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(arguments).current_dir(folder).env("XDG_STATE_HOME", folder).output().expect("claimtop runs")
}

#[test]
fn a_range_of_thresholds_is_a_table_a_plot_and_a_recommendation() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded_fleet(folder.path());
    let output = run(folder.path(), &["sweep", "fleet.rec", "--backtest", "--orphan-after", "30s..20m"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "billing: queue/job, orphan_after (now 15m)",
        "a sweep at each of 720 polls",
        "THRESHOLD",
        "░ 30s cannot be judged: the recording has no silences shorter than 1m",
        "to 20m cannot be judged: half of the dead claims were recovered within",
        "wrongly taken",
        "config: [source.billing.board.job] orphan_after = \"",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains(", ttl"), "only what was asked for:\n{text}");
}

#[test]
fn json_has_one_object_for_each_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded_fleet(folder.path());
    let arguments =
        ["sweep", "fleet.rec", "--backtest", "--json", "--ttl", "5m,10m", "--orphan-after", "mail=3m"];
    let all = lines(&run(folder.path(), &arguments));
    let of = |measure: &str| all.iter().filter(|line| line["threshold"] == measure).collect::<Vec<&Json>>();
    assert_eq!(of("ttl").iter().map(|line| &line["threshold_ms"]).collect::<Vec<_>>(), [300_000, 600_000]);
    assert_eq!(of("orphan_after").len(), 1);
    let first = of("ttl")[0];
    for field in ["taken", "wrongly", "missed", "delay_p50_ms", "delay_p95_ms", "undecided", "right"] {
        assert!(first[field].is_number(), "{field} in {first}");
    }
    let number = |field: &str| first[field].as_i64().expect(field);
    assert_eq!(number("taken"), number("right") + number("wrongly_at_most") + number("undecided"));
    assert_eq!(first["judged"], true);
}

#[test]
fn without_a_range_the_thresholds_in_force_are_tested() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded_fleet(folder.path());
    let all = lines(&run(folder.path(), &["sweep", "fleet.rec", "--backtest", "--json"]));
    assert!(all.iter().all(|line| line["current"] == true), "{all:#?}");
    assert_eq!(all.len(), 2, "a TTL and orphan_after");
}

#[test]
fn the_doctor_recommends_a_threshold_and_its_config_line() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded_fleet(folder.path());
    let output = run(folder.path(), &["doctor", "fleet.rec"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    assert!(text.contains("would be better"), "{text}");
    assert!(text.contains("fix: set [source.billing.board.job] orphan_after = \""), "{text}");
}

#[test]
fn a_report_is_one_page_of_markdown_or_html() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded_fleet(folder.path());
    let text = stdout(&run(folder.path(), &["report", "fleet.rec"]));
    for heading in [
        "# Incident report",
        "## What happened",
        "## Causes",
        "## Affected claims",
        "## Who did what",
        "## Time to recovery",
        "## What a better threshold would have done",
    ] {
        assert!(text.contains(heading), "{heading} in\n{text}");
    }
    let html = stdout(&run(folder.path(), &["report", "fleet.rec", "--html"]));
    assert!(
        html.starts_with("<!DOCTYPE html>") && html.contains("<svg") && !html.contains("<script"),
        "{html}"
    );
    let output = run(folder.path(), &["report", "fleet.rec", "--from", "2020-01-01", "--to", "2020-01-02"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("the recording is from 2026-11-15"), "{}", stderr(&output));
}

#[test]
fn other_files_are_named_and_end_in_3() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("notes.txt"), "no database").expect("a file");
    for (file, why) in [("notes.txt", "is not a recording"), ("none.rec", "there is no such file")] {
        for arguments in [&["sweep", file, "--backtest"][..], &["report", file]] {
            let output = run(folder.path(), arguments);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}");
            assert!(stderr(&output).contains(why), "{}", stderr(&output));
        }
    }
}

#[test]
fn hostile_names_stay_text_on_every_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut fleet = Fleet::new(1, 40, 10);
    for holding in &mut fleet.holdings {
        holding.task = format!("{}\u{1b}[2J|`<script>alert(1)</script>\u{202e}", holding.task);
    }
    let path = record(&fleet, folder.path());
    drop(path);
    for arguments in [
        &["sweep", "fleet.rec", "--backtest", "--ttl", "1m..20m"][..],
        &["sweep", "fleet.rec", "--backtest", "--json"],
        &["report", "fleet.rec"],
        &["report", "fleet.rec", "--html"],
        &["doctor", "fleet.rec"],
    ] {
        let text = stdout(&run(folder.path(), arguments));
        assert!(!text.is_empty(), "{arguments:?}");
        for bad in ['\u{1b}', '\u{202e}'] {
            assert!(!text.contains(bad), "{arguments:?}: {text}");
        }
        assert!(!text.contains("<script>"), "{arguments:?}: {text}");
    }
}
