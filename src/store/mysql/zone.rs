//! In which zone does a server write its own clock into a `DATETIME`?
//!
//! `NOW()` becomes what a clock in the session's `time_zone` shows. Servers know the names of zones only where somebody
//! has loaded their tables, so a zone is an offset here, and one with summer time is none.

use crate::domain::time::{Offset, Zone, ZoneName};
use crate::mysql::{Link, MyError};
use crate::store::bound::BoundZone;

/// What clocks of the server are ahead of UTC, in minutes, in winter and in summer; and the zone's name.
const SERVER: &str = "SELECT TIMESTAMPDIFF(MINUTE, '2026-01-15 12:00:00', CONVERT_TZ('2026-01-15 12:00:00', '+00:00', @@global.time_zone)),
    TIMESTAMPDIFF(MINUTE, '2026-07-15 12:00:00', CONVERT_TZ('2026-07-15 12:00:00', '+00:00', @@global.time_zone)),
    IF(@@global.time_zone = 'SYSTEM', @@system_time_zone, @@global.time_zone)";

/// The zone that a name means.
pub(super) fn bound(link: &mut Link, name: &ZoneName) -> Result<Result<BoundZone, String>, MyError> {
    Ok(match name {
        ZoneName::Utc => Ok(utc()),
        ZoneName::Named(name) if is_utc(name) => Ok(utc()),
        ZoneName::Offset(offset) => Ok(of_offset(*offset)),
        ZoneName::Named(name) => {
            Err(format!("zone = \"{name}\": on MySQL write server, utc or an offset such as +02:00"))
        }
        ZoneName::Host => {
            Err("zone = \"host\" is for files; write server, utc or an offset such as +02:00".into())
        }
        ZoneName::Server => Ok(of_server(link)?),
    })
}

pub(super) fn utc() -> BoundZone {
    BoundZone { name: "utc".into(), own: Some(Zone::Utc), sql: "+00:00".into(), unknown: None }
}

fn is_utc(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "utc" | "etc/utc" | "gmt" | "etc/gmt" | "z" | "+00:00")
}

fn of_offset(offset: Offset) -> BoundZone {
    let name = offset.to_string();
    BoundZone { sql: name.clone(), own: Some(Zone::Offset(offset)), name, unknown: None }
}

fn of_server(link: &mut Link) -> Result<BoundZone, MyError> {
    let rows = link.query(SERVER, Vec::new())?;
    let minutes = |at: usize| rows.first().and_then(|row| row.text(at)?.parse::<i16>().ok());
    let name = rows.first().and_then(|row| row.text(2)).unwrap_or_default();
    Ok(match (minutes(0), minutes(1)) {
        (Some(0), Some(0)) => utc(),
        (Some(winter), Some(summer)) if winter == summer => of_offset(Offset::of_minutes(winter)),
        _ => {
            let why = format!(
                "the server's time zone {name} has summer time or is not known, so that a DATETIME can mean two \
                 instants; set time_zone for this source to utc or to an offset such as +02:00"
            );
            BoundZone { unknown: Some(why), ..utc() }
        }
    })
}
