//! The statements of an act: what the profile says is done, inside a guard that the program adds.

use super::act::{Order, ordered};
use super::bound::{BoundBoard, BoundRegistry};
use super::driver::{Dialect, TimeForm};
use super::image::Image;
use super::image_sql::guard_in_statement;
use super::named_params::NamedParams;
use super::schema::Table;
use super::seen::Seen;
use super::session::Registered;
use super::watched::BoardAt;
use crate::domain::claim::Claim;
use crate::domain::recovery::{Action, Authorization, Refusal};
use crate::domain::rules::Thresholds;
use crate::domain::time::{Moment, Span};
use crate::domain::value::Value;
use crate::profile::format::{Act, Statement};

/// What runs, in order, and the values it runs with.
#[derive(Debug)]
pub(super) struct Statements {
    /// Selects something if the act is forbidden.
    pub blocked_by: Option<String>,
    pub before: Vec<Statement>,
    /// Changes the row called `alias`, if every condition of the guard holds.
    pub act: String,
    pub alias: &'static str,
    /// These conditions alone.
    pub conditions: String,
    /// The columns that the act sets, each with its expression.
    pub assignments: Vec<(String, String)>,
    pub effect: RowEffect,
    pub also: Vec<Statement>,
    pub params: NamedParams,
    /// Functions that the act itself calls and that may have effects outside of the transaction.
    outside: Vec<String>,
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowEffect {
    Deleted,
    /// These columns change.
    Changed(Vec<String>),
}

impl RowEffect {
    pub(super) fn of(act: &Act) -> RowEffect {
        if act.delete { RowEffect::Deleted } else { RowEffect::Changed(act.set.keys().cloned().collect()) }
    }

    /// Whether it gives a row of the table another key, where rows are addressed by that.
    pub(super) fn renames(&self, table: &Table) -> bool {
        let key = table.key_instead_of_rowid();
        match self {
            RowEffect::Deleted => false,
            RowEffect::Changed(set) => {
                set.iter().any(|column| key.iter().any(|name| name.eq_ignore_ascii_case(column)))
            }
        }
    }
}

/// The rows that an act is done to.
#[derive(Debug)]
pub(super) struct Guarded<'a> {
    pub table: &'a Table,
    pub alias: &'static str,
    /// What is joined, if anything is.
    pub from: &'a str,
    pub conditions: &'a str,
}

/// The statement that does an act to the rows for which the conditions hold; an error if it would set nothing.
pub(super) fn guarded(
    dialect: &dyn Dialect,
    act: &Act,
    rows: &Guarded<'_>,
    verb: &'static str,
) -> Result<String, Refusal> {
    let Guarded { table, alias, from, conditions } = rows;
    let joined = |with: &str| if from.is_empty() { String::new() } else { format!(" {with} {from}") };
    if act.delete {
        return Ok(format!("DELETE FROM {} AS {alias}{} WHERE {conditions}", table.sql, joined("USING")));
    }
    // Every column was there when the profile was laid onto the tables.
    let set = act.set.iter().map(|(column, value)| Some(dialect.assignment(table.column(column)?, value)));
    let set: Option<Vec<String>> = set.collect();
    let Some(set) = set.filter(|set| !set.is_empty()) else {
        return Err(Refusal::NoColumns { act: verb });
    };
    let from = joined("FROM");
    Ok(format!("UPDATE {} AS {alias} SET {}{from} WHERE {conditions}", table.sql, set.join(", ")))
}

impl Statements {
    /// Those of an act on exactly the row that was looked at, or why there are none.
    ///
    /// The guard compares every column of the row and, where the engine counts them, its version. So whatever
    /// was written since the look keeps the act from being done.
    pub(super) fn of_claim(
        dialect: &dyn Dialect,
        at: &BoardAt<'_>,
        table: &Table,
        fresh: &Seen,
        order: &Order<'_>,
        still_stale: impl FnOnce(&mut NamedParams) -> Option<String>,
    ) -> Result<Statements, Refusal> {
        let board = at.board();
        let act = ordered(at.profile, &board.name, order)?;
        let mut params = NamedParams::default();
        let is_it = dialect.is_claim(board, fresh, &mut params);
        let mut conditions = vec![is_it.clone()];
        conditions.extend(is_version(dialect, "c", fresh.version.as_ref(), &mut params));
        conditions.extend(guard_in_statement(dialect, table, &fresh.row, "c", "seen", &mut params));
        params.extend(values(dialect, board, fresh, order));
        params.extend(old_values(act, table, &fresh.row));
        // A reclaim that nobody forces asks the database once more, at this instant, whether the claim is stale or
        // orphaned.
        if let Some(stale) = still_stale(&mut params) {
            let (from, held) = (board.joined(), board.is_held());
            conditions.push(format!("EXISTS (SELECT 1 FROM {from} WHERE {is_it} AND {held} AND ({stale}))"));
        }
        let rows = Guarded { table, alias: "c", from: "", conditions: &conditions.join(" AND ") };
        let written = guarded(dialect, act, &rows, order.action.as_str())?;
        Ok(Statements::new(act, &rows, written, (&board.joined(), &is_it), params))
    }

