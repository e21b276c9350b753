//! A profile with one broken key is noticed before anything is done with it.

use super::{Fixture, fixtures, is_whole, reference};
use crate::support::figures;
use claimtop::profile::{Library, Profile};
use toml::Value;

/// Texts for people, which nothing can be wrong with.
const FREE_TEXT: [&str; 4] = ["title", "about", "versions", "name"];

/// Names functions that a system may or may not have installed: those that are there are compared with the rules.
const MAY_BE_MISSING: &str = "recovered_by";

/// Where a value is: keys, and places in arrays.
type Path = Vec<String>;

#[test]
fn one_broken_key_is_noticed() {
    let mut tried = 0;
    for fixture in fixtures().into_iter().chain(reference()) {
        tried += expect_every_key_noticed(&fixture);
    }
    figures::tell(&format!("{tried} broken keys of built-in profiles, all of them noticed"));
}

/// How many keys there were to break.
fn expect_every_key_noticed(fixture: &Fixture) -> usize {
    let text = Library::built_in().find(&fixture.profile).expect("a built-in profile").text;
    let whole: toml::Table = text.parse().expect("TOML");
    let paths: Vec<Path> = leaves(&Value::Table(whole.clone()))
        .into_iter()
        .filter(|path| is_used(&whole, path, fixture.spoken().as_str()))
        .filter(|path| is_chosen(&whole, path, fixture))
        .collect();
    let (mut broken, mut profiles) = (Vec::new(), Vec::new());
    for path in &paths {
        let text = toml::to_string(&with_broken(whole.clone(), path)).expect("TOML");
        // What does not even parse is noticed.
        let profile = Profile::parse(&fixture.profile, &text);
        if let Ok(profile) = profile.and_then(|profile| profile.on(fixture.spoken())) {
            broken.push(path);
            profiles.push(profile);
        }
    }
    // Otherwise each would seem to be noticed.
    profiles.push(Library::built_in().find(&fixture.profile).expect("a built-in profile"));
    let mut fits = fixture.tables().fits(profiles.clone());
    let sound = fits.pop().expect("the profile itself");
    assert!(sound.problems().is_empty() && !sound.boards.is_empty(), "{}: {sound:#?}", fixture.system);
    for ((path, profile), fit) in broken.iter().zip(&profiles).zip(&fits) {
        let is_noticed = !is_whole(fit, profile) || fit.boards.len() < sound.boards.len();
        assert!(is_noticed, "{}: {} can be broken", fixture.system, path.join("."));
    }
    paths.len()
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
    if path[2] == MAY_BE_MISSING {
        return false;
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

/// Of the values of a variable, only the one that stands for the tables that are here counts.
fn is_chosen(whole: &toml::Table, path: &Path, fixture: &Fixture) -> bool {
    let [first, var, _] = &path[..] else { return true };
    let value = at(&Value::Table(whole.clone()), path).and_then(|value| value.as_str().map(str::to_owned));
    first != "vars" || value.as_ref() == fixture.usual_profile().values.get(var)
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
        // Either way the profile does not know its own tables any more.
        Value::String(pair) if key == "detect" => Value::String(
            pair.strip_prefix('!').map_or(format!("{pair}_no_such"), |_| "no_such.column".into()),
        ),
        Value::String(_) => Value::String("no_such_thing".into()),
        _ => Value::String("no such thing".into()),
    };
    match whole {
        Value::Table(whole) => whole,
        _ => unreachable!("a profile is a table"),
    }
}
