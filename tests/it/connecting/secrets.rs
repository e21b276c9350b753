//! A password is in nothing that is said.

use super::server::CANARY;
use crate::support::{command, stderr, stdout};
use std::os::unix::fs::PermissionsExt;

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