    /// The same for the end of a session.
    pub(super) fn of_session(
        dialect: &dyn Dialect,
        at: &BoardAt<'_>,
        table: &Table,
        fresh: &Registered,
        authorization: &Authorization,
    ) -> Result<Statements, Refusal> {
        let end = at.end().ok_or_else(|| Refusal::NoSessionEnd { profile: fresh.profile.clone() })?;
        let registry = at.board().registry.as_ref().ok_or(Refusal::RegistryGone)?;
        if let Some(why) = &end.unusable {
            return Err(Refusal::UnusableEnd { why: why.clone() });
        }
        let now = at.board().rules.session_now(fresh.now);
        let mut params = session_values(dialect, registry, now, authorization.reason.as_ref(), &fresh.id);
        params.extend(old_values(end, table, &fresh.row));
        let is_it = dialect.is_session(registry, fresh, &mut params);
        let mut conditions = vec![is_it.clone()];
        conditions.extend(is_version(dialect, "s", fresh.version.as_ref(), &mut params));
        conditions.extend(guard_in_statement(dialect, table, &fresh.row, "s", "seen", &mut params));
        let rows = Guarded { table, alias: "s", from: "", conditions: &conditions.join(" AND ") };
        let written = guarded(dialect, end, &rows, "the end of a session")?;
        Ok(Statements::new(end, &rows, written, (&registry.from, &is_it), params))
    }

    fn new(
        act: &Act,
        rows: &Guarded<'_>,
        written: String,
        (from, is_it): (&str, &str),
        params: NamedParams,
    ) -> Statements {
        let (before, also) = act.steps();
        Statements {
            blocked_by: act.blocked_by.as_ref().map(|forbidden| blocked(from, is_it, forbidden)),
            before,
            act: written,
            alias: rows.alias,
            conditions: rows.conditions.to_owned(),
            assignments: act.set.iter().map(|(column, value)| (column.clone(), value.clone())).collect(),
            effect: RowEffect::of(act),
            also,
            params,
            outside: act.outside.clone(),
        }
    }

    /// Whether there is nothing but the act itself.
    pub(super) fn is_alone(&self) -> bool {
        self.before.is_empty() && self.also.is_empty()
    }

    /// Everything as it would run, and the values it names.
    pub(super) fn preview(&self) -> Vec<String> {
        let beside = |statement: &Statement| (statement.sql.clone(), statement.outside.join(", "));
        let act = (self.act.clone(), String::new());
        let all = self.before.iter().map(beside).chain([act]).chain(self.also.iter().map(beside));
        let lines = all.flat_map(|(sql, outside)| {
            let left_out = (!outside.is_empty())
                .then(|| format!("  left out of a dry run: the effects of {outside} stay"));
            [sql.replace('\n', ""), format!("  with {}", self.params.shown_in(&sql))]
                .into_iter()
                .chain(left_out)
        });
        lines.collect()
    }

    /// What a dry run may run: nothing whose effects would stay although everything is taken back.
    pub(super) fn rehearsed(mut self) -> Result<Statements, Refusal> {
        if !self.outside.is_empty() {
            return Err(Refusal::NoRehearsal { functions: self.outside.join(", ") });
        }
        self.before.retain(|statement| statement.outside.is_empty());
        self.also.retain(|statement| statement.outside.is_empty());
        Ok(self)
    }
}

/// The row of a claim, or of a session, as it was: `:old.column` for each of its columns, if a statement names one.
fn old_values(act: &Act, table: &Table, row: &Image) -> NamedParams {
    let mut params = NamedParams::default();
    if act.statements().any(|statement| statement.sql.contains(":old.")) {
        for (name, value) in row.iter() {
            let declared = table.column(name).map_or("", |column| column.declared.as_str());
            params.add_value(&format!("old.{name}"), declared, value.clone());
        }
    }
    params
}

/// The same names and types without values: what the statements of an act may name.
pub(super) fn old_names(table: &Table) -> NamedParams {
    let mut params = NamedParams::default();
    for column in table.written() {
        params.add_value(&format!("old.{}", column.name), &column.declared, Value::Null);
    }
    params
}

/// Selects something if the profile forbids an act on a claim; nothing, if it forbids nothing.
pub(super) fn forbidding(
    dialect: &dyn Dialect,
    board: &BoundBoard,
    seen: &Seen,
    order: &Order<'_>,
    act: &Act,
) -> Option<(String, NamedParams)> {
    let forbidden = act.blocked_by.as_ref()?;
    let mut params = NamedParams::default();
    let is_it = dialect.is_claim(board, seen, &mut params);
    params.extend(values(dialect, board, seen, order));
    Some((blocked(&board.joined(), &is_it, forbidden), params))
}

