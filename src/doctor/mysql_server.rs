//! A MySQL or MariaDB server: its version, its clock, settings that lose or refuse acts, and what our account may do.

use std::collections::BTreeMap;
use std::time::Duration;

use super::server::{CheckedTable, offset, tables};
use super::{DoctorCheck, DoctorTarget};
use crate::domain::time::{Moment, Span};
use crate::profile::format::Engine;
use crate::store::mysql::{Limits, Link, MyError, Purpose, Target};
use crate::store::{Options, SessionMode, StoreError, clock, fits};

const ROLES: &str = "assets/schema/mysql/roles.sql makes a role that may do just that";
/// How much longer than the server's own timeout we wait for an answer.
const GRACE: Duration = Duration::from_secs(1);

const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN
    ('read_only', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format')";

/// A server that answers.
pub(super) struct CheckedMysql {
    link: Link,
}

/// Adds the checks of a server that accepts the login.
pub(super) fn check(
    at: &Target,
    options: &Options,
    checks: &mut Vec<DoctorCheck>,
) -> Result<CheckedMysql, StoreError> {
    let answer = options.poll_timeout + GRACE;
    let limits = Limits { statement: options.poll_timeout, lock: options.busy_timeout, answer };
    let mut link = Link::open(at, Purpose::Polls, limits)?;
    let unreachable = |error: MyError| StoreError::Unreachable {
        source_name: at.label().into(),
        why: error.to_string().into(),
    };
    let asked = clock();
    let rows = link.query("SELECT CURRENT_USER(), SYSDATE(6)", Vec::new()).map_err(unreachable)?;
    let middle = asked.plus(Span::micros(clock().since(asked).as_micros() / 2));
    let text = |at: usize| rows.first().and_then(|row| row.text(at)).unwrap_or_default();
    checks.push(DoctorCheck::ok("reachable", format!("it lets {} in", text(0))));
    checks.push(DoctorCheck::ok("mysql", link.version().to_owned()));
    checks.extend(Moment::parse(&text(1)).map(|theirs| offset(theirs.since(middle))));
    let settings = link.query(SETTINGS, Vec::new()).map_err(unreachable)?;
    let settings = settings.iter().filter_map(|row| Some((row.text(0)?.to_ascii_lowercase(), row.text(1)?)));
    checks.extend(judge(&settings.collect()));
    Ok(CheckedMysql { link })
}

/// What the settings of the server mean for acts.
fn judge(settings: &BTreeMap<String, String>) -> Vec<DoctorCheck> {
    let is = |name: &str, value: &str| settings.get(name).is_some_and(|is| is.eq_ignore_ascii_case(value));
    let mut checks = Vec::new();
    if is("read_only", "ON") || is("read_only", "1") {
        checks.push(DoctorCheck::warning(
            "read-only",
            "read_only is on, as on a replica: every act is refused here",
            "name its primary if acts are wanted",
        ));
    }
    let logs = is("log_bin", "ON") || is("log_bin", "1");
    let mut lossy = Vec::new();
    if !is("innodb_flush_log_at_trx_commit", "1") {
        lossy.push("innodb_flush_log_at_trx_commit");
    }
    if logs && !is("sync_binlog", "1") {
        lossy.push("sync_binlog");
    }
    checks.push(if lossy.is_empty() {
        DoctorCheck::ok("durability", "what the server has acknowledged survives its crash")
    } else {
        let names = lossy.join(" and ");
        let said =
            format!("{names} is not 1: a crash of the server can lose acts that the trail calls applied");
        DoctorCheck::warning("durability", said, format!("SET GLOBAL {} = 1", lossy.join(" = 1, ")))
    });
    if logs && is("binlog_format", "STATEMENT") {
        checks.push(DoctorCheck::failed(
            "binary log",
            "binlog_format is STATEMENT: the server refuses the changes of acts, which are READ COMMITTED",
            "SET GLOBAL binlog_format = 'ROW', or MIXED",
        ));
    }
    checks
}

impl CheckedMysql {
    /// The checks of the tables that fit.
    pub(super) fn tables(&mut self, target: &DoctorTarget) -> Vec<DoctorCheck> {
        let Ok(found) = fits(&target.options, target.profiles.clone()) else { return Vec::new() };
        let tables = tables(&found, &target.profiles, Engine::Mysql);
        let asked = self.kept(&tables).and_then(|mut checks| {
            checks.extend(self.acting(&tables, target.session)?);
            checks.push(self.audit_table()?);
            Ok(checks)
        });
        asked.unwrap_or_else(|error| {
            let said = format!("cannot be told: {error}");
            vec![DoctorCheck::warning("acting", said, "try again")]
        })
    }

    /// Tables whose changes cannot be taken back, or whose rows cannot be told apart: shown, never acted on.
    fn kept(&mut self, tables: &[CheckedTable]) -> Result<Vec<DoctorCheck>, MyError> {
        let sql = "SELECT COALESCE(t.engine, 'no engine: it is a view'), EXISTS (SELECT 1 FROM information_schema.statistics s
                     WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.non_unique = 0)
                   FROM information_schema.tables t WHERE t.table_schema = DATABASE() AND t.table_name = ?";
        let mut checks = Vec::new();
        for table in tables.iter().filter(|table| table.has_claims) {
            let name = plain(table);
            let rows = self.link.query(sql, vec![name.as_str().into()])?;
            let Some(row) = rows.first() else { continue };
            let engine = row.text(0).unwrap_or_default();
            if engine != "InnoDB" {
                let said =
                    format!("{name} is stored in {engine}, where nothing can be taken back: never acted on");
                checks.push(DoctorCheck::failed(
                    "storage",
                    said,
                    format!("ALTER TABLE {name} ENGINE=InnoDB"),
                ));
            } else if !row.is_true(1) {
                let said =
                    format!("{name} has no primary key, so its rows cannot be told apart: never acted on");
                checks.push(DoctorCheck::failed(
                    "storage",
                    said,
                    format!("ALTER TABLE {name} ADD PRIMARY KEY (...)"),
                ));
            }
        }
        if checks.is_empty() {
            checks.push(DoctorCheck::ok("storage", "the tables of claims are InnoDB and have a key"));
        }
        Ok(checks)
    }

    /// Whether every column that acts set may be set, and whether more could be done.
    fn acting(&mut self, tables: &[CheckedTable], session: SessionMode) -> Result<Vec<DoctorCheck>, MyError> {
        let (mut lacking, mut beyond) = (Vec::new(), Vec::new());
        for table in tables {
            let (name, sql) = (plain(table), &table.sql);
            let own = table.sets.iter().map(|column| format!("\"{column}\" = \"{column}\""));
            let own = own.collect::<Vec<_>>().join(", ");
            if !own.is_empty() && !self.may(&format!("UPDATE {sql} SET {own} WHERE 1 = 0"))? {
                lacking.push(format!("UPDATE ({}) ON {name}", table.sets.join(", ")));
            }
            match (self.may(&format!("DELETE FROM {sql} WHERE 1 = 0"))?, table.deletes) {
                (false, true) => lacking.push(format!("DELETE ON {name}")),
                (true, false) => beyond.push(format!("DELETE on {name}")),
                _ => {}
            }
        }
        let acting = if session == SessionMode::ReadOnly {
            DoctorCheck::warning(
                "acting",
                "this session is read-only: every act is refused",
                "if acts are wanted, drop --read-only, or read_only = true of this source in the config",
            )
        } else if lacking.is_empty() {
            DoctorCheck::ok("acting", "this account may set all that acts set")
        } else {
            let grants: Vec<String> = lacking.iter().map(|grant| format!("GRANT {grant} TO it;")).collect();
            let said = format!("this account may not {}: acts are refused", lacking.join(", nor "));
            DoctorCheck::failed("acting", said, format!("{} {ROLES}", grants.join(" ")))
        };
        let least = if beyond.is_empty() {
            DoctorCheck::ok("least rights", "this account cannot delete what acts do not delete")
        } else {
            let said = format!("this account could write more than acts need: {}", beyond.join("; "));
            DoctorCheck::warning("least rights", said, format!("log in as another: {ROLES}"))
        };
        Ok(vec![acting, least])
    }

    fn audit_table(&mut self) -> Result<DoctorCheck, MyError> {
        const NAME: &str = "audit table";
        let sql = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'claimtop_audit'";
        if self.link.query(sql, Vec::new())?.is_empty() {
            let said = "this account sees no table claimtop_audit: the trail alone keeps the records \
                        (assets/schema/mysql/audit.sql makes one)";
            return Ok(DoctorCheck::ok(NAME, said));
        }
        let insert = "INSERT INTO claimtop_audit (action_id, at, record) SELECT action_id, at, record FROM claimtop_audit WHERE 1 = 0";
        Ok(if self.may(insert)? {
            DoctorCheck::ok(NAME, "claimtop_audit is there: a record is part of its act's own transaction")
        } else {
            DoctorCheck::failed(
                NAME,
                "claimtop_audit is there, but this account may not add to it: every act is refused",
                format!("GRANT INSERT, SELECT ON claimtop_audit; {ROLES}"),
            )
        })
    }

    /// Whether the account could run a statement. It is prepared and never run. The server looks up its rights first, and
    /// refuses it after that because the session is read-only.
    fn may(&mut self, statement: &str) -> Result<bool, MyError> {
        match self.link.prepare(statement) {
            Ok(_) => Ok(true),
            Err(error) if error.is_read_only() => Ok(true),
            Err(error) if error.is_not_allowed() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The table's own name: it is in the database of the address.
fn plain(table: &CheckedTable) -> String {
    table.sql.rsplit("\".\"").next().unwrap_or_default().replace('"', "")
}
