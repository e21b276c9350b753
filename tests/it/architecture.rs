//! The architecture, held by a test: a layer imports only what the map in `lib.rs` lets it know.

mod sentences;

use std::fs;
use std::path::{Path, PathBuf};

/// Which parts of the crate each part may name. What is not listed may know everything.
const MAY_KNOW: [(&str, &[&str]); 18] = [
    ("app", &["app", "domain", "events"]),
    ("ui", &["app", "domain", "events", "ui"]),
    ("domain", &["domain"]),
    ("events", &["domain", "events"]),
    ("exit", &[]),
    ("liveness", &["domain", "liveness"]),
    ("profile", &["domain", "profile"]),
    ("store", &["domain", "profile", "store"]),
    ("config", &["config", "domain", "profile", "store", "ui"]),
    ("recovery", &["domain", "recovery", "store"]),
    ("sweep", &["domain", "events", "recovery", "store", "sweep"]),
    ("metrics", &["domain", "metrics", "recovery", "store", "sweep", "worker"]),
    ("serve", &["domain", "metrics", "recovery", "serve", "store"]),
    ("reference", &["domain", "store"]),
    ("worker", &["domain", "liveness", "reference", "store", "worker"]),
    ("demo", &["config", "demo", "domain", "reference", "store", "worker"]),
    ("doctor", &["doctor", "domain", "profile", "recovery", "store"]),
    ("report", &["doctor", "domain", "exit", "recovery", "report", "store"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    let relative = |path: &PathBuf| path.strip_prefix(&root).expect("below src").to_path_buf();
    found.iter().map(|path| (relative(path), fs::read_to_string(path).expect("a source"))).collect()
}

/// The first component of a path, without its ending: the part of the crate a file belongs to.
fn part(path: &Path) -> String {
    let first = path.components().next().expect("a component").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").into()
}

#[test]
fn no_layer_imports_what_it_must_not_know() {
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        let part = part(&path);
        let Some((_, allowed)) = MAY_KNOW.iter().find(|(name, _)| *name == part) else { continue };
        for (number, line) in text.lines().enumerate() {
            for named in line.split("crate::").skip(1) {
                let other: String = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !allowed.contains(&other.as_str()) {
                    wrong.push(format!("{}:{}: {part} names {other}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_domain_and_the_events_do_no_input_or_output_and_ask_no_clock() {
    const FORBIDDEN: [&str; 8] =
        ["std::fs", "std::net", "std::env", "std::process", "rusqlite", "tokio", "SystemTime", "Utc::now"];
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        if ["domain", "events"].contains(&part(&path).as_str()) {
            wrong.extend(
                FORBIDDEN
                    .iter()
                    .filter(|word| text.contains(*word))
                    .map(|word| format!("{}: {word}", path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_part_of_the_crate_is_on_the_map() {
    let lib = all_sources().into_iter().find(|(path, _)| path == Path::new("lib.rs")).expect("lib.rs").1;
    let map: String = lib.lines().filter(|line| line.starts_with("//!")).collect();
    for (path, _) in all_sources() {
        let part = part(&path);
        assert!(part == "lib" || map.contains(&part), "{part} is not on the map in lib.rs");
    }
}
