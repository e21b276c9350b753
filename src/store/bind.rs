//! Laying a profile onto a real database: every value of it becomes SQL that is known to compile.
//!
//! Optional columns that the database lacks are dropped; a missing required one is named.

mod dialect;
mod misfit;
mod scope;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bound::{BoundBacklog, BoundBoard, BoundProfile, BoundRegistry, BoundZone};
use super::registrations::Remembered;
use super::schema::{Schema, Table};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::Action;
use crate::domain::rules::{DeadlineRule, Rules};
use crate::domain::snapshot::Nature;
use crate::domain::time::ZoneName;
use crate::domain::zone_doubt::ZoneDoubt;
use crate::profile::format::{Backlog, Board, Defaulted, Profile, Registry, Time};
use crate::profile::rules::{Operator, rules};
use crate::profile::similar::similar;
pub use dialect::{Compiler, Fragment};
pub use misfit::{Lack, LeftOut, Misfit, Problem, RefusedSql, joined};
use scope::Scope;

/// Lays `profile` onto the database, if at least one of its boards fits.
pub fn bind(
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
    for board in &profile.boards {
        let binder = Binder { dialect, schema, profile: &profile, operator };
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
        misfit.refused = resolve_rest(dialect, schema, &mut profile, &boards, &mut left_out).err();
    }
    if boards.is_empty() || misfit.refused.is_some() {
        return Err(misfit);
    }
    Ok(BoundProfile { profile, boards, left_out })
}

/// Resolves what is not compiled before it runs: the acts of the boards that fit, and the histories. An act on
/// a table that may not be used is left out. The field that may not run at all, and why.
fn resolve_rest(
    dialect: &dyn Compiler,
    schema: &Schema,
    profile: &mut Profile,
    boards: &[BoundBoard],
    left_out: &mut Vec<LeftOut>,
) -> Result<(), RefusedSql> {
    let mut refused = None;
    let mut resolve = |field: &str, sql: &mut String| -> Option<Problem> {
        if schema.has_column(sql) {
            return None;
        }
        match dialect.resolve(sql, Fragment::Whole) {
            Ok(resolved) => *sql = resolved,
            Err(Problem::Refused(why)) => refused = Some(RefusedSql { field: field.to_owned(), why }),
            Err(problem) => return Some(problem),
        }
        None
    };
    let of_boards = profile
        .boards
        .iter_mut()
        .filter(|board| boards.iter().any(|bound| bound.name == board.name))
        .flat_map(|board| {
            let name = format!("{}.", board.name);
            board.acts().map(move |(act, written)| (format!("{name}{act}"), written))
        });
    let of_session = profile.session.iter_mut().flat_map(|session| session.acts());
    let of_session = of_session.map(|(act, written)| (act.to_owned(), written));
    for (name, written) in of_boards.chain(of_session) {
        let mut unusable = None;
        if let Some(act) = written {
            act.each_sql(&mut |field, sql| {
                unusable = resolve(&format!("{name}.{field}"), sql).or(unusable.take());
            });
        }
        if let Some(problem) = unusable {
            left_out.push(LeftOut::Act { act: name, problem });
            *written = None;
        }
    }
    profile.history.retain_mut(|history| {
        let Some(table) = schema.table(&history.table) else { return true };
        let mut is_usable = dialect.usable(table, &history.table).is_ok();
        let name = history.name.clone();
        history.each_sql(&mut |field, sql| is_usable &= resolve(&format!("{name}.{field}"), sql).is_none());
        is_usable
    });
    refused.map_or(Ok(()), Err)
}

