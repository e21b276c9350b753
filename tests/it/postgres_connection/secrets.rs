//! A password is in nothing that is said.

use super::server::CANARY;
use crate::support::{command, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_password_on_the_command_line_is_refused_and_not_repeated() {
    let url = format!("postgres://ann:{CANARY}@127.0.0.1:1/app");
    let words = format!("host=127.0.0.1 port=1 user=ann password='{CANARY} x'");
    for source in [&url, &words] {
        for verb in [
            &["check"][..],
            &["check", "--json"],
            &["list"],
            &["doctor"],
            &["pid"],
            &["sweep", "--once"],
            &["serve", "--listen", "127.0.0.1:0"],
            &["init", "--system", "coordination"],
        ] {
            let output = command(verb).arg(source).output().unwrap();
            let said = stdout(&output) + &stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{verb:?}: {said}");
            assert!(said.contains("pgpass") && !said.contains(CANARY), "{verb:?}: {said}");
        }
    }
}

#[test]
fn a_misplaced_url_is_not_quoted_with_its_password() {
    let url = format!("postgres://ann:{CANARY}@127.0.0.1:1/app");
    for words in
        [vec!["audit", "list", &url], vec!["demo", &url], vec!["--nonsense", &url], vec![&url, "check", "x"]]
    {
        let output = command(&words).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert!(!said.contains(CANARY), "{words:?}: {said}");
    }
}

#[test]
fn a_config_with_a_password_must_be_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, format!("[source.prod]\nat = 'postgres://ann:{CANARY}@127.0.0.1:1/app'\n"))
        .unwrap();
    for (mode, part) in [(0o644, "chmod 600"), (0o600, "prod")] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let output = command(&["check", "prod", "--config"]).arg(&path).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!((said.contains(part) || mode == 0o600) && !said.contains(CANARY), "{said}");
    }
}

/// Addresses with a password that other programs understand, and those that went wrong on the way here.
fn foreign_addresses() -> Vec<String> {
    [
        "postgresql+psycopg2://ann:PW@127.0.0.1:1/app",
        "jdbc:postgresql://127.0.0.1:1/app?user=ann&password=PW",
        "jdbc:postgresql://ann:PW@127.0.0.1:1/app",
        "mysql://ann:PW@127.0.0.1:1/app",
        "postgres://ann:PW",
        "postgres://ann:PW/app",
        "  postgres://ann:PW@127.0.0.1:1/app",
        "postgres://ann%3aPW@127.0.0.1:1/app",
        "postgres%3a//ann:PW@127.0.0.1:1/app",
        "postgres:/ann:PW@127.0.0.1:1/app",
        "postgres//ann:PW@127.0.0.1:1/app",
        "POSTGRES://ann:PW@127.0.0.1:1/app",
        "'postgres://ann:PW@127.0.0.1:1/app'",
        "ann:PW@127.0.0.1/app",
        "//ann:PW@127.0.0.1/app",
        "host = 127.0.0.1 port = 1 user = ann password = PW",
        "Server=127.0.0.1;Port=1;User Id=ann;Password=PW;",
        "dbname=postgres://ann:PW@127.0.0.1:1/app",
        "sqlserver://127.0.0.1:1;user=ann;password=PW",
        "redis://:PW@127.0.0.1:1/0",
        "file:/tmp/x.db?password=PW",
    ]
    .map(|form| form.replace("PW", CANARY))
    .into()
}

#[test]
fn a_password_in_an_address_of_another_kind_is_never_repeated() {
    let folder = tempfile::tempdir().unwrap();
    for address in foreign_addresses() {
        for verb in [
            &["check"][..],
            &["check", "--json"],
            &["list", "--json"],
            &["doctor", "--json"],
            &["reclaim", "--json"],
            &["sweep", "--once", "--json"],
            &["serve", "--listen", "127.0.0.1:0"],
            &["init", "--system", "coordination"],
            &["demo", "--headless", "--for", "1s", "--postgres"],
            &[],
            &["--nonsense"],
        ] {
            // What goes on instead of saying no shall fail, not hang the tests.
            let mut command = Command::new("timeout");
            command.args(["--signal=KILL", "60", env!("CARGO_BIN_EXE_claimtop")]).args(verb);
            command
                .env("XDG_CONFIG_HOME", "/proc/nonexistent")
                .arg(&address)
                .env("XDG_STATE_HOME", folder.path().join("state"));
            if verb.first() == Some(&"reclaim") {
                command.arg("task-1");
            }
            let output = command.current_dir(folder.path()).output().unwrap();
            let said = stdout(&output) + &stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{address} {verb:?}: {said}");
            assert!(!said.contains(CANARY) && !said.contains("panicked"), "{address} {verb:?}: {said}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "nothing was made: {left:?}");
}

#[test]
fn an_unknown_scheme_is_an_error_that_names_those_that_are_known() {
    for address in
        ["sqlserver://db.example/app", "postgresql+psycopg2://ann@db.example/app", "jdbc:oracle:thin"]
    {
        let output = command(&["check", address]).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("postgres://") && said.contains("sqlite://"), "{said}");
    }
}

#[test]
fn a_config_with_an_address_of_another_kind_is_wrong_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for address in foreign_addresses().iter().filter(|address| !address.contains("postgres://ann")) {
        std::fs::write(&path, format!("# one\n[source.prod]\nat = {address:?}\nread_only = true\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let output = command(&["check", "prod", "--config"]).arg(&path).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{address}: {said}");
        assert!(!said.contains(CANARY), "{address}: {said}");
        let is_supported =
            ["host", "dbname", "POSTGRES", "mysql"].iter().any(|start| address.starts_with(start));
        if !is_supported {
            assert!(said.contains("config.toml:3: "), "{address}: {said}");
        }
    }
}
