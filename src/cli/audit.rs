//! `claimtop audit`: the trail, looked at, checked and taken along.

use clap::Subcommand;

use super::output::{complain, print};
use super::recovery::{Purpose, Refusal, desk};
use super::setup::Setup;
use crate::exit::Exit;
use crate::recovery::trail::{Anchor, Entry, Trail, TrailError};
use crate::report::audit::{detail, table};
use crate::report::json::line;

#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Make the table claimtop_audit, so that a record is part of its act's own transaction
    Init { source: String },
    /// What was done
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
        /// Only acts whose outcome is not known
        #[arg(long)]
        open: bool,
    },
    /// Everything about one act, or about all acts of a batch
    Show { action: String },
    /// Whether the trail is whole
    Verify {
        /// How far it reached when it was last looked at: COUNT:HASH, as verify prints it
        #[arg(long, value_name = "ANCHOR")]
        anchor: Option<Anchor>,
    },
    /// All of it, as JSON lines
    Export,
}

pub fn run(setup: &Setup, verb: AuditVerb) -> Exit {
    if let AuditVerb::Init { source } = &verb {
        let made = desk(setup, source, Purpose::Act).and_then(|mut desk| {
            // Acts from before the table have no row in it: what can be found out about them is found out first.
            desk.settle_open_actions()?;
            Ok(desk.actor().create_audit_table()?)
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
        AuditVerb::List { on, action, holder, open } => {
            let mut entries = if open { trail.open_actions()? } else { trail.entries()? };
            entries.retain(|entry| {
                let record = &entry.record;
                on.as_ref().is_none_or(|on| record.source == *on)
                    && action.as_ref().is_none_or(|action| record.action == *action)
                    && holder.as_ref().is_none_or(|holder| record.holder.as_ref() == Some(holder))
            });
            if setup.json {
                print(&lines(&entries));
            } else {
                print(&table(&entries));
            }
            Ok(Exit::Fine)
        }
        AuditVerb::Show { action } => {
            let mut entries = trail.entries()?;
            let of_batch = format!("{action}.");
            entries.retain(|entry| {
                let id = &entry.record.action_id;
                *id == action || id.starts_with(&of_batch)
            });
            if entries.is_empty() {
                return Ok(complain(&format!("there is no action {action} in the trail")));
            }
            print(&if setup.json { lines(&entries) } else { entries.iter().map(detail).collect() });
            Ok(Exit::Fine)
        }
        AuditVerb::Verify { anchor } => {
            let verified = trail.verify(anchor.as_ref())?;
            let findings: Vec<String> = verified.findings.iter().map(ToString::to_string).collect();
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
            print(&lines(&trail.entries()?));
            Ok(Exit::Fine)
        }
    }
}

fn lines(entries: &[Entry]) -> String {
    entries.iter().map(|entry| line(entry) + "\n").collect()
}
