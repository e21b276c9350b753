//! The doctor on MySQL and MariaDB: settings of the server, and what our account may do there.

use super::Practice;
use super::on_postgres::examined;
use crate::support::mysql::{MyAccount, MyDatabase};

const JOBS: &str = include_str!("../../../assets/schema/mysql/executor-jobs.sql");
const AUDIT: &str = include_str!("../../../assets/schema/mysql/audit.sql");
const ROLES: &str = include_str!("../../../assets/schema/mysql/roles.sql");

fn clinic() -> Option<MyDatabase> {
    let database = MyDatabase::new(JOBS)?;
    database.run(AUDIT);
    database.run(ROLES);
    Some(database)
}

/// The doctor, logged in as an account; the password comes from the config.
fn examine(account: &MyAccount<'_>) -> super::Findings {
    let practice = Practice::new();
    let (name, password) = account.login();
    let url = account.url().replace(&format!("{name}:{password}@"), &format!("{name}@"));
    let config = practice.config(&url, &format!("password_command = 'printf {password}'"));
    examined(&practice, "prod", &["--config", &config])
}

#[test]
fn an_operator_may_act_and_lossy_settings_of_the_server_are_named() {
    let Some(database) = clinic() else { return };
    let findings = examine(&database.account("claimtop_operator"));
    for name in
        ["reachable", "mysql", "server clock", "profile", "storage", "audit table", "acting", "least rights"]
    {
        findings.expect(name, "ok", "", "");
    }
    // The server of the tests is told not to write its log at every commit.
    findings.expect("durability", "warning", "innodb_flush_log_at_trx_commit is not 1", "SET GLOBAL");
}

#[test]
fn a_watcher_cannot_act_and_an_administrator_could_do_more() {
    let Some(database) = clinic() else { return };
    let findings = examine(&database.account("claimtop_watcher"));
    findings.expect("acting", "failed", "UPDATE (", "GRANT UPDATE (");
    assert_eq!(findings.code, 2);
    let findings = examined(&Practice::new(), &database.url(), &[]);
    findings.expect("least rights", "warning", "DELETE on executor_jobs", "roles.sql");
    assert_eq!(database.text("SELECT count(*) FROM claimtop_audit"), "0");
}

#[test]
fn a_table_that_cannot_take_anything_back_or_has_no_key_is_named() {
    for (tables, said) in [
        (JOBS.replace("InnoDB", "MyISAM").replace("utf8mb4", "latin1"), "stored in MyISAM"),
        (
            JOBS.replacen(" PRIMARY KEY", "", 1)
                .replace("UNIQUE KEY executor_jobs_dedupe_idx (dedupe_key),", ""),
            "has no primary key",
        ),
    ] {
        // Neither can be referred to by another table.
        let first = tables.split(";\n").next().expect("a statement");
        let Some(database) = MyDatabase::new(first) else { return };
        examined(&Practice::new(), &database.url(), &[]).expect("storage", "failed", said, "ALTER TABLE");
    }
}
