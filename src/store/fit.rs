//! Which profiles fit a database, and how, field by field: for people who write their own.

use std::path::Path;

use super::StoreError;
use super::bind::{Dialect, Misfit, bind};
use super::bound::{BoundBoard, BoundProfile, TimeSql};
use super::options::Profiles;
use super::sampling::likeliest;
use super::schema::Schema;
use crate::domain::shell::quoted;
use crate::profile::format::{Engine, Profile};
use crate::profile::rules::Operator;

/// Tables to name where no profile fits, the likeliest first.
const LISTED: usize = 8;

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

/// A database that profiles are laid onto.
pub struct FitTarget<'a> {
    pub dialect: &'a dyn Dialect,
    pub engine: Engine,
    pub schema: &'a Schema,
    pub operator: &'a Operator,
    /// What the source is called.
    pub source: &'a Path,
}

impl FitTarget<'_> {
    /// The profiles that fit, or why none does.
    pub fn fitting(&self, profiles: &Profiles) -> Result<Vec<BoundProfile>, StoreError> {
        let mut fitting = Vec::new();
        let mut misfits = Vec::new();
        for profile in profiles.candidates(self.schema, self.engine)? {
            let name = profile.name.clone();
            match self.lay(profile)? {
                Ok(bound) => fitting.push(bound),
                Err(misfit) if profiles.is_a_guess() && misfit.refused.is_none() => {
                    misfits.push((name, misfit));
                }
                Err(misfit) => return Err(self.misfit(&name, misfit)),
            }
        }
        if fitting.is_empty() && matches!(profiles, Profiles::Dead(_)) {
            let hint = ": none of its profiles says what is dead and how to queue it again".into();
            return Err(StoreError::NoProfile { path: self.source.into(), hint });
        }
        if fitting.is_empty() {
            return Err(self.no_profile(misfits, profiles));
        }
        Ok(fitting)
    }

    /// How each of the profiles fits.
    pub fn describe(&self, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
        let mut fits = Vec::new();
        for profile in profiles {
            let name = profile.name.clone();
            fits.push(match self.lay(profile)? {
                Ok(bound) => Fit {
                    profile: name,
                    boards: bound.boards.iter().map(|board| describe(board, &bound.profile)).collect(),
                    missing: bound.notices,
                },
                Err(misfit) => {
                    let refused =
                        misfit.refused.map(|(field, why)| format!("the SQL of {field} is refused: {why}"));
                    let missing = refused.into_iter().chain(misfit.missing).collect();
                    Fit { profile: name, boards: Vec::new(), missing }
                }
            });
        }
        Ok(fits)
    }

    fn lay(&self, profile: Profile) -> Result<Result<BoundProfile, Misfit>, StoreError> {
        Ok(bind(self.dialect, self.schema, profile.on(self.engine)?, self.operator))
    }

    fn misfit(&self, profile: &str, misfit: Misfit) -> StoreError {
        let (path, profile) = (self.source.into(), profile.into());
        match misfit.refused {
            Some((field, why)) => StoreError::Refused { path, profile, field, why },
            None => StoreError::Misfit { path, profile, missing: misfit.missing },
        }
    }

    /// Nothing fits: name the profile that nearly did, or the tables that are there.
    fn no_profile(&self, misfits: Vec<(String, Misfit)>, profiles: &Profiles) -> StoreError {
        let near = misfits.into_iter().filter(|(_, misfit)| misfit.near).map(|(name, misfit)| {
            let columns: Vec<String> =
                misfit.missing.into_iter().filter(|what| what.starts_with("board ")).collect();
            format!("{name} would, but {}", columns.join(", "))
        });
        let near: Vec<String> = near.collect();
        let tables = likeliest(self.schema, self.engine);
        let unreadable: Vec<&str> = self.schema.unreadable().filter(|table| profiles.name(table)).collect();
        let hint = if !unreadable.is_empty() {
            format!("; {} may not be read by us: GRANT SELECT", unreadable.join(", "))
        } else if !near.is_empty() {
            format!(": {}", near.join("; "))
        } else if tables.is_empty() {
            "; it has no tables".into()
        } else {
            let more = tables.len().saturating_sub(LISTED);
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            format!(
                "; its tables are {}{more}; write a profile: `claimtop profile draft {} > FILE.toml` makes a first one for --profile FILE.toml",
                tables[..tables.len().min(LISTED)].join(", "),
                quoted(&self.source.display().to_string())
            )
        };
        StoreError::NoProfile { path: self.source.into(), hint }
    }
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
