//! A profile with one broken key is noticed before anything is done with it.

use super::{Fixture, fixtures, is_whole};
use crate::support::figures;
use claimtop::profile::{Library, Profile};
use toml::Value;

/// What `profile check` does not look at yet: whatever only runs when somebody acts, and counts.
const NOT_CHECKED_YET: [&str; 6] = ["reclaim", "release", "requeue", "extend", "backlog", "priority"];

/// Texts for people, which nothing can be wrong with.
const FREE_TEXT: [&str; 4] = ["title", "about", "versions", "name"];

/// Where a value is: keys, and places in arrays.
type Path = Vec<String>;

#[test]
fn one_broken_key_is_noticed() {
    let (mut tried, mut unnoticed) = (0, 0);
    for fixture in fixtures() {
        let text = Library::built_in().find(&fixture.profile).expect("a built-in profile").text;
        let whole: toml::Table = text.parse().expect("TOML");
        let mut broken = Vec::new();
        for path in leaves(&Value::Table(whole.clone())) {
            if !is_used(&whole, &path, fixture.spoken().as_str()) {
                continue;
            }
            tried += 1;
            let text = toml::to_string(&with_broken(whole.clone(), &path)).expect("TOML");
            // What does not even parse is noticed.
            let profile = Profile::parse(&fixture.profile, &text);
            if let Ok(profile) = profile.and_then(|profile| profile.on(fixture.spoken())) {
                broken.push((path, profile));
            }
        }
        unnoticed += expect_noticed(&fixture, broken);
    }
    figures::tell(&format!(
        "{tried} broken keys of built-in profiles, {unnoticed} of them in acts and counts"
    ));
}

/// How many of them are in what is not checked yet.
fn expect_noticed(fixture: &Fixture, broken: Vec<(Path, Profile)>) -> usize {
    let (paths, profiles): (Vec<Path>, Vec<Profile>) = broken.into_iter().unzip();
    let fits = fixture.tables().fits(profiles.clone());
    let outcomes = paths.iter().zip(profiles.iter().zip(&fits));
    let unnoticed: Vec<&Path> =
        outcomes.filter(|(_, (profile, fit))| is_whole(fit, profile)).map(|(path, _)| path).collect();
    for path in &unnoticed {
        let is_excused = path.iter().any(|key| NOT_CHECKED_YET.contains(&key.as_str()));
        assert!(is_excused, "{}: {} can be broken", fixture.system, path.join("."));
    }
    unnoticed.len()
}

/// Every value that holds no others.
fn leaves(value: &Value) -> Vec<Path> {
    let inside = |(key, value): (String, &Value)| {
        let below = leaves(value).into_iter();
        below.map(move |path| [vec![key.clone()], path].concat()).collect::<Vec<_>>()
    };
    match value {
        Value::Table(table) => {
            table.iter().map(|(key, value)| (key.clone(), value)).flat_map(inside).collect()
        }
        Value::Array(array) => {
            array.iter().enumerate().map(|(at, value)| (at.to_string(), value)).flat_map(inside).collect()
        }
        _ => vec![Vec::new()],
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(array) => array.get(key.parse::<usize>().ok()?),
        other => other.get(key.as_str()),
    })
}

/// Whether the key counts on this engine: another engine's do not, nor those that it has others for.
fn is_used(whole: &toml::Table, path: &Path, engine: &str) -> bool {
    if path[0] != "claim" {
        return true;
    }
    if path[2] == "on" {
        return path[3] == engine;
    }
    let whole = Value::Table(whole.clone());
    // A `set` and an array are replaced as one.
    (3..=path.len()).all(|end| {
        let over = [&path[..2], &["on".into(), engine.into()], &path[2..end]].concat();
        let is_table = path[end - 1] != "set" && end < path.len();
        at(&whole, &over).is_none_or(|over| is_table && over.is_table())
    })
}

fn with_broken(whole: toml::Table, path: &Path) -> toml::Table {
    let mut whole = Value::Table(whole);
    let mut value = &mut whole;
    for key in path {
        value = match value {
            Value::Array(array) => &mut array[key.parse::<usize>().expect("a place")],
            other => other.get_mut(key.as_str()).expect("a key"),
        };
    }
    let key = path.iter().rev().find(|key| key.parse::<usize>().is_err()).expect("a key");
    *value = match value {
        Value::String(_) if FREE_TEXT.contains(&key.as_str()) => Value::Integer(1),
        Value::String(pair) if key == "detect" => Value::String(format!("{pair}_no_such")),
        Value::String(_) => Value::String("no_such_thing".into()),
        _ => Value::String("no such thing".into()),
    };
    match whole {
        Value::Table(whole) => whole,
        _ => unreachable!("a profile is a table"),
    }
}
