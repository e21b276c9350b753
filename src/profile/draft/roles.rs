//! Which column plays which part in a table of claims.
//!
//! Names come first, then what the rows say: a holder is set in the rows that are held and NULL in the others, a
//! deadline lies ahead of now, a heartbeat moves while the claim stays.

use super::column::{Class, DraftColumn};
use super::held::{Held, meaning_of};
use super::names::{self, ColumnPart, PARTS};
use super::sample::TableSample;
use crate::domain::time::Moment;

/// A column and why it plays its part.
#[derive(Debug, Clone)]
pub struct Guess {
    pub at: usize,
    pub score: i32,
    pub evidence: Vec<String>,
}

/// Less than this is no guess at all.
const ENOUGH: i32 = 4;

/// Who plays what in one table.
#[derive(Debug, Clone, Default)]
pub struct Roles(Vec<(ColumnPart, Guess)>);

impl Roles {
    /// By names and types alone.
    pub fn by_name(columns: &[DraftColumn<'_>]) -> Roles {
        Roles::assign(columns, |_, _| (0, Vec::new()))
    }

    /// The same with what the rows say, now that it is known which of them are held.
    pub fn by_rows(columns: &[DraftColumn<'_>], table: &TableSample, held: &Held, now: Moment) -> Roles {
        let evidence = Evidence { table, held, now, status: held.column() };
        Roles::assign(columns, |part, column| evidence.weigh(part, column))
    }

    pub fn get(&self, part: ColumnPart) -> Option<&Guess> {
        self.0.iter().find(|(known, _)| *known == part).map(|(_, guess)| guess)
    }

    pub fn column<'a, 'b>(
        &self,
        part: ColumnPart,
        columns: &'b [DraftColumn<'a>],
    ) -> Option<&'b DraftColumn<'a>> {
        columns.get(self.get(part)?.at)
    }

    pub fn score(&self, part: ColumnPart) -> i32 {
        self.get(part).map_or(0, |guess| guess.score)
    }

    /// Gives every part to the best column that is left, the clearest first.
    fn assign(
        columns: &[DraftColumn<'_>],
        weigh: impl Fn(ColumnPart, &DraftColumn<'_>) -> (i32, Vec<String>),
    ) -> Roles {
        let mut offers: Vec<(ColumnPart, Guess)> = Vec::new();
        for part in PARTS {
            for column in columns {
                let by_name = names::score(part, column);
                if by_name < 0 {
                    continue;
                }
                let (mut more, mut evidence) = weigh(part, column);
                if part == ColumnPart::Status && column.class == Class::Text && holds_states(column) {
                    more += 5;
                    evidence.push("its values are states of jobs".into());
                }
                if by_name > 0 {
                    evidence.insert(0, "its name".into());
                }
                offers.push((part, Guess { at: column.at, score: by_name + more, evidence }));
            }
        }
        offers.retain(|(_, guess)| guess.score >= ENOUGH);
        // Of equals, the column that stands first in the table.
        offers.sort_by_key(|(part, guess)| (-guess.score, *part, guess.at));
        let mut roles: Vec<(ColumnPart, Guess)> = Vec::new();
        for (part, guess) in offers {
            if roles.iter().all(|(known, other)| *known != part && other.at != guess.at) {
                roles.push((part, guess));
            }
        }
        // A claim without another holder is at least held on a host.
        let host = roles.iter().find(|(part, _)| *part == ColumnPart::Host).map(|(_, guess)| guess.clone());
        if let (Some(host), true) = (host, roles.iter().all(|(part, _)| *part != ColumnPart::Holder)) {
            roles.push((ColumnPart::Holder, Guess { score: ENOUGH, ..host }));
        }
        Roles(roles)
    }
}

/// Whether most values of a column are words for states, and not all the same.
fn holds_states(column: &DraftColumn<'_>) -> bool {
    let values = column.examples(20);
    let known = values.iter().filter(|value| meaning_of(value).is_some()).count();
    known >= 2 && known * 2 >= values.len()
}

/// What the rows of one table say.
struct Evidence<'a> {
    table: &'a TableSample,
    held: &'a Held,
    now: Moment,
    status: Option<usize>,
}

impl Evidence<'_> {
    fn weigh(&self, part: ColumnPart, column: &DraftColumn<'_>) -> (i32, Vec<String>) {
        match part {
            ColumnPart::Holder => self.of_claims(column, "it got a value when the claim began", 8),
            ColumnPart::ClaimedAt => {
                let (ahead, _) = self.ahead(column);
                let (mut score, mut why) = self.of_claims(column, "it got a value when the claim began", 6);
                if matches!(self.held, Held::Every)
                    && column.words.is(&["createdat", "created", "insertedat"])
                {
                    score += 6;
                    why.push("a claim begins when its row is made".into());
                }
                // The time of a claim stays as long as the claim.
                let moved = self.table.changes.moved_alone(column.at, self.status);
                match (ahead, moved) {
                    (0, 0) => (score, why),
                    (0, _) => (score - 8, why),
                    _ => (-20, Vec::new()),
                }
            }
            ColumnPart::Heartbeat => self.beats(column),
            ColumnPart::Deadline => self.ends(column),
            _ => (0, Vec::new()),
        }
    }

    /// A column that is set in held rows and NULL in the others.
    fn of_claims(&self, column: &DraftColumn<'_>, set: &str, weight: i32) -> (i32, Vec<String>) {
        let (mut score, mut why) = (0, Vec::new());
        let (held, rest) = self.split(column);
        if self.status == Some(column.at) {
            return (0, why);
        }
        if let (Some(held), Some(rest)) = (held, rest) {
            if held == 1.0 && rest == 0.0 {
                score += 4;
                why.push("set in the rows that are held and in no other".into());
            } else if held == 1.0 && rest < 0.9 {
                score += 1;
                why.push("set in all rows that are held".into());
            } else if held < 0.5 {
                score -= 6;
            }
        }
        if let Some(status) = self.status {
            let together = self.table.changes.set_together(column.at, status);
            if together > 0 {
                score += weight;
                why.push(format!("{set} ({together} times while watched)"));
            }
        }
        (score, why)
    }

    /// The share of the held rows, and of the others, that have a value in a column.
    fn split(&self, column: &DraftColumn<'_>) -> (Option<f64>, Option<f64>) {
        let share = |held: bool| {
            let rows: Vec<_> =
                self.table.rows.iter().filter(|row| self.held.holds(row, self.now) == held).collect();
            let set = rows.iter().filter(|row| column.is_set(row)).count();
            (!rows.is_empty()).then(|| set as f64 / rows.len() as f64)
        };
        if matches!(self.held, Held::Every | Held::Unseen | Held::Unknown { .. }) {
            return (None, None);
        }
        (share(true), share(false))
    }

    fn beats(&self, column: &DraftColumn<'_>) -> (i32, Vec<String>) {
        let moved = self.table.changes.moved_alone(column.at, self.status);
        match (self.ahead(column).0, moved) {
            (ahead, _) if ahead > 0 => (-20, Vec::new()),
            (_, 0) => (0, Vec::new()),
            (_, moved) => (8, vec![format!("it moved {moved} times in rows whose state stayed")]),
        }
    }

    fn ends(&self, column: &DraftColumn<'_>) -> (i32, Vec<String>) {
        let (ahead, held) = self.ahead(column);
        let moved = self.table.changes.moved_alone(column.at, self.status);
        let (mut score, mut why) = (0, Vec::new());
        let is_empty = |row: &Vec<_>| !self.held.holds(row, self.now) || !column.is_set(row);
        if held > 0 && self.table.rows.iter().all(is_empty) {
            // A deadline that no claim has is none.
            return (-6, why);
        }
        if ahead > 0 {
            score += 3;
            why.push(format!("ahead of now in {ahead} of {held} held rows"));
        }
        if ahead > 0 && moved > 0 {
            score += 3;
            why.push(format!("it moved {moved} times while watched"));
        }
        (score, why)
    }

    /// In how many of the held rows a time lies ahead of now, and how many there are.
    fn ahead(&self, column: &DraftColumn<'_>) -> (usize, usize) {
        let held: Vec<_> = self.table.rows.iter().filter(|row| self.held.holds(row, self.now)).collect();
        let is_ahead =
            |row: &&&Vec<_>| column.instant(row).is_some_and(|at| at.since(self.now).is_positive());
        (held.iter().filter(is_ahead).count(), held.len())
    }
}
