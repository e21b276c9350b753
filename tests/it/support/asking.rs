//! What the program says of a database, at [`NOW`](super::NOW), whichever engine it is on.

use serde_json::Value as Json;
use std::process::Output;

use super::{json, lines};

const AT: [&str; 3] = ["--json", "--now", "1794744000000"];

/// `check --json`: the entry of the first source, and the exit code.
pub fn check(ask: impl FnOnce(&[&str]) -> Output, options: &[&str]) -> (Json, i32) {
    let output = ask(&[&["check"], &AT[..], options].concat());
    (json(&output)["sources"][0].clone(), output.status.code().expect("an exit code"))
}

/// `list --json`.
pub fn list(ask: impl FnOnce(&[&str]) -> Output, options: &[&str]) -> Vec<Json> {
    lines(&ask(&[&["list"], &AT[..], options].concat()))
}

/// The one claim with this id.
pub fn one(all: &[Json], id: &str) -> Json {
    let found: Vec<&Json> = all.iter().filter(|claim| claim["id"] == id).collect();
    assert_eq!(found.len(), 1, "claims named {id} in {all:#?}");
    found[0].clone()
}
