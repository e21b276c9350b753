//! Which profiles fit a database, and how, field by field: for people who write their own.

use std::path::PathBuf;

use super::StoreError;
use super::bind::{Compiler, Lack, LeftOut, Misfit, RefusedSql, bind};
use super::bound::{BoundBoard, BoundProfile, TimeSql};
use super::error::NoProfileFits;
use super::options::{Options, Profiles};
use super::sampling::likeliest;
use super::schema::Schema;
use super::variants::variants;
use crate::profile::format::{Engine, Profile};

/// Tables to name where no profile fits, the likeliest first.
const LISTED: usize = 8;

/// What became of one profile.
#[derive(Debug)]
pub struct Fit {
    pub profile: String,
    pub boards: Vec<FitBoard>,
    /// What of it is not used although it fits.
    pub left_out: Vec<LeftOut>,
    /// Why it does not fit, if none of its boards does.
    pub misfit: Misfit,
}

impl Fit {
    /// Whether a part of it cannot work on this database, and the profile does not call it optional. A registry that
    /// is not there only tells less.
    pub fn is_broken(&self) -> bool {
        self.left_out.iter().any(|what| !matches!(what, LeftOut::Registry(_)))
    }

    /// Why it does not fit, or what of it is not used.
    pub fn problems(&self) -> Vec<String> {
        let Misfit { refused, lacks } = &self.misfit;
        let misfit = refused.iter().map(RefusedSql::to_string).chain(lacks.iter().map(Lack::to_string));
        misfit.chain(self.left_out.iter().map(LeftOut::to_string)).collect()
    }
}

/// A board that fits, and the SQL of each of its fields.
#[derive(Debug)]
pub struct FitBoard {
    pub name: String,
    pub columns: Vec<(&'static str, Option<String>)>,
}

/// A database that profiles are laid onto.
pub(super) struct FitTarget<'a> {
    pub compiler: &'a dyn Compiler,
    pub schema: &'a Schema,
    pub options: &'a Options,
}

impl FitTarget<'_> {
    /// The profiles that fit, or why none does.
    pub(super) fn fitting(&self) -> Result<Vec<BoundProfile>, StoreError> {
        let profiles = &self.options.profiles;
        let mut fitting = Vec::new();
        let mut misfits = Vec::new();
        for profile in profiles.candidates(self.schema, self.engine())? {
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
            return Err(StoreError::NoProfile { path: self.source(), why: NoProfileFits::NothingDead });
        }
        if fitting.is_empty() {
            return Err(self.no_profile(misfits, profiles));
        }
        Ok(fitting)
    }

    /// How each of the profiles fits.
    pub(super) fn describe(&self, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
        let mut fits = Vec::new();
        let mut all = Vec::new();
        for profile in profiles {
            all.extend(variants(profile, self.schema)?);
        }
        for profile in all {
            let name = profile.name.clone();
            fits.push(match self.lay(profile)? {
                Ok(bound) => Fit {
                    profile: name,
                    boards: bound.boards.iter().map(|board| describe(board, &bound.profile)).collect(),
                    left_out: bound.left_out,
                    misfit: Misfit::default(),
                },
                Err(misfit) => Fit { profile: name, boards: Vec::new(), left_out: Vec::new(), misfit },
            });
        }
        Ok(fits)
    }

    fn engine(&self) -> Engine {
        self.compiler.dialect().engine()
    }

    /// What the source is called.
    fn source(&self) -> PathBuf {
        self.options.name().into()
    }

    fn lay(&self, profile: Profile) -> Result<Result<BoundProfile, Misfit>, StoreError> {
        Ok(bind(self.compiler, self.schema, profile.on(self.engine())?, &self.options.operator))
    }

    fn misfit(&self, profile: &str, misfit: Misfit) -> StoreError {
        let (path, profile) = (self.source(), profile.into());
        match misfit.refused {
            Some(RefusedSql { field, why }) => StoreError::Refused { path, profile, field, why },
            None => StoreError::Misfit { path, profile, lacks: misfit.lacks },
        }
    }

    /// Nothing fits: name the profile that nearly did, or the tables that are there.
    fn no_profile(&self, misfits: Vec<(String, Misfit)>, profiles: &Profiles) -> StoreError {
        let near = misfits.into_iter().filter(|(_, misfit)| misfit.is_near());
        let of_fields = |lacks: Vec<Lack>| lacks.into_iter().filter(Lack::is_of_a_field).collect();
        let near: Vec<(String, Vec<Lack>)> =
            near.map(|(name, misfit)| (name, of_fields(misfit.lacks))).collect();
        let tables = likeliest(self.schema, self.engine());
        let unreadable = self.schema.unreadable().filter(|table| profiles.name(table));
        let unreadable: Vec<String> = unreadable.map(str::to_owned).collect();
        let why = if !unreadable.is_empty() {
            NoProfileFits::Unreadable { tables: unreadable }
        } else if !near.is_empty() {
            NoProfileFits::Near(near)
        } else if tables.is_empty() {
            NoProfileFits::NoTables
        } else {
            let more = tables.len().saturating_sub(LISTED);
            let tables = tables.into_iter().take(LISTED).collect();
            NoProfileFits::OtherTables { tables, more }
        };
        StoreError::NoProfile { path: self.source(), why }
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
        add("priority", written.priority.is_some(), board.priority.clone());
        let backend = board.backend.as_ref().map(|sql| sql.text.clone());
        add("backend", written.backend.is_some(), backend);
        add("pid", written.pid.is_some(), board.pid.clone());
        add("host", written.host.is_some(), board.host.clone());
        add("version", written.version.is_some(), board.version.clone());
        if let Some(declared) = profile.registry(written) {
            let registry = board.registry.as_ref();
            add("session", true, registry.map(|registry| registry.from.clone()));
            add("session.id", true, registry.map(|registry| registry.id.text.clone()));
            add(
                "session.beat_at",
                declared.beat_at.is_some(),
                registry.and_then(|registry| time(&registry.beat_at)),
            );
            add(
                "session.started_at",
                declared.started_at.is_some(),
                registry.and_then(|registry| time(&registry.started_at)),
            );
            add("session.pid", declared.pid.is_some(), board.pid.clone());
            add("session.host", declared.host.is_some(), board.host.clone());
            let version = registry.and_then(|registry| registry.version.clone());
            add("session.version", declared.version.is_some(), version);
        }
    }
    FitBoard { name: board.name.clone(), columns }
}
