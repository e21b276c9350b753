//! The references name everything that there is.

use std::path::Path;

use super::page::Page;

/// The keys of a TOML file, with those that `#:` comments out.
fn keys(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line).trim());
    let keys = lines.filter(|line| !line.starts_with(['#', '['])).filter_map(|line| line.split_once('='));
    keys.map(|(key, _)| key.trim().to_owned()).collect()
}

#[track_caller]
fn assert_explains(page: &str, keys: impl IntoIterator<Item = String>) {
    let page = Page::read(Path::new(page));
    let unexplained: Vec<String> = keys
        .into_iter()
        .filter(|key| !page.text.contains(&format!("`{key}`")) && !page.text.contains(&format!("`{key} =")))
        .collect();
    assert!(unexplained.is_empty(), "{} does not explain {unexplained:?}", page.name());
}

#[test]
fn the_configuration_reference_names_every_key_of_the_example() {
    let example = include_str!("../../../config.example.toml");
    let all = keys(example);
    assert!(all.len() > 25, "{all:?}");
    assert_explains("docs/configuration.md", all);
}

#[test]
fn the_configuration_reference_names_what_the_example_only_mentions() {
    assert_explains(
        "docs/configuration.md",
        ["every", "sighted_for", "warn_before", "ttl"].map(String::from),
    );
}

#[test]
fn changelog_and_formula_know_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = Page::read(Path::new("CHANGELOG.md")).text;
    assert!(changelog.contains(&format!("## [{version}]")), "CHANGELOG.md has no entry for {version}");
    let formula = include_str!("../../../packaging/homebrew/claimtop.rb");
    assert!(formula.contains(&format!("/v{version}.tar.gz")), "the Homebrew formula is of another version");
}
