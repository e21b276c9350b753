//! What each list shows, in its order.

use std::cmp::Ordering;

use super::item::Item;
use super::message::TrailLine;
use super::model::{ListId, Model, Pane, Sort};
use super::row::{Row, RowId, worst_first};
use crate::domain::claim::Role;
use crate::domain::detail::{Holder, KindTally};
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// A board of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardRef {
    pub source: usize,
    pub profile: String,
    pub board: String,
    pub total: u64,
}

/// A kind of a board of a source.
#[derive(Debug, Clone, Copy)]
pub struct KindLine<'a> {
    pub source: usize,
    pub profile: &'a str,
    pub board: &'a str,
    pub at_least: bool,
    pub tally: &'a KindTally,
}

impl Model {
    /// The identities of a list, in its order.
    pub fn items(&self, list: ListId) -> Vec<Item> {
        match list {
            ListId::Overview(set) => claims(self.set_rows(set)),
            ListId::Pane(Pane::Overview) => claims(self.set_rows(self.column)),
            ListId::Pane(Pane::Claims) => claims(self.browsed_rows()),
            ListId::Pane(Pane::Locks) => claims(self.lock_rows()),
            ListId::Pane(Pane::Sessions) => {
                self.holder_lines().into_iter().map(|(source, holder)| holder_item(source, holder)).collect()
            }
            ListId::Pane(Pane::Jobs) => self.kind_lines().iter().map(kind_item).collect(),
            ListId::Pane(Pane::Events) => {
                self.happening_lines().map(|happening| Item::LoggedEvent(happening.number)).collect()
            }
            ListId::Pane(Pane::Audit) => {
                self.trail_lines().iter().map(|line| Item::Entry { seq: line.seq }).collect()
            }
        }
    }

    /// The loaded rows of a set, filtered and sorted; what is snoozed is left out.
    pub fn set_rows(&self, set: Set) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.loaded().filter(|row| row.judged.verdict.is_in(set)).collect();
        match self.sort {
            // Within a set whose time ran out longest ago is the worst.
            Sort::Worst => {
                rows.sort_by(|one, other| by(Sort::Left, one, other, self.now).then(one.id.cmp(&other.id)));
            }
            _ => self.sort(&mut rows),
        }
        rows
    }

    /// The locks: all of them where their board was read whole, else those that need a look.
    pub fn lock_rows(&self) -> Vec<&Row> {
        let is_lock = |row: &&Row| row.nature.role == Role::Lock;
        let mut rows: Vec<&Row> = self.loaded().filter(is_lock).collect();
        let healthy = self
            .shown_sources()
            .flat_map(|(_, source)| &source.whole)
            .filter(is_lock)
            .filter(|row| !rows.iter().any(|known| known.id == row.id) && self.is_wanted(row));
        let healthy: Vec<&Row> = healthy.collect();
        rows.extend(healthy);
        self.sort(&mut rows);
        rows
    }

    fn loaded(&self) -> impl Iterator<Item = &Row> {
        self.shown_sources().flat_map(|(_, source)| &source.rows).filter(|row| self.is_wanted(row))
    }

    fn is_wanted(&self, row: &Row) -> bool {
        !self.snoozed.contains_key(&row.id) && self.query.takes(row, self.now_of(row.id.source))
    }

    /// The page of the Claims pane, filtered; in the order of the table unless sorted.
    pub fn browsed_rows(&self) -> Vec<&Row> {
        let takes = |row: &&Row| self.query.takes(row, self.now_of(row.id.source));
        let mut rows: Vec<&Row> = self.browsed.rows.iter().filter(takes).collect();
        if self.sort != Sort::Worst {
            self.sort(&mut rows);
        }
        rows
    }

    fn sort(&self, rows: &mut [&Row]) {
        let sort = self.sort;
        // The rows of a source come sorted this way.
        if sort == Sort::Worst && self.shown_sources().count() < 2 && rows.is_sorted_by(in_order) {
            return;
        }
        let now = |row: &Row| self.now_of(row.id.source);
        rows.sort_by(|one, other| by(sort, one, other, now(one)).then_with(|| worst_first(one, other)));
    }

    /// Every board that can be browsed.
    pub fn boards(&self) -> Vec<BoardRef> {
        let mut boards = Vec::new();
        for (number, source) in self.shown_sources() {
            for snapshot in &source.snapshots {
                boards.extend(snapshot.boards.iter().map(|board| BoardRef {
                    source: number,
                    profile: snapshot.profile.clone(),
                    board: board.board.clone(),
                    total: board.counts.total,
                }));
            }
        }
        boards
    }

    /// The holders, those that need a look first.
    pub fn holder_lines(&self) -> Vec<(usize, &Holder)> {
        let wanted = self.query.text.to_lowercase();
        let mut lines: Vec<(usize, &Holder)> = self
            .shown_sources()
            .filter_map(|(number, _)| Some((number, self.holders.get(&number)?.as_ref().ok()?)))
            .flat_map(|(number, holders)| holders.iter().map(move |holder| (number, holder)))
            .filter(|(_, holder)| wanted.is_empty() || holder_text(holder).contains(&wanted))
            .collect();
        lines.sort_by_key(|(number, holder)| {
            let held = holder.claims > 0;
            (!(holder.is_stale && held), !held, holder.beat_at.at(), *number, holder_name(holder))
        });
        lines
    }

    pub fn kind_lines(&self) -> Vec<KindLine<'_>> {
        let mut lines = Vec::new();
        for (source, _) in self.shown_sources() {
            let Some(Ok(boards)) = self.kinds.get(&source) else { continue };
            for board in boards {
                lines.extend(board.kinds.iter().map(|tally| KindLine {
                    source,
                    profile: &board.profile,
                    board: &board.board,
                    at_least: board.at_least,
                    tally,
                }));
            }
        }
        let wanted = self.query.text.to_lowercase();
        lines.retain(|line| {
            let kind = line.tally.kind.as_deref().unwrap_or_default().to_lowercase();
            wanted.is_empty() || kind.contains(&wanted) || line.board.to_lowercase().contains(&wanted)
        });
        lines
    }

    pub fn happening_lines(&self) -> impl Iterator<Item = &super::logged_event::LoggedEvent> {
        let wanted = self.query.text.to_lowercase();
        self.happenings.iter().filter(move |happening| {
            let shown = self.only.is_none_or(|only| only == happening.source);
            let text = {
                let event = &happening.event;
                format!("{} {} {}", event.what().word(), event.shown(), event.said())
            };
            shown && (wanted.is_empty() || text.to_lowercase().contains(&wanted))
        })
    }

    pub fn trail_lines(&self) -> Vec<&TrailLine> {
        let wanted = self.query.text.to_lowercase();
        let Some(Ok(lines)) = &self.trail else { return Vec::new() };
        lines.iter().filter(|line| wanted.is_empty() || trail_text(line).contains(&wanted)).collect()
    }

    /// A claim that is loaded somewhere.
    pub fn row(&self, id: &RowId) -> Option<&Row> {
        let source = self.sources.get(id.source);
        let polled = source.into_iter().flat_map(|source| source.rows.iter().chain(&source.whole));
        polled.chain(&self.browsed.rows).find(|row| row.id == *id)
    }

    /// The claim that an act would be done to.
    pub fn selected_row(&self) -> Option<&Row> {
        match self.selected()? {
            Item::Claim(id) => match self.pane {
                // What is browsed was read on its own, and may be newer than the poll.
                Pane::Claims => self.browsed.rows.iter().find(|row| row.id == id),
                _ => self.row(&id),
            },
            Item::Holder { .. } | Item::Kind { .. } | Item::LoggedEvent(_) | Item::Entry { .. } => None,
        }
    }

    pub fn selected_entry(&self) -> Option<&TrailLine> {
        match self.selected()? {
            Item::Entry { seq } => self.trail_lines().into_iter().find(|line| line.seq == seq),
            _ => None,
        }
    }

    pub fn selected_holder(&self) -> Option<(usize, &Holder)> {
        let item = self.selected()?;
        self.holder_lines().into_iter().find(|(source, holder)| holder_item(*source, holder) == item)
    }
}

