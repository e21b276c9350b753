//! The names in a profile's SQL: which functions, operators, types and tables it uses, and where.
//!
//! This is no parser. It finds every place where a name can stand for code or for a table, and rather one
//! too many: what it calls a function is looked up, and what is none is found nowhere.

mod tokens;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::store::bind::Fragment;
use tokens::{Token, tokens};

/// A name, and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub role: NameRole,
    /// The schema it is written with.
    pub schema: Option<String>,
    pub name: String,
    pub at: Range<usize>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRole {
    Function,
    /// What stands after a dot: a column, or a function in the notation of one.
    Attribute,
    Operator,
    Type,
    Table,
}

/// Finds the names; an error if the text cannot be read as PostgreSQL would.
pub(super) fn names(sql: &str, fragment: Fragment) -> Result<Vec<Name>, String> {
    let tokens = tokens(sql)?;
    let mut scan = Scan {
        tokens: &tokens,
        at: 0,
        levels: vec![Level { is_query: true, lists_tables: fragment == Fragment::Joins, is_cast: false }],
        wants: Want::Nothing,
        local: with_queries(&tokens),
        found: Vec::new(),
    };
    scan.run();
    Ok(scan.found)
}

/// The text with some of its names written in another way.
pub(super) fn rewritten(sql: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(at, _)| at.start);
    let mut out = sql.to_owned();
    for (at, text) in changes.into_iter().rev() {
        out.replace_range(at, &text);
    }
    out
}

/// What is between two parentheses, or the whole.
struct Level {
    /// A statement or a subquery: there FROM comes before tables. In `extract(epoch FROM x)` it does not.
    is_query: bool,
    /// The list of tables after FROM goes on.
    lists_tables: bool,
    /// `CAST (x AS type)`.
    is_cast: bool,
}

/// What the next name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Nothing,
    /// A table, or a function that returns one.
    Source,
    /// A table, whose columns may follow in parentheses.
    Target,
    Type,
}

struct Scan<'a> {
    tokens: &'a [Token],
    at: usize,
    levels: Vec<Level>,
    wants: Want,
    /// The names of `WITH` queries.
    local: BTreeSet<String>,
    found: Vec<Name>,
}

