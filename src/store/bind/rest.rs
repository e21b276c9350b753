//! The rest of a profile, once its boards fit: acts, ends of sessions and histories.

use super::acts::{BoundActs, Unusable};
use super::compiler::Compiler;
use super::misfit::{LeftOut, Problem, RefusedSql};
use super::optional::Optional;
use super::scope::FieldScope;
use crate::profile::format::{Act, History, Profile};
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::schema::Schema;

/// Lays the rest of a profile onto the database: the acts of the boards that fit, and the histories. An act that
/// does not fit cannot be done, and says why; a history is left out. The field that may not run at all, and why.
pub(super) fn bind_rest(
    ground: &RestBinder<'_>,
    profile: &mut Profile,
    boards: &[BoundBoard],
    left_out: &mut Vec<LeftOut>,
) -> Result<(), RefusedSql> {
    let own_end = profile.session.as_mut().and_then(|session| session.end.as_mut());
    let shared = boards.iter().find(|board| {
        let written = profile.boards.iter().find(|written| written.name == board.name);
        written.is_some_and(|written| written.session.is_none())
    });
    if let (Some(end), Some(registry)) = (own_end, shared.and_then(|board| board.registry.as_ref())) {
        ground.end("session.end", end, registry, left_out)?;
    }
    for board in boards {
        let Some(table) = ground.schema.table(&board.table) else { continue };
        let Some(written) = profile.boards.iter_mut().find(|written| written.name == board.name) else {
            continue;
        };
        let acts = BoundActs::on_claims(ground.dialect, ground.optional, table, board);
        let refuse_when = written.refuse_when.clone();
        for (name, act) in written.acts() {
            if let Some(act) = act {
                act.refuse_when(refuse_when.as_deref());
                ground.act(&format!("{}.{name}", board.name), act, &acts, left_out)?;
            }
        }
        let end = written.session.as_mut().and_then(|session| session.end.as_mut());
        if let (Some(end), Some(registry)) = (end, &board.registry) {
            ground.end(&format!("{}.session.end", board.name), end, registry, left_out)?;
        }
    }
    let mut refused = None;
    profile.history.retain_mut(|history| match ground.history(history) {
        Ok(is_there) => is_there,
        Err(unusable) => {
            let name = history.name.clone();
            match unusable.refused(&name) {
                Ok(sql) => refused = Some(sql),
                Err(Unusable { field, problem }) => {
                    left_out.push(LeftOut::History { history: name, field, problem });
                }
            }
            false
        }
    });
    refused.map_or(Ok(()), Err)
}

/// A database, and what a profile may lack in it.
pub(super) struct RestBinder<'a> {
    pub(super) dialect: &'a dyn Compiler,
    pub(super) schema: &'a Schema,
    pub(super) optional: &'a Optional,
}

impl RestBinder<'_> {
    fn act(
        &self,
        name: &str,
        act: &mut Act,
        acts: &BoundActs<'_>,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<(), RefusedSql> {
        for unusable in acts.fit(act) {
            let Unusable { field, problem } = match unusable.refused(name) {
                Ok(refused) => return Err(refused),
                Err(unusable) => unusable,
            };
            act.unusable.get_or_insert_with(|| format!("{problem} ({field})"));
            left_out.push(LeftOut::Act { act: name.to_owned(), field, problem });
        }
        Ok(())
    }

    fn end(
        &self,
        name: &str,
        end: &mut Act,
        registry: &BoundRegistry,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<(), RefusedSql> {
        let Some(table) = self.schema.table(&registry.table) else { return Ok(()) };
        let acts = BoundActs::on_sessions(self.dialect, self.optional, table, registry);
        self.act(name, end, &acts, left_out)
    }

    /// Whether a history can be read here; it cannot where this version of the system keeps none.
    fn history(&self, history: &mut History) -> Result<bool, Unusable> {
        let unusable = |field: &str| {
            let field = field.to_owned();
            move |problem| Unusable { field, problem }
        };
        let Some(table) = self.schema.table(&history.table) else {
            let problem = Problem::NoTable { table: history.table.clone() };
            let is_excused = self.optional.excuses(&problem, &history.table);
            return if is_excused { Ok(false) } else { Err(unusable("table")(problem)) };
        };
        self.dialect.usable(table, &history.table).map_err(unusable("table"))?;
        let scope = FieldScope::new(self.dialect, self.optional, table, "c");
        let History { only, id, kind, holder, state, at, what, .. } = history;
        let needed = [("id", Some(id)), ("at", Some(at)), ("what", Some(what)), ("where", only.as_mut())];
        for (field, sql) in needed.into_iter().filter_map(|(field, sql)| Some((field, sql?))) {
            match scope.lookup(sql).and_then(|_| scope.resolved(sql)) {
                Ok(found) => *sql = found,
                Err(problem) if self.optional.excuses(&problem, sql) => return Ok(false),
                Err(problem) => return Err(unusable(field)(problem)),
            }
        }
        for (field, value) in [("kind", kind), ("holder", holder), ("state", state)] {
            let Some(sql) = value else { continue };
            match scope.lookup(sql).and_then(|_| scope.resolved(sql)) {
                Ok(found) => *sql = found,
                Err(problem) if self.optional.excuses(&problem, sql) => *value = None,
                Err(problem) => return Err(unusable(field)(problem)),
            }
        }
        Ok(true)
    }
}
