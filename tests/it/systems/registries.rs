//! Libraries that cannot be installed: `./tests/systems` names them and goes on.

use crate::support::stdout;
use std::process::Command;

#[test]
fn a_library_that_no_registry_has_is_named_and_is_no_failure() {
    let is_new = Command::new("python3").args(["-c", "import tomllib, venv"]).output();
    if !is_new.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: no Python 3.11");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("python3");
    command.arg(super::folder("systems.d/run.py")).args([
        "--ci",
        "--no-registry",
        "litequeue",
        "persist-queue",
        "liquibase",
    ]);
    command.arg("--claimtop").arg(env!("CARGO_BIN_EXE_claimtop")).arg("--folder").arg(folder.path());
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("TMPDIR", folder.path());
    let output = command.output().expect("python3 runs");
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let missing: Vec<&str> = said.lines().filter(|line| line.starts_with("NOT RUN: ")).collect();
    assert_eq!(missing.len(), 2, "{said}");
    assert!(missing[0].starts_with("NOT RUN: litequeue: pip cannot install litequeue=="), "{said}");
    // What needs no library is run.
    assert!(said.lines().any(|line| line.starts_with("liquibase") && line.ends_with("✓")), "{said}");
}