/// The line break ends a comment in the condition.
pub(super) fn blocked(from: &str, is_it: &str, forbidden: &str) -> String {
    format!("SELECT 'x' FROM {from} WHERE {is_it} AND ({forbidden}\n)")
}

/// That a row has the version that was seen, where there are versions.
fn is_version(
    dialect: &dyn Dialect,
    alias: &str,
    seen: Option<&String>,
    params: &mut NamedParams,
) -> Option<String> {
    let version = dialect.version(alias)?;
    params.add("version", "", seen.cloned());
    Some(format!("{version} = :version"))
}

/// What the acts on the claims of a board may name, each with its type and without a value.
pub(super) fn names_of_claim(dialect: &dyn Dialect, board: &BoundBoard) -> NamedParams {
    let authorization = Authorization::default();
    let order =
        Order { action: Action::Reclaim, authorization: &authorization, action_id: "", dry_run: true };
    let mut params = shared_values(dialect, board, &order, Moment::EARLIEST);
    params.extend(own_values(dialect, board, &Claim::blank(), "", &order, Moment::EARLIEST));
    params
}

/// What the end of a session may name, each with its type and without a value.
pub(super) fn names_of_session(dialect: &dyn Dialect, registry: &BoundRegistry) -> NamedParams {
    session_values(dialect, registry, Moment::EARLIEST, None, &Value::Null)
}

fn session_values(
    dialect: &dyn Dialect,
    registry: &BoundRegistry,
    now: Moment,
    reason: Option<&String>,
    id: &Value,
) -> NamedParams {
    let mut params = NamedParams::default();
    let form = TimeForm { unit: registry.unit, zone: Some(&registry.zone) };
    dialect.add_instant(&mut params, "now", form, now);
    params.add("reason", "text", reason.cloned());
    params.add_value("id", &registry.id.declared, id.clone());
    params.add_value("holder", &registry.id.declared, id.clone());
    params
}

/// The values that a profile's expressions may name.
pub(super) fn values(
    dialect: &dyn Dialect,
    board: &BoundBoard,
    seen: &Seen,
    order: &Order<'_>,
) -> NamedParams {
    let mut params = shared_values(dialect, board, order, seen.now);
    params.extend(own_values(dialect, board, &seen.judged.claim, &seen.why, order, seen.now));
    params
}

/// Those that are the same for all claims of a board.
pub(super) fn shared_values(
    dialect: &dyn Dialect,
    board: &BoundBoard,
    order: &Order<'_>,
    now: Moment,
) -> NamedParams {
    let mut params = NamedParams::default();
    dialect.add_instant(&mut params, "now", board.form(), board.rules.claim_now(now));
    params.add("reason", "text", order.authorization.reason.clone());
    params
}

/// Those that are a claim's own.
pub(super) fn own_values(
    dialect: &dyn Dialect,
    board: &BoundBoard,
    claim: &Claim,
    why: &str,
    order: &Order<'_>,
    now: Moment,
) -> NamedParams {
    let own = ClaimValues::new(board, claim, why, order);
    let number = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
    let mut params = NamedParams::default();
    dialect.add_span(&mut params, "by", board.unit, own.by());
    let until = board.rules.claim_now(now).plus(own.by());
    dialect.add_instant(&mut params, "until", board.form(), until);
    params.add_value("ttl_minutes", "bigint", number(own.ttl_minutes()));
    params.add_value("max_attempts", "bigint", number(claim.max_attempts));
    params.add("why", "text", Some(own.why()));
    params.add_value("id", id_type(board), claim.key.0.first().cloned().unwrap_or(Value::Null));
    params.add("holder", "text", claim.holder.clone());
    params.add("kind", "text", claim.kind.clone());
    params
}

/// The type of the first part of the key.
pub(super) fn id_type(board: &BoundBoard) -> &str {
    board.id_types.first().map_or("text", String::as_str)
}

/// What the values of a claim are computed from.
#[derive(Debug)]
pub(super) struct ClaimValues<'a> {
    limits: &'a Thresholds,
    why: &'a str,
    order: &'a Order<'a>,
}

impl<'a> ClaimValues<'a> {
    pub(super) fn new(
        board: &'a BoundBoard,
        claim: &Claim,
        why: &'a str,
        order: &'a Order<'a>,
    ) -> ClaimValues<'a> {
        ClaimValues { limits: board.rules.for_kind(claim.kind.as_deref()), why, order }
    }

    /// How much more time an extension gives.
    pub(super) fn by(&self) -> Span {
        self.order.authorization.by.or(self.limits.ttl).unwrap_or(self.limits.lease)
    }

    pub(super) fn ttl_minutes(&self) -> Option<i64> {
        self.limits.ttl.map(|ttl| ttl.as_micros() / Span::minutes(1).as_micros())
    }

    pub(super) fn why(&self) -> String {
        let why = if self.order.action == Action::Requeue { "queued again by hand" } else { self.why };
        match &self.order.authorization.reason {
            Some(reason) => format!("{why} ({reason})"),
            None => why.to_owned(),
        }
    }
}
