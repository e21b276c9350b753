//! Laying a profile onto a real database: every value of it becomes SQL that is known to compile.
//!
//! A column or table that the database lacks is named, unless the profile says that only some versions of the system
//! have it.

mod acts;
mod compiler;
mod misfit;
mod optional;
mod rest;
mod scope;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::act::extension;
use super::bound::{BoundBacklog, BoundBoard, BoundProfile, BoundRegistry, BoundZone, TimeSql};
use super::registrations::Remembered;
use super::schema::{Schema, Table};
use crate::domain::board_id::BoardId;
use crate::domain::fencing::Fencing;
use crate::domain::recovery::Action;
use crate::domain::rules::{DeadlineRule, Rules};
use crate::domain::similar::similar;
use crate::domain::snapshot::{HeldBy, Nature};
use crate::domain::time::ZoneName;
use crate::domain::zone_doubt::ZoneDoubt;
use crate::profile::format::{Backlog, Board, Defaulted, Profile, Registry, Time};
use crate::profile::rules::{Operator, rules};
pub(super) use compiler::{AliasedTable, Compiler, Fragment};
pub use misfit::LeftOut;
pub(super) use misfit::{Lack, Misfit, Problem, RefusedSql, joined};
use optional::Optional;
use rest::{RestBinder, bind_rest};
use scope::{FieldScope, Need};

/// Lays `profile` onto the database, if at least one of its boards fits.
pub(super) fn bind(
    dialect: &dyn Compiler,
    schema: &Schema,
    profile: Profile,
    operator: &Operator,
) -> Result<BoundProfile, Misfit> {
    let mut misfit = Misfit::default();
    let (mut boards, mut left_out) = (Vec::new(), Vec::new());
    let mut profile = profile;
    if let Some(pair) = profile.detect.iter().find(|pair| !schema.has(pair)) {
        return Err(Misfit::lacking(Lack::Detected { name: pair.clone() }));
    }
    let optional = Optional::of(&profile, schema);
    for board in &profile.boards {
        let binder = Binder { dialect, schema, profile: &profile, operator, optional: &optional };
        match binder.board(board, &mut left_out) {
            Ok(board) => boards.push(board),
            Err(other) => {
                if other.is_near() {
                    left_out.push(LeftOut::Board { board: board.name.clone(), lacks: other.lacks.clone() });
                }
                misfit.add(other);
            }
        }
    }
    if !boards.is_empty() && misfit.refused.is_none() {
        let ground = RestBinder { dialect, schema, optional: &optional };
        misfit.refused = bind_rest(&ground, &mut profile, &boards, &mut left_out).err();
    }
    if boards.is_empty() || misfit.refused.is_some() {
        return Err(misfit);
    }
    Ok(BoundProfile { profile, boards, left_out })
}

struct Binder<'a> {
    dialect: &'a dyn Compiler,
    schema: &'a Schema,
    profile: &'a Profile,
    operator: &'a Operator,
    optional: &'a Optional,
}

