//! An incident as one page of Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::affected_holders::AffectedGroup;
use super::timeline_entry::TimelineEntry;
use super::{Incident, MAX_ENTRIES};
use crate::report::document::{Block, Text, counted};
use crate::report::markdown::{code, heading, row, text};

/// How many hosts or holders are named.
const MOST_GROUPS: usize = 20;
/// How many names one sentence has.
const MOST_NAMES: usize = 5;

impl Incident {
    /// The page without its title.
    pub fn page(&self, title: &str) -> String {
        let mut out = format!("# {}\n\n", text(title));
        let Some((first, last)) = self.first_at.as_deref().zip(self.last_at.as_deref()) else {
            out.push_str("No acts are on record for this time.\n");
            return out;
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- First record: {}\n- Last record: {}", text(first), text(last));
        let _ = writeln!(out, "- Acts: {} ({})", self.counts.total(), self.counts);
        let undone: u64 = self.entries.iter().map(|entry| entry.undone).sum();
        let _ = writeln!(out, "- Undone: {}", undone + self.undone_before);
        if let Some((seq, hash)) = &self.anchor {
            let _ = writeln!(out, "- The trail up to here: `claimtop audit verify --anchor {seq}:{hash}`");
        }
        self.causes(&mut out);
        self.timeline(&mut out);
        self.people(&mut out);
        self.undone(&mut out);
        self.failures(&mut out);
        out
    }

    fn causes(&self, out: &mut String) {
        out.push_str("\n## Causes\n\nWhose claims were acted on: by host, as far as the names of the holders tell it.\n\n");
        let groups = self.holders.groups();
        if groups.is_empty() {
            out.push_str("No holder is on record.\n");
            return;
        }
        for (name, troubled) in groups.iter().take(MOST_GROUPS) {
            out.push_str(&cause(name, troubled));
        }
        let rest: u64 = groups.iter().skip(MOST_GROUPS).map(|(_, troubled)| troubled.acts).sum();
        if rest + self.holders.others > 0 {
            let _ = writeln!(out, "- others: {}", acts(rest + self.holders.others));
        }
    }

    fn timeline(&self, out: &mut String) {
        out.push_str("\n## Timeline\n\nTimes are UTC.\n\n");
        out.push_str(&heading(&TIMELINE));
        for entry in &self.entries {
            out.push_str(&row(timeline_row(entry).iter().map(Text::markdown)));
        }
        if self.left_out > 0 {
            let _ = writeln!(
                out,
                "\nOnly the first {MAX_ENTRIES} have a line; {} more are counted above.",
                acts(self.left_out)
            );
        }
    }

    fn people(&self, out: &mut String) {
        out.push_str("\n## Who did what\n\n");
        out.push_str(&heading(&PEOPLE));
        for person in self.people_rows() {
            out.push_str(&row(person.iter().map(Text::markdown)));
        }
    }

    fn people_rows(&self) -> impl Iterator<Item = Vec<Text>> {
        self.people.iter().map(|((who, action), counts)| {
            [who.clone(), action.clone(), counts.total().to_string(), counts.to_string()]
                .map(Text::Plain)
                .to_vec()
        })
    }

    /// Whether no act was added.
    pub fn is_empty(&self) -> bool {
        self.first_at.is_none()
    }

    /// Who did what, and when, as part of another page.
    pub fn blocks(&self) -> Vec<Block> {
        let rows = self.entries.iter().map(timeline_row).collect();
        vec![
            Block::Table { headings: PEOPLE.to_vec(), rows: self.people_rows().collect() },
            Block::Table { headings: TIMELINE.to_vec(), rows },
        ]
    }

    fn undone(&self, out: &mut String) {
        out.push_str("\n## Undone\n\n");
        let undone: Vec<&TimelineEntry> = self.entries.iter().filter(|entry| entry.undone > 0).collect();
        if undone.is_empty() && self.undone_before == 0 {
            out.push_str("Nothing was undone.\n");
        }
        for entry in undone {
            let by: Vec<String> = entry.undone_by.iter().map(|who| text(who)).collect();
            let at = entry.undone_at.as_deref().map(text).unwrap_or_default();
            let _ = writeln!(
                out,
                "- {} of {} of {} ({}), by {}, until {at}",
                entry.undone,
                acts(entry.counts.applied),
                code(&entry.id),
                text(&entry.action),
                by.join(", ")
            );
        }
        if self.undone_before > 0 {
            let _ = writeln!(out, "- {} from before this time", acts(self.undone_before));
        }
    }

    fn failures(&self, out: &mut String) {
        out.push_str("\n## Not done\n\n");
        let open = self.counts.open;
        if self.failures.is_empty() && open == 0 {
            out.push_str("Everything that was tried was done.\n");
            return;
        }
        if open > 0 {
            let _ = writeln!(
                out,
                "{} without an outcome: `claimtop audit list --open` lists them.\n",
                acts(open)
            );
        }
        if self.failures.is_empty() {
            return;
        }
        out.push_str(&heading(&["Time", "Act", "Claim", "Outcome", "Why"]));
        for failure in &self.failures {
            out.push_str(&row([
                time(&failure.at, &failure.at),
                text(&failure.action),
                code(&failure.claim),
                text(&failure.outcome),
                text(&failure.why),
            ]));
        }
        let more = self.failed.saturating_sub(self.failures.len() as u64);
        if more > 0 {
            let _ = writeln!(out, "\nand {more} more; `claimtop audit list --outcome` lists them.");
        }
    }
}

const TIMELINE: [&str; 7] = ["Time", "Who", "Act", "On", "Outcome", "Reason", "Id"];
const PEOPLE: [&str; 4] = ["Who", "Act", "Acts", "Outcome"];

fn timeline_row(entry: &TimelineEntry) -> Vec<Text> {
    vec![
        Text::Plain(time(&entry.first_at, &entry.last_at)),
        Text::plain(&entry.who),
        Text::plain(&entry.action),
        on(entry),
        Text::Plain(entry.counts.to_string()),
        Text::plain(entry.reason.clone().unwrap_or_default()),
        Text::code(&entry.id),
    ]
}

/// "66 acts on claims of 5 holders: lease_expired 52, session_stale 13".
fn cause(name: &str, troubled: &AffectedGroup) -> String {
    let names: Vec<String> = troubled.holders.iter().take(MOST_NAMES).map(|holder| code(holder)).collect();
    let more = troubled.holders.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut out = format!(
        "- **{}**: {}, the first at {}; {} ({}{more})",
        code(name),
        acts(troubled.acts),
        time(&troubled.first_at, &troubled.first_at),
        counted(troubled.holders.len() as u64, "holder"),
        names.join(", ")
    );
    for (what, counts) in [("reasons", &troubled.reasons), ("kinds", &troubled.kinds)] {
        if !counts.is_empty() {
            let _ = write!(out, "; {what}: {}", most(counts));
        }
    }
    if !troubled.example.is_empty() {
        let _ = write!(out, "\n  - the first: {}", text(&troubled.example));
    }
    out.push('\n');
    out
}

/// The most frequent ones with their counts.
fn most(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown: Vec<String> =
        counts.iter().take(MOST_NAMES).map(|(name, count)| format!("{} {count}", code(name))).collect();
    shown.join(", ")
}

/// What a entry was done to.
fn on(entry: &TimelineEntry) -> Text {
    let source = Text::code(&entry.source);
    Text::Parts(match (entry.counts.total(), entry.holders.len()) {
        (0 | 1, _) => vec![Text::code(&entry.claim), Text::plain(" in "), source],
        (claims, holders) => {
            let (claims, holders) = (counted(claims, "claim"), counted(holders as u64, "holder"));
            vec![Text::Plain(format!("{claims}, {holders}, in ")), source]
        }
    })
}

fn acts(count: u64) -> String {
    counted(count, "act")
}

/// "2026-11-18 03:17:35", or from one to another.
fn time(first: &str, last: &str) -> String {
    let short = |at: &str| text(at.get(..19).unwrap_or(at)).replace('T', " ");
    match first.get(..19) == last.get(..19) {
        true => short(first),
        false => format!("{} to {}", short(first), text(last.get(11..19).unwrap_or(last))),
    }
}
