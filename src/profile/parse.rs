//! Reading a profile: from its text, through its variables and engines, to one that makes sense.

use std::collections::BTreeMap;

use super::format::{Act, Board, Engine, Never, Profile, ProfileError, Registry, Variable};
use super::problems::problems;
use crate::domain::time::Span;

impl Profile {
    /// Reads and validates a profile.
    pub fn parse(name: &str, text: &str) -> Result<Profile, ProfileError> {
        Profile::parse_with(name, text, &BTreeMap::new())
    }

    /// The same with other values for some of its variables.
    pub(super) fn parse_with(
        name: &str,
        text: &str,
        chosen: &BTreeMap<String, String>,
    ) -> Result<Profile, ProfileError> {
        ProfileError::of(problems(name, text))?;
        let syntax = |error| syntax(name, text, &error);
        let mut profile: Profile = toml::from_str(text).map_err(syntax)?;
        let value = |(var, variable): (&String, &Variable)| {
            let value = chosen.get(var).map_or(variable.usual(), String::as_str);
            (var.clone(), value.to_owned())
        };
        let values: BTreeMap<String, String> = profile.vars.iter().map(value).collect();
        let mut filled = text.to_owned();
        for (var, value) in &values {
            filled = filled.replace(&format!("{{{var}}}"), value);
        }
        if !values.is_empty() {
            profile = toml::from_str(&filled).map_err(syntax)?;
        }
        (profile.name, profile.values, profile.text) = (name.into(), values, filled);
        let invalid = |problem| ProfileError::Invalid { name: name.into(), problem };
        ProfileError::of(profile.validate().into_iter().map(invalid).collect())?;
        Ok(Profile { text: text.into(), ..profile })
    }

    /// The profile with the overrides for `engine` applied.
    pub fn on(self, engine: Engine) -> Result<Profile, ProfileError> {
        if self.boards.iter().all(|board| !board.on.contains_key(&engine)) {
            return Ok(self);
        }
        let syntax = |error| syntax(&self.name, &self.text, &error);
        let mut table: toml::Table = self.text.parse().map_err(syntax)?;
        if let Some(toml::Value::Array(claims)) = table.get_mut("claim") {
            for (claim, board) in claims.iter_mut().zip(&self.boards) {
                if let (toml::Value::Table(claim), Some(over)) = (claim, board.on.get(&engine)) {
                    claim.remove("on");
                    merge(claim, over);
                }
            }
        }
        let merged = toml::to_string(&table)
            .map_err(|error| ProfileError::Invalid { name: self.name.clone(), problem: error.to_string() })?;
        let merged = Profile::parse_with(&self.name, &merged, &self.values)?;
        Ok(Profile { text: self.text, ..merged })
    }

    /// Everything that does not make sense.
    fn validate(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.boards.is_empty() {
            wrong.push("it has no [[claim]]".into());
        }
        for (at, board) in self.boards.iter().enumerate() {
            if self.boards[..at].iter().any(|other| other.name == board.name) {
                wrong.push(format!("two claims are named {:?}", board.name));
            }
            let of_board = board.validate().into_iter().chain(self.requeue_without_dead(board));
            let of_board = of_board.chain(self.holder_without_times(board));
            wrong.extend(of_board.map(|problem| format!("claim {:?}: {problem}", board.name)));
        }
        wrong.extend(self.session.iter().filter_map(Registry::validate));
        wrong.extend(self.optional_for_nothing());
        let pairs = self.boards.iter().flat_map(|board| &board.detect).chain(&self.detect);
        let lone = pairs.filter(|pair| !pair.contains('.'));
        wrong.extend(lone.map(|pair| format!("detect wants \"table.column\", not {pair:?}")));
        wrong
    }

