//! What each list shows, in its order.

use std::cmp::Ordering;

use super::audit::AuditRow;
use super::groups::GroupLine;
use super::item::Item;
use super::model::{Direction, ListId, Model, Pane, Sort};
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
            ListId::Pane(Pane::Claims) => claims(self.claim_rows()),
            ListId::Pane(Pane::Locks) => claims(self.lock_rows()),
            ListId::Pane(Pane::Sessions) => {
                self.holder_lines().into_iter().map(|(source, holder)| holder_item(source, holder)).collect()
            }
            ListId::Pane(Pane::Groups) => self.group_lines().iter().map(GroupLine::item).collect(),
            ListId::Pane(Pane::Jobs) => self.kind_lines().iter().map(kind_item).collect(),
            ListId::Pane(Pane::Events) => {
                self.event_lines().map(|logged| Item::LoggedEvent(logged.number)).collect()
            }
            ListId::Pane(Pane::Backtest) => {
                self.backtests().iter().map(|one| Item::Threshold(one.series.subject.clone())).collect()
            }
            ListId::Pane(Pane::Audit) => self.audit.rows().iter().map(AuditRow::item).collect(),
        }
    }

    /// How many rows [`Model::set_rows`] has, without sorting them.
    pub fn set_len(&self, set: Set) -> usize {
        self.loaded().filter(|row| row.headline() == set).count()
    }

    /// The loaded rows whose worst set this is, filtered and sorted; what is snoozed is left out.
    pub fn set_rows(&self, set: Set) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.loaded().filter(|row| row.headline() == set).collect();
        match self.sort {
            // Within a set, the claim whose time ran out longest ago comes first.
            Sort::Worst => {
                rows.sort_by(|one, other| {
                    by(Sort::Left, one, other, self.now).then_with(|| one.id.cmp(&other.id))
                });
            }
            _ => self.sort(&mut rows),
        }
        rows
    }

    /// The locks: all of them if their board was read whole, else only those in a set.
    pub fn lock_rows(&self) -> Vec<&Row> {
        let is_lock = |row: &&Row| row.nature.role == Role::Lock;
        let mut rows: Vec<&Row> = self.loaded().filter(is_lock).collect();
        let is_new = |row: &&Row| !rows.iter().any(|known| known.id == row.id);
        let healthy: Vec<&Row> = self.whole_rows().filter(is_lock).filter(is_new).collect();
        rows.extend(healthy);
        self.sort(&mut rows);
        rows
    }

    /// Every loaded row that is in a set, filtered.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &Row> {
        self.shown_sources().flat_map(|(_, source)| &source.rows).filter(|row| self.is_wanted(row))
    }

    /// Every claim of the boards that were read whole, filtered.
    pub(super) fn whole_rows(&self) -> impl Iterator<Item = &Row> {
        self.shown_sources().flat_map(|(_, source)| &source.whole).filter(|row| self.is_wanted(row))
    }

    fn is_wanted(&self, row: &Row) -> bool {
        !self.snoozed.contains_key(&row.id) && self.passes(row)
    }

    /// Whether a claim passes the filter.
    pub(super) fn passes(&self, row: &Row) -> bool {
        let label = self.sources.get(row.id.source).map_or("", |source| &source.label);
        self.query.takes(row, label, self.now_of(row.id.source))
    }

    /// The loaded rows of the Claims pane that pass the filter, worst first unless sorted.
    pub fn claim_rows(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.claims.rows().filter(|row| self.passes(row)).collect();
        match (self.sort, self.direction) {
            (Sort::Worst, Direction::Usual) => {}
            (Sort::Worst, Direction::Reversed) => rows.reverse(),
            _ => self.sort(&mut rows),
        }
        rows
    }

    fn sort(&self, rows: &mut [&Row]) {
        let sort = self.sort;
        // The store returns the rows of a source in this order.
        let is_usual = sort == Sort::Worst && self.direction == Direction::Usual;
        if is_usual && self.shown_sources().count() < 2 && rows.is_sorted_by(in_order) {
            return;
        }
        let now = |row: &Row| self.now_of(row.id.source);
        rows.sort_by(|one, other| by(sort, one, other, now(one)).then_with(|| worst_first(one, other)));
        if self.direction == Direction::Reversed {
            rows.reverse();
        }
    }

    /// Every board.
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

    /// The holders; stale ones with claims come first.
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

    pub fn event_lines(&self) -> impl Iterator<Item = &super::logged_event::LoggedEvent> {
        let wanted = self.query.text.to_lowercase();
        self.event_log.iter().filter(move |logged| {
            let shown = self.only.is_none_or(|only| only == logged.source);
            let text = {
                let event = &logged.event;
                format!("{} {} {}", event.kind().word(), event.shown(), event.message())
            };
            shown && (wanted.is_empty() || text.to_lowercase().contains(&wanted))
        })
    }

    /// A claim that is loaded somewhere.
    pub fn row(&self, id: &RowId) -> Option<&Row> {
        let source = self.sources.get(id.source);
        let polled = source.into_iter().flat_map(|source| source.rows.iter().chain(&source.whole));
        polled.chain(self.claims.rows()).find(|row| row.id == *id)
    }

    /// The claim that an act would be done to.
    pub fn selected_row(&self) -> Option<&Row> {
        let list = self.list();
        let rows = match list {
            ListId::Overview(set) => self.set_rows(set),
            ListId::Pane(Pane::Claims) => self.claim_rows(),
            ListId::Pane(Pane::Locks) => self.lock_rows(),
            ListId::Pane(_) => return None,
        };
        self.selections.get(&list).cloned().unwrap_or_default().place_of_claim(&rows).map(|at| rows[at])
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
        Sort::Board => one.board.cmp(&other.board),
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
