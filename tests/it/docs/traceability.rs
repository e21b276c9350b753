//! Every item of the specifications has a row, and every test that a row names exists.

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/traceability.md");

/// The rows of all tables: item, where it is, tests.
fn rows() -> Vec<[&'static str; 3]> {
    let cells = |line: &'static str| -> Option<[&'static str; 3]> {
        let inner = line.strip_prefix('|')?.strip_suffix('|')?;
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        Some(cells.try_into().unwrap_or_else(|_| panic!("a row has three cells: {line}")))
    };
    let rows = PAGE.lines().filter_map(cells);
    rows.filter(|[item, ..]| *item != "item" && !item.starts_with("---")).collect()
}

/// The words in backticks.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Whether a name is a file of the repository, or a test in the sources of the tests.
fn exists(name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if name.contains('/') {
        return root.join(name).exists();
    }
    let Some((module, test)) = name.rsplit_once("::") else { return false };
    let file = root.join("tests/it").join(module.replace("::", "/")).with_extension("rs");
    let Ok(source) = fs::read_to_string(file) else { return false };
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declares = |line: &&str| line.starts_with(&format!("fn {test}("));
    let at = lines.iter().position(declares);
    at.is_some_and(|at| lines[at.saturating_sub(4)..at].contains(&"#[test]"))
}

#[test]
fn every_test_that_is_named_exists() {
    let missing: Vec<&str> =
        rows().into_iter().flat_map(|[_, _, tests]| named(tests)).filter(|name| !exists(name)).collect();
    assert_eq!(missing, [""; 0], "docs/traceability.md names tests that do not exist");
    assert!(!exists("docs::traceability::no_such_test"));
    assert!(!exists("docs::traceability::exists"), "a function is no test");
    assert!(exists("docs::traceability::every_test_that_is_named_exists"));
}

#[test]
fn a_row_without_a_test_says_why() {
    for [item, place, tests] in rows() {
        let reasons = ["not built:", "does not apply:", "not measured:"];
        let is_excused = reasons.iter().any(|reason| place.starts_with(reason));
        assert!(named(tests).next().is_some() || is_excused, "{item}: no test, and no reason");
    }
}

#[test]
fn every_system_has_its_items() {
    for system in ["Coordination", "Executor jobs", "Merge queue", "Finalization", "Task queue"] {
        let own = PAGE.split("\n## ").find(|part| part.starts_with(system)).unwrap_or_default();
        let rows = own.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| item")).count();
        assert!(rows >= 20, "{system} has {rows} rows");
    }
}
