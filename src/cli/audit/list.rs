//! `claimtop audit list`: the selected records, as text, JSON lines or a Markdown table.

use clap::Args;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::lines;
use crate::cli::output::print;
use crate::cli::setup::Setup;
use crate::domain::audit::{ActFilter, Field, Match, PeriodTime};
use crate::exit::Exit;
use crate::recovery::trail::{JournalEntry, Trail, TrailError};
use crate::report::audit::{AuditPages as TextPages, MarkdownPages};
use crate::store::clock;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only acts of this person: a login, or operator or sweeper
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only since then: 2h, 03:17, 2026-11-18 or 2026-11-18T03:17:35Z
    #[arg(long, value_name = "TIME", value_parser = PeriodTime::parse)]
    since: Option<PeriodTime>,
    /// Only until then
    #[arg(long, value_name = "TIME", value_parser = PeriodTime::parse)]
    until: Option<PeriodTime>,
    /// Only this action: reclaim, release, extend, requeue, end_session, undo
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// Only outcomes of this kind
    #[arg(long, value_name = "OUTCOME", value_parser = ["applied", "moved", "refused", "unknown"],
        conflicts_with = "open")]
    outcome: Option<String>,
    /// Only acts on this source
    #[arg(long, visible_alias = "on", value_name = "SOURCE")]
    source: Option<String>,
    /// Only acts on this holder's claims
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Only acts whose outcome is unknown
    #[arg(long)]
    open: bool,
    /// Only the newest N records
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only records before this number (seq in --json); with --limit: the page before
    #[arg(long, value_name = "SEQ")]
    before: Option<u64>,
    /// Print a Markdown table for a ticket, one line an act
    #[arg(long, conflicts_with = "json")]
    md: bool,
}

impl ListArgs {
    fn filter(&self) -> ActFilter {
        let terms = [
            (Field::By, &self.by),
            (Field::Action, &self.action),
            (Field::Outcome, &self.outcome),
            (Field::Source, &self.source),
            (Field::Holder, &self.holder),
        ];
        let given = terms.into_iter().filter_map(|(field, wanted)| Some((field, wanted.clone()?)));
        let filter =
            given.fold(ActFilter::default(), |filter, (field, wanted)| filter.and(field, Match::Is(wanted)));
        filter.within(self.since, self.until)
    }
}

pub(super) fn run(setup: &Setup, trail: &Trail, arguments: &ListArgs) -> Result<Exit, TrailError> {
    let (filter, now) = (arguments.filter(), clock());
    let period = filter.period(now);
    let is_wanted = |entry: &JournalEntry| {
        arguments.before.is_none_or(|before| entry.seq < before)
            && filter.takes(&entry.record.recorded_act(), now)
    };
    let mut printer = AuditPrinter::new(match (setup.json, arguments.md) {
        (true, _) => AuditFormat::Json,
        (false, true) => AuditFormat::Markdown(MarkdownPages::default()),
        (false, false) => AuditFormat::Text(TextPages::default()),
    });
    match (arguments.open, arguments.limit) {
        (true, limit) => {
            let mut entries = trail.open_actions()?;
            entries.retain(is_wanted);
            let newest = entries.len().saturating_sub(limit.unwrap_or(usize::MAX));
            let _ = entries.drain(newest..).try_for_each(|entry| printer.add(entry));
        }
        (false, Some(limit)) => {
            let mut newest = VecDeque::new();
            if limit > 0 {
                trail.each_entry_back_of(&period, |entry| {
                    if is_wanted(&entry) {
                        newest.push_front(entry);
                    }
                    if newest.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
            }
            let _ = newest.into_iter().try_for_each(|entry| printer.add(entry));
        }
        (false, None) => trail.each_entry_of(&period, |entry| {
            if is_wanted(&entry) { printer.add(entry) } else { ControlFlow::Continue(()) }
        })?,
    }
    printer.end();
    Ok(Exit::Fine)
}

/// The output format.
pub(super) enum AuditFormat {
    Text(TextPages),
    Json,
    Markdown(MarkdownPages),
}

/// Prints records page by page, until standard output is closed.
pub(super) struct AuditPrinter {
    pages: AuditFormat,
    page: Vec<JournalEntry>,
    /// How many were printed; the first page is short, so that it appears soon.
    printed: usize,
}

impl AuditPrinter {
    pub(super) fn new(pages: AuditFormat) -> AuditPrinter {
        AuditPrinter { pages, page: Vec::new(), printed: 0 }
    }

    pub(super) fn add(&mut self, entry: JournalEntry) -> ControlFlow<()> {
        self.page.push(entry);
        if self.page.len() < (self.printed + 20).min(500) { ControlFlow::Continue(()) } else { self.flush() }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        self.printed += self.page.len();
        let page = std::mem::take(&mut self.page);
        let text = match &mut self.pages {
            AuditFormat::Text(pages) => pages.next(&page),
            AuditFormat::Json => lines(&page),
            AuditFormat::Markdown(pages) => pages.next(page),
        };
        if print(&text) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Prints the rest.
    pub(super) fn end(mut self) {
        if self.flush().is_continue()
            && let AuditFormat::Markdown(pages) = self.pages
        {
            // The last page: whether the output is still open no longer matters.
            let _ = print(&pages.end());
        }
    }
}
