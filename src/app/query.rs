//! The filter language: `text id:42 holder:web-3-* kind=run_tsa age>10m set:stale !cli`.
//!
//! The dashboard and the command line read it. What a term means for one claim is in [`crate::domain::filter`].

use super::row::Row;
use crate::domain::filter::{Condition, Filter, Pattern, Sense, Test, exactly};
use crate::domain::similar::did_you_mean;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Reasons, Set};

/// All terms must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pub text: String,
    terms: Vec<QueryTerm>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum QueryTerm {
    /// Asked of a claim.
    Claim(Condition),
    /// Asked of the source it is in.
    Source { sense: Sense, names: Vec<Pattern> },
}

/// The keys of the language.
pub const KEYS: [&str; 8] = ["id", "holder", "kind", "board", "source", "set", "reason", "age"];

impl Query {
    pub fn parse(text: &str) -> Result<Query, String> {
        let terms = words(text)?.iter().map(Word::term).collect::<Result<_, _>>()?;
        Ok(Query { text: text.trim().into(), terms })
    }

    /// The claims of one holder, whatever characters its name has.
    pub fn held_by(holder: &str) -> Query {
        Query::of_holders([holder])
    }

    /// What any of these holders has.
    pub fn of_holders<'a>(holders: impl IntoIterator<Item = &'a str>) -> Query {
        let holders: Vec<&str> = holders.into_iter().collect();
        Query::of("holder=", &holders, Test::Holder(exactly(holders.iter().copied())))
    }

    pub fn of_kind(kind: &str) -> Query {
        Query::of("kind=", &[kind], Test::Kind(exactly([kind])))
    }

    pub fn of_board(board: &str) -> Query {
        Query::of("board=", &[board], Test::Board(exactly([board])))
    }

    pub fn of_reasons(reasons: Reasons) -> Query {
        let words: Vec<&str> = reasons.iter().map(Reason::as_str).collect();
        Query::of("reason:", &words, Test::For(reasons))
    }

    pub fn of_sets(sets: &[Set]) -> Query {
        let words: Vec<&str> = sets.iter().map(|set| set.as_str()).collect();
        Query::of("set:", &words, Test::In(sets.to_vec()))
    }

    pub fn of_source(label: &str) -> Query {
        let term = QueryTerm::Source { sense: Sense::Is, names: exactly([label]) };
        Query { text: format!("source={}", quoted(label)), terms: vec![term] }
    }

    fn of(key: &str, values: &[&str], test: Test) -> Query {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        Query { text: format!("{key}{}", values.join(",")), terms: vec![QueryTerm::Claim(test.into())] }
    }

    /// The claims that pass this and another.
    #[must_use]
    pub fn and(mut self, other: Query) -> Query {
        if !self.text.is_empty() && !other.text.is_empty() {
            self.text.push(' ');
        }
        self.text += &other.text;
        self.terms.extend(other.terms);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a claim of a source passes. A source is tested by its label only.
    pub fn takes(&self, row: &Row, source: &str, now: Moment) -> bool {
        self.takes_source(source)
            && self.conditions().all(|condition| condition.holds(&row.board_id, &row.judged, now))
    }

    pub fn takes_source(&self, label: &str) -> bool {
        self.terms.iter().all(|term| match term {
            QueryTerm::Claim(_) => true,
            QueryTerm::Source { sense, names } => {
                names.iter().any(|name| name.matches(label)) == (*sense == Sense::Is)
            }
        })
    }

    /// The filter that a source gets. Sets and reasons select the indexes to use.
    pub fn filter(&self) -> Filter {
        let mut filter = Filter::default();
        for condition in self.conditions() {
            match condition {
                Condition { sense: Sense::Is, test: Test::In(sets) } if filter.sets.is_empty() => {
                    filter.sets.clone_from(sets);
                }
                Condition { sense: Sense::Is, test: Test::For(reasons) } if filter.reasons.is_empty() => {
                    filter.reasons = *reasons;
                }
                _ => filter.conditions.push(condition.clone()),
            }
        }
        filter
    }

    /// The same for one board only, or for all.
    #[must_use]
    pub fn on_board(&self, board: Option<&str>) -> Query {
        let of_board = |word: &&str| word.starts_with("board=");
        let others: Vec<&str> = raw_words(&self.text).into_iter().filter(|word| !of_board(word)).collect();
        let others = Query::parse(&others.join(" ")).unwrap_or_default();
        match board {
            Some(board) => others.and(Query::of_board(board)),
            None => others,
        }
    }

    /// The one board that it is about, if it names one in full.
    pub fn board(&self) -> Option<&str> {
        self.conditions().find_map(|condition| match condition {
            Condition { sense: Sense::Is, test: Test::Board(names) } => match &names[..] {
                [Pattern::Is(name)] => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        })
    }

    /// What is asked of a claim.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.terms.iter().filter_map(|term| match term {
            QueryTerm::Claim(condition) => Some(condition),
            QueryTerm::Source { .. } => None,
        })
    }
}

