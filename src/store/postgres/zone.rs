//! In which zone does the database write its own clock into a column without one?
//!
//! `now()` becomes a `timestamp` in the `TimeZone` of the session that writes it. A worker's session
//! has that of its role in this database, of its role, of the database, of all, or of the server's
//! configuration, in this order. If the roles that may write a table differ, nobody can know.

use crate::domain::time::{Offset, Zone, ZoneName};
use crate::domain::visible::visible;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::bound::BoundZone;
use crate::store::driver::Row as _;

/// Settings of `TimeZone` for this database or all, for a role or all: of whom, its value, whether that role
/// may log in and write the table, whether it is ours, and whether it is for this database.
const SETTINGS: &str = "
    SELECT coalesce(r.rolname::text, ''), substr(s.line, strpos(s.line, '=') + 1),
      coalesce(r.rolcanlogin AND has_any_column_privilege(r.oid, ($1::text)::regclass, 'INSERT, UPDATE'), false)::text,
      (r.rolname = session_user)::text, (s.setdatabase <> 0)::text
    FROM (SELECT setdatabase, setrole, unnest(setconfig) AS line FROM pg_db_role_setting) AS s
    LEFT JOIN pg_roles AS r ON r.oid = s.setrole
    WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND lower(split_part(s.line, '=', 1)) = 'timezone'
    ORDER BY 5, 1";

/// What this session began with.
const OURS: &str = "SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'";

/// Which of the roles that may write a table have no setting of their own.
const OTHERS: &str = "
    SELECT r.rolname::text FROM pg_roles AS r
    WHERE r.rolcanlogin AND has_any_column_privilege(r.oid, ($1::text)::regclass, 'INSERT, UPDATE')
      AND NOT EXISTS (SELECT FROM pg_db_role_setting AS s, unnest(s.setconfig) AS line
        WHERE s.setrole = r.oid AND lower(split_part(line, '=', 1)) = 'timezone'
          AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())))
    ORDER BY 1 LIMIT 1";

/// What clocks in a zone show at instants of all seasons.
const CLOCKS: &str = "
    SELECT string_agg((at AT TIME ZONE ($1::text))::text, ' ' ORDER BY at)
    FROM generate_series(now() - interval '1 year', now() + interval '1 year', interval '10 days') AS at";

/// Somebody who writes, and the zone of their sessions.
struct Writer {
    name: String,
    zone: String,
}

/// The zone that a name means for the times of a table.
pub(super) fn bound(
    link: &mut Link,
    name: &ZoneName,
    table: &str,
) -> Result<Result<BoundZone, String>, PgError> {
    Ok(Ok(match name {
        ZoneName::Utc => named("UTC"),
        ZoneName::Named(name) => named(name),
        ZoneName::Offset(offset) => BoundZone {
            name: offset.to_string(),
            own: Some(Zone::Offset(*offset)),
            sql: posix(*offset),
            unknown: None,
        },
        ZoneName::Host => {
            return Ok(Err(
                "zone = \"host\" is for files; write server, utc or an offset such as +02:00".into()
            ));
        }
        ZoneName::Server => match of_writers(link, table)? {
            Ok(name) => named(&name),
            Err(why) => BoundZone { unknown: Some(why), ..named("UTC") },
        },
    }))
}

fn named(name: &str) -> BoundZone {
    let is_utc = matches!(name.to_ascii_lowercase().as_str(), "utc" | "etc/utc" | "gmt" | "etc/gmt" | "z");
    let shown = if is_utc { "utc" } else { name };
    BoundZone { name: shown.into(), own: is_utc.then_some(Zone::Utc), sql: name.into(), unknown: None }
}

/// An offset as PostgreSQL reads it in place of a name: by POSIX, west of Greenwich is positive.
fn posix(offset: Offset) -> String {
    format!("<{offset}>{}", Offset::of_minutes(-offset.minutes()))
}

/// The one zone in which all who may write the table do so, or why there is none.
fn of_writers(link: &mut Link, table: &str) -> Result<Result<String, String>, PgError> {
    let mut writers = own_settings(link, table)?;
    let others = link.query(OTHERS, &[Some(table)])?;
    let other = others.first().and_then(|row| row.get(0)).map(str::to_owned);
    if other.is_some() || writers.is_empty() {
        match usual(link, table)? {
            Ok(zone) => writers.push(Writer { name: other.unwrap_or_default(), zone }),
            Err(why) => return Ok(Err(why)),
        }
    }
    let mut first: Option<(Writer, String)> = None;
    for writer in writers {
        let rows = link.query(CLOCKS, &[Some(&writer.zone)])?;
        let clocks = rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned();
        match &first {
            None => first = Some((writer, clocks)),
            Some((known, same)) if *same != clocks => {
                return Ok(Err(format!(
                    "the roles that write {} have different time zones ({} has {}, {} has {}), so its times \
                     without a zone can be either; give them one TimeZone, or set time_zone for this source",
                    table.replace('"', ""),
                    called(&known.name),
                    visible(&known.zone),
                    called(&writer.name),
                    visible(&writer.zone)
                )));
            }
            Some(_) => {}
        }
    }
    Ok(first.map(|(writer, _)| writer.zone).ok_or_else(|| "nobody may write it".to_owned()))
}

fn called(role: &str) -> String {
    if role.is_empty() { "everybody".into() } else { visible(role) }
}

/// The roles with a setting of their own that may write the table: the one for this database goes before
/// the one for all.
fn own_settings(link: &mut Link, table: &str) -> Result<Vec<Writer>, PgError> {
    let mut writers: Vec<Writer> = Vec::new();
    for row in link.query(SETTINGS, &[Some(table)])? {
        let (Some(name), Some(zone), true) = (row.get(0), row.get(1), row.is_true(2)) else { continue };
        writers.retain(|known| known.name != name);
        writers.push(Writer { name: name.into(), zone: zone.into() });
    }
    Ok(writers)
}

/// The zone of roles without a setting of their own.
fn usual(link: &mut Link, table: &str) -> Result<Result<String, String>, PgError> {
    let rows = link.query(SETTINGS, &[Some(table)])?;
    // That for this database comes last.
    let for_all = rows.iter().rev().find(|row| row.get(0) == Some(""));
    if let Some(zone) = for_all.and_then(|row| row.get(1)) {
        return Ok(Ok(zone.to_owned()));
    }
    if rows.iter().any(|row| row.is_true(3)) || link.sets_time_zone() {
        return Ok(Err(
            "this session has a TimeZone of its own, and so cannot see that of the server; give the \
                       database one (ALTER DATABASE ... SET timezone), or set time_zone for this source"
                .into(),
        ));
    }
    let rows = link.query(OURS, &[])?;
    Ok(Ok(rows.first().and_then(|row| row.get(0)).unwrap_or("UTC").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_written_with_the_sign_that_posix_wants() {
        assert_eq!(posix(Offset::of_minutes(120)), "<+02:00>-02:00");
        assert_eq!(posix(Offset::of_minutes(-210)), "<-03:30>+03:30");
    }
}