impl Binder<'_> {
    /// The zone of a table's times that have none: what the operator set goes before the profile.
    fn zone(&self, name: ZoneName, table: &Table, board: &str, misfit: &mut Misfit) -> BoundZone {
        let name = self.operator.zone.clone().unwrap_or(name);
        self.dialect.zone(&name, table).unwrap_or_else(|problem| {
            misfit.complain(board, "zone", Problem::Missing(problem));
            BoundZone::default()
        })
    }

    fn board(&self, board: &Board, left_out: &mut Vec<LeftOut>) -> Result<BoundBoard, Misfit> {
        let Some(table) = self.schema.table(&board.table) else {
            let is_there = self.schema.unreadable().any(|name| name == board.table);
            let table = board.table.clone();
            let near = similar(&table, self.schema.table_names()).map(str::to_owned);
            let lack = if is_there { Lack::Unreadable { table } } else { Lack::Table { table, near } };
            return Err(Misfit::lacking(lack));
        };
        if let Some(pair) = board.detect.iter().find(|pair| !self.schema.has(pair)) {
            return Err(Misfit::lacking(Lack::Detected { name: pair.clone() }));
        }
        if let Err(problem) = self.dialect.usable(table, &board.table) {
            return Err(Misfit::of(&board.name, "table", problem));
        }
        let of_registry = |registry: &Registry| match self.schema.table(&registry.table) {
            Some(table) => self.dialect.usable(table, &registry.table),
            None => Err(Problem::NoTable { table: registry.table.clone() }),
        };
        let registry = match self.profile.registry(board).map(|registry| (registry, of_registry(registry))) {
            Some((registry, Ok(()))) => Some(registry),
            Some((_, Err(problem @ Problem::Refused(_)))) => {
                return Err(Misfit::of(&board.name, "session.table", problem));
            }
            Some((_, Err(problem))) => {
                let note = LeftOut::Registry(problem);
                if !left_out.contains(&note) {
                    left_out.push(note);
                }
                None
            }
            None => None,
        };
        let mut rules = rules(board, registry, self.operator);
        let mut misfit = Misfit::default();
        let zone = self.zone(self.profile.zone_of(board), table, &board.name, &mut misfit);
        let joins = match board.from.as_deref().map(|from| self.dialect.resolve(from, Fragment::Joins)) {
            None => String::new(),
            Some(Ok(joins)) => joins,
            Some(Err(problem)) => return Err(Misfit::of(&board.name, "from", problem)),
        };
        let alone = format!("{} AS c {joins}", table.sql);
        let mut scope = FieldScope {
            from: alone.trim_end().into(),
            board: &board.name,
            zone: zone.clone(),
            misfit,
            ..FieldScope::new(self.dialect, self.optional, table, "c")
        };
        let held = scope.predicate("held", board.held.as_ref());
        let ids = board.id.iter().filter_map(|id| scope.required("id", Some(id)));
        let (id, id_types): (Vec<String>, Vec<String>) = ids.map(|sql| (sql.text, sql.declared)).unzip();
        let holder = scope.required("holder", board.holder.as_ref());
        let mut bound_registry =
            registry.and_then(|registry| self.registry(registry, board, &mut scope.misfit));
        // From here on the expressions may use `s` as well, and those before must bear it.
        if let (Some(registry), Some(holder)) = (&bound_registry, &holder) {
            scope.from = format!(
                "{} LEFT JOIN {} ON {} {} {}",
                scope.from, registry.from, registry.id.text, registry.equality, holder.text
            );
            let before = held.iter().chain(&id).map(String::as_str).chain([holder.text.as_str()]);
            scope.expect_unambiguous(before);
        }
        // The registry knows its members best; without it the claim may still name its process.
        let (pid, host) = match (registry, &bound_registry) {
            (Some(written), Some(registry)) => {
                let mut process = |field: &str, sql: &Option<String>| {
                    scope.of_registry(registry, self.schema, field, sql.as_ref())
                };
                (process("session.pid", &written.pid), process("session.host", &written.host))
            }
            _ => (
                scope.optional_text("pid", board.pid.as_ref()),
                scope.optional_text("host", board.host.as_ref()),
            ),
        };
        let own_version = scope.optional_text("version", board.version.as_ref());
        if let (Some(written), Some(registry)) = (registry, &mut bound_registry) {
            let version = written.version.as_ref();
            registry.version = scope.of_registry(registry, self.schema, "session.version", version);
        }
        let version = bound_registry.as_ref().and_then(|registry| registry.version.clone()).or(own_version);
        let needs_claimed_at = matches!(rules.deadline, DeadlineRule::Ttl | DeadlineRule::Timeout);
        let needs_beat = rules.deadline == DeadlineRule::Ttl && board.claimed_at.is_none();
        let mut time = |field: &str, time: &Option<Time>, is_needed: bool| {
            scope.time(field, time.as_ref(), board.time, Need::required_if(is_needed))
        };
        let claimed_at = time("claimed_at", &board.claimed_at, needs_claimed_at);
        let beat_at = time("beat_at", &board.beat_at, needs_beat);
        let deadline = time("deadline.column", &board.deadline.column, true);
        let deadline = match (deadline, board.deadline.otherwise) {
            (Some(column), Some(otherwise)) => {
                let since: Vec<&TimeSql> = [&claimed_at, &beat_at].into_iter().flatten().collect();
                let either = self.dialect.or_after(&column, &since, otherwise);
                either.map_err(|why| scope.complain("deadline.otherwise", Problem::Missing(why))).ok()
            }
            (deadline, _) => deadline,
        };
        let timeout = scope.required("deadline.claimed_at_plus", board.deadline.claimed_at_plus.as_ref());
        let needs_kind = rules.deadline == DeadlineRule::Ttl && rules.thresholds.ttl.is_none();
        let kind = board.kind.as_ref();
        let kind = if needs_kind { scope.required("kind", kind) } else { scope.optional("kind", kind) };
        let (max_column, max_otherwise) = match &board.max_attempts {
            Some(Defaulted::Column(column)) => (Some(column), None),
            Some(Defaulted::Otherwise(value)) => (value.column.as_ref(), Some(value.otherwise)),
            None => (None, None),
        };
        let max_attempts = scope.optional("max_attempts", max_column);
        let times = [&claimed_at, &beat_at, &deadline].into_iter().flatten().map(|time| &time.cell);
        let own = [&kind, &timeout].into_iter().flatten().chain(times);
        let own: Vec<String> = own.filter(|sql| sql.column.is_none()).map(|sql| sql.text.clone()).collect();
        let disowned = scope.predicate("orphaned_when", board.orphaned_when.as_ref());
        let alive = scope.predicate("alive_when", board.alive_when.as_ref());
        let looks_at_session = own
            .into_iter()
            .chain(disowned.clone())
            .chain(alive.clone())
            .filter(|_| bound_registry.is_some())
            .any(|sql| self.dialect.compile(&sql, alone.trim_end()).is_err());
        let times = [&claimed_at, &beat_at, &deadline].into_iter().flatten();
        let of_registry = bound_registry.iter().flat_map(BoundRegistry::times);
        let unknown = times.chain(of_registry).filter(|time| time.is_naive).find_map(|time| {
            let why = time.zone.unknown.clone()?;
            Some(Arc::new(ZoneDoubt::Undetermined(why)))
        });
        rules.doubt = unknown;
        let bound = BoundBoard {
            board_id: BoardId::new(&self.profile.name, &board.name),
            zone,
            looks_at_session,
            disowned,
            alive,
            name: board.name.clone(),
            table: table.name.clone(),
            unit: board.time,
            has_rowid: table.has_rowid,
            key: table.key_instead_of_rowid(),
            from: alone.trim_end().into(),
            always: self.dialect.always(),
            held,
            id,
            id_types,
            kind: kind.map(|sql| sql.text),
            holder,
            pid,
            host,
            version,
            claimed_at,
            beat_at,
            deadline,
            timeout_type: timeout.as_ref().map(|sql| sql.declared.clone()).unwrap_or_default(),
            timeout: timeout.map(|sql| sql.text),
            attempts: scope.optional_text("attempts", board.attempts.as_ref()),
            max_attempts: match (max_attempts, max_otherwise) {
                (Some(sql), Some(number)) => Some(format!("coalesce({}, {number})", sql.text)),
                (Some(sql), None) => Some(sql.text),
                (None, number) => number.map(|number| number.to_string()),
            },
            error: scope.optional_text("error", board.error.as_ref()),
            priority: scope.optional_text("priority", board.priority.as_ref()),
            backend: scope.required("backend", board.backend.as_ref()),
            registry: bound_registry,
            backlog: self
                .profile
                .backlog(board)
                .and_then(|backlog| self.backlog(backlog, board, &mut scope.misfit)),
            nature: nature(board, &rules),
            rules,
        };
        if scope.misfit.is_empty() { Ok(bound.with_zone_told()) } else { Err(scope.misfit) }
    }

    fn registry(&self, registry: &Registry, board: &Board, misfit: &mut Misfit) -> Option<BoundRegistry> {
        let table = self.schema.table(&registry.table)?;
        let from = format!("{} AS s", table.sql);
        let zone = self.profile.zone_of_registry(board, registry);
        let mut scope = FieldScope {
            board: &board.name,
            zone: self.zone(zone, table, &board.name, misfit),
            ..FieldScope::new(self.dialect, self.optional, table, "s")
        };
        let id = scope.required("session.id", Some(&registry.id));
        let mut time = |field: &str, sql: &Option<String>, need: Need| {
            let column = sql.clone().map(Time::Column);
            scope.time(field, column.as_ref(), registry.time, need)
        };
        let beat_at = time("session.beat_at", &registry.beat_at, Need::Required);
        let stale_at = time("session.stale_at", &registry.stale_at, Need::Required);
        let started_at = time("session.started_at", &registry.started_at, Need::Optional);
        let zone = scope.zone.clone();
        misfit.add(scope.misfit);
        let id = id?;
        Some(BoundRegistry {
            table: table.name.clone(),
            key: table.key_instead_of_rowid(),
            from,
            equality: self.dialect.equality(&id.declared),
            id,
            beat_at,
            stale_at,
            started_at,
            version: None,
            unit: registry.time,
            zone,
            required: registry.required,
            remembered: Remembered::default(),
        })
    }

    /// The backlog, less what this version of the system has no columns for.
    fn backlog(&self, backlog: &Backlog, board: &Board, misfit: &mut Misfit) -> Option<BoundBacklog> {
        let written = backlog.table.as_ref().unwrap_or(&board.table);
        let Some(table) = self.schema.table(written) else {
            let problem = Problem::NoTable { table: written.clone() };
            if !self.optional.excuses(&problem, written) {
                misfit.complain(&board.name, "backlog.table", problem);
            }
            return None;
        };
        self.dialect.usable(table, written).ok()?;
        let from = format!("{} AS c", table.sql);
        let mut scope = FieldScope {
            board: &board.name,
            zone: self.zone(self.profile.zone_of(board), table, &board.name, misfit),
            ..FieldScope::new(self.dialect, self.optional, table, "c")
        };
        let mut states = BTreeMap::new();
        for (state, predicate) in backlog.states() {
            let sql = scope.optional_text(&format!("backlog.{state}"), Some(&predicate.to_owned()));
            states.extend(sql.map(|sql| (state.to_owned(), sql)));
        }
        let oldest = backlog.oldest.clone().map(Time::Column);
        let oldest = scope.time("backlog.oldest", oldest.as_ref(), board.time, Need::Optional);
        misfit.add(scope.misfit);
        Some(BoundBacklog { from, states, oldest })
    }
}

/// What a screen has to know of a board besides its claims.
fn nature(board: &Board, rules: &Rules) -> Arc<Nature> {
    let acts = [
        (Action::Reclaim, &board.reclaim),
        (Action::Release, &board.release),
        (Action::Extend, &board.extend),
        (Action::Requeue, &board.requeue),
    ];
    Arc::new(Nature {
        role: board.role,
        rules: rules.clone(),
        stamped_by: board.stamped_by,
        fencing: Fencing::of(board.fenced),
        held_by: if board.backend.is_some() { HeldBy::Session } else { HeldBy::Row },
        self_heals_after: board.self_heals_after,
        acts: acts.into_iter().filter(|(_, act)| act.is_some()).map(|(action, _)| action).collect(),
        extension: board.extend.as_ref().map(extension).unwrap_or_default(),
        zone: None,
    })
}
