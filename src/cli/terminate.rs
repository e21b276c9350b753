//! `claimtop terminate`: ends the server session that holds a claim.

use clap::Args;

use super::act::{confirm_profile, exit_of, find_one};
use super::output::print;
use super::recovery::{ActFailure, OpenPurpose, audited_actor};
use super::setup::Setup;
use crate::domain::recovery::{Authorization, TERMINATE};
use crate::exit::Exit;
use crate::report::terminate::{json, text};

/// The claim and the required options.
#[derive(Debug, Args)]
pub(super) struct TerminateArgs {
    /// A postgres:// address, or a name from the config
    source: String,
    /// The claim: its address, or its id where that is unambiguous
    id: String,
    /// Only claims on this board
    #[arg(long, help_heading = "Which claims", value_name = "NAME")]
    board: Option<String>,
    /// Act only if the claim is still exactly what `list --json` showed
    #[arg(long, help_heading = "Which claims", value_name = "TOKEN")]
    seen: Option<String>,
    /// The name of the holder; always needed
    #[arg(long, help_heading = "How", value_name = "NAME")]
    holder: Option<String>,
    /// Do it; always needed, because it cannot be undone
    #[arg(long, help_heading = "How")]
    force: bool,
    /// The reason, for the trail; always needed
    #[arg(long, help_heading = "How", value_name = "TEXT")]
    reason: Option<String>,
    /// Show which session would be ended; end nothing
    #[arg(long, help_heading = "How")]
    dry_run: bool,
}

pub(super) fn run(setup: &Setup, arguments: &TerminateArgs) -> Exit {
    let done = terminate(setup, arguments);
    done.unwrap_or_else(|refusal| refusal.say(setup.json, TERMINATE, Some(&arguments.id)))
}

fn terminate(setup: &Setup, arguments: &TerminateArgs) -> Result<Exit, ActFailure> {
    let TerminateArgs { source, id, board, seen, holder, force, reason, dry_run } = arguments;
    let purpose = if *dry_run { OpenPurpose::Rehearse } else { OpenPurpose::Act };
    let mut actor = audited_actor(setup, source, purpose)?;
    let seen = find_one(&mut actor, id, board.as_deref(), seen.as_deref())?;
    confirm_profile(setup, &mut actor, &seen)?;
    let authorization = Authorization {
        force: *force,
        reason: reason.clone(),
        holder: holder.clone(),
        ..Authorization::default()
    };
    let done = actor.terminate(&seen, &authorization, *dry_run)?;
    print(&if setup.json { json(&done) } else { text(&done) });
    Ok(exit_of(&done.outcome))
}