    /// What is optional, and nothing in the profile uses.
    fn optional_for_nothing(&self) -> Vec<String> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let used: Vec<&str> = self.text.split(|c| !is_word(c)).collect();
        let is_unused = |written: &&String| {
            let name = written.rsplit_once('.').map_or(written.as_str(), |(_, name)| name);
            used.iter().filter(|word| word.eq_ignore_ascii_case(name)).count() < 2
        };
        let unused = self.optional.iter().filter(is_unused);
        unused.map(|name| format!("nothing uses {name:?}, which is optional")).collect()
    }

    fn holder_without_times(&self, board: &Board) -> Option<String> {
        let session = self.registry(board).filter(|_| board.deadline.holder)?;
        (session.beat_at.is_none() && session.stale_at.is_none() && board.alive_when.is_none())
            .then(|| "this deadline needs a session with beat_at or stale_at, or an alive_when".into())
    }

    fn requeue_without_dead(&self, board: &Board) -> Option<String> {
        let dead = self.backlog(board).filter(|backlog| backlog.table.is_none() && backlog.dead.is_some());
        (board.requeue.is_some() && dead.is_none())
            .then(|| "requeue needs a backlog in the same table that says what is dead".into())
    }
}

impl Board {
    fn validate(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut expect = |holds: bool, problem: &str| {
            if !holds {
                wrong.push(problem.to_owned());
            }
        };
        let deadline = &self.deadline;
        // Beside a column it is for rows in which that is NULL.
        let has_otherwise = deadline.otherwise.is_some() && deadline.column.is_none();
        let has_ttl = deadline.ttl.is_some() || has_otherwise;
        let ways = [
            deadline.column.is_some(),
            deadline.claimed_at_plus.is_some(),
            has_ttl && !deadline.holder,
            deadline.holder,
            deadline.never != Never::No,
        ];
        expect(
            ways.iter().filter(|given| **given).count() == 1,
            "[claim.deadline] needs exactly one of column, claimed_at_plus, ttl, holder, never",
        );
        expect(!self.id.is_empty(), "id is empty");
        expect(
            deadline.claimed_at_plus.is_none() || self.claimed_at.is_some(),
            "this deadline needs claimed_at",
        );
        expect(
            !has_ttl && deadline.otherwise.is_none() || self.claimed_at.is_some() || self.beat_at.is_some(),
            "a TTL needs claimed_at or beat_at to count from",
        );
        for (verb, act) in [
            ("reclaim", &self.reclaim),
            ("release", &self.release),
            ("extend", &self.extend),
            ("requeue", &self.requeue),
        ] {
            let is_complete = act.as_ref().is_none_or(Act::is_complete);
            expect(is_complete, &format!("{verb} needs either `delete = true` or a `set`"));
        }
        // A lease of no time would have no runaways, and everybody would be silent at once.
        for (key, span) in [
            ("deadline.lease", deadline.lease),
            ("silent_after", self.silent_after),
            ("orphan_after", self.orphan_after),
        ] {
            let is_something = span.is_none_or(Span::is_positive);
            expect(is_something, &format!("{key} has to be longer than nothing"));
        }
        // The specifications' clocks tick in whole seconds; a TTL of a few ticks cannot be told from
        // the moment of renewal.
        let shortest = self.time.tick().times(5);
        for ttl in deadline.ttl.iter().flatten().map(|(_, ttl)| ttl).chain(&deadline.otherwise) {
            let problem = format!("a TTL of {ttl} is less than five ticks of its clock ({shortest})");
            expect(*ttl >= shortest, &problem);
        }
        wrong.extend(self.session.iter().filter_map(Registry::validate));
        wrong
    }
}

impl Registry {
    fn validate(&self) -> Option<String> {
        let is_complete = self.end.as_ref().is_none_or(Act::is_complete);
        (!is_complete).then(|| "[session] end needs either `delete = true` or a `set`".into())
    }
}

/// The error and the line it is on.
fn syntax(name: &str, text: &str, error: &toml::de::Error) -> ProfileError {
    let what = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    ProfileError::Syntax { name: name.into(), line: line_of(text, error), what }
}

/// The line of a file that an error is on.
pub fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Lays `over` onto `base`; tables are merged, everything else is replaced.
fn merge(base: &mut toml::Table, over: &toml::Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(over)) if key != "set" => {
                merge(base, over);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}
