//! Each system is recognised by its own profile and by no other.

use super::{REFERENCE, built_in, fixtures, is_whole};
use crate::support::engine::{Engine, engines};
use std::collections::BTreeSet;

#[test]
fn each_system_is_recognised_and_no_other() {
    for fixture in fixtures() {
        let tables = fixture.tables();
        let expected = [fixture.profile.clone()];
        assert_eq!(tables.recognised(), expected, "{}", fixture.system);
        // The same without a verb that tries every profile.
        let used = tables.claimtop(&["check", "--json"]);
        let used: serde_json::Value = serde_json::from_str(&used).expect(&used);
        let sources = used["sources"].as_array().expect("sources");
        let used: Vec<&str> = sources.iter().filter_map(|source| source["profile"].as_str()).collect();
        assert_eq!(used, expected, "{}", fixture.system);
    }
}

#[test]
fn every_field_of_a_profile_is_in_the_tables_of_its_system() {
    for fixture in fixtures() {
        let profile = fixture.usual_profile();
        let fits = fixture.tables().fits(vec![profile.clone()]);
        assert!(is_whole(&fits[0], &profile), "{}: {:#?}", fixture.system, fits[0]);
    }
}

#[test]
fn every_built_in_profile_has_a_fixture() {
    if !engines().contains(&Engine::Postgres) {
        return;
    }
    let tried: BTreeSet<String> = fixtures().into_iter().map(|fixture| fixture.profile).collect();
    let known: BTreeSet<String> = built_in().into_iter().map(|profile| profile.name).collect();
    let of_systems = known.into_iter().filter(|name| !REFERENCE.contains(&name.as_str())).collect();
    assert_eq!(tried, of_systems);
}

#[test]
fn without_one_of_the_columns_that_tell_it_a_system_is_not_recognised() {
    for fixture in fixtures() {
        let profile = fixture.usual_profile();
        let tables = fixture.tables();
        let pairs = profile.boards[0].detect.iter().chain(&profile.detect);
        assert!(pairs.clone().count() >= 2, "{} could be anybody's", fixture.profile);
        for pair in pairs {
            if let Some(pair) = pair.strip_prefix('!') {
                let (table, column) = pair.rsplit_once('.').expect("table.column");
                tables.run(&format!("ALTER TABLE {table} ADD COLUMN {column} integer"));
                let recognised = tables.recognised();
                assert!(!recognised.contains(&fixture.profile), "{} with {pair}", fixture.system);
                tables.run(&format!("ALTER TABLE {table} DROP COLUMN {column}"));
                continue;
            }
            let (table, column) = pair.rsplit_once('.').expect("table.column");
            tables.run(&format!("ALTER TABLE {table} RENAME COLUMN {column} TO not_{column}"));
            // It may look like an earlier version then, which has a profile of its own.
            let recognised = tables.recognised();
            assert!(!recognised.contains(&fixture.profile), "{} without {pair}", fixture.system);
            tables.run(&format!("ALTER TABLE {table} RENAME COLUMN not_{column} TO {column}"));
        }
    }
}
