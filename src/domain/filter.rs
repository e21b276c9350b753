//! Which claims are meant. A database answers as much of a filter as it can; the rest, and every claim that a
//! database hands out, is tested here. What is true of one claim is defined here alone.

use super::board_id::BoardId;
use super::snapshot::Judged;
use super::time::{Moment, Span};
use super::value::percent;
use super::verdict::{Reasons, Set};

/// Which claims of a source are meant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// Any of these sets; empty, all.
    pub sets: Vec<Set>,
    /// Any of these reasons; none, all.
    pub reasons: Reasons,
    pub board: Option<String>,
    /// All of these hold.
    pub conditions: Vec<Condition>,
    pub limit: Option<usize>,
}

/// A test, or its opposite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub sense: Sense,
    pub test: Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    Is,
    IsNot,
}

/// What can be asked of one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It has one of these ids or addresses.
    Id(Vec<String>),
    /// Its holder is named like one of these.
    Holder(Vec<Pattern>),
    Kind(Vec<Pattern>),
    Board(Vec<Pattern>),
    /// It is in one of these sets.
    In(Vec<Set>),
    /// It has one of these reasons.
    For(Reasons),
    /// It has been held for longer than this.
    OlderThan(Span),
    YoungerThan(Span),
    /// Its id, holder, kind, board or error contains this, in capitals or not.
    Text(String),
}

/// What a name looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Exactly this.
    Is(String),
    /// This, where every `*` stands for any text.
    Like(String),
    /// It contains this; the letters A to Z are the same in capitals.
    Has(String),
}

impl Filter {
    /// The claims of any of these holders, by their exact names.
    pub fn of_holders(holders: impl IntoIterator<Item = impl Into<String>>) -> Filter {
        Filter::default().with(Test::Holder(exactly(holders)))
    }

    /// The claims with any of these ids or addresses.
    pub fn of_ids(ids: impl IntoIterator<Item = impl Into<String>>) -> Filter {
        Filter::default().with(Test::Id(ids.into_iter().map(Into::into).collect()))
    }

    /// The same with one more condition.
    #[must_use]
    pub fn with(mut self, test: Test) -> Filter {
        self.conditions.push(test.into());
        self
    }

    /// Whether every claim passes.
    pub fn is_open(&self) -> bool {
        self.sets.is_empty() && self.reasons.is_empty() && self.board.is_none() && self.conditions.is_empty()
    }

    pub fn takes_board(&self, board: &BoardId) -> bool {
        self.board.as_deref().is_none_or(|wanted| wanted == board.board())
            && self.conditions.iter().all(|condition| condition.takes_board(board) != Some(false))
    }

    /// What to look for, one after the other: each set, or all that have one of the reasons.
    pub fn wanted(&self) -> Vec<Reasons> {
        if self.sets.is_empty() {
            return vec![self.reasons];
        }
        self.sets.iter().map(|set| Reasons::of(*set)).collect()
    }

    pub fn takes(&self, board: &BoardId, judged: &Judged, now: Moment) -> bool {
        (self.sets.is_empty() || self.sets.iter().any(|set| judged.verdict.is_in(*set)))
            && (self.reasons.is_empty() || self.reasons.meet(judged.verdict.reasons))
            && self.board.as_deref().is_none_or(|wanted| wanted == board.board())
            && self.conditions.iter().all(|condition| condition.holds(board, judged, now))
    }
}

