//! `claimtop undo`: undoes an act or a whole bulk, after showing every row that it writes.

use clap::Args;
use std::io::{IsTerminal, Write};

use super::act::{asked, conclude, exit_of_all};
use super::output::print;
use super::recovery::{ActFailure, OpenPurpose, audited_actor};
use super::setup::Setup;
use crate::domain::recovery::Outcome;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::recovery::{ActReport, AuditedActor};
use crate::report::act::{ActMode, json, text};
use crate::report::changes;
use crate::store::Side;

/// How many acts of a bulk are shown before it is undone; `--dry-run` shows all.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(super) struct UndoArgs {
    /// A SQLite file, a postgres:// address, or a name from the config
    source: String,
    /// The id of an act or of a whole bulk, as it was printed and as `audit list` shows it
    action: String,
    /// The reason, for the trail
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Show every row and column that it would write; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask on a terminal
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(setup: &Setup, arguments: &UndoArgs) -> Exit {
    let done = if arguments.dry_run { rehearse(setup, arguments) } else { undo(setup, arguments) };
    done.unwrap_or_else(|refusal| refusal.say(setup.json, "undo", None))
}

fn rehearse(setup: &Setup, arguments: &UndoArgs) -> Result<Exit, ActFailure> {
    let mut actor = audited_actor(setup, &arguments.source, OpenPurpose::Rehearse)?;
    let mut exit = Exit::Fine;
    actor.rehearse_undo(&arguments.action, &mut |report| {
        exit = super::act::worse(exit, super::act::exit_of(&report.outcome));
        print(&if setup.json { json(&report) } else { preview(&report) })
    })?;
    Ok(exit)
}

fn undo(setup: &Setup, arguments: &UndoArgs) -> Result<Exit, ActFailure> {
    let UndoArgs { source, action, reason, yes, .. } = arguments;
    let purpose = if *yes { OpenPurpose::Act } else { OpenPurpose::ActUnconfirmed };
    let mut actor = audited_actor(setup, source, purpose)?;
    // Standard output contains results only.
    let (rows, acts) = shown(&mut actor, action)?;
    let _ = std::io::stderr().write_all(rows.as_bytes());
    if std::io::stdin().is_terminal() && !yes && !asked() {
        return Err(ActFailure::NotConfirmed);
    }
    let redo = setup.undo_command(source);
    let telling = ActMode::Done { undo: &redo };
    let mut printed = 0;
    let result = actor.undo_all(action, reason.as_deref(), &mut |report| {
        // For a bulk, print only what was not undone; the summary covers the rest.
        let is_told = setup.json || acts == 1 || report.outcome != Outcome::Applied && printed < SHOWN;
        printed += usize::from(is_told);
        !is_told || print(&if setup.json { json(&report) } else { text(&report, telling) })
    })?;
    Ok(match result.batch.is_none() {
        true => exit_of_all(&result.tally),
        false => conclude(setup, result, source, ("acts", "undone"), false),
    })
}

/// What will be written, and by how many acts.
fn shown(actor: &mut AuditedActor, action: &str) -> Result<(String, usize), ActFailure> {
    let (mut text, mut count) = (String::new(), 0);
    let of = actor.rehearse_undo(action, &mut |report| {
        text.push_str(&preview(&report));
        count += 1;
        count < SHOWN
    })?;
    if of > count {
        text.push_str(&format!("  ... and {} more acts; --dry-run shows them\n", of - count));
    }
    Ok((text, of))
}

/// Every row and column that an undo writes, one per line.
fn preview(report: &ActReport) -> String {
    if report.outcome != Outcome::Applied {
        return text(report, ActMode::Rehearsed);
    }
    let mut out = format!("undo {} writes\n", safe(&report.address));
    for line in changes::lines(&report.images(Side::Before), &report.images(Side::After)) {
        out.push_str(&format!("  {}\n", safe(&line)));
    }
    out
}
