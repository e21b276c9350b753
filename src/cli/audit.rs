//! `claimtop audit`: the trail, looked at, checked and taken along.

use clap::Subcommand;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::output::{complain, print};
use super::recovery::{Purpose, Refusal, audited_actor};
use super::setup::Setup;
use crate::exit::Exit;
use crate::recovery::trail::{Anchor, Entry, Trail, TrailError};
use crate::report::audit::{Pages, detail};
use crate::report::json::line;

#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Make the table claimtop_audit, so that a record is part of its act's own transaction
    Init {
        /// A SQLite file, a postgres:// address, or a name from the config
        source: String,
    },
    /// List what was done, oldest first
    List {
        /// Only acts on this source
        #[arg(long, value_name = "SOURCE")]
        on: Option<String>,
        /// Only this action: reclaim, release, extend, end_session, undo
        #[arg(long, value_name = "NAME")]
        action: Option<String>,
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
    },
    /// Show everything about one act, or about all acts of a bulk
    Show {
        /// The id of an act or of a bulk, as `audit list` shows it
        action: String,
    },
    /// Check that the trail is complete and unchanged
    Verify {
        /// Also check that it contains this anchor of an earlier verify: COUNT:HASH
        #[arg(long, value_name = "ANCHOR")]
        anchor: Option<Anchor>,
    },
    /// Print the whole trail as JSON lines
    Export,
}

pub fn run(setup: &Setup, verb: AuditVerb) -> Exit {
    if let AuditVerb::Init { source } = &verb {
        let made = audited_actor(setup, source, Purpose::Act).and_then(|mut actor| {
            // Acts from before the table have no row in it: what can be found out about them is found out first.
            actor.settle_open_actions()?;
            Ok(actor.actor().create_audit_table()?)
        });
        return match made {
            Ok(()) => {
                print("acts are now recorded in claimtop_audit as well\n");
                Exit::Fine
            }
            Err(refusal) => Refusal::say(refusal, setup.json, "audit init", None),
        };
    }
    let Some(folder) = Trail::default_folder() else {
        return complain("no folder for the trail is known; set XDG_STATE_HOME");
    };
    match Trail::read_only(&folder).and_then(|trail| look(setup, &trail, verb)) {
        Ok(exit) => exit,
        Err(error) => complain(&error.to_string()),
    }
}

fn look(setup: &Setup, trail: &Trail, verb: AuditVerb) -> Result<Exit, TrailError> {
    match verb {
        AuditVerb::Init { .. } => Ok(Exit::Fine),
        AuditVerb::List { on, action, holder, open, limit, before } => {
            let is_wanted = |entry: &Entry| {
                let record = &entry.record;
                on.as_ref().is_none_or(|on| record.source == *on)
                    && action.as_ref().is_none_or(|action| record.action == *action)
                    && holder.as_ref().is_none_or(|holder| record.holder.as_ref() == Some(holder))
                    && before.is_none_or(|before| entry.seq < before)
            };
            let mut printer = Printer::new(setup.json);
            match (open, limit) {
                (true, limit) => {
                    let mut entries = trail.open_actions()?;
                    entries.retain(is_wanted);
                    let newest = entries.len().saturating_sub(limit.unwrap_or(usize::MAX));
                    let _ = entries.drain(newest..).try_for_each(|entry| printer.add(entry));
                }
                (false, Some(limit)) => {
                    let newest = newest(trail, limit, is_wanted)?;
                    let _ = newest.into_iter().try_for_each(|entry| printer.add(entry));
                }
                (false, None) => trail.each_entry_until(|entry| {
                    if is_wanted(&entry) { printer.add(entry) } else { ControlFlow::Continue(()) }
                })?,
            }
            let _ = printer.end();
            Ok(Exit::Fine)
        }
        AuditVerb::Show { action } => {
            let entries = trail.batch(&action)?;
            if entries.is_empty() {
                return Ok(complain(&format!("there is no action {action} in the trail")));
            }
            print(&if setup.json { lines(&entries) } else { entries.iter().map(detail).collect() });
            Ok(Exit::Fine)
        }
        AuditVerb::Verify { anchor } => {
            let verified = trail.verify(anchor.as_ref())?;
            let mut findings: Vec<String> = verified.findings.iter().map(ToString::to_string).collect();
            if verified.more > 0 {
                findings.push(format!("and {} more findings", verified.more));
            }
            if setup.json {
                let object = serde_json::json!({"whole": verified.is_whole, "anchor": verified.anchor.to_string(),
                    "findings": findings});
                print(&(line(&object) + "\n"));
            } else {
                let verdict = if verified.is_whole { "whole" } else { "NOT WHOLE" };
                let said: String = findings.iter().map(|finding| format!("  {finding}\n")).collect();
                print(&format!("the trail is {verdict}\n{said}anchor {}\n", verified.anchor));
            }
            Ok(if verified.is_whole { Exit::Fine } else { Exit::Critical })
        }
        AuditVerb::Export => {
            let mut printer = Printer::new(true);
            trail.each_entry_until(|entry| printer.add(entry))?;
            let _ = printer.end();
            Ok(Exit::Fine)
        }
    }
}

/// The newest records that are wanted, in the order in which they were written.
fn newest(trail: &Trail, limit: usize, is_wanted: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>, TrailError> {
    let mut newest = VecDeque::new();
    if limit > 0 {
        trail.each_entry_back(|entry| {
            if is_wanted(&entry) {
                newest.push_front(entry);
            }
            if newest.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    Ok(newest.into())
}

/// Prints records page by page, until nobody reads any more.
struct Printer {
    json: bool,
    page: Vec<Entry>,
    pages: Pages,
    /// Printed so far; the first page is short, to be there at once.
    printed: usize,
}

impl Printer {
    fn new(json: bool) -> Printer {
        Printer { json, page: Vec::new(), pages: Pages::default(), printed: 0 }
    }

    fn add(&mut self, entry: Entry) -> ControlFlow<()> {
        self.page.push(entry);
        if self.page.len() < (self.printed + 20).min(500) { ControlFlow::Continue(()) } else { self.end() }
    }

    fn end(&mut self) -> ControlFlow<()> {
        self.printed += self.page.len();
        let text = if self.json { lines(&self.page) } else { self.pages.next(&self.page) };
        self.page.clear();
        if print(&text) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

fn lines(entries: &[Entry]) -> String {
    entries.iter().map(|entry| line(entry) + "\n").collect()
}
