//! Systems whose tables are in another schema, or have another prefix, than is usual.

use super::{Fixture, fixtures};

/// The tables of a system with another word in their names.
fn elsewhere(system: &str, usual: &str, other: &str) -> Option<Fixture> {
    let is_it = |fixture: &Fixture| fixture.system == system && fixture.sql.contains(usual);
    let fixture = fixtures().into_iter().find(is_it)?;
    let moved = fixture.sql.replace(usual, other);
    let sql = match other.split_once('.') {
        Some((schema, _)) => format!(
            "CREATE SCHEMA {schema};\n{}",
            moved.replace(&format!("public.{schema}."), &format!("{schema}."))
        ),
        None => moved,
    };
    Some(Fixture { sql, ..fixture })
}

#[test]
fn a_system_is_found_by_whatever_its_schema_or_prefix_is_called() {
    for (system, usual, other, name) in [
        ("pg-boss", "pgboss", "jobs", "pg-boss@jobs"),
        ("graphile-worker", "graphile_worker", "work", "graphile-worker@work"),
        ("hangfire", "hangfire", "fire", "hangfire@fire"),
        ("quartz", "qrtz_", "app_", "quartz@app_"),
        ("persist-queue", "ack_queue_default", "ack_queue_mail", "persist-queue@mail"),
        ("river", "river_", "queue.river_", "river@queue"),
        ("chancy", "chancy_", "work_", "chancy@work_"),
        ("litequeue-0.9", "Queue", "mail", "litequeue-0.9@mail"),
        ("huey", "huey_", "app_", "huey@app_"),
        ("apalis-postgres", "apalis", "work", "apalis-postgres@work"),
        ("dbos", "dbos", "flows", "dbos@flows"),
        ("oban", "oban_", "private.oban_", "oban@private"),
    ] {
        let Some(fixture) = elsewhere(system, usual, other) else { continue };
        let tables = fixture.tables();
        assert_eq!(tables.recognised(), [name], "{}", fixture.sql);
        // It can be named like that.
        let said = tables.claimtop(&["profile", "check", name]);
        assert!(said.contains("fits"), "{said}");
        let used = tables.claimtop(&["check", "--json"]);
        assert!(used.contains(&format!("\"profile\":\"{name}\"")), "{used}");
    }
}

#[test]
fn two_places_in_one_database_are_two_profiles_and_each_can_be_named_alone() {
    for (system, usual, other, names) in [
        ("pg-boss", "pgboss", "jobs", ["pg-boss", "pg-boss@jobs"]),
        ("litequeue-0.9", "Queue", "mail", ["litequeue-0.9", "litequeue-0.9@mail"]),
        ("river", "river_", "queue.river_", ["river", "river@queue"]),
    ] {
        let Some(moved) = elsewhere(system, usual, other) else { continue };
        let tables = moved.tables();
        let here = fixtures().into_iter().find(|fixture| fixture.system == system).expect("the fixture");
        // Types are shared.
        let sql: Vec<&str> =
            here.sql.split(";\n").filter(|sql| !sql.trim().starts_with("CREATE TYPE public.")).collect();
        tables.run(&sql.join(";\n"));
        assert_eq!(tables.recognised(), names, "{system}");
        for name in names {
            let used = tables.claimtop(&["check", "--json", "--profile", name]);
            let used: serde_json::Value = serde_json::from_str(&used).expect(&used);
            let sources = used["sources"].as_array().expect("sources");
            let used: Vec<&str> = sources.iter().filter_map(|source| source["profile"].as_str()).collect();
            let expected = if name.contains('@') { vec![name] } else { names.to_vec() };
            assert_eq!(used, expected, "{system}");
        }
    }
}
