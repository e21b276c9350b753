//! The architecture, held by a test: a layer imports only what the map in `lib.rs` lets it know.

mod sentences;

use std::fs;
use std::path::{Path, PathBuf};

/// Which parts of the crate each part may name. What is not listed may know everything.
const MAY_KNOW: [(&str, &[&str]); 21] = [
    ("app", &["app", "domain", "events"]),
    ("ui", &["app", "domain", "events", "ui"]),
    ("background", &[]),
    ("domain", &["domain"]),
    ("events", &["domain", "events"]),
    ("exit", &[]),
    ("liveness", &["domain", "liveness"]),
    ("profile", &["domain", "profile"]),
    ("signals", &["background"]),
    ("store", &["background", "domain", "profile", "store"]),
    ("poller", &["domain", "events", "poller", "store"]),
    ("config", &["config", "domain", "profile", "store", "ui"]),
    ("recovery", &["domain", "recovery", "store"]),
    ("sweep", &["domain", "events", "poller", "recovery", "signals", "store", "sweep"]),
    ("metrics", &["domain", "metrics", "recovery", "store", "sweep", "worker"]),
    ("serve", &["background", "domain", "metrics", "poller", "recovery", "serve", "store"]),
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

/// Who may name an engine: the store, the place that opens a source, and those that do not watch a database but own
/// one, or ask what only an engine can answer.
const MAY_NAME_ENGINES: [(&str, &str); 7] = [
    ("store", "the engines are its own"),
    ("cli/setup/opening.rs", "the place where a source is opened"),
    ("cli/init", "creates the tables of a system"),
    ("reference", "the tables of a system"),
    ("worker", "the workers' side: it has connections of its own"),
    ("demo", "a fleet of workers on a database of its own"),
    ("doctor", "asks for settings and rights, which every engine keeps in its own way"),
];

/// Whether a file is one of these, or below one of them.
fn is_below(path: &Path, places: &[&str]) -> bool {
    let path = path.with_extension("");
    places.iter().any(|place| path.starts_with(Path::new(place).with_extension("")))
}

/// The names that a text takes from `crate::store`, in `use` statements and elsewhere.
fn names_of_store(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::store::").skip(1).flat_map(|after| {
        let end =
            if after.starts_with('{') { after.find('}') } else { after.find([';', '(', ')', '<', ' ']) };
        after[..end.unwrap_or(after.len())].split(|c: char| !c.is_alphanumeric() && c != '_')
    })
}

#[test]
fn engines_are_named_only_in_the_store_and_where_a_source_is_opened() {
    let allowed = MAY_NAME_ENGINES.map(|(place, _)| place);
    let names_engine = |text: &str| names_of_store(text).any(|name| name == "sqlite" || name == "postgres");
    let all: Vec<PathBuf> =
        all_sources().into_iter().filter(|(_, text)| names_engine(text)).map(|(path, _)| path).collect();
    let wrong: Vec<&PathBuf> = all.iter().filter(|path| !is_below(path, &allowed)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // An exception that nobody needs any more goes.
    for place in &allowed[1..] {
        assert!(all.iter().any(|path| is_below(path, &[place])), "{place} names no engine any more");
    }
}

/// Where each way to write may be named: everybody else has to be handed a `WriteAccess`.
const WAYS_TO_WRITE: [(&str, &[&str]); 8] = [
    // Only the rules make one.
    ("WriteAccess {", &["store/write_access.rs"]),
    ("WriteRules", &["store.rs", "store/write_access.rs", "cli/setup.rs"]),
    (".grant(", &["store/write_access.rs", "cli/setup/opening.rs"]),
    (" Actor::open(", &["store", "recovery/audited_actor.rs"]),
    ("AuditedActor::open(", &["cli/recovery.rs", "runtime/act_thread/open_actor.rs"]),
    ("AuditedActor::rehearsing(", &["cli/recovery.rs"]),
    // Connections that could write to a source without an actor: of those who are handed a `WriteAccess` as well,
    // and of the workers. The trail's index is a file of our own.
    ("Purpose::Acts", &["store", "worker", "cli/init", "demo"]),
    ("SQLITE_OPEN_READ_WRITE", &["store", "worker", "cli/init", "recovery/trail/index.rs"]),
];

#[test]
fn nobody_writes_without_being_handed_write_access() {
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        for (way, places) in WAYS_TO_WRITE {
            // A type that is only mentioned, or returned by a function with a body, is not made.
            let uses = |line: &&str| line.contains(way) && !line.contains("-> WriteAccess {");
            let is_declared = |line: &str| line.contains("struct ") || line.contains("impl ");
            let named = text.lines().filter(uses).any(|line| !is_declared(line));
            if named && !is_below(&path, places) {
                wrong.push(format!("{}: {way}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let opens =
        all_sources().into_iter().find(|(path, _)| path == Path::new("store/actor.rs")).expect("it").1;
    assert!(opens.contains("pub fn open(access: WriteAccess)"), "an actor is opened with a capability");
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
