//! The tables of supported systems in the README, in the docs and on the command line say what the profiles and the
//! last proof say.

use super::{REFERENCE, folder};
use crate::support::{command, stdout};
use claimtop::profile::Library;
use claimtop::profile::proof::Proof;

/// The pages, and what stands around the table in each.
const PAGES: [(&str, &str, &str); 2] = [
    (
        "../docs/systems.md",
        "<!-- Written by `CLAIMTOP_WRITE_DOCS=1 ./tests/run systems::supported`. -->\n",
        "<!-- end -->\n",
    ),
    ("../README.md", "<!-- systems:begin -->\n", "<!-- systems:end -->\n"),
];

/// What is said of a system, from its name to its proof.
fn rows() -> Vec<[String; 8]> {
    let mut rows = Vec::new();
    let mut names: Vec<String> =
        Library::built_in().entries().iter().map(|entry| entry.name.clone()).collect();
    names.sort();
    for name in names {
        let Some(proof) = Proof::of(&name) else { continue };
        let profile = Library::built_in().find(&name).expect("a built-in profile");
        let board = &profile.boards[0];
        rows.push([
            profile.title.clone(),
            name,
            profile.versions.clone(),
            proof.engines(),
            board.fencing().into(),
            board.deadline_basis(),
            board.reclaim_effect(),
            proof.describe(),
        ]);
    }
    rows
}

fn table() -> String {
    let mut text = String::from(
        "| system | profile | versions tried | engine | fenced | deadline | reclaim | proof |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for mut row in rows() {
        row[1] = format!("`{}`", row[1]);
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

#[test]
fn the_tables_of_systems_are_current() {
    for (page, begin, end) in PAGES {
        let path = folder(page);
        let text = std::fs::read_to_string(&path).expect(page);
        let (before, rest) = text.split_once(begin).expect("the table of supported systems");
        let (written, after) = rest.split_once(end).expect("the end of the table");
        if std::env::var_os("CLAIMTOP_WRITE_DOCS").is_some() {
            std::fs::write(&path, [before, begin, &table(), end, after].concat()).expect(page);
        } else {
            assert!(
                written == table(),
                "{page} is not current: CLAIMTOP_WRITE_DOCS=1 ./tests/run systems::supported"
            );
        }
    }
}

#[test]
fn the_command_line_lists_the_same() {
    let listed = stdout(&command(&["profile", "list"]).output().expect("claimtop runs"));
    for row in rows() {
        let is_it = |line: &&str| line.split_whitespace().next() == Some(row[1].as_str());
        let line = listed.lines().find(is_it).unwrap_or_else(|| panic!("{} is not in {listed}", row[1]));
        for cell in row {
            assert!(line.contains(&cell), "{cell} is not in {line}");
        }
    }
}

#[test]
fn every_built_in_profile_says_which_versions_were_tried() {
    for entry in Library::built_in().entries() {
        let profile = entry.profile().expect("a valid profile");
        match Proof::of(&profile.name) {
            Some(proof) => {
                for version in proof.versions() {
                    assert!(profile.versions.contains(version), "{}: {version}", profile.name);
                }
            }
            None => assert!(REFERENCE.contains(&profile.name.as_str()), "{} has no proof", profile.name),
        }
    }
}
