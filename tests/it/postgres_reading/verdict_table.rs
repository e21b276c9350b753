//! The verdict table once more, with every case written into real tables of both engines.

use claimtop::profile::format::Profile;
use claimtop::store::{Filter, Profiles};
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::support::engine::{Engine, on_both_engines};
use crate::verdict_sql::reader;
use crate::verdict_sql::table::Place;
use claimtop::domain::time::Span;

on_both_engines!(every_case_of_the_verdict_table_holds_in_a_database);

#[derive(Deserialize)]
struct Scenarios {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    rule: String,
    kind: Option<String>,
    claim: BTreeMap<String, String>,
    verdict: String,
    reasons: Vec<String>,
}

const TIMES: [(&str, &str); 3] = [("claimed", "claimed_at"), ("beat", "beat_at"), ("until", "until_at")];

fn time(engine: Engine, text: Option<&String>) -> String {
    let now = match engine {
        Engine::Sqlite => "1794744000000",
        Engine::Postgres => "timestamptz '2026-11-15 12:00:00+00'",
    };
    let Some(text) = text.filter(|text| *text != "null") else { return "NULL".into() };
    if text == "bad" {
        return if engine == Engine::Sqlite { "'bad'" } else { "'0044-03-15 BC'" }.into();
    }
    let (sign, span) = text.strip_prefix('-').map_or(('+', text.as_str()), |span| ('-', span));
    let millis = Span::parse(span).expect("a span").as_millis();
    match engine {
        Engine::Sqlite => format!("{now} {sign} {millis}"),
        Engine::Postgres => format!("{now} {sign} interval '{millis} milliseconds'"),
    }
}

impl Case {
    fn profile(&self, engine: Engine) -> Profile {
        let unit = if engine == Engine::Sqlite { "unix_ms" } else { "timestamptz" };
        let mut text = format!(
            "title = 'Cases'\n[[claim]]\nname = 'case'\ntable = 'cases'\nid = 'id'\nkind = 'kind'\nholder = 'holder'\n\
             time = '{unit}'\n"
        );
        for (name, column) in TIMES.iter().take(2) {
            if self.claim.contains_key(*name) {
                text += &format!("{column} = '{column}'\n");
            }
        }
        text += match self.rule.as_str() {
            "lease" => "deadline = { column = 'until_at' }\n",
            "timeout" => "deadline = { claimed_at_plus = 'timeout_s' }\n",
            "ttl" => "deadline = { ttl = { slow = '30m' } }\n",
            "holder" => "deadline = { holder = true }\n",
            "endless" => "deadline = { never = \"healthy\" }\n",
            _ => "deadline = { never = true }\n",
        };
        if let Some(session) = self.claim.get("session") {
            let required = session != "unregistered";
            text += &format!(
                "[claim.session]\ntable = 'people'\nid = 'name'\nbeat_at = 'seen'\ntime = '{unit}'\nrequired = {required}\n"
            );
        }
        Profile::parse("cases", &text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    fn write(&self, place: &Place) {
        let engine = place.engine();
        place.run("DELETE FROM cases; DELETE FROM people");
        let [claimed, beat, until] = TIMES.map(|(name, _)| time(engine, self.claim.get(name)));
        let kind = self.kind.as_ref().map_or("NULL".into(), |kind| format!("'{kind}'"));
        let timeout =
            self.claim.get("timeout").map(|text| Span::parse(text).expect("a span").as_seconds_f64());
        let timeout = timeout.map_or("NULL".into(), |seconds| seconds.to_string());
        // Two of them, so that a slice of one makes the board a large one.
        for task in ["task-1", "task-2"] {
            place.run(&format!(
                "INSERT INTO cases VALUES ('{task}', {kind}, 'w7', {claimed}, {beat}, {until}, {timeout})"
            ));
        }
        if let Some(beat) =
            self.claim.get("session").filter(|beat| !["missing", "unregistered"].contains(&beat.as_str()))
        {
            place.run(&format!("INSERT INTO people VALUES ('w7', {})", time(engine, Some(beat))));
        }
    }
}

fn every_case_of_the_verdict_table_holds_in_a_database(engine: Engine) {
    let scenarios: Scenarios =
        toml::from_str(include_str!("../scenarios/verdicts.toml")).expect("the scenarios");
    let place = Place::new(engine);
    let (time, number) =
        if engine == Engine::Sqlite { ("INTEGER", "REAL") } else { ("timestamptz", "double precision") };
    place.run(&format!(
        "CREATE TABLE cases (id text PRIMARY KEY, kind text, holder text, claimed_at {time}, beat_at {time},
           until_at {time}, timeout_s {number});
         CREATE TABLE people (name text PRIMARY KEY, seen {time})"
    ));
    // What a process does is not in the tables, and a system always keeps the column that decides.
    let stored = scenarios.case.iter().filter(|case| !case.claim.contains_key("process"));
    let mut tried = 0;
    for case in stored {
        case.write(&place);
        for slice in [1_000, 1] {
            let mut reader = reader(&place, Profiles::Named(vec![case.profile(engine)]), slice);
            let mut found = Vec::new();
            let filter = Filter::default();
            reader
                .list(&filter, |listed| {
                    found.push(listed.judged);
                    true
                })
                .expect("a list");
            let reasons: Vec<&str> = found[0].verdict.reasons.iter().map(|reason| reason.as_str()).collect();
            assert_eq!(reasons, case.reasons, "{}", case.name);
            assert_eq!(found[0].verdict.headline().as_str(), case.verdict, "{}", case.name);
            if engine == Engine::Sqlite && slice == 1 {
                continue;
            }
            let snapshot = reader.poll().expect("a poll").remove(0);
            let counted: Vec<&str> = snapshot.reasons().keys().map(|reason| reason.as_str()).collect();
            assert_eq!(counted, case.reasons, "the poll of {}", case.name);
        }
        tried += 1;
    }
    assert!(tried > 25, "{tried} cases");
}
