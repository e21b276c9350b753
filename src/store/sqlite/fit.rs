//! How profiles fit a database, field by field: for people who write their own.

use super::bind::bind;
use super::bound::{BoundBoard, TimeSql};
use super::open::{self, Opened};
use super::reader::Options;
use super::schema::Schema;
use crate::profile::format::{Engine, Profile};
use crate::store::StoreError;

/// What became of one profile.
#[derive(Debug)]
pub struct Fit {
    pub profile: String,
    pub boards: Vec<FitBoard>,
    pub missing: Vec<String>,
}

/// A board that fits, and the SQL of each of its fields.
#[derive(Debug)]
pub struct FitBoard {
    pub name: String,
    pub columns: Vec<(&'static str, Option<String>)>,
}

/// Lays each of the profiles onto the database.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let Opened { connection, denied, .. } = open::read_only(&options.path, options.busy_timeout)?;
    let sentence = |error| open::explain(&options.path, &error, options.busy_timeout, "reading the schema");
    let schema = Schema::read(&connection).map_err(sentence)?;
    let mut fits = Vec::new();
    for profile in profiles {
        let profile = profile.on(Engine::Sqlite)?;
        let name = profile.name.clone();
        fits.push(match bind(&connection, &denied, &schema, profile, &options.operator) {
            Ok(bound) => Fit {
                profile: name,
                boards: bound.boards.iter().map(|board| describe(board, &bound.profile)).collect(),
                missing: bound.notices,
            },
            Err(misfit) => {
                let refused =
                    misfit.refused.map(|(field, why)| format!("the SQL of {field} is refused: {why}"));
                Fit {
                    profile: name,
                    boards: Vec::new(),
                    missing: refused.into_iter().chain(misfit.missing).collect(),
                }
            }
        });
    }
    Ok(fits)
}

/// Every field that the profile has, with its SQL, if the database has it too.
fn describe(board: &BoundBoard, profile: &Profile) -> FitBoard {
    let time = |time: &Option<TimeSql>| time.as_ref().map(|time| time.cell.text.clone());
    let mut columns = vec![
        ("from", Some(board.from.clone())),
        ("held", Some(board.held.clone().unwrap_or_else(|| "every row".into()))),
        ("id", Some(board.id.join(", "))),
        ("deadline", Some(format!("{:?}", board.rules.deadline).to_lowercase())),
    ];
    let mut add = |field: &'static str, declared: bool, sql: Option<String>| {
        if declared {
            columns.push((field, sql));
        }
    };
    if let Some(written) = profile.boards.iter().find(|written| written.name == board.name) {
        add("deadline.column", written.deadline.column.is_some(), time(&board.deadline));
        add("deadline.claimed_at_plus", written.deadline.claimed_at_plus.is_some(), board.timeout.clone());
        add("holder", written.holder.is_some(), board.holder.as_ref().map(|holder| holder.text.clone()));
        add("kind", written.kind.is_some(), board.kind.clone());
        add("claimed_at", written.claimed_at.is_some(), time(&board.claimed_at));
        add("beat_at", written.beat_at.is_some(), time(&board.beat_at));
        add("attempts", written.attempts.is_some(), board.attempts.clone());
        add("max_attempts", written.max_attempts.is_some(), board.max_attempts.clone());
        add("error", written.error.is_some(), board.error.clone());
        add("pid", written.pid.is_some(), board.pid.clone());
        add("host", written.host.is_some(), board.host.clone());
        if let Some(declared) = profile.registry(written) {
            let registry = board.registry.as_ref();
            add("session", true, registry.map(|registry| registry.from.clone()));
            add("session.id", true, registry.map(|registry| registry.id.text.clone()));
            add("session.beat_at", true, registry.map(|registry| registry.beat_at.cell.text.clone()));
            add(
                "session.started_at",
                declared.started_at.is_some(),
                registry.and_then(|registry| time(&registry.started_at)),
            );
            add("session.pid", declared.pid.is_some(), board.pid.clone());
            add("session.host", declared.host.is_some(), board.host.clone());
        }
    }
    FitBoard { name: board.name.clone(), columns }
}
