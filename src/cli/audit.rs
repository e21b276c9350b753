//! `claimtop audit`: shows, verifies and exports the trail.

mod list;
mod report;

use clap::Subcommand;

use super::output::{complain, print};
use super::recovery::{OpenPurpose, audited_actor};
use super::setup::Setup;
use crate::exit::Exit;
use crate::recovery::trail::{Anchor, JournalEntry, Trail, TrailError};
use crate::report::audit::detail;
use crate::report::json::line;
use list::{AuditFormat, AuditPrinter, ListArgs};
use report::ReportArgs;

#[derive(Debug, Subcommand)]
pub(super) enum AuditVerb {
    /// Make the table claimtop_audit, so that a record is part of its act's own transaction
    Init {
        /// A SQLite file, a postgres:// address, or a name from the config
        source: String,
    },
    /// List what was done, oldest first
    List(ListArgs),
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
    /// Write one Markdown page about an incident: causes, timeline, who did what, what was undone, what failed
    Report(ReportArgs),
}

pub(super) fn run(setup: &Setup, verb: AuditVerb) -> Exit {
    if let AuditVerb::Init { source } = &verb {
        let made = audited_actor(setup, source, OpenPurpose::Act).and_then(|mut actor| {
            // Acts from before the table have no row in it, so resolve open acts first.
            actor.settle_open_actions()?;
            Ok(actor.actor().create_audit_table()?)
        });
        return match made {
            Ok(()) => {
                print("acts are now recorded in claimtop_audit as well\n");
                Exit::Fine
            }
            Err(why) => why.say(setup.json, "audit init", None),
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
        AuditVerb::List(arguments) => list::run(setup, trail, &arguments),
        AuditVerb::Report(arguments) => report::run(setup, trail, &arguments),
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
            let mut printer = AuditPrinter::new(AuditFormat::Json);
            trail.each_entry_until(|entry| printer.add(entry))?;
            printer.end();
            Ok(Exit::Fine)
        }
    }
}

fn lines(entries: &[JournalEntry]) -> String {
    entries.iter().map(|entry| line(entry) + "\n").collect()
}
