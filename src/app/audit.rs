//! The Audit pane: acts on record, the newest first, filtered; a bulk is one line that unfolds.

use std::collections::BTreeMap;

use super::item::Item;
use super::message::TrailLine;
use super::model::Model;
use super::row::RowId;
use crate::domain::audit::{ActFilter, OutcomeCounts};

/// What the pane knows.
#[derive(Debug, Default)]
pub struct AuditPane {
    pub filter: ActFilter,
    pub filter_problem: Option<String>,
    /// Nothing before the first answer.
    pub page: Option<Result<TrailPage, String>>,
    /// The bulks that are unfolded.
    pub unfolded: BTreeMap<String, Unfolded>,
    /// What was done to the claim whose detail is open.
    pub history: Option<(RowId, Vec<TrailLine>)>,
}

/// The newest acts on record that pass a filter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrailPage {
    pub filter: ActFilter,
    pub lines: Vec<AuditLine>,
    pub extent: Extent,
}

/// How much of the trail a page covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extent {
    /// All that the filter lets through.
    #[default]
    Whole,
    /// There is more than the screen keeps.
    Newest,
    /// So many records were looked at, and there are more.
    Reading { records: u64 },
}

/// An act, or all acts of a bulk.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditLine {
    Act(TrailLine),
    Bulk(BulkLine),
}

/// A bulk, ready to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkLine {
    /// What undoes all of it.
    pub id: String,
    /// The number of its newest record.
    pub seq: u64,
    /// When it began.
    pub at: String,
    pub action: String,
    pub source: String,
    /// Which of the watched sources it was done to, if one of them.
    pub on: Option<usize>,
    /// Of its acts that pass the filter.
    pub counts: OutcomeCounts,
    /// The holder, while there is only one.
    pub holder: Option<String>,
    pub who: String,
    pub reason: Option<String>,
}

/// The acts of a bulk that is unfolded.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfolded {
    Reading,
    /// The first of them.
    Acts(Vec<TrailLine>),
    Failed(String),
}

/// One line of the pane.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditRow<'a> {
    Act(&'a TrailLine),
    Bulk {
        line: &'a BulkLine,
        is_unfolded: bool,
    },
    /// An act of the bulk above.
    Below(&'a TrailLine),
    /// A note below the acts of a bulk.
    Note {
        id: &'a str,
        text: String,
    },
}

impl AuditRow<'_> {
    pub fn item(&self) -> Item {
        match self {
            AuditRow::Act(line) | AuditRow::Below(line) => Item::Act { id: line.action_id.clone() },
            AuditRow::Bulk { line, .. } => Item::Bulk { id: line.id.clone() },
            AuditRow::Note { id, .. } => Item::BulkNote { id: (*id).to_owned() },
        }
    }
}

impl AuditPane {
    /// The lines of the pane, with those below the bulks that are unfolded.
    pub fn rows(&self) -> Vec<AuditRow<'_>> {
        let Some(Ok(page)) = &self.page else { return Vec::new() };
        let mut rows = Vec::with_capacity(page.lines.len());
        for line in &page.lines {
            match line {
                AuditLine::Act(line) => rows.push(AuditRow::Act(line)),
                AuditLine::Bulk(line) => {
                    let unfolded = self.unfolded.get(&line.id);
                    rows.push(AuditRow::Bulk { line, is_unfolded: unfolded.is_some() });
                    rows.extend(unfolded.into_iter().flat_map(|unfolded| unfolded.rows(line)));
                }
            }
        }
        rows
    }

    /// The single acts among the lines.
    pub fn acts(&self) -> impl Iterator<Item = &TrailLine> {
        let page = self.page.as_ref().and_then(|page| page.as_ref().ok());
        page.into_iter().flat_map(|page| &page.lines).filter_map(|line| match line {
            AuditLine::Act(line) => Some(line),
            AuditLine::Bulk(_) => None,
        })
    }
}

impl Unfolded {
    fn rows<'a>(&'a self, bulk: &'a BulkLine) -> Vec<AuditRow<'a>> {
        let id = bulk.id.as_str();
        let note = |text: String| AuditRow::Note { id, text };
        match self {
            Unfolded::Reading => vec![note("reading ...".into())],
            Unfolded::Failed(why) => vec![note(why.clone())],
            Unfolded::Acts(lines) => {
                let mut rows: Vec<AuditRow<'a>> = lines.iter().map(AuditRow::Below).collect();
                let more = bulk.counts.total().saturating_sub(lines.len() as u64);
                if more > 0 {
                    rows.push(note(format!("and {more} more: claimtop audit show {id}")));
                }
                rows
            }
        }
    }
}

impl Model {
    /// The selected act of the Audit pane.
    pub fn selected_entry(&self) -> Option<&TrailLine> {
        let Item::Act { id } = self.selected()? else { return None };
        self.audit.rows().into_iter().find_map(|row| match row {
            AuditRow::Act(line) | AuditRow::Below(line) if line.action_id == id => Some(line),
            _ => None,
        })
    }

    /// The selected bulk of the Audit pane.
    pub fn selected_bulk(&self) -> Option<&BulkLine> {
        let Item::Bulk { id } = self.selected()? else { return None };
        self.audit.rows().into_iter().find_map(|row| match row {
            AuditRow::Bulk { line, .. } if line.id == id => Some(line),
            _ => None,
        })
    }

    /// The filter of the pane that is shown, as it was written.
    pub fn filter_text(&self) -> &str {
        if self.pane == super::model::Pane::Audit { self.audit.filter.text() } else { &self.query.text }
    }

    /// What is wrong with the filter that is being written.
    pub fn filter_problem(&self) -> Option<&str> {
        let problem = match self.pane {
            super::model::Pane::Audit => &self.audit.filter_problem,
            _ => &self.query_problem,
        };
        problem.as_deref()
    }
}
