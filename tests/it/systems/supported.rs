//! The table of supported systems in the docs says what the profiles and the last proof say.

use super::{REFERENCE, folder};
use claimtop::profile::Library;
use std::collections::BTreeMap;

const BEGIN: &str = "<!-- Written by `CLAIMTOP_WRITE_DOCS=1 ./tests/run systems::supported`. -->\n";
const END: &str = "<!-- end -->\n";

/// One line of `tests/systems.d/results.tsv`.
struct Proven {
    profile: String,
    engine: String,
    version: String,
    run_as: String,
    steps: String,
}

fn proven() -> Vec<Proven> {
    let results =
        std::fs::read_to_string(folder("systems.d/results.tsv")).expect("results of ./tests/systems");
    let lines = results.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    lines
        .map(|cells| Proven {
            profile: cells[1].clone(),
            engine: if cells[2] == "sqlite" { "SQLite" } else { "PostgreSQL" }.into(),
            version: cells[3].clone(),
            run_as: if cells[4] == "library" { "real library" } else { "schema only" }.into(),
            steps: cells[5..].concat(),
        })
        .collect()
}

/// Each value once, in order.
fn joined<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut once: Vec<&str> = Vec::new();
    for value in values {
        if !once.contains(&value) {
            once.push(value);
        }
    }
    once.join(", ")
}

fn table() -> String {
    let mut by_profile: BTreeMap<String, Vec<Proven>> = BTreeMap::new();
    for proven in proven() {
        by_profile.entry(proven.profile.clone()).or_default().push(proven);
    }
    let mut text = String::from(
        "| system | profile | versions tried | engine | fenced | deadline | reclaim | proof |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (name, proven) in &by_profile {
        let profile = Library::built_in().find(name).expect("a built-in profile");
        let board = &profile.boards[0];
        let failed = proven.iter().any(|proven| proven.steps.contains('✗'));
        let cells = [
            profile.title.clone(),
            format!("`{name}`"),
            profile.versions.clone(),
            joined(proven.iter().map(|proven| proven.engine.as_str())),
            board.fencing().into(),
            board.deadline_basis(),
            board.reclaim_effect(),
            joined(proven.iter().map(|proven| proven.run_as.as_str()))
                + if failed { ", in part" } else { "" },
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

#[test]
fn the_table_of_systems_is_current() {
    let path = folder("../docs/systems.md");
    let page = std::fs::read_to_string(&path).expect("docs/systems.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table of supported systems");
    let (written, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("CLAIMTOP_WRITE_DOCS").is_some() {
        std::fs::write(&path, [before, BEGIN, &table(), END, after].concat()).expect("docs/systems.md");
    } else {
        assert_eq!(written, table(), "docs/systems.md is not current: {BEGIN}");
    }
}

#[test]
fn every_built_in_profile_says_which_versions_were_tried() {
    let proven = proven();
    for entry in Library::built_in().entries() {
        let profile = entry.profile().expect("a valid profile");
        let tried: Vec<&Proven> = proven.iter().filter(|proven| proven.profile == profile.name).collect();
        assert!(
            !tried.is_empty() || REFERENCE.contains(&profile.name.as_str()),
            "{} has no proof",
            profile.name
        );
        for proven in tried {
            assert!(profile.versions.contains(&proven.version), "{}: {}", profile.name, proven.version);
        }
    }
}
