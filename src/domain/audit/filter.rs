//! The filter of acts: `by:ann since:2h action:reclaim outcome:moved source:prod !web-3`.

use super::period::{Period, PeriodTime};
use crate::domain::time::Moment;

/// All terms must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActFilter {
    text: String,
    terms: Vec<Term>,
    since: Option<PeriodTime>,
    until: Option<PeriodTime>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    negated: bool,
    field: Field,
    wanted: Match,
}

/// What of an act is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    By,
    Action,
    Outcome,
    Source,
    Holder,
    Claim,
    Reason,
    /// The id of the act or of its bulk.
    Id,
    /// Any of these.
    Any,
}

impl Field {
    const NAMED: [(&'static str, Field); 8] = [
        ("by", Field::By),
        ("action", Field::Action),
        ("outcome", Field::Outcome),
        ("source", Field::Source),
        ("holder", Field::Holder),
        ("claim", Field::Claim),
        ("reason", Field::Reason),
        ("id", Field::Id),
    ];

    fn named(name: &str) -> Option<Field> {
        Field::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, field)| field)
    }
}

/// How a text is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    Is(String),
    /// It contains this; capitals do not matter.
    Has(String),
}

impl Match {
    fn fits(&self, text: &str) -> bool {
        match self {
            Match::Is(wanted) => text == wanted,
            Match::Has(part) => text.to_lowercase().contains(&part.to_lowercase()),
        }
    }
}

/// One act on record, as far as a filter looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedAct<'a> {
    pub at: Option<Moment>,
    /// Every name of the person, and "operator" or "sweeper".
    pub by: Vec<&'a str>,
    pub action: &'a str,
    pub outcome: Option<&'a str>,
    pub source: &'a str,
    pub holder: Option<&'a str>,
    pub claim: &'a str,
    pub reason: Option<&'a str>,
    pub ids: Vec<&'a str>,
}

impl RecordedAct<'_> {
    fn has(&self, field: Field, wanted: &Match) -> bool {
        let fits = |text: &str| wanted.fits(text);
        match field {
            Field::By => self.by.iter().any(|name| fits(name)),
            Field::Action => fits(self.action),
            Field::Outcome => fits(self.outcome.unwrap_or("open")),
            Field::Source => fits(self.source),
            Field::Holder => self.holder.is_some_and(fits),
            Field::Claim => fits(self.claim),
            Field::Reason => self.reason.is_some_and(fits),
            Field::Id => self.ids.iter().any(|id| fits(id)),
            Field::Any => Field::NAMED.iter().any(|(_, field)| self.has(*field, wanted)),
        }
    }
}

const OUTCOMES: [&str; 5] = ["applied", "moved", "refused", "unknown", "open"];

impl ActFilter {
    /// Reads a line of terms: `key:part`, `key=whole`, `!` before a term for its opposite, or a text that may stand
    /// anywhere.
    pub fn parse(text: &str) -> Result<ActFilter, String> {
        let mut filter = ActFilter { text: text.trim().into(), ..ActFilter::default() };
        for word in text.split_whitespace() {
            let (negated, word) = match word.strip_prefix('!') {
                Some(rest) if !rest.is_empty() => (true, rest),
                _ => (false, word),
            };
            filter.add(word, negated)?;
        }
        Ok(filter)
    }

    fn add(&mut self, word: &str, negated: bool) -> Result<(), String> {
        let Some(at) = word.find([':', '=']) else {
            self.terms.push(Term { negated, field: Field::Any, wanted: Match::Has(word.into()) });
            return Ok(());
        };
        let (key, value) = (word[..at].to_lowercase(), &word[at + 1..]);
        match key.as_str() {
            "since" | "until" if negated => return Err(format!("!{key} makes no sense; use since or until")),
            "since" => self.since = Some(PeriodTime::parse(value)?),
            "until" => self.until = Some(PeriodTime::parse(value)?),
            key => {
                let field = Field::named(key).ok_or_else(|| unknown_key(key))?;
                if field == Field::Outcome && !OUTCOMES.iter().any(|known| known.starts_with(value)) {
                    return Err(format!("there is no outcome {value}: {}", OUTCOMES.join(", ")));
                }
                let is_whole = word[at..].starts_with('=');
                let wanted = if is_whole { Match::Is(value.into()) } else { Match::Has(value.into()) };
                self.terms.push(Term { negated, field, wanted });
            }
        }
        Ok(())
    }

    /// The same, for acts of which this holds as well.
    pub fn and(mut self, field: Field, wanted: Match) -> ActFilter {
        self.terms.push(Term { negated: false, field, wanted });
        self
    }

    /// The same, for acts of this time.
    pub fn within(mut self, since: Option<PeriodTime>, until: Option<PeriodTime>) -> ActFilter {
        (self.since, self.until) = (since, until);
        self
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.since.is_none() && self.until.is_none()
    }

    pub fn period(&self, now: Moment) -> Period {
        let moment = |when: Option<PeriodTime>| when.map(|when| when.moment(now));
        Period { since: moment(self.since), until: moment(self.until) }
    }

    /// Whether the act is wanted. One whose time cannot be read is of any time.
    pub fn takes(&self, act: &RecordedAct<'_>, now: Moment) -> bool {
        act.at.is_none_or(|at| self.period(now).contains(at))
            && self.terms.iter().all(|term| act.has(term.field, &term.wanted) != term.negated)
    }
}

fn unknown_key(key: &str) -> String {
    let known: Vec<&str> = Field::NAMED.iter().map(|(name, _)| *name).collect();
    format!("there is no filter {key}: in Audit: {}, since, until", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act() -> RecordedAct<'static> {
        RecordedAct {
            at: Moment::parse("2026-11-18T03:00:00Z"),
            by: vec!["operator", "ann"],
            action: "reclaim",
            outcome: Some("moved"),
            source: "billing-prod",
            holder: Some("web-3-2"),
            claim: "tasks/task/mail-4312",
            reason: Some("INC-204"),
            ids: vec!["0199-1"],
        }
    }

    #[test]
    fn every_term_must_hold() {
        let now = Moment::parse("2026-11-18T04:00:00Z").expect("a time");
        for (filter, expected) in [
            ("", true),
            ("by:ann since:2h action:reclaim outcome:moved source:prod", true),
            ("by:Ann", true),
            ("by=an", false),
            ("by:bob", false),
            ("since:30m", false),
            ("since:02:59 until:03:01", true),
            ("until:02:59", false),
            ("outcome:applied", false),
            ("!outcome:applied", true),
            ("source=prod", false),
            ("holder:web-3 inc-204", true),
            ("!web-3", false),
            ("claim:mail-4312 id:0199", true),
            ("reason:inc-205", false),
        ] {
            let read = ActFilter::parse(filter).expect("a filter");
            assert_eq!(read.takes(&act(), now), expected, "{filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_an_error_that_lists_the_filters() {
        let wrong = |text| ActFilter::parse(text).expect_err("an error");
        assert!(wrong("who:ann").contains("by, action, outcome"), "{}", wrong("who:ann"));
        assert!(wrong("outcome:lost").contains("applied, moved"));
        assert!(wrong("since:soon").contains("2h"));
        assert!(wrong("!since:2h").contains("until"));
    }
}
