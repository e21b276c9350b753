//! What an act may change by its profile: in which tables, which rows and which columns. An undo writes nothing else,
//! whatever the journal says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::act::act_of;
use super::image::{Change, Image};
use super::schema::Schema;
use super::session::END;
use super::sql_text::{comment_length, quoted_length};
use crate::domain::recovery::Action;
use crate::domain::visible::visible;
use crate::profile::format::{Act, Profile};

/// The tables that an act reaches, by their names, and what it may do to their rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    tables: BTreeMap<String, Reach>,
}

/// What an act may do to the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    pub adds: bool,
    pub deletes: bool,
    /// The columns that it may set, in small letters.
    pub sets: BTreeSet<String>,
    /// Triggers of the table may set the others as well.
    pub sets_any: bool,
}

impl Reach {
    pub fn sets(column: &str) -> Reach {
        Reach { sets: BTreeSet::from([column.to_lowercase()]), ..Reach::default() }
    }

    pub fn deletes() -> Reach {
        Reach { deletes: true, ..Reach::default() }
    }

    /// Adds what another may do; whether that is more.
    fn widen(&mut self, other: Reach) -> bool {
        let before = self.clone();
        self.adds |= other.adds;
        self.deletes |= other.deletes;
        self.sets_any |= other.sets_any;
        self.sets.extend(other.sets);
        *self != before
    }

    fn may_set(&self, column: &str) -> bool {
        self.sets_any || self.sets.contains(&column.to_lowercase())
    }
}

impl Scope {
    /// What an action on a board does by itself; nothing if the profile knows no such act. The end of a session is
    /// called by its table.
    pub fn of(profile: &Profile, board: &str, action: &str, schema: &Schema) -> Option<Scope> {
        let mut scope = Scope::default();
        if action == END {
            let own = profile.boards.iter().filter_map(|board| profile.registry(board));
            let known = |name: &str| schema.table(name).map(|table| table.name.clone());
            for registry in own.filter(|registry| known(&registry.table) == known(board)) {
                scope.add_act(registry.end.as_ref()?, &registry.table, schema);
            }
        } else {
            let all = [Action::Reclaim, Action::Release, Action::Extend, Action::Requeue];
            let action = all.into_iter().find(|known| known.as_str() == action)?;
            let board = profile.boards.iter().find(|known| known.name == board)?;
            scope.add_act(act_of(board, action)?, &board.table, schema);
        }
        (!scope.tables.is_empty()).then_some(scope)
    }

    fn add_act(&mut self, act: &Act, table: &str, schema: &Schema) {
        if let Some(table) = schema.table(table) {
            let sets = act.set.keys().map(|column| column.to_lowercase()).collect();
            self.add(&table.name, Reach { deletes: act.delete, sets, ..Reach::default() });
        }
        for statement in act.statements() {
            self.add_statements(&statement.sql, schema);
        }
    }

    pub fn add(&mut self, table: &str, reach: Reach) -> bool {
        self.tables.entry(table.to_owned()).or_default().widen(reach)
    }

    /// Adds what SQL statements do to tables: those of a profile, or of a trigger.
    pub fn add_statements(&mut self, sql: &str, schema: &Schema) -> bool {
        let mut more = false;
        for (table, reach) in targets(sql) {
            if let Some(table) = schema.table(&table) {
                more |= self.add(&table.name, reach);
            }
        }
        more
    }

    /// Adds what follows from it, table by table, until nothing more does.
    pub fn close(&mut self, mut follow: impl FnMut(&mut Scope, &str, &Reach) -> bool) {
        loop {
            let mut more = false;
            for (table, reach) in self.tables.clone() {
                more |= follow(self, &table, &reach);
            }
            if !more {
                return;
            }
        }
    }

