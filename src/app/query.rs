//! The filter's little language: `text holder:w7 kind=run_tsa age>10m set:stale !cli`.

use super::row::Row;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;

/// All terms must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pub text: String,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    negated: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Text(String),
    Holder(String),
    HolderIs(String),
    Kind(String),
    KindIs(String),
    Board(String),
    In(Set),
    OlderThan(Span),
    YoungerThan(Span),
}

impl Query {
    pub fn parse(text: &str) -> Result<Query, String> {
        let terms = text.split_whitespace().map(Term::parse).collect::<Result<_, _>>()?;
        Ok(Query { text: text.trim().into(), terms })
    }

    /// What one holder has, whatever is in its name.
    pub fn held_by(holder: &str) -> Query {
        let test = Test::HolderIs(holder.into());
        Query { text: format!("holder={holder}"), terms: vec![Term { negated: false, test }] }
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn takes(&self, row: &Row, now: Moment) -> bool {
        self.terms.iter().all(|term| term.test.holds(row, now) != term.negated)
    }

    /// The holder and the kind that the database itself can look for.
    pub fn for_database(&self) -> (Option<String>, Option<String>) {
        let (mut holder, mut kind) = (None, None);
        for term in self.terms.iter().filter(|term| !term.negated) {
            match &term.test {
                Test::HolderIs(name) => holder = Some(name.clone()),
                Test::KindIs(name) => kind = Some(name.clone()),
                _ => {}
            }
        }
        (holder, kind)
    }

    /// Whether the database answers all of it.
    pub fn is_for_database(&self) -> bool {
        let exact = |test: &Test| matches!(test, Test::HolderIs(_) | Test::KindIs(_));
        !self.is_empty() && self.terms.iter().all(|term| !term.negated && exact(&term.test))
    }
}

impl Term {
    fn parse(word: &str) -> Result<Term, String> {
        let (negated, word) = match word.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, word),
        };
        Ok(Term { negated, test: Test::parse(word)? })
    }
}

impl Test {
    fn parse(word: &str) -> Result<Test, String> {
        let lower = word.to_lowercase();
        if let Some(age) = lower.strip_prefix("age>") {
            return Span::parse(age).map(Test::OlderThan);
        }
        if let Some(age) = lower.strip_prefix("age<") {
            return Span::parse(age).map(Test::YoungerThan);
        }
        if let Some(name) = word.strip_prefix("holder=") {
            return Ok(Test::HolderIs(name.into()));
        }
        if let Some(name) = word.strip_prefix("kind=") {
            return Ok(Test::KindIs(name.into()));
        }
        match lower.split_once(':') {
            Some(("holder", name)) => Ok(Test::Holder(name.into())),
            Some(("kind", name)) => Ok(Test::Kind(name.into())),
            Some(("board", name)) => Ok(Test::Board(name.into())),
            Some(("set", name)) => {
                let set = Set::ALL.into_iter().find(|set| set.as_str() == name);
                set.map(Test::In).ok_or_else(|| {
                    format!("there is no set {name}: orphaned, stale, unknown, expiring, healthy")
                })
            }
            _ => Ok(Test::Text(lower)),
        }
    }

    fn holds(&self, row: &Row, now: Moment) -> bool {
        let has =
            |text: Option<&str>, part: &str| text.is_some_and(|text| text.to_lowercase().contains(part));
        let claim = row.claim();
        match self {
            Test::Text(part) => {
                has(Some(&claim.key.text()), part)
                    || has(claim.holder.as_deref(), part)
                    || has(claim.kind.as_deref(), part)
                    || has(Some(&row.board), part)
                    || has(claim.error.as_deref(), part)
            }
            Test::Holder(part) => has(claim.holder.as_deref(), part),
            Test::HolderIs(name) => claim.holder.as_ref() == Some(name),
            Test::Kind(part) => has(claim.kind.as_deref(), part),
            Test::KindIs(name) => claim.kind.as_ref() == Some(name),
            Test::Board(part) => has(Some(&row.board), part),
            Test::In(set) => row.judged.verdict.is_in(*set),
            Test::OlderThan(span) => row.age(now).is_some_and(|age| age > *span),
            Test::YoungerThan(span) => row.age(now).is_some_and(|age| age < *span),
        }
    }
}
