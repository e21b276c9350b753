//! Views by name, and what the screen keeps between two starts.

use std::collections::BTreeMap;

use super::super::claim_column::ClaimColumn;
use super::super::message::Effect;
use super::super::model::{Direction, Model, Pane, Sort, Tone};
use super::super::query::Query;
use crate::domain::saved_view::{SavedView, ScreenState};
use crate::domain::similar::did_you_mean;
use crate::domain::visible::safe;

/// A parsed view.
struct ParsedView {
    query: Query,
    sort: (Sort, Direction),
    columns: Vec<ClaimColumn>,
}

impl ParsedView {
    fn of(view: &SavedView) -> Result<ParsedView, String> {
        Ok(ParsedView {
            query: Query::parse(&view.filter)?,
            sort: sort(&view.sort)?,
            columns: columns(&view.columns)?,
        })
    }
}

fn sort(text: &str) -> Result<(Sort, Direction), String> {
    if text.is_empty() { Ok(Default::default()) } else { Sort::parse(text) }
}

fn columns(names: &[String]) -> Result<Vec<ClaimColumn>, String> {
    names.iter().map(|name| ClaimColumn::parse(name)).collect()
}

impl Model {
    /// Views of the config; an error names the one that cannot be shown.
    pub fn offer_views(&mut self, views: &BTreeMap<String, SavedView>) -> Result<(), String> {
        for (name, view) in views {
            ParsedView::of(view).map_err(|why| format!("view.{name}: {why}"))?;
        }
        self.offered_views = views.clone();
        Ok(())
    }

    /// Restores what an earlier session saved. Unknown words are skipped and reported.
    pub fn restore(&mut self, state: ScreenState) -> Result<(), String> {
        let mut problems = Vec::new();
        match sort(&state.sort) {
            Ok(sort) => (self.sort, self.direction) = sort,
            Err(why) => problems.push(why),
        }
        match columns(&state.columns) {
            Ok(columns) => self.claim_columns = columns,
            Err(why) => problems.push(why),
        }
        for (name, view) in &state.view {
            problems.extend(ParsedView::of(view).err().map(|why| format!("view {name}: {why}")));
        }
        self.kept = state;
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    /// Keeps the order and the columns for the next start.
    pub(super) fn remember(&mut self) -> Vec<Effect> {
        self.kept.sort = self.sort_text();
        self.kept.columns = self.claim_columns.iter().map(|column| column.name().to_owned()).collect();
        vec![Effect::Remember(self.kept.clone())]
    }

    /// Keeps a theme for the next start.
    pub(super) fn remember_theme(&mut self, name: &str) -> Effect {
        self.kept.theme = Some(name.to_owned());
        Effect::Remember(self.kept.clone())
    }

    fn sort_text(&self) -> String {
        match (self.sort, self.direction) {
            (Sort::Worst, Direction::Usual) => String::new(),
            (sort, Direction::Usual) => sort.name().to_owned(),
            (sort, Direction::Reversed) => format!("-{}", sort.name()),
        }
    }

    /// Names of all views, those that were saved and those of the config.
    pub fn view_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.kept.view.keys().chain(self.offered_views.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Saves what Claims shows under a name.
    pub(super) fn save_view(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() || name.contains(char::is_whitespace) {
            self.notify(Tone::Refused, "a view needs a name of one word: :save view NAME");
            return Vec::new();
        }
        let columns = self.claim_columns.iter().map(|column| column.name().to_owned()).collect();
        let view = SavedView { filter: self.query.text.clone(), sort: self.sort_text(), columns };
        self.kept.view.insert(name.to_owned(), view);
        self.notify(Tone::Info, format!("saved; :view {} opens it", safe(name)));
        self.remember()
    }

    /// Opens Claims as it was saved under a name.
    pub(super) fn open_view(&mut self, name: &str) -> Vec<Effect> {
        let names = self.view_names().join(", ");
        let known = self.kept.view.get(name).or_else(|| self.offered_views.get(name));
        let shown = match (known, names.is_empty()) {
            (Some(view), _) => ParsedView::of(view),
            (None, true) => Err("no view was saved yet; :save view NAME saves this one".to_owned()),
            (None, false) if name.is_empty() => Err(format!("views: {names}; :view NAME opens one")),
            (None, false) => {
                let near = did_you_mean(name, self.view_names());
                Err(format!("there is no view {:?}{near} (views: {names})", safe(name)))
            }
        };
        match shown {
            Ok(ParsedView { query, sort, columns }) => {
                (self.sort, self.direction) = sort;
                self.claim_columns = columns;
                self.pane = Pane::Claims;
                self.show_claims(query)
            }
            Err(why) => {
                self.notify(Tone::Refused, why);
                Vec::new()
            }
        }
    }
}