    /// The tables, by their names.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Reach)> {
        self.tables.iter().map(|(name, reach)| (name.as_str(), reach))
    }

    /// Whether the act can have made this change, or what it never does.
    pub fn permit(&self, change: &Change) -> Result<(), OutOfScope> {
        if change.is_untold() {
            return Ok(());
        }
        let table = change.table.clone();
        let Some(reach) = self.tables.get(&table) else {
            return Err(OutOfScope::Writes { table });
        };
        match (&change.before, &change.after) {
            (None, Some(_)) if !reach.adds => Err(OutOfScope::Adds { table }),
            (Some(_), None) if !reach.deletes => Err(OutOfScope::Deletes { table }),
            (Some(before), Some(after)) => match differing(before, after).find(|name| !reach.may_set(name)) {
                Some(column) => Err(OutOfScope::Sets { table, column: column.to_owned() }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// What an act never does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutOfScope {
    Writes { table: String },
    Adds { table: String },
    Deletes { table: String },
    Sets { table: String, column: String },
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutOfScope::Writes { table } => write!(f, "it never writes to {}", visible(table)),
            OutOfScope::Adds { table } => write!(f, "it never adds rows to {}", visible(table)),
            OutOfScope::Deletes { table } => write!(f, "it never deletes rows of {}", visible(table)),
            OutOfScope::Sets { table, column } => {
                write!(f, "it never sets {}.{}", visible(table), visible(column))
            }
        }
    }
}

/// The columns that are not alike, and those that only one of them has.
fn differing<'a>(before: &'a Image, after: &'a Image) -> impl Iterator<Item = &'a str> {
    let changed = before.iter().filter(|(name, value)| after.get(name) != Some(value));
    let added = after.iter().filter(|(name, _)| before.get(name).is_none());
    changed.chain(added).map(|(name, _)| name)
}

/// The tables that a text of SQL writes to, by the names it gives them. A column may be set if it is mentioned.
fn targets(sql: &str) -> Vec<(String, Reach)> {
    let words = words(sql);
    let word = |at: usize| words.get(at).map_or("", |word| word.as_str()).to_lowercase();
    let mentioned: BTreeSet<String> = words.iter().map(|word| last_part(word).to_lowercase()).collect();
    let has = |wanted: &[&str]| wanted.iter().any(|wanted| mentioned.contains(*wanted));
    let mut targets = Vec::new();
    for at in 0..words.len() {
        let mut next = at + 1;
        let reach = match word(at).as_str() {
            "into" => Reach {
                adds: true,
                deletes: has(&["replace", "merge"]),
                sets: if has(&["conflict", "merge"]) { mentioned.clone() } else { BTreeSet::new() },
                ..Reach::default()
            },
            // FOR UPDATE OF, and DO UPDATE SET, name no table.
            "update" if at == 0 || word(at - 1) != "for" => {
                if word(next) == "or" {
                    next += 2;
                }
                Reach { sets: mentioned.clone(), ..Reach::default() }
            }
            "delete" if word(next) == "from" => {
                next += 1;
                Reach::deletes()
            }
            _ => continue,
        };
        if word(next) == "only" {
            next += 1;
        }
        if let Some(table) = words.get(next).filter(|_| word(next) != "set") {
            targets.push((table.clone(), reach));
        }
    }
    targets
}

pub(super) fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The names and keywords of a text of SQL; what a dot joins is one. Literals and comments are passed over.
pub(super) fn words(sql: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut rest, mut joined) = (sql, false);
    while let Some(c) = rest.chars().next() {
        let (word, length) = match c {
            '-' | '/' if rest.starts_with("--") || rest.starts_with("/*") => {
                (None, comment_length(rest).unwrap_or(rest.len()))
            }
            '\'' => (None, quoted_length(rest, false).unwrap_or(rest.len())),
            '"' | '`' => {
                let length = quoted_length(rest, false).unwrap_or(rest.len());
                let inner = rest.get(1..length.saturating_sub(1)).unwrap_or_default();
                (Some(inner.replace(&format!("{c}{c}"), &c.to_string())), length)
            }
            '[' => {
                let length = rest.find(']').map_or(rest.len(), |end| end + 1);
                (Some(rest.get(1..length.saturating_sub(1)).unwrap_or_default().to_owned()), length)
            }
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
                let length = end.unwrap_or(rest.len());
                (Some(rest[..length].to_owned()), length)
            }
            '.' => {
                joined = true;
                rest = &rest[1..];
                continue;
            }
            c => (None, c.len_utf8()),
        };
        if let Some(word) = word {
            match words.last_mut().filter(|_| joined) {
                Some(last) => *last = format!("{last}.{word}"),
                None => words.push(word),
            }
            joined = false;
        }
        rest = &rest[length..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str) -> Vec<(String, bool, bool, bool)> {
        let all = targets(sql).into_iter();
        all.map(|(table, reach)| (table, reach.adds, reach.deletes, reach.may_set("x"))).collect()
    }

    #[test]
    fn the_tables_that_a_statement_writes_are_found() {
        for (sql, table, adds, deletes, sets) in [
            ("INSERT INTO log (x) VALUES (1)", "log", true, false, false),
            ("insert into a.\"Log\" select * from other", "a.Log", true, false, false),
            ("INSERT INTO t (x) VALUES (1) ON CONFLICT (id) DO UPDATE SET x = 2", "t", true, false, true),
            ("INSERT OR REPLACE INTO t VALUES (1)", "t", true, true, false),
            ("UPDATE t SET x = 1", "t", false, false, true),
            ("UPDATE ONLY t SET y = 'x'", "t", false, false, false),
            ("UPDATE OR IGNORE t SET x = 1", "t", false, false, true),
            ("DELETE FROM t WHERE x = 1", "t", false, true, false),
            ("/* UPDATE a */ DELETE FROM ONLY t -- INSERT INTO b", "t", false, true, false),
            ("SELECT 1 FROM t FOR UPDATE OF t", "", false, false, false),
            ("SELECT 'INSERT INTO it''s'", "", false, false, false),
        ] {
            let wanted: Vec<_> = Some((table.to_owned(), adds, deletes, sets)).into_iter().collect();
            assert_eq!(names(sql), if table.is_empty() { vec![] } else { wanted }, "{sql}");
        }
        let both = "WITH gone AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM gone";
        assert_eq!(names(both).into_iter().map(|all| all.0).collect::<Vec<_>>(), ["a", "b"]);
    }
}
