//! A profile as it is on one database: SQL over `c`, the claim's row, and `s`, its holder's.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::driver::{Dialect, TimeForm};
use super::named_params::NamedParams;
use super::registrations::Remembered;
use crate::domain::board_id::BoardId;
use crate::domain::claim::{Registry, Session};
use crate::domain::rules::Rules;
use crate::domain::snapshot::Nature;
use crate::domain::time::{Moment, Reading, Span, TimeUnit, Zone};
use crate::domain::value::Value;
use crate::domain::verdict::gives_up;
use crate::domain::zone_doubt::ZoneDoubt;
use crate::profile::format::Profile;
use crate::store::schema::Names;

/// A profile that fits a database.
#[derive(Debug)]
pub(super) struct BoundProfile {
    pub profile: Profile,
    pub boards: Vec<BoundBoard>,
    pub left_out: Vec<super::bind::LeftOut>,
}

/// A board as SQL over `c`, the claim's row, and `s`, its holder's registry row.
#[derive(Debug)]
pub struct BoundBoard {
    pub board_id: BoardId,
    pub name: String,
    pub rules: Rules,
    pub nature: Arc<Nature>,
    pub table: String,
    /// The unit in which `:now` is given to the profile's expressions.
    pub unit: TimeUnit,
    /// The zone of its times that have none.
    pub zone: BoundZone,
    pub has_rowid: bool,
    /// The columns that tell rows apart which have no rowid.
    pub key: Arc<Names>,
    /// `FROM` without the registry.
    pub from: String,
    /// The condition that every row meets.
    pub always: &'static str,
    pub held: Option<String>,
    pub id: Vec<String>,
    /// The types of these.
    pub id_types: Vec<String>,
    pub kind: Option<String>,
    pub holder: Option<Sql>,
    /// The process, out of the registry's row or the claim's.
    pub pid: Option<String>,
    pub host: Option<String>,
    /// The version of its software, out of either row.
    pub version: Option<String>,
    pub claimed_at: Option<TimeSql>,
    pub beat_at: Option<TimeSql>,
    pub deadline: Option<TimeSql>,
    pub timeout: Option<String>,
    pub timeout_type: String,
    pub disowned: Option<String>,
    /// The condition for its holder to be at work.
    pub alive: Option<String>,
    pub attempts: Option<String>,
    pub max_attempts: Option<String>,
    pub error: Option<String>,
    /// The claims with the lowest value go first.
    pub priority: Option<String>,
    /// The server session that holds the claim.
    pub backend: Option<Sql>,
    pub registry: Option<BoundRegistry>,
    /// The claim's own values are partly taken from its holder's row.
    pub looks_at_session: bool,
    pub backlog: Option<BoundBacklog>,
}

impl BoundBoard {
    /// The condition for a row to be a claim.
    pub fn is_held(&self) -> &str {
        self.held.as_deref().unwrap_or(self.always)
    }

    /// Whether one row can be told from all others, and so be acted on; those of a view cannot.
    pub fn is_addressable(&self) -> bool {
        self.has_rowid || !self.key.is_empty()
    }

    /// The values that a profile's own expressions may name in reading.
    pub fn clock(&self, dialect: &dyn Dialect, now: Moment) -> NamedParams {
        let mut params = NamedParams::default();
        dialect.add_time(&mut params, "now", self.form(), self.rules.claim_now(now));
        params
    }

    /// How its columns hold times.
    pub(super) fn form(&self) -> TimeForm<'_> {
        TimeForm { unit: self.unit, zone: Some(&self.zone) }
    }

    /// Whether time alone can end or begin a claim.
    pub fn moves(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.contains(":now")) || self.from.contains(":now")
    }

    /// `FROM` with the registry if that is `needed`, here or by the claim's own values.
    pub fn joined_if(&self, needed: bool) -> String {
        if needed || self.looks_at_session { self.joined() } else { self.from.clone() }
    }

    /// Whether one of the times that verdicts rest on may name no zone.
    pub fn has_naive_times(&self) -> bool {
        let registry = self.registry.iter().flat_map(BoundRegistry::times);
        let own = [&self.claimed_at, &self.beat_at, &self.deadline].into_iter().flatten();
        own.chain(registry).any(|time| time.is_naive)
    }

    /// The zone in which they are read, as people call it.
    pub fn read_as(&self) -> &str {
        let own = [&self.claimed_at, &self.beat_at, &self.deadline].into_iter().flatten();
        let registry = self.registry.iter().flat_map(BoundRegistry::times);
        own.chain(registry).find(|time| time.is_naive).map_or(&self.zone.name, |time| &time.zone.name)
    }

    /// The same with the zone for people to see.
    pub fn with_zone_told(mut self) -> BoundBoard {
        let zone = self.has_naive_times().then(|| self.read_as().to_owned());
        self.nature = Arc::new(Nature { zone, ..Nature::clone(&self.nature) });
        self
    }

    /// Believes its times from now on, or no longer.
    pub fn set_doubt(&mut self, doubt: Option<Arc<ZoneDoubt>>) {
        self.rules.doubt = doubt;
        self.nature = Arc::new(Nature { rules: self.rules.clone(), ..Nature::clone(&self.nature) });
    }

    /// Whether the system has given a session up.
    pub fn gives_up_on(&self, session: &Session, now: Moment) -> bool {
        if self.rules.doubt.is_some() {
            return false;
        }
        let limit = self.rules.thresholds.orphan_after;
        gives_up(session, limit).is_some_and(|at| at < self.rules.session_now(now))
    }

    /// `FROM` with the registry, where there is one.
    pub fn joined(&self) -> String {
        match (&self.registry, &self.holder) {
            (Some(registry), Some(holder)) => {
                let BoundRegistry { from, id, equality, .. } = registry;
                format!("{} LEFT JOIN {from} ON {} {equality} {}", self.from, id.text, holder.text)
            }
            _ => self.from.clone(),
        }
    }
}

