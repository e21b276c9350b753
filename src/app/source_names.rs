//! What sources are called on the screen.

use unicode_width::UnicodeWidthStr;

use super::source::SourceView;
use crate::domain::visible::safe;

/// The short names of all sources. They are asked for in every line, and do not change.
#[derive(Debug, Default)]
pub struct SourceNames {
    names: Vec<String>,
    widest: usize,
}

impl SourceNames {
    /// A name has the number of its source if another one has the same name.
    pub(super) fn of(sources: &[SourceView]) -> SourceNames {
        let mut counts: std::collections::BTreeMap<&str, usize> = Default::default();
        for source in sources {
            *counts.entry(source.name()).or_default() += 1;
        }
        let name = |(number, source): (usize, &SourceView)| match counts.get(source.name()) {
            Some(1) => safe(source.name()),
            _ => format!("{}·{}", number + 1, safe(source.name())),
        };
        let names: Vec<String> = sources.iter().enumerate().map(name).collect();
        let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
        SourceNames { names, widest }
    }

    pub(super) fn get(&self, source: usize) -> Option<&String> {
        self.names.get(source)
    }

    /// How many columns the widest name takes.
    pub fn widest(&self) -> usize {
        self.widest
    }
}
