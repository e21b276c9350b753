//! The privileges of our role on a server: to see every row, to act, and nothing more.

use super::DoctorCheck;
use super::server::{CheckedServer, CheckedTable};
use crate::store::SessionMode;
use crate::store::postgres::{PgError, find_audit_table};

const ROLES: &str = "assets/schema/postgres/roles.sql makes a role that may do just that";

/// Tables whose row security policies may hide rows from us.
pub(super) fn hidden(
    server: &mut CheckedServer,
    tables: &[CheckedTable],
) -> Result<Vec<DoctorCheck>, PgError> {
    let mut checks = Vec::new();
    for table in tables {
        let sql = "SELECT row_security_active(($1::text)::regclass)::text";
        if server.value(sql, &[Some(&table.sql)])?.as_deref() == Some("true") {
            checks.push(DoctorCheck::failed(
                "row security",
                format!("it is active on {} for this role: rows may be hidden", plain(table)),
                "use a role with BYPASSRLS, or a policy that lets this one see all",
            ));
        }
    }
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("row security", "it hides no row from this role"));
    }
    Ok(checks)
}

/// Whether every column that acts set may be set, and which privileges are not needed.
pub(super) fn acting(
    server: &mut CheckedServer,
    tables: &[CheckedTable],
    session: SessionMode,
) -> Result<Vec<DoctorCheck>, PgError> {
    let (mut lacking, mut beyond) = (Vec::new(), Vec::new());
    for table in tables {
        lacking.extend(lacks(server, table)?);
        beyond.extend(exceeds(server, table)?);
    }
    let role = server.value("SELECT quote_ident(current_user)", &[])?.unwrap_or_default();
    let mut checks = Vec::new();
    if session == SessionMode::ReadOnly {
        checks.push(DoctorCheck::warning(
            "acting",
            "this session is read-only: every act is refused",
            "if acts are wanted, drop --read-only, or read_only = true of this source in the config",
        ));
    } else if lacking.is_empty() {
        checks.push(DoctorCheck::ok("acting", "this role may set all that acts set"));
    } else {
        let grants: Vec<String> = lacking.iter().map(|grant| format!("GRANT {grant} TO {role};")).collect();
        checks.push(DoctorCheck::failed(
            "acting",
            format!("this role may not {}: acts are refused", lacking.join(", nor ").replace('"', "")),
            format!("{} {ROLES}", grants.join(" ")),
        ));
    }
    let superuser = "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user";
    if server.value(superuser, &[])?.as_deref() == Some("true") {
        beyond.insert(0, "it is a superuser".into());
        beyond.truncate(1);
    }
    checks.push(if beyond.is_empty() {
        DoctorCheck::ok("least rights", "this role can write no more than acts do")
    } else {
        DoctorCheck::warning(
            "least rights",
            format!("this role could write more than acts need: {}", beyond.join("; ")),
            format!("log in as another: {ROLES}"),
        )
    });
    Ok(checks)
}

/// The privileges that acts on a table need and the role lacks, as GRANT names them.
fn lacks(server: &mut CheckedServer, table: &CheckedTable) -> Result<Vec<String>, PgError> {
    let mut lacking = Vec::new();
    if table.has_claims && !table.sets.is_empty() {
        let sql = "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) FROM pg_attribute
             WHERE attrelid = ($1::text)::regclass AND attnum > 0 AND NOT attisdropped
               AND attname = ANY (string_to_array($2::text, chr(31)))
               AND NOT has_column_privilege(attrelid, attnum, 'UPDATE')";
        let wanted = table.sets.join("\u{1f}");
        if let Some(columns) = server.value(sql, &[Some(&table.sql), Some(&wanted)])? {
            lacking.push(format!("UPDATE ({columns}) ON {}", table.sql));
        }
    }
    if table.deletes && !may(server, table, "DELETE")? {
        lacking.push(format!("DELETE ON {}", table.sql));
    }
    Ok(lacking)
}

/// The privileges on a table that no act needs.
fn exceeds(server: &mut CheckedServer, table: &CheckedTable) -> Result<Vec<String>, PgError> {
    let mut more: Vec<String> = Vec::new();
    for right in ["INSERT", "TRUNCATE", "DELETE"] {
        let is_needed = right == "DELETE" && table.deletes;
        if !is_needed && may(server, table, right)? {
            more.push(right.into());
        }
    }
    // An act locks rows of the registry, which requires UPDATE on at least one column.
    if table.has_claims {
        let sql = "SELECT string_agg(attname, ', ' ORDER BY attname) FROM pg_attribute
             WHERE attrelid = ($1::text)::regclass AND attnum > 0 AND NOT attisdropped
               AND attname <> ALL (string_to_array($2::text, chr(31)))
               AND has_column_privilege(attrelid, attnum, 'UPDATE')";
        let needed = table.sets.join("\u{1f}");
        more.extend(
            server
                .value(sql, &[Some(&table.sql), Some(&needed)])?
                .map(|columns| format!("UPDATE of {columns}")),
        );
    }
    let message = format!("{} on {}", more.join(", "), plain(table));
    Ok(if more.is_empty() { Vec::new() } else { vec![message] })
}

fn may(server: &mut CheckedServer, table: &CheckedTable, right: &str) -> Result<bool, PgError> {
    let sql = "SELECT has_table_privilege(($1::text)::regclass, $2::text)::text";
    Ok(server.value(sql, &[Some(&table.sql), Some(right)])?.as_deref() == Some("true"))
}

pub(super) fn audit_table(
    server: &mut CheckedServer,
    tables: &[CheckedTable],
) -> Result<Vec<DoctorCheck>, PgError> {
    const NAME: &str = "audit table";
    let claims: Vec<String> =
        tables.iter().filter(|table| table.has_claims).map(|table| table.sql.clone()).collect();
    let (table, distrust) = server.read(|link| find_audit_table(link, &claims))?;
    if let Some(sentence) = distrust {
        let fix = "ALTER TABLE ... OWNER TO the owner of the claims, or drop it if nobody needs it";
        return Ok(vec![DoctorCheck::warning(NAME, sentence, fix)]);
    }
    let sql = "SELECT has_any_column_privilege(($1::text)::regclass, 'INSERT')::text";
    let may = table.map(|table| server.value(sql, &[Some(&table)])).transpose()?.flatten();
    Ok(vec![match may.as_deref() {
        None => DoctorCheck::ok(
            NAME,
            "there is no table claimtop_audit: the trail alone keeps the records (`claimtop audit init` makes one)",
        ),
        Some("true") => {
            DoctorCheck::ok(NAME, "claimtop_audit is there: a record is part of its act's own transaction")
        }
        Some(_) => DoctorCheck::failed(
            NAME,
            "claimtop_audit is there, but this role may not add to it: every act is refused",
            format!("GRANT INSERT, SELECT ON claimtop_audit; {ROLES}"),
        ),
    }])
}

fn plain(table: &CheckedTable) -> String {
    table.sql.replace('"', "")
}
