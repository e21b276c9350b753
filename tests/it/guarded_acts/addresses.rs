//! Whatever an id is made of, the address that `list --json` prints means that claim and no other.

use serde_json::Value as Json;
use std::collections::BTreeSet;

use super::fast;
use crate::support::{Database, MINUTE, command, json, lines, stderr};

/// Values of columns without a type, as SQL.
const VALUES: [&str; 12] = [
    "NULL",
    "'NULL'",
    "x'41ff'",
    "CAST(x'41ff' AS TEXT)",
    "'\\x{41ff}'",
    "x''",
    "''",
    "x'37'",
    "7",
    "'a/b%2Fc'",
    "-7",
    "'x,y'",
];

/// Claims whose ids are made of these columns, and the profile that says so.
struct Scene {
    database: Database,
    id: &'static str,
}

impl Scene {
    fn new(id: &'static str) -> Scene {
        Scene { database: fast("CREATE TABLE work (a, b, owner TEXT, since INTEGER, until INTEGER)"), id }
    }

    /// A claim whose time was up a minute ago.
    fn claim(&self, a: &str, b: &str) {
        let now = chrono::Utc::now().timestamp_millis();
        let sql = format!("INSERT INTO work VALUES ({a}, {b}, 'w1', ?1, ?2)");
        self.database.run(&sql, (now - 10 * MINUTE, now - MINUTE));
    }

    fn run(&self, verb: &[&str], more: &[&str]) -> std::process::Output {
        let profile = self.database.beside("work.toml");
        let text = format!(
            "title = 'Work'\n[[claim]]\nname = 'work'\ntable = 'work'\nid = {}\nholder = 'owner'\n\
             time = 'unix_ms'\nclaimed_at = 'since'\ndeadline = {{ column = 'until' }}\n\
             reclaim = {{ delete = true }}\n",
            self.id
        );
        std::fs::write(&profile, text).expect("a profile");
        let mut command = command(verb);
        command.env("XDG_STATE_HOME", self.database.beside("state")).arg("--profile").arg(profile);
        command.args(more).output().expect("claimtop runs")
    }

    fn list(&self) -> Vec<Json> {
        let path = self.database.path();
        lines(&self.run(&["list", "--json", path.to_str().expect("UTF-8")], &[]))
    }

    fn left(&self) -> BTreeSet<i64> {
        let mut statement = self.database.connection.prepare("SELECT rowid FROM work").expect("a statement");
        statement.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a number")).collect()
    }

    /// Reclaims all by their addresses, one after the other, each time exactly that one.
    fn each_goes_alone(&self) {
        let path = self.database.path();
        let path = path.to_str().expect("UTF-8");
        let addresses: Vec<String> =
            self.list().iter().map(|claim| claim["address"].as_str().expect("an address").into()).collect();
        assert_eq!(addresses.len(), self.left().len());
        let distinct: BTreeSet<&String> = addresses.iter().collect();
        assert_eq!(distinct.len(), addresses.len(), "{addresses:#?}");
        let mut gone = BTreeSet::new();
        for address in &addresses {
            let before = self.left();
            let output = self.run(&["reclaim", "--json", path], &["--", address]);
            assert!(output.status.success(), "{address}: {}", stderr(&output));
            let object = json(&output);
            assert_eq!(
                (&object["outcome"], &object["address"]),
                (&"applied".into(), &address.as_str().into())
            );
            let went: Vec<i64> = before.difference(&self.left()).copied().collect();
            assert_eq!(went.len(), 1, "{address} took {went:?}");
            assert_eq!(object["before"][0]["rowid"], went[0], "{address}");
            assert!(gone.insert(went[0]));
        }
        assert!(self.left().is_empty());
    }
}

#[test]
fn ids_that_are_no_text_are_reclaimed_by_their_address() {
    let scene = Scene::new("'a'");
    for value in VALUES {
        scene.claim(value, "NULL");
    }
    scene.each_goes_alone();
}

#[test]
fn ids_of_several_parts_are_reclaimed_by_their_address() {
    let scene = Scene::new("['a', 'b']");
    for value in VALUES {
        scene.claim(value, "'z'");
        scene.claim("'z'", value);
    }
    for (a, b) in [("'x,y'", "'w'"), ("'x'", "'y,w'"), ("'x\\'", "',w'"), ("''", "'x'"), ("'x'", "''")] {
        scene.claim(a, b);
    }
    scene.each_goes_alone();
}

#[test]
fn an_undo_brings_back_an_id_of_any_type_as_it_was() {
    let scene = Scene::new("'a'");
    for value in VALUES {
        scene.claim(value, value);
    }
    let path = scene.database.path();
    let path = path.to_str().expect("UTF-8");
    let before = scene.database.dump();
    for claim in scene.list() {
        let address = claim["address"].as_str().expect("an address");
        let object = json(&scene.run(&["reclaim", "--json", path], &["--", address]));
        let undone = scene.run(&["undo", path, object["action_id"].as_str().expect("an id")], &[]);
        assert!(undone.status.success(), "{address}: {}", stderr(&undone));
        assert_eq!(scene.database.dump(), before, "{address}");
    }
}

#[test]
#[ignore = "an address does not tell the number 7 from the text 7"]
fn a_number_and_a_text_that_look_alike_are_told_apart() {
    let scene = Scene::new("'a'");
    for value in ["7", "'7'"] {
        scene.claim(value, "NULL");
    }
    scene.each_goes_alone();
}

#[test]
#[ignore = "a real number is not found by its address"]
fn a_real_number_is_reclaimed_by_its_address() {
    let scene = Scene::new("'a'");
    for value in ["7.5", "-0.25"] {
        scene.claim(value, "NULL");
    }
    scene.each_goes_alone();
}