struct Binder<'a> {
    dialect: &'a dyn Compiler,
    schema: &'a Schema,
    profile: &'a Profile,
    operator: &'a Operator,
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
        let mut scope = Scope {
            dialect: self.dialect,
            table,
            alias: "c",
            from: alone.trim_end().into(),
            board: &board.name,
            zone: zone.clone(),
            misfit,
        };
        let held = board.held.as_ref().and_then(|held| scope.predicate("held", held));
        let (id, id_types): (Vec<String>, Vec<String>) = board
            .id
            .iter()
            .filter_map(|id| scope.required("id", id))
            .map(|sql| (sql.text, sql.declared))
            .unzip();
        let holder = board.holder.as_ref().and_then(|holder| scope.required("holder", holder));
        let bound_registry = registry.and_then(|registry| self.registry(registry, board, &mut scope.misfit));
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
                    scope.of_registry(registry, self.schema, field, sql.as_ref()?)
                };
                (process("session.pid", &written.pid), process("session.host", &written.host))
            }
            _ => {
                let mut process = |field: &str, sql: &Option<String>| {
                    scope.optional(field, sql.as_ref()?).map(|sql| sql.text)
                };
                (process("pid", &board.pid), process("host", &board.host))
            }
        };
        let needs_claimed_at = matches!(rules.deadline, DeadlineRule::Ttl | DeadlineRule::Timeout);
        let needs_beat = rules.deadline == DeadlineRule::Ttl && board.claimed_at.is_none();
        let claimed_at = board
            .claimed_at
            .as_ref()
            .and_then(|time| scope.time("claimed_at", time, board.time, needs_claimed_at));
        let beat_at =
            board.beat_at.as_ref().and_then(|time| scope.time("beat_at", time, board.time, needs_beat));
        let deadline = board
            .deadline
            .column
            .as_ref()
            .and_then(|time| scope.time("deadline.column", time, board.time, true));
        let timeout = board
            .deadline
            .claimed_at_plus
            .as_ref()
            .and_then(|seconds| scope.required("deadline.claimed_at_plus", seconds));
        let needs_kind = rules.deadline == DeadlineRule::Ttl && rules.thresholds.ttl.is_none();
        let kind = board.kind.as_ref().and_then(|kind| {
            if needs_kind { scope.required("kind", kind) } else { scope.optional("kind", kind) }
        });
        let (max_column, max_otherwise) = match &board.max_attempts {
            Some(Defaulted::Column(column)) => (Some(column), None),
            Some(Defaulted::Otherwise(value)) => (value.column.as_ref(), Some(value.otherwise)),
            None => (None, None),
        };
        let max_attempts = max_column.and_then(|column| scope.optional("max_attempts", column));
        let own = [&kind, &timeout].into_iter().flatten().map(|sql| sql.text.clone());
        let times =
            [&claimed_at, &beat_at, &deadline].into_iter().flatten().map(|time| time.cell.text.clone());
        let disowned = board.orphaned_when.as_ref().and_then(|sql| scope.predicate("orphaned_when", sql));
        let looks_at_session = own
            .chain(times)
            .chain(disowned.clone())
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
            name: board.name.clone(),
            table: table.name.clone(),
            unit: board.time,
            has_rowid: table.has_rowid,
            key: table.key_instead_of_rowid(),
            width: table.columns.len(),
            from: alone.trim_end().into(),
            always: self.dialect.always(),
            held,
            id,
            id_types,
            kind: kind.map(|sql| sql.text),
            holder,
            pid,
            host,
            claimed_at,
            beat_at,
            deadline,
            timeout_type: timeout.as_ref().map(|sql| sql.declared.clone()).unwrap_or_default(),
            timeout: timeout.map(|sql| sql.text),
            attempts: board
                .attempts
                .as_ref()
                .and_then(|sql| scope.optional("attempts", sql))
                .map(|sql| sql.text),
            max_attempts: match (max_attempts, max_otherwise) {
                (Some(sql), Some(number)) => Some(format!("coalesce({}, {number})", sql.text)),
                (Some(sql), None) => Some(sql.text),
                (None, number) => number.map(|number| number.to_string()),
            },
            error: board.error.as_ref().and_then(|sql| scope.optional("error", sql)).map(|sql| sql.text),
            priority: board
                .priority
                .as_ref()
                .and_then(|sql| scope.optional("priority", sql))
                .map(|sql| sql.text),
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
        let mut scope = Scope {
            dialect: self.dialect,
            table,
            alias: "s",
            from: from.clone(),
            board: &board.name,
            zone: self.zone(zone, table, &board.name, misfit),
            misfit: Misfit::default(),
        };
        let column = |sql: &String| Time::Column(sql.clone());
        let id = scope.required("session.id", &registry.id);
        let beat_at = scope.time("session.beat_at", &column(&registry.beat_at), registry.time, true);
        let stale_at = registry
            .stale_at
            .as_ref()
            .and_then(|sql| scope.time("session.stale_at", &column(sql), registry.time, true));
        let started_at = registry
            .started_at
            .as_ref()
            .and_then(|sql| scope.time("session.started_at", &column(sql), registry.time, false));
        misfit.add(scope.misfit);
        let id = id?;
        Some(BoundRegistry {
            table: table.name.clone(),
            key: table.key_instead_of_rowid(),
            from,
            equality: self.dialect.equality(&id.declared),
            id,
            beat_at: beat_at?,
            stale_at,
            started_at,
            required: registry.required,
            remembered: Remembered::default(),
        })
    }

    /// The backlog, less the states this database has no columns for.
    fn backlog(&self, backlog: &Backlog, board: &Board, misfit: &mut Misfit) -> Option<BoundBacklog> {
        let written = backlog.table.as_ref().unwrap_or(&board.table);
        let table = self.schema.table(written).filter(|table| self.dialect.usable(table, written).is_ok())?;
        let from = format!("{} AS c", table.sql);
        let mut scope = Scope {
            dialect: self.dialect,
            table,
            alias: "c",
            from: from.clone(),
            board: &board.name,
            zone: self.zone(self.profile.zone_of(board), table, &board.name, misfit),
            misfit: Misfit::default(),
        };
        let mut states = BTreeMap::new();
        for (state, predicate) in backlog.states() {
            if let Some(sql) = scope.optional("backlog", predicate) {
                states.insert(state.to_owned(), sql.text);
            }
        }
        let oldest = backlog
            .oldest
            .as_ref()
            .and_then(|sql| scope.time("backlog.oldest", &Time::Column(sql.clone()), board.time, false));
        misfit.refused = misfit.refused.take().or(scope.misfit.refused);
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
        fenced: board.fenced,
        self_heals_after: board.self_heals_after,
        acts: acts.into_iter().filter(|(_, act)| act.is_some()).map(|(action, _)| action).collect(),
        zone: None,
    })
}