/// A value, quoted if necessary.
fn quoted(value: &str) -> String {
    let is_plain = |letter: char| !letter.is_whitespace() && !matches!(letter, '"' | ',' | '\\');
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.into();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// A word of the text; quoted letters have no special meaning.
#[derive(Debug, Default)]
struct Word {
    letters: Vec<(char, Quoting)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Plain,
    Quoted,
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let (mut all, mut word, mut within) = (Vec::new(), None::<Word>, false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let word_so_far = word.get_or_insert_default();
        match letter {
            '"' => within = !within,
            '\\' if within => {
                let escaped = letters.next().ok_or("a backslash at the end")?;
                word_so_far.letters.push((escaped, Quoting::Quoted));
            }
            _ if within => word_so_far.letters.push((letter, Quoting::Quoted)),
            _ if letter.is_whitespace() => all.extend(word.take().filter(|word| !word.letters.is_empty())),
            _ => word_so_far.letters.push((letter, Quoting::Plain)),
        }
    }
    if within {
        return Err("a quotation mark is not closed".into());
    }
    all.extend(word.filter(|word| !word.letters.is_empty()));
    Ok(all)
}

/// The words as they are written, quotes included.
fn raw_words(text: &str) -> Vec<&str> {
    let (mut within, mut escaped) = (false, false);
    let ends = |letter: char| {
        match letter {
            _ if escaped => escaped = false,
            '"' => within = !within,
            '\\' if within => escaped = true,
            _ => {}
        }
        letter.is_whitespace() && !within
    };
    text.split(ends).filter(|word| !word.is_empty()).collect()
}

impl Word {
    fn term(&self) -> Result<QueryTerm, String> {
        let (sense, letters) = match &self.letters[..] {
            [('!', Quoting::Plain), rest @ ..] if !rest.is_empty() => (Sense::IsNot, rest),
            all => (Sense::Is, all),
        };
        let ends_key = |(letter, quoting): &(char, Quoting)| {
            *quoting == Quoting::Plain && matches!(letter, ':' | '=' | '<' | '>')
        };
        let test = match letters.iter().position(ends_key) {
            None => Test::Text(text(letters)),
            Some(at) => {
                let (key, operator, value) =
                    (text(&letters[..at]).to_lowercase(), letters[at].0, &letters[at + 1..]);
                if key == "source" && matches!(operator, ':' | '=') {
                    return Ok(QueryTerm::Source { sense, names: patterns(operator, value) });
                }
                test(&key, operator, value)?
            }
        };
        Ok(QueryTerm::Claim(Condition { sense, test }))
    }
}

fn text(letters: &[(char, Quoting)]) -> String {
    letters.iter().map(|(letter, _)| letter).collect()
}

fn test(key: &str, operator: char, value: &[(char, Quoting)]) -> Result<Test, String> {
    match (key, operator) {
        ("age", '>') => Span::parse(&text(value)).map(Test::OlderThan),
        ("age", '<') => Span::parse(&text(value)).map(Test::YoungerThan),
        ("age", _) => Err("an age is compared: age>10m or age<1h".into()),
        ("id", ':' | '=') => Ok(Test::Id(values(value).iter().map(|value| text(value)).collect())),
        ("holder", ':' | '=') => Ok(Test::Holder(patterns(operator, value))),
        ("kind", ':' | '=') => Ok(Test::Kind(patterns(operator, value))),
        ("board", ':' | '=') => Ok(Test::Board(patterns(operator, value))),
        ("set", ':' | '=') => {
            values(value).iter().map(|value| set(&text(value))).collect::<Result<_, _>>().map(Test::In)
        }
        ("reason", ':' | '=') => {
            values(value).iter().map(|value| reason(&text(value))).collect::<Result<_, _>>().map(Test::For)
        }
        (key, _) if KEYS.contains(&key) => Err(format!("{key} takes a colon: {key}:{}", text(value))),
        (key, _) => {
            let near = did_you_mean(key, KEYS);
            let whole = format!("{key}{operator}{}", text(value));
            Err(format!(
                "no filter key {key:?}{near} (keys: {}; for plain text, quote it: {whole:?})",
                KEYS.join(", ")
            ))
        }
    }
}

/// Values between commas.
fn values(letters: &[(char, Quoting)]) -> Vec<&[(char, Quoting)]> {
    letters.split(|letter| *letter == (',', Quoting::Plain)).collect()
}

/// After a colon: a part of a name, or a pattern with stars. After an equals sign: the whole name.
fn patterns(operator: char, letters: &[(char, Quoting)]) -> Vec<Pattern> {
    let pattern = |value: &&[(char, Quoting)]| match operator {
        '=' => Pattern::Is(text(value)),
        _ if value.contains(&('*', Quoting::Plain)) => Pattern::Like(text(value)),
        _ => Pattern::Has(text(value)),
    };
    values(letters).iter().map(pattern).collect()
}

fn set(name: &str) -> Result<Set, String> {
    let wanted = name.to_lowercase();
    Set::ALL.into_iter().find(|set| set.as_str() == wanted).ok_or_else(|| {
        let all = Set::ALL.map(Set::as_str);
        format!("there is no set {name}{} (sets: {})", did_you_mean(name, all), all.join(", "))
    })
}

/// The reason with a name.
pub fn reason(name: &str) -> Result<Reason, String> {
    let wanted = name.to_lowercase();
    Reason::ALL.into_iter().find(|reason| reason.as_str() == wanted).ok_or_else(|| {
        let all = Reason::ALL.map(Reason::as_str);
        format!("there is no reason {name}{} (reasons: {})", did_you_mean(name, all), all.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_makes_reads_back_as_itself() {
        for query in [
            Query::of_holders(["web-3-0", "a b", "x,y", "quote\"d", "back\\slash"]),
            Query::of_kind("send mail"),
            Query::of_board("jobs"),
            Query::of_sets(&[Set::Stale, Set::Orphaned]),
            Query::of_reasons([Reason::LeaseExpired, Reason::SessionStale].into_iter().collect()),
            Query::of_source("billing prod").and(Query::of_kind("mail")),
            Query::held_by(""),
        ] {
            assert_eq!(Query::parse(&query.text), Ok(query.clone()), "{}", query.text);
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_likely_one() {
        let said = Query::parse("hodler:x").unwrap_err();
        assert!(said.contains("no filter key \"hodler\"; did you mean holder?"), "{said}");
        assert!(Query::parse("user:42").unwrap_err().contains("quote it: \"user:42\""));
        assert!(Query::parse("\"user:42\"").is_ok());
        assert!(Query::parse("set:stael").unwrap_err().contains("did you mean stale?"));
        assert!(Query::parse("reason:lease_expird").unwrap_err().contains("did you mean lease_expired?"));
        assert!(Query::parse("age:10m").unwrap_err().contains("age>10m"));
        assert!(Query::parse("holder>x").unwrap_err().contains("holder:x"));
        assert!(Query::parse("\"open").is_err());
    }
}