/// An expression, and the column where it is nothing else.
#[derive(Debug, Clone)]
pub struct Sql {
    pub text: String,
    pub column: Option<String>,
    /// Its type, as far as the engine knows one.
    pub declared: String,
}

/// A zone as one database understands it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoundZone {
    /// As people call it.
    pub name: String,
    /// In which this program reads and writes texts, if it can.
    pub own: Option<Zone>,
    /// As PostgreSQL's `AT TIME ZONE` takes it.
    pub sql: String,
    /// Why it cannot be known.
    pub unknown: Option<String>,
}

/// A time as SQL.
#[derive(Debug, Clone)]
pub struct TimeSql {
    /// The cell itself.
    pub cell: Sql,
    pub unit: TimeUnit,
    /// What is selected to be read in `unit`.
    pub selected: String,
    /// What a bound can be compared with.
    pub comparable: String,
    /// The type of such a bound, where the engine has types; nothing if its values cannot be compared
    /// safely.
    pub bound_type: Option<&'static str>,
    pub zone: BoundZone,
    /// Its cells may name no zone.
    pub is_naive: bool,
}

impl TimeSql {
    /// What a cell of it holds.
    pub fn read(&self, value: &Value) -> Reading {
        self.unit.read_in(value, self.zone.own.unwrap_or_default())
    }

    /// The unit of `comparable`.
    pub fn compared_in(&self) -> TimeUnit {
        if self.unit.is_number() { self.unit } else { TimeUnit::UnixUs }
    }
}

#[derive(Debug, Clone)]
pub struct BoundRegistry {
    pub table: String,
    /// The columns that tell rows apart which have no rowid.
    pub key: Arc<Names>,
    /// `FROM` of the registry alone.
    pub from: String,
    pub id: Sql,
    /// The operator that compares it with a claim's holder.
    pub equality: String,
    pub beat_at: Option<TimeSql>,
    pub stale_at: Option<TimeSql>,
    pub started_at: Option<TimeSql>,
    pub version: Option<String>,
    /// The unit in which `:now` is given to the end of a session, and the zone.
    pub unit: TimeUnit,
    pub zone: BoundZone,
    /// Every holder has to be in it.
    pub required: bool,
    /// Who was in it before.
    pub remembered: Remembered,
}

impl BoundRegistry {
    /// What it means that a holder is not in it.
    pub fn lacks(&self, holder: Option<&str>) -> Registry {
        let is_gone = || holder.is_some_and(|holder| self.remembered.is_gone(&self.table, holder));
        if self.required || is_gone() { Registry::Missing } else { Registry::Unregistered }
    }

    /// The times that verdicts rest on.
    pub fn times(&self) -> impl Iterator<Item = &TimeSql> {
        self.beat_at.iter().chain(&self.stale_at)
    }

    /// The time from which a session counts as given up, and how long after it; nothing, if none of its times tells.
    pub fn given_up(&self, orphan_after: Span) -> Option<(&TimeSql, Span)> {
        let by_beat = || self.beat_at.as_ref().map(|beat| (beat, orphan_after));
        self.stale_at.as_ref().map(|stale_at| (stale_at, Span::ZERO)).or_else(by_beat)
    }
}

#[derive(Debug)]
pub struct BoundBacklog {
    pub from: String,
    pub states: BTreeMap<String, String>,
    pub oldest: Option<TimeSql>,
}

impl BoundBacklog {
    /// Whether time alone can change its counts.
    pub fn moves(&self) -> bool {
        self.states.values().any(|predicate| predicate.contains(":now"))
    }
}
