//! The SQL of a profile's acts and histories, piece by piece.

use super::format::{Act, Board, History, Registry};

/// A piece of SQL and the field it stands in.
type Visit<'a> = dyn FnMut(&str, &mut String) + 'a;

impl Act {
    /// Every value, condition and statement.
    pub fn each_sql(&mut self, visit: &mut Visit<'_>) {
        for (column, value) in &mut self.set {
            visit(&format!("set.{column}"), value);
        }
        for (field, statements) in [("before", &mut self.before), ("also", &mut self.also)] {
            for statement in statements {
                visit(field, statement);
            }
        }
        if let Some(condition) = &mut self.blocked_by {
            visit("blocked_by", condition);
        }
    }
}

impl Board {
    /// Its acts by name, and how its sessions end.
    pub fn acts(&mut self) -> impl Iterator<Item = (&'static str, &mut Option<Act>)> {
        let session = self.session.iter_mut().flat_map(Registry::acts);
        [
            ("reclaim", &mut self.reclaim),
            ("release", &mut self.release),
            ("extend", &mut self.extend),
            ("requeue", &mut self.requeue),
        ]
        .into_iter()
        .chain(session)
    }
}

impl Registry {
    /// How a session ends.
    pub fn acts(&mut self) -> impl Iterator<Item = (&'static str, &mut Option<Act>)> {
        std::iter::once(("session.end", &mut self.end))
    }
}

impl History {
    pub fn each_sql(&mut self, visit: &mut Visit<'_>) {
        let History { only, id, kind, holder, at, what, .. } = self;
        for (field, sql) in [("id", id), ("at", at), ("what", what)] {
            visit(field, sql);
        }
        for (field, sql) in [("where", only), ("kind", kind), ("holder", holder)] {
            if let Some(sql) = sql {
                visit(field, sql);
            }
        }
    }
}
