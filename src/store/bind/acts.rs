//! The acts of a profile, compiled without being run: what somebody will need at three in the morning is known to
//! work before.

use super::compiler::{AliasedTable, Compiler, Fragment};
use super::misfit::{Problem, RefusedSql};
use super::optional::Optional;
use crate::domain::recovery::Refusal;
use crate::domain::similar::similar;
use crate::profile::format::{Act, Statement};
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::named_params::NamedParams;
use crate::store::schema::Table;
use crate::store::statements::{blocked, names_of_claim, names_of_session, old_names};

/// A field of an act, and why it cannot be used.
pub(super) struct Unusable {
    pub(super) field: String,
    pub(super) problem: Problem,
}

/// The rows that some acts are done to.
pub(super) struct BoundActs<'a> {
    compiler: &'a dyn Compiler,
    optional: &'a Optional,
    table: &'a Table,
    alias: &'static str,
    /// The row, and what is joined to it.
    from: String,
    /// The values that expressions may name.
    params: NamedParams,
}

impl<'a> BoundActs<'a> {
    /// Those on the claims of a board.
    pub(super) fn on_claims(
        compiler: &'a dyn Compiler,
        optional: &'a Optional,
        table: &'a Table,
        board: &BoundBoard,
    ) -> BoundActs<'a> {
        let params = names_of_claim(compiler.dialect(), board);
        BoundActs { compiler, optional, table, alias: "c", from: board.joined(), params }
    }

    /// Those on the sessions of a registry.
    pub(super) fn on_sessions(
        compiler: &'a dyn Compiler,
        optional: &'a Optional,
        table: &'a Table,
        registry: &BoundRegistry,
    ) -> BoundActs<'a> {
        let params = names_of_session(compiler.dialect(), registry);
        BoundActs { compiler, optional, table, alias: "s", from: registry.from.clone(), params }
    }

    /// Resolves and compiles everything that an act would run: all that is wrong with it. What this version of the
    /// system lacks, by the profile's own word, is left out.
    pub(super) fn fit(&self, act: &mut Act) -> Vec<Unusable> {
        let mut wrong = self.values(act);
        let mut with_old = self.params.clone();
        with_old.extend(old_names(self.table));
        for (field, statements) in [("before", &mut act.before), ("also", &mut act.also)] {
            let mut kept = Vec::new();
            for statement in std::mem::take(statements) {
                match self.statement(statement.clone(), &with_old) {
                    Ok(fitting) => kept.push(fitting),
                    Err(problem) if self.optional.excuses(&problem, &statement.sql) => {}
                    Err(problem) => wrong.push(Unusable { field: field.into(), problem }),
                }
            }
            *statements = kept;
        }
        if let Some(problem) = self.condition(act).err() {
            wrong.push(Unusable { field: "blocked_by, refuse_when".into(), problem });
        }
        wrong
    }

    /// The condition that refuses an act.
    fn condition(&self, act: &mut Act) -> Result<(), Problem> {
        let Some(condition) = &mut act.blocked_by else { return Ok(()) };
        *condition = self.resolve(condition)?;
        act.outside.extend(self.compiler.effects(condition));
        let asked = blocked(&self.from, self.compiler.always(), condition);
        self.compile(&asked, &self.params)
    }

    /// The values that an act sets.
    fn values(&self, act: &mut Act) -> Vec<Unusable> {
        let mut wrong = Vec::new();
        let unusable = |column: &str, problem| Unusable { field: format!("set.{column}"), problem };
        for (column, value) in std::mem::take(&mut act.set) {
            match self.column(&column).and_then(|()| self.resolve(&value)) {
                Ok(resolved) => drop(act.set.insert(column, resolved)),
                // Nothing is lost: the column is not there. A value that lacks something is another matter.
                Err(problem @ Problem::NoColumn { .. }) if self.optional.excuses(&problem, &column) => {}
                Err(problem) => wrong.push(unusable(&column, problem)),
            }
        }
        // All at once; one by one only to find out which of them it is.
        let is_left = act.delete || !act.set.is_empty() || wrong.is_empty();
        if let Some(problem) = self.changes(act).err().filter(|_| is_left) {
            let known = wrong.len();
            for (column, value) in &act.set {
                let alone = Act { set: [(column.clone(), value.clone())].into(), ..Act::default() };
                wrong.extend(self.changes(&alone).err().map(|problem| unusable(column, problem)));
            }
            if wrong.len() == known {
                wrong.push(Unusable { field: "set".into(), problem });
            }
        }
        act.outside = act.set.values().flat_map(|value| self.compiler.effects(value)).collect();
        wrong
    }

    fn column(&self, column: &str) -> Result<(), Problem> {
        if self.table.written().any(|written| written.name.eq_ignore_ascii_case(column)) {
            return Ok(());
        }
        let near = similar(column, self.table.written().map(|written| written.name.as_str()));
        let (table, near) = (self.table.name.clone(), near.map(str::to_owned));
        Err(Problem::NoColumn { table, column: column.into(), near })
    }

    /// Whether the act itself could run.
    fn changes(&self, act: &Act) -> Result<(), Problem> {
        if !act.delete && act.set.is_empty() {
            return Err(Problem::Missing(Refusal::NoColumns { act: "the act" }.to_string()));
        }
        act.set.values().try_for_each(|value| expect_known(value, &self.params))?;
        let rows = AliasedTable { table: self.table, alias: self.alias };
        self.compiler.prepare_act(act, &rows, &self.params)
    }

    fn statement(&self, mut statement: Statement, params: &NamedParams) -> Result<Statement, Problem> {
        statement.sql = self.resolve(&statement.sql)?;
        statement.outside = self.compiler.effects(&statement.sql);
        self.compile(&statement.sql, params)?;
        Ok(statement)
    }

    fn resolve(&self, sql: &str) -> Result<String, Problem> {
        match self.table.column(sql) {
            Some(_) => Ok(sql.to_owned()),
            None => self.compiler.resolve(sql, Fragment::Whole),
        }
    }

    fn compile(&self, sql: &str, params: &NamedParams) -> Result<(), Problem> {
        expect_known(sql, params)?;
        self.compiler.prepare(sql, params)
    }
}

impl Unusable {
    /// As the refusal of a whole profile, if that is what it is.
    pub(super) fn refused(self, act: &str) -> Result<RefusedSql, Unusable> {
        match self.problem {
            Problem::Refused(why) => Ok(RefusedSql { field: format!("{act}.{}", self.field), why }),
            problem => Err(Unusable { problem, ..self }),
        }
    }
}

/// A name that stands for nothing would be NULL.
pub(super) fn expect_known(sql: &str, params: &NamedParams) -> Result<(), Problem> {
    let Some(unknown) = params.unknown_in(sql) else { return Ok(()) };
    if let Some(column) = unknown.strip_prefix("old.") {
        let near = similar(column, params.names().filter_map(|name| name.strip_prefix("old.")));
        let near = near.map_or_else(String::new, |near| format!("; did you mean :old.{near}?"));
        return Err(Problem::Missing(format!("there is no :{unknown} here{near}")));
    }
    let is_own = |name: &&str| !name.ends_with("_zoned") && !name.ends_with("_naive") && !name.contains('.');
    let known: Vec<String> = params.names().filter(is_own).map(|name| format!(":{name}")).collect();
    let known = if known.is_empty() { "none".into() } else { known.join(", ") };
    Err(Problem::Missing(format!("unknown parameter :{unknown}; known here: {known}")))
}
