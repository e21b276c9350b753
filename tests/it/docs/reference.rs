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

/// The fields of the format, from its own source: a key that is added there has to be explained.
#[test]
fn the_profile_reference_names_every_key_of_the_format() {
    let source = include_str!("../../../src/profile/format.rs");
    let mut is_key = true;
    let mut keys = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[serde(skip)]") {
            is_key = false;
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':')) {
            if is_key && !name.contains(['(', ' ']) {
                keys.push(name.to_owned());
            }
            is_key = true;
        } else if let Some(rest) = line.strip_prefix("#[serde(rename = \"") {
            // The field itself follows, under its name in Rust.
            keys.push(rest.split('"').next().unwrap_or_default().to_owned());
            is_key = false;
        }
    }
    assert!(keys.len() > 60, "{keys:?}");
    // Fields of the program, not of the file.
    let own = ["name", "line", "what", "problem", "expr", "unit", "on", "boards", "claim"];
    let page = Page::read(Path::new("docs/profiles.md")).text;
    let is_named = |key: &String| {
        ["`KEY`", "`[KEY]`", "`[[KEY]]`", "`[claim.KEY]`"]
            .iter()
            .any(|form| page.contains(&form.replace("KEY", key)))
    };
    let unexplained: Vec<&String> =
        keys.iter().filter(|key| !own.contains(&key.as_str()) && !is_named(key)).collect();
    assert!(unexplained.is_empty(), "docs/profiles.md does not explain {unexplained:?}");
}

#[test]
fn changelog_and_formula_know_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = Page::read(Path::new("CHANGELOG.md")).text;
    assert!(changelog.contains(&format!("## [{version}]")), "CHANGELOG.md has no entry for {version}");
    let formula = include_str!("../../../packaging/homebrew/claimtop.rb");
    assert!(formula.contains(&format!("/v{version}.tar.gz")), "the Homebrew formula is of another version");
}
