//! The Groups pane: trouble by host, holder, kind, board, source or reason, group by group of each source.

use super::bulk::GroupTarget;
use super::item::Item;
use super::model::Model;
use super::query::Query;
use crate::domain::cause::{GroupBy, TroubleGroup, groups};
use crate::domain::filter::{Filter, Pattern, Test, exactly};
use crate::domain::shell::quoted;
use crate::domain::verdict::{Reasons, Set};

/// A group of one source.
#[derive(Debug, Clone)]
pub struct GroupLine {
    pub source: usize,
    pub group: TroubleGroup,
}

impl GroupLine {
    pub fn item(&self) -> Item {
        Item::Group { source: self.source, by: self.group.by, name: self.group.name.clone() }
    }

    /// What it is called, as it may be shown.
    pub fn name(&self) -> String {
        self.group.shown_name()
    }

    /// The claims in trouble of the group, and the options of the command line that select the same.
    pub fn target(&self) -> GroupTarget {
        let filter = Filter { sets: vec![Set::Orphaned, Set::Stale], ..Filter::default() };
        let group = &self.group;
        let (filter, options) = match (group.by, &group.name) {
            (GroupBy::Host | GroupBy::Holder, _) => {
                let patterns = group.patterns.iter().map(|name| Pattern::typed(name)).collect();
                let names = group.patterns.iter().map(|name| quoted(name));
                let options = names.flat_map(|name| ["--holder".to_owned(), name]).collect();
                (filter.with(Test::Holder(patterns)), options)
            }
            (GroupBy::Kind, Some(kind)) => {
                (filter.with(Test::Kind(exactly([kind]))), vec!["--kind".into(), quoted(kind)])
            }
            (GroupBy::Board, Some(board)) => (
                Filter { board: Some(board.clone()), ..filter },
                vec!["--set".into(), "orphaned,stale".into(), "--board".into(), quoted(board)],
            ),
            (GroupBy::Reason, Some(name)) => (
                Filter { reasons: group.reason.into_iter().collect(), ..filter },
                vec!["--because".into(), name.clone()],
            ),
            (GroupBy::Kind | GroupBy::Board | GroupBy::Source | GroupBy::Reason, _) => {
                (filter, vec!["--set".into(), "orphaned,stale".into()])
            }
        };
        GroupTarget { name: group.name.clone().unwrap_or_default(), filter, options }
    }

    /// The filter that shows its claims.
    fn query(&self, label: &str, is_alone: bool) -> Query {
        let group = &self.group;
        let claims = match (group.by, &group.name) {
            (GroupBy::Host | GroupBy::Holder, _) => {
                let names: Vec<String> = group.patterns.iter().map(|name| format!("holder:{name}")).collect();
                match (&group.patterns[..], Query::parse(&names.join(" "))) {
                    ([pattern], Ok(query)) if pattern.ends_with('*') => query,
                    (names, _) => Query::of_holders(names.iter().map(String::as_str)),
                }
            }
            (GroupBy::Kind, Some(kind)) => Query::of_kind(kind),
            (GroupBy::Board, Some(board)) => Query::of_board(board),
            (GroupBy::Reason, Some(_)) => Query::of_reasons(group.reason.into_iter().collect::<Reasons>()),
            _ => Query::of_sets(&[Set::Orphaned, Set::Stale]),
        };
        if is_alone { claims } else { claims.and(Query::of_source(label)) }
    }
}

impl Model {
    /// The groups in trouble of all shown sources, the largest trouble first.
    pub fn group_lines(&self) -> Vec<GroupLine> {
        let mut lines: Vec<GroupLine> = Vec::new();
        for (source, view) in self.shown_sources() {
            let Some(facts) = view.facts.as_deref() else { continue };
            let of_source = groups(facts, self.group_by);
            lines.extend(of_source.into_iter().map(|group| GroupLine { source, group }));
        }
        let wanted = self.query.text.to_lowercase();
        lines.retain(|line| wanted.is_empty() || line.name().to_lowercase().contains(&wanted));
        lines.sort_by_key(|line| std::cmp::Reverse(line.group.in_trouble));
        lines
    }

    pub fn selected_group(&self) -> Option<GroupLine> {
        let item = self.selected()?;
        self.group_lines().into_iter().find(|line| line.item() == item)
    }

    /// The filter that shows the claims of the selected group.
    pub(super) fn group_query(&self) -> Option<Query> {
        let line = self.selected_group()?;
        let label = self.sources.get(line.source).map_or("", |source| source.label.as_str());
        Some(line.query(label, self.shown_sources().count() < 2))
    }
}