/// These names and no others.
pub fn exactly(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<Pattern> {
    names.into_iter().map(|name| Pattern::Is(name.into())).collect()
}

impl From<Test> for Condition {
    fn from(test: Test) -> Condition {
        Condition { sense: Sense::Is, test }
    }
}

impl Condition {
    pub fn holds(&self, board: &BoardId, judged: &Judged, now: Moment) -> bool {
        self.test.holds(board, judged, now) == (self.sense == Sense::Is)
    }

    /// Whether only the verdict on a claim tells: the time, a registry, the kernel.
    pub fn is_about_verdict(&self) -> bool {
        matches!(self.test, Test::In(_) | Test::For(_))
    }

    /// Whether a healthy claim can meet it.
    pub fn takes_healthy(&self) -> bool {
        let holds = match &self.test {
            Test::In(sets) => sets.contains(&Set::Healthy),
            Test::For(_) => false,
            _ => return true,
        };
        holds == (self.sense == Sense::Is)
    }

    /// Whether claims of this board can meet it; nothing, if that depends on the claim.
    fn takes_board(&self, board: &BoardId) -> Option<bool> {
        match &self.test {
            Test::Board(patterns) => {
                Some(matches(patterns, Some(board.board())) == (self.sense == Sense::Is))
            }
            _ => None,
        }
    }
}

impl Test {
    fn holds(&self, board: &BoardId, judged: &Judged, now: Moment) -> bool {
        let (claim, verdict) = (&judged.claim, &judged.verdict);
        let age = || claim.held_since().map(|since| now.since(since));
        match self {
            Test::Id(ids) => {
                let (id, address) = (claim.key.text(), address(board, judged));
                ids.iter().any(|wanted| *wanted == id || *wanted == address)
            }
            Test::Holder(patterns) => matches(patterns, claim.holder.as_deref()),
            Test::Kind(patterns) => matches(patterns, claim.kind.as_deref()),
            Test::Board(patterns) => matches(patterns, Some(board.board())),
            Test::In(sets) => sets.iter().any(|set| verdict.is_in(*set)),
            Test::For(reasons) => reasons.meet(verdict.reasons),
            Test::OlderThan(span) => age().is_some_and(|age| age > *span),
            Test::YoungerThan(span) => age().is_some_and(|age| age < *span),
            Test::Text(part) => {
                let key = claim.key.text();
                let texts =
                    [Some(&*key), claim.holder.as_deref(), claim.kind.as_deref(), claim.error.as_deref()];
                texts.into_iter().chain([Some(board.board())]).flatten().any(|text| contains(text, part))
            }
        }
    }
}

/// `profile/board/id`, its parts percent-encoded.
fn address(board: &BoardId, judged: &Judged) -> String {
    format!("{}/{}/{}", percent(board.profile()), percent(board.board()), judged.claim.key.address())
}

fn matches(patterns: &[Pattern], name: Option<&str>) -> bool {
    name.is_some_and(|name| patterns.iter().any(|pattern| pattern.matches(name)))
}

impl Pattern {
    /// A whole name as it is typed on a command line, where stars stand for any text.
    pub fn typed(name: &str) -> Pattern {
        if name.contains('*') { Pattern::Like(name.into()) } else { Pattern::Is(name.into()) }
    }

    pub fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Is(wanted) => name == wanted,
            Pattern::Like(glob) => is_like(name, glob),
            Pattern::Has(part) => contains(name, part),
        }
    }
}

/// Whether a text contains another; the letters A to Z are the same in capitals.
pub fn contains(text: &str, part: &str) -> bool {
    text.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

/// Whether a text is what a pattern says, in which `*` stands for any text.
pub fn is_like(text: &str, glob: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else { return text == glob };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (glob, text) in [
            ("web-3-*", "web-3-0"),
            ("web-3-*", "web-3-"),
            ("*", ""),
            ("*-0", "web-3-0"),
            ("w*b*0", "web-b-0"),
            ("a*b", "ab"),
            ("a**b", "a*b"),
            ("plain", "plain"),
        ] {
            assert!(is_like(text, glob), "{text} like {glob}");
        }
        for (glob, text) in
            [("web-3-*", "web-30"), ("web-3-*", "Web-3-0"), ("a*a", "a"), ("w*b*0", "web-b-1"), ("", "x")]
        {
            assert!(!is_like(text, glob), "{text} like {glob}");
        }
    }

    #[test]
    fn a_part_is_found_in_capitals_too() {
        assert!(contains("Web-3", "wEB"));
        assert!(!contains("web", "web-3"));
    }
}
