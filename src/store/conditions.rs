//! The conditions of a filter as SQL of one board, with every value bound.
//!
//! What SQL says of a claim is what [`crate::domain::filter`] says of it, or wider: claims that a statement finds
//! are tested again, claims that it misses are lost.

use super::bound::BoundBoard;
use super::key_text::key_of;
use super::named_params::NamedParams;
use super::rows::RowReader;
use super::seen::prefix;
use crate::domain::filter::{Condition, Pattern, Sense, Test};
use crate::domain::time::Moment;
use crate::domain::value::Value;

/// Conditions as SQL, to be appended to a statement that selects claims.
#[derive(Debug, Clone, Default)]
pub(super) struct Narrowed {
    pub sql: String,
    pub params: NamedParams,
    pub answers: SqlCoverage,
}

/// How much of a filter's conditions a statement answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SqlCoverage {
    /// All: what it counts is the answer.
    #[default]
    All,
    /// What it finds has to be tested one by one.
    Some,
}

/// An id that somebody typed, and the parts of the key that it means on a board.
#[derive(Debug)]
pub struct TypedId<'a> {
    pub text: &'a str,
    pub key: &'a [Value],
}

/// That a time lies before or after an instant.
#[derive(Debug)]
pub struct HeldSince<'a> {
    /// `<` or `>`.
    pub operator: &'static str,
    pub moment: Moment,
    pub name: &'a str,
}

/// How an engine asks for a name, an id or a time; values are bound under names that begin with `name`.
pub trait ConditionSql {
    /// That an expression reads exactly so; an index on it is used.
    fn reads(&self, sql: &str, text: &str, name: &str, params: &mut NamedParams) -> String;

    /// That it contains a text, as [`crate::domain::filter::contains`] has it.
    fn contains(&self, sql: &str, part: &str, name: &str, params: &mut NamedParams) -> String;

    /// That it is like a text with stars, as [`crate::domain::filter::is_like`] has it.
    fn is_like(&self, sql: &str, glob: &str, name: &str, params: &mut NamedParams) -> String;

    /// That a claim has this id; the index of the key is used.
    fn has_id(&self, board: &BoundBoard, id: &TypedId<'_>, name: &str, params: &mut NamedParams) -> String;

    /// That the id of a claim contains a text.
    fn id_contains(&self, board: &BoundBoard, part: &str, name: &str, params: &mut NamedParams) -> String;

    /// That a claim is held since before or after an instant; nothing, if its times cannot be compared safely.
    fn is_held_since(
        &self,
        board: &BoundBoard,
        since: &HeldSince<'_>,
        params: &mut NamedParams,
    ) -> Option<String>;
}

/// Conditions that every claim meets, or none.
const ALWAYS: &str = "1 = 1";
pub(super) const NEVER: &str = "1 = 0";

impl RowReader {
    /// Conditions as SQL of this board at an instant.
    pub(super) fn narrowed(&self, board: &BoundBoard, conditions: &[Condition], now: Moment) -> Narrowed {
        let mut narrowed = Narrowed::default();
        for (number, condition) in conditions.iter().enumerate() {
            let asked = BoardTest { board, engine: self.dialect(), name: format!("filter{number}"), now };
            match (asked.sql(&condition.test, &mut narrowed.params), condition.sense) {
                (Some(sql), Sense::Is) => narrowed.sql += &format!(" AND ({sql})"),
                (Some(sql), Sense::IsNot) => narrowed.sql += &format!(" AND ({sql}) IS NOT TRUE"),
                (None, _) => narrowed.answers = SqlCoverage::Some,
            }
        }
        narrowed
    }
}

/// One test of one board.
struct BoardTest<'a> {
    board: &'a BoundBoard,
    engine: &'a dyn super::driver::Dialect,
    name: String,
    now: Moment,
}

impl BoardTest<'_> {
    /// The test as SQL; nothing, if only the verdict tells, or if times cannot be compared.
    fn sql(&self, test: &Test, params: &mut NamedParams) -> Option<String> {
        let constant = |holds: bool| Some(if holds { ALWAYS } else { NEVER }.to_owned());
        let holder = self.board.holder.as_ref().map(|holder| holder.text.as_str());
        match test {
            Test::Id(ids) => {
                Some(any(ids.iter().enumerate().filter_map(|(at, id)| self.has_id(id, at, params))))
            }
            Test::Holder(patterns) => Some(self.named(holder, patterns, params)),
            Test::Kind(patterns) => Some(self.named(self.board.kind.as_deref(), patterns, params)),
            Test::Board(patterns) => {
                constant(patterns.iter().any(|pattern| pattern.matches(self.board.board_id.board())))
            }
            Test::In(_) | Test::For(_) => None,
            Test::OlderThan(span) => self.is_held_since("<", self.now.minus(*span), params),
            Test::YoungerThan(span) => self.is_held_since(">", self.now.minus(*span), params),
            Test::Text(part) => {
                if crate::domain::filter::contains(self.board.board_id.board(), part) {
                    return constant(true);
                }
                let columns = [holder, self.board.kind.as_deref(), self.board.error.as_deref()];
                let mut all = vec![self.engine.id_contains(self.board, part, &self.name, params)];
                let named = columns.into_iter().flatten().enumerate();
                all.extend(named.map(|(at, sql)| {
                    self.engine.contains(sql, part, &format!("{}_{at}", self.name), params)
                }));
                Some(any(all))
            }
        }
    }

    fn is_held_since(
        &self,
        operator: &'static str,
        moment: Moment,
        params: &mut NamedParams,
    ) -> Option<String> {
        let since = HeldSince { operator, moment, name: &self.name };
        self.engine.is_held_since(self.board, &since, params)
    }

    fn has_id(&self, id: &str, at: usize, params: &mut NamedParams) -> Option<String> {
        let board = &self.board.board_id;
        let key = key_of(id, &prefix(board.profile(), board.board()), self.board.id.len())?;
        let typed = TypedId { text: id, key: &key };
        Some(self.engine.has_id(self.board, &typed, &format!("{}_{at}", self.name), params))
    }

    fn named(&self, sql: Option<&str>, patterns: &[Pattern], params: &mut NamedParams) -> String {
        let Some(sql) = sql else { return NEVER.into() };
        any(patterns.iter().enumerate().map(|(at, pattern)| {
            let name = format!("{}_{at}", self.name);
            match pattern {
                Pattern::Is(text) => self.engine.reads(sql, text, &name, params),
                Pattern::Like(glob) => self.engine.is_like(sql, glob, &name, params),
                Pattern::Has(part) => self.engine.contains(sql, part, &name, params),
            }
        }))
    }
}

fn any(parts: impl IntoIterator<Item = String>) -> String {
    let all: Vec<String> = parts.into_iter().collect();
    if all.is_empty() { NEVER.into() } else { all.join(" OR ") }
}
