//! The palette's entries: every command (panes among them), and what a command can be completed with: sources, views
//! and themes by name.

use super::actions::{ACTIONS, ActionSpec, Command};
use super::model::Model;
use crate::domain::visible::safe;

/// The themes by name, as in the config.
pub const THEMES: [&str; 3] = ["dark", "light", "colour-blind"];

/// A line of the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteLine {
    pub name: String,
    pub what: String,
    pub choice: Choice,
}

/// What a line of the palette does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Command(Command),
    /// Only this source.
    Source(usize),
    /// Claims as they were saved under this name.
    View(String),
    Theme(&'static str),
}

impl Model {
    /// The entries that match a text: those that begin with it, then those that contain it.
    pub fn palette_entries(&self, text: &str) -> Vec<PaletteLine> {
        let text = text.trim_start().to_lowercase();
        let word = text.split_whitespace().next().unwrap_or_default();
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        // The text after the name of a command is its reason.
        let is_there = |spec: &&ActionSpec| self.replay.is_none() || !spec.writes;
        for spec in ACTIONS.iter().filter(is_there) {
            let entry = || PaletteLine {
                name: spec.name.into(),
                what: spec.what.into(),
                choice: Choice::Command(spec.command),
            };
            if spec.name.starts_with(word) {
                first.push(entry());
            } else if spec.name.contains(word) || (word.len() > 2 && spec.what.contains(word)) {
                rest.push(entry());
            }
        }
        let wanted = text.trim_end();
        let named = self.named_entries().filter(|entry| entry.name.to_lowercase().contains(wanted));
        let (begin, contain): (Vec<PaletteLine>, Vec<PaletteLine>) =
            named.partition(|entry| entry.name.to_lowercase().starts_with(wanted));
        // A longer name wins over a command with a reason: `theme light`.
        match word.len() < wanted.len() {
            true => first.splice(0..0, begin).for_each(drop),
            false => first.extend(begin),
        }
        first.extend(rest);
        first.extend(contain);
        first
    }

    fn named_entries(&self) -> impl Iterator<Item = PaletteLine> {
        let many = self.sources.len() > 1;
        let sources = (0..self.sources.len()).filter(move |_| many).map(|source| PaletteLine {
            name: format!("source {}", self.name_of(source)),
            what: "only this source; again: all".into(),
            choice: Choice::Source(source),
        });
        let themes = THEMES.into_iter().map(|theme| PaletteLine {
            name: format!("theme {theme}"),
            what: "these colours, also after the next start".into(),
            choice: Choice::Theme(theme),
        });
        let views = self.view_names().into_iter().map(|name| PaletteLine {
            name: format!("view {}", safe(name)),
            what: "Claims with the filter, sort and columns of this view".into(),
            choice: Choice::View(name.to_owned()),
        });
        sources.chain(views).chain(themes)
    }
}