/// Words that end a list of tables.
const ENDS: [&str; 14] = [
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "union",
    "intersect",
    "except",
    "window",
    "fetch",
    "for",
    "returning",
    "set",
];

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Word { text, .. } if self.is_keyword(text) => self.keyword(text),
                Token::Word { .. } | Token::Quoted { .. } => {
                    self.chain();
                    continue;
                }
                Token::Symbol('(') => self.open(),
                Token::Symbol(')') => {
                    if self.levels.len() > 1 {
                        self.levels.pop();
                    }
                    self.wants = Want::Nothing;
                }
                Token::Symbol(',') if self.level().lists_tables => self.wants = Want::Source,
                Token::Cast => self.wants = Want::Type,
                Token::Symbol('.') => self.attribute(),
                _ => self.wants = Want::Nothing,
            }
            self.at += 1;
        }
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level { is_query: false, lists_tables: false, is_cast: false });
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn word(&self, at: Option<usize>) -> &str {
        match at.and_then(|at| self.tokens.get(at)) {
            Some(Token::Word { text, .. }) => text,
            _ => "",
        }
    }

    fn is_keyword(&self, text: &str) -> bool {
        // After a dot it is a name, whatever it is.
        let after_dot = self.at > 0 && self.tokens[self.at - 1] == Token::Symbol('.');
        let before_dot = self.tokens.get(self.at + 1) == Some(&Token::Symbol('.'));
        let known = [
            "from", "join", "into", "update", "using", "table", "only", "lateral", "select", "values",
            "with", "delete", "insert", "merge", "as", "operator",
        ];
        !after_dot && !before_dot && (known.contains(&text) || ENDS.contains(&text))
    }

    fn keyword(&mut self, text: &str) {
        let before = self.at.checked_sub(1);
        let (previous, next) = (self.word(before).to_owned(), self.word(Some(self.at + 1)).to_owned());
        match text {
            "only" | "lateral" => {}
            "select" | "values" | "with" | "delete" | "insert" | "merge" => {
                let level = self.level();
                (level.is_query, level.lists_tables) = (true, false);
                self.wants = Want::Nothing;
            }
            "from" => {
                let compares = previous == "distinct" && {
                    let first = self.word(self.at.checked_sub(2));
                    first == "is" || first == "not"
                };
                if self.level().is_query && !compares {
                    self.level().lists_tables = true;
                    self.wants = Want::Source;
                }
            }
            "join" => self.wants = Want::Source,
            // USING (a, b) names columns.
            "using" if self.tokens.get(self.at + 1) != Some(&Token::Symbol('(')) => {
                self.level().lists_tables = true;
                self.wants = Want::Source;
            }
            "into" | "table" => self.wants = Want::Target,
            "update" => {
                self.level().is_query = true;
                let changes = !["for", "key", "do", "then"].contains(&previous.as_str()) && next != "set";
                self.wants = if changes { Want::Target } else { Want::Nothing };
            }
            "as" => {
                let is_type = self.level().is_cast || self.is_qualified_next();
                self.wants = if is_type { Want::Type } else { Want::Nothing };
            }
            "operator" => self.operator(),
            _ => {
                self.level().lists_tables = false;
                self.wants = Want::Nothing;
            }
        }
    }

    /// An alias has no schema; a type may.
    fn is_qualified_next(&self) -> bool {
        self.tokens.get(self.at + 2) == Some(&Token::Symbol('.'))
    }

    fn open(&mut self) {
        let previous = self.word(self.at.checked_sub(1)).to_owned();
        // FROM (a JOIN b ...)
        let lists_tables = self.wants == Want::Source;
        self.levels.push(Level { is_query: lists_tables, lists_tables, is_cast: previous == "cast" });
        if !lists_tables {
            self.wants = Want::Nothing;
        }
    }

    /// One name, with everything that dots tie to it.
    fn chain(&mut self) {
        let first = self.at;
        let mut parts: Vec<(&str, Range<usize>)> = Vec::new();
        while let Some((text, at)) = self.tokens.get(self.at).and_then(Token::name) {
            parts.push((text, at));
            self.at += 1;
            let follows = self.tokens.get(self.at + 1).and_then(Token::name).is_some();
            if self.tokens.get(self.at) != Some(&Token::Symbol('.')) || !follows {
                break;
            }
            self.at += 1;
        }
        let Some((name, end)) = parts.last().map(|(name, at)| ((*name).to_owned(), at.end)) else {
            self.at = first + 1;
            return;
        };
        let schema = parts.len().checked_sub(2).map(|at| parts[at].0.to_owned());
        let start = parts.first().map_or(end, |(_, at)| at.start);
        let calls = self.tokens.get(self.at) == Some(&Token::Symbol('('));
        let is_literal = matches!(self.tokens.get(self.at), Some(Token::Text));
        let role = match self.wants {
            Want::Type => Some(NameRole::Type),
            Want::Target => Some(NameRole::Table),
            Want::Source if !calls => Some(NameRole::Table),
            Want::Source => Some(NameRole::Function),
            Want::Nothing if calls => Some(NameRole::Function),
            Want::Nothing if is_literal && schema.is_some() => Some(NameRole::Type),
            Want::Nothing if schema.is_some() => Some(NameRole::Attribute),
            Want::Nothing => None,
        };
        self.wants = Want::Nothing;
        let is_local = schema.is_none() && role == Some(NameRole::Table) && self.local.contains(&name);
        if let Some(role) = role.filter(|_| !is_local) {
            // Of an attribute what comes before the dot is no schema but a row.
            let schema = schema.filter(|_| role != NameRole::Attribute);
            self.found.push(Name { role, schema, name, at: start..end });
        }
    }

    /// What comes after `(...).` or `[...].`.
    fn attribute(&mut self) {
        if let Some((text, at)) = self.tokens.get(self.at + 1).and_then(Token::name) {
            self.found.push(Name { role: NameRole::Attribute, schema: None, name: text.to_owned(), at });
            self.at += 1;
        }
        self.wants = Want::Nothing;
    }

    /// `OPERATOR(schema.+)`.
    fn operator(&mut self) {
        let mut at = self.at + 2;
        let mut schema = None;
        while let Some((text, _)) = self.tokens.get(at).and_then(Token::name) {
            schema = Some(text.to_owned());
            at += 2;
        }
        if let Some(Token::Operator { text, at: place }) = self.tokens.get(at) {
            let name = text.clone();
            self.found.push(Name { role: NameRole::Operator, schema, name, at: place.clone() });
        }
    }
}

/// The names that `WITH` gives to queries: those before `AS (`, with or without their columns.
fn with_queries(tokens: &[Token]) -> BTreeSet<String> {
    let is = |at: usize, word: &str| matches!(tokens.get(at), Some(Token::Word { text, .. }) if text == word);
    let mut local = BTreeSet::new();
    for at in 1..tokens.len() {
        let mut next = at + 1;
        while is(next, "not") || is(next, "materialized") {
            next += 1;
        }
        if !is(at, "as") || tokens.get(next) != Some(&Token::Symbol('(')) {
            continue;
        }
        let mut before = at - 1;
        if tokens[before] == Token::Symbol(')') {
            let opening = (0..before).rev().find(|at| tokens[*at] == Token::Symbol('('));
            let Some(name) = opening.and_then(|opening| opening.checked_sub(1)) else { continue };
            before = name;
        }
        local.extend(tokens[before].name().map(|(name, _)| name.to_owned()));
    }
    local
}

#[cfg(test)]
mod tests;
