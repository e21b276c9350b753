//! The architecture: a layer imports only what it may know, and the maps of the code and of the tests are true.

mod sentences;

use std::fs;
use std::path::{Path, PathBuf};

/// Which parts of the crate each part may name. What is not listed may know everything.
const MAY_KNOW: [(&str, &[&str]); 27] = [
    ("api", &["api", "domain", "http_server", "worker"]),
    ("http_server", &["background"]),
    ("app", &["app", "domain", "events"]),
    ("ui", &["app", "domain", "events", "ui"]),
    ("background", &[]),
    ("clock", &["domain"]),
    ("domain", &["domain"]),
    ("events", &["domain", "events"]),
    ("exit", &[]),
    ("liveness", &["domain", "liveness"]),
    ("profile", &["domain", "profile"]),
    ("signals", &["background"]),
    ("postgres", &["background", "domain", "postgres"]),
    ("mysql", &["background", "domain", "mysql", "postgres"]),
    ("store", &["clock", "domain", "mysql", "postgres", "profile", "store"]),
    ("poller", &["domain", "events", "poller", "recording", "store"]),
    ("config", &["config", "domain", "profile", "store", "ui"]),
    ("recording", &["domain", "events", "recording"]),
    ("recovery", &["domain", "recovery", "store"]),
    ("sweep", &["domain", "events", "poller", "recovery", "signals", "store", "sweep"]),
    ("metrics", &["domain", "metrics", "recovery", "store", "sweep", "worker"]),
    (
        "serve",
        &["background", "domain", "http_server", "metrics", "poller", "recovery", "report", "serve", "store"],
    ),
    ("reference", &["domain", "mysql", "postgres"]),
    ("worker", &["clock", "domain", "liveness", "postgres", "reference", "worker"]),
    ("demo", &["config", "demo", "domain", "postgres", "reference", "store", "worker"]),
    ("doctor", &["doctor", "domain", "postgres", "profile", "recording", "recovery", "store"]),
    ("report", &["doctor", "domain", "events", "exit", "recording", "recovery", "report", "store"]),
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

/// Who may name an engine: the store, the place that opens a source, and parts that do not watch a database but own
/// one, or ask what only an engine can answer.
const MAY_NAME_ENGINES: [(&str, &str); 12] = [
    ("store", "the engines are its own"),
    ("postgres", "connections to servers"),
    ("mysql", "connections to servers"),
    ("cli/setup/opening.rs", "the place where a source is opened"),
    ("cli/init", "creates the tables of a system"),
    ("cli/recovery.rs", "knows the error of a full disk, for its advice"),
    ("reference", "the tables of a system"),
    ("worker", "the workers' side: it has its own connections"),
    ("demo", "a fleet of workers on its own database"),
    ("doctor", "asks for settings and privileges, which differ between engines"),
    ("recording", "a recording is a file of our own"),
    ("recovery/trail/index.rs", "the index of the trail is a file of our own"),
];

/// Whether a file is one of these, or below one of them.
fn is_below(path: &Path, places: &[&str]) -> bool {
    let path = path.with_extension("");
    places.iter().any(|place| path.starts_with(Path::new(place).with_extension("")))
}

/// The text without its line comments.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Whether a text names a module or the crate of an engine: `store::sqlite`, `postgres::Link`, `rusqlite`.
fn names_engine(text: &str) -> bool {
    let code = code(text);
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let names = |word: &str, is_module: bool| {
        code.match_indices(word).any(|(at, _)| {
            let (before, after) = (&code[..at], &code[at + word.len()..]);
            let is_word = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
            // `System::postgres` is a function: the module stands in a path of modules, or is imported in braces.
            let owner = before.strip_suffix("::").and_then(|path| path.rsplit(|c| !is_part(Some(c))).next());
            // The workers' library has a module for PostgreSQL as well.
            let is_method =
                owner.is_some_and(|owner| owner == "worker" || owner.starts_with(char::is_uppercase));
            let is_path = before.ends_with("::") || after.starts_with("::");
            let is_imported =
                before.rsplit(';').next().is_some_and(|statement| statement.contains("use crate::"));
            is_word && !is_method && (!is_module || is_path || is_imported)
        })
    };
    names("sqlite", true)
        || names("postgres", true)
        || names("rusqlite", false)
        || names("mysql", true)
        || names("tokio_postgres", false)
        || names("mysql_async", false)
}

#[test]
fn engines_are_named_only_in_the_store_and_where_a_source_is_opened() {
    let allowed = MAY_NAME_ENGINES.map(|(place, _)| place);
    let is_module = |path: &Path| ["lib.rs", "main.rs"].iter().any(|name| path == Path::new(name));
    let all: Vec<PathBuf> =
        all_sources().into_iter().filter(|(_, text)| names_engine(text)).map(|(path, _)| path).collect();
    let wrong: Vec<&PathBuf> =
        all.iter().filter(|path| !is_module(path) && !is_below(path, &allowed)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // An exception that nobody needs any more goes.
    for place in &allowed[1..] {
        assert!(all.iter().any(|path| is_below(path, &[place])), "{place} names no engine any more");
    }
}

#[test]
fn every_way_to_name_an_engine_is_recognised() {
    for wrong in [
        "use crate::store::postgres::Target;",
        "use crate::store::{Reader, sqlite};",
        "use crate::{domain::time::Span, store::sqlite};",
        "let link = store::postgres::Link::open();",
        "use rusqlite::Connection;",
        "use crate::postgres::Link;",
        "fn f(link: &tokio_postgres::Client) {}",
    ] {
        assert!(names_engine(wrong), "{wrong}");
    }
    for right in [
        "let sql = system.postgres();",
        "let sql = System::postgres(self);",
        "use crate::worker::postgres::Database;",
        r#"#[cfg(feature = "postgres")]"#,
        "// `crate::store::sqlite` does it.",
        "sqlite.db",
    ] {
        assert!(!names_engine(right), "{right}");
    }
}

/// Where each way to write may be named: everybody else has to be handed a `WriteAccess`.
const WAYS_TO_WRITE: [(&str, &[&str]); 10] = [
    // Only the rules create one.
    ("WriteAccess {", &["store/write_access.rs"]),
    ("WriteRules", &["store.rs", "store/write_access.rs", "cli/setup.rs"]),
    (".grant(", &["store/write_access.rs", "cli/setup/opening.rs"]),
    (" Actor::open(", &["store", "recovery/audited_actor.rs"]),
    ("AuditedActor::open(", &["cli/recovery.rs", "runtime/act_thread/open_actor.rs"]),
    ("AuditedActor::rehearsing(", &["cli/recovery.rs"]),
    // Connections that could write to a source without an actor: of code that is handed a `WriteAccess` as well, and of
    // the workers. The trail's index and a recording are files of our own.
    ("Purpose::Acts", &["store", "postgres", "mysql", "worker", "cli/init", "demo"]),
    (
        "SQLITE_OPEN_READ_WRITE",
        &["store", "worker", "cli/init", "recovery/trail/index.rs", "recording/schema.rs"],
    ),
    // Without flags SQLite opens for writing.
    ("Connection::open(", &["worker", "demo"]),
    ("pragma_update(", &["store", "worker", "demo", "cli/init", "recovery/trail/index.rs"]),
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

fn map_of_the_code() -> Vec<String> {
    let lib = all_sources().into_iter().find(|(path, _)| path == Path::new("lib.rs")).expect("lib.rs").1;
    let lines = lib.lines().filter_map(|line| line.strip_prefix("//!")).map(str::to_owned);
    let map = lines.skip_while(|line| !line.contains("The map of the code"));
    map.skip_while(|line| line.trim() != "```text").skip(1).take_while(|line| line.trim() != "```").collect()
}

#[test]
fn every_part_of_the_crate_is_on_the_map() {
    let map: Vec<String> = map_of_the_code();
    let parts: Vec<&str> = map.iter().filter_map(|line| line.split_whitespace().next()).collect();
    for (path, _) in all_sources() {
        let part = part(&path);
        assert!(part == "lib" || parts.contains(&part.as_str()), "{part} is not on the map in lib.rs");
    }
}

/// The first names of each line: those of parts stand at the left, those of engines and files further right.
#[test]
fn every_name_on_the_map_is_a_file() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut part, mut folder) = (PathBuf::new(), PathBuf::new());
    for line in map_of_the_code() {
        let indent = line.len() - line.trim_start().len();
        let names = line.trim_start().split("  ").next().unwrap_or_default();
        // A long name leaves room for one space before its description, which may have commas.
        let end = names.split(", ").position(|name| name.contains(' ')).map_or(usize::MAX, |at| at + 1);
        let names = names.split(", ").take(end);
        for name in names.map(|name| name.split(' ').next().unwrap_or_default()) {
            let place = match indent {
                1 => PathBuf::from(name),
                3 => part.join(name),
                _ => folder.join(name),
            };
            assert!(src.join(&place).with_extension("rs").exists(), "there is no {}", place.display());
            match indent {
                1 => (part, folder) = (place.clone(), place),
                3 => folder = place,
                _ => {}
            }
        }
    }
}

#[test]
fn every_module_of_the_tests_is_on_their_map() {
    let main =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/main.rs")).expect("main.rs");
    let map: String = main.lines().filter(|line| line.starts_with("//! |")).collect();
    let modules = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    for module in modules.filter(|module| *module != "support") {
        assert!(map.contains(&format!("`{module}`")), "{module} is not on the map in tests/it/main.rs");
    }
}