fn in_order(one: &&Row, other: &&Row) -> bool {
    worst_first(one, other) != Ordering::Greater
}

fn claims(rows: Vec<&Row>) -> Vec<Item> {
    rows.into_iter().map(|row| Item::Claim(row.id.clone())).collect()
}

pub fn holder_name(holder: &Holder) -> String {
    holder.id.text().unwrap_or_default()
}

pub fn holder_item(source: usize, holder: &Holder) -> Item {
    Item::Holder {
        source,
        profile: holder.profile.clone(),
        listed_in: holder.listed_in.clone(),
        id: holder_name(holder),
    }
}

pub fn kind_item(line: &KindLine<'_>) -> Item {
    Item::Kind {
        source: line.source,
        profile: line.profile.into(),
        board: line.board.into(),
        kind: line.tally.kind.clone(),
    }
}

fn holder_text(holder: &Holder) -> String {
    let host = holder.worker.host.as_deref().unwrap_or_default();
    format!("{} {host} {}", holder_name(holder), holder.profile).to_lowercase()
}

fn trail_text(line: &TrailLine) -> String {
    let outcome = line.outcome.as_deref().unwrap_or("open");
    let (holder, reason) = (line.holder.as_deref().unwrap_or_default(), line.reason.as_deref());
    format!(
        "{} {} {outcome} {} {holder} {} {}",
        line.action_id,
        line.action,
        line.address,
        line.who,
        reason.unwrap_or_default()
    )
    .to_lowercase()
}

fn by(sort: Sort, one: &Row, other: &Row, now: Moment) -> Ordering {
    match sort {
        Sort::Worst => worst_first(one, other),
        Sort::Age => other.age(now).cmp(&one.age(now)),
        Sort::Left => {
            let left = |row: &Row| row.judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
            left(one).cmp(&left(other))
        }
        Sort::Holder => one.claim().holder.cmp(&other.claim().holder),
        Sort::Kind => one.claim().kind.cmp(&other.claim().kind),
        Sort::Id => one.claim().key.text().cmp(&other.claim().key.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::claim::Worker;
    use crate::domain::time::Reading;
    use crate::domain::value::Value;

    #[test]
    fn a_name_that_two_tables_list_is_two_lines_to_select() {
        let listed_in = |table: &str| Holder {
            profile: "merge-queue".into(),
            listed_in: table.into(),
            id: Value::Text("build-4312".into()),
            beat_at: Reading::Absent,
            started_at: Reading::Absent,
            is_stale: false,
            worker: Worker::new(Value::Null, None),
            claims: 1,
            now: Moment::EARLIEST,
        };
        assert_ne!(holder_item(0, &listed_in("entries")), holder_item(0, &listed_in("locks")));
    }
}
