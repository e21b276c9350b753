//! What is never in the file: passwords, columns that no profile maps and, with `--hash-ids`, names.

use std::path::Path;

use super::program::{database, recorded};
use crate::support::engine::{Engine, on};
use crate::support::{command, lines};

fn contains(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).expect("a file");
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn columns_that_no_profile_maps_are_not_recorded() {
    let database = database();
    database.run("UPDATE task_claims SET metadata = '{\"card\":\"4111-1111\"}', release_reason = 'hush'", []);
    database.run("UPDATE sessions SET metadata = 'token-77', project_path = '/home/ann'", []);
    let path = recorded(&database, &["--whole"]);
    assert!(contains(&path, "session-1"), "the bytes can be searched");
    for secret in ["4111-1111", "hush", "token-77", "/home/ann"] {
        assert!(!contains(&path, secret), "{secret} is in the file");
    }
}

#[test]
fn the_password_of_an_address_is_not_recorded() {
    on(Engine::Postgres, || {
        let database = database();
        let server = database.server().expect("a server");
        server.run("DROP ROLE IF EXISTS recorded_reader");
        server.run("CREATE ROLE recorded_reader LOGIN PASSWORD 'hunter2-secret'");
        server.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO recorded_reader");
        let mut url = server.url_as("recorded_reader");
        url = url.replacen("recorded_reader", "recorded_reader:hunter2-secret", 1);
        let path = database.beside("password.rec");
        let ran = command(&["record", "--every", "100ms", "--for", "1s", "--out"])
            .arg(&path)
            .arg(&url)
            .output()
            .expect("it runs");
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        assert!(contains(&path, "lost"), "the bytes can be searched");
        assert!(!contains(&path, "hunter2-secret"), "the password is in the file");
        server.run("DROP OWNED BY recorded_reader");
        server.run("DROP ROLE recorded_reader");
    });
}

#[test]
fn pseudonyms_take_the_place_of_names_and_stay_the_same_when_a_recording_goes_on() {
    let database = database();
    let ids = |path: &Path| -> Vec<(String, String)> {
        let listed = command(&["list", "--json"]).arg(path).output().expect("it runs");
        let text = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        lines(&listed).iter().map(|line| (text(line, "id"), text(line, "holder"))).collect()
    };
    let path = recorded(&database, &["--hash-ids"]);
    let first = ids(&path);
    assert_eq!(first.len(), 3);
    assert!(
        first.iter().all(|(id, holder)| id.starts_with("id-") && holder.starts_with("holder-")),
        "{first:?}"
    );
    assert_eq!(first[1].1, first[2].1, "the same holder has the same pseudonym");
    // Events and causes have names as well.
    database.run("DELETE FROM task_claims WHERE task_id = 'late'", []);
    let path = recorded(&database, &["--hash-ids"]);
    let again = ids(&path);
    assert_eq!(again, [first[0].clone(), first[2].clone()], "the same names in the second run");
    for secret in ["session-1", "nobody", "\"lost\"", "\"late\"", "\"fine\"", "/late", "/lost"] {
        assert!(!contains(&path, secret), "{secret} is in the file");
    }
}
