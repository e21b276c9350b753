//! `claimtop reclaim`, `release` and `extend`: one claim, or all of a set.

use clap::Args;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use super::output::print;
use super::recovery::{Purpose, Refusal, desk};
use super::setup::Setup;
use crate::domain::recovery::{Action, Outcome, Word};
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::visible;
use crate::exit::Exit;
use crate::recovery::{Desk, Told};
use crate::report::act::{beyond_undo, json, text};
use crate::store::Filter;
use crate::store::Seen;

/// An act on one claim, or on a set.
#[derive(Debug, Args)]
pub struct ActArgs {
    source: String,
    /// The claim: its address, or its id where that is unambiguous
    #[arg(required_unless_present = "set", conflicts_with = "set")]
    id: Option<String>,
    #[command(flatten)]
    how: How,
}

/// A release also of everything that a session holds.
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    source: String,
    /// The claim: its address, or its id where that is unambiguous
    #[arg(required_unless_present_any = ["set", "session"], conflicts_with = "set")]
    id: Option<String>,
    /// Instead of claims: all that this session holds, and then the session itself
    #[arg(long, value_name = "ID", conflicts_with_all = ["id", "set", "board", "seen", "by"])]
    session: Option<String>,
    #[command(flatten)]
    how: How,
}

/// What can be said to an act.
#[derive(Debug, Args)]
pub struct How {
    /// Instead of one claim: all that are in these sets
    #[arg(long, value_name = "SET", value_delimiter = ',', value_parser = super::set)]
    set: Vec<Set>,
    /// Only this board
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", requires = "set", conflicts_with = "id")]
    limit: Option<usize>,
    /// Act only if the claim is exactly what `list --json` showed
    #[arg(long, value_name = "TOKEN", conflicts_with = "set")]
    seen: Option<String>,
    /// Why, for the trail
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Also if it is not stale or orphaned, or its holder lives
    #[arg(long)]
    force: bool,
    /// The holder, named, where it may be alive
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Show the statements and the rows they would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// How much more time an extension gives [default: the usual lease]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    by: Option<Span>,
}

impl How {
    pub fn word(&self) -> Word {
        Word {
            force: self.force,
            reason: self.reason.clone(),
            holder: self.holder.clone(),
            by: self.by,
            ..Word::default()
        }
    }

    fn purpose(&self) -> Purpose {
        if self.dry_run { Purpose::Rehearse } else { Purpose::Act }
    }
}

pub fn run(setup: &Setup, action: Action, arguments: &ActArgs) -> Exit {
    let ActArgs { source, id, how } = arguments;
    claims(setup, action, source, id.as_deref(), how)
}

pub fn release(setup: &Setup, arguments: &ReleaseArgs) -> Exit {
    let ReleaseArgs { source, id, session, how } = arguments;
    let Some(session) = session else {
        return claims(setup, Action::Release, source, id.as_deref(), how);
    };
    let done = desk(setup, source, how.purpose())
        .and_then(|mut desk| super::session::release(setup, &mut desk, session, how));
    done.unwrap_or_else(|refusal| refusal.say(setup.json, Action::Release.as_str(), Some(session)))
}

fn claims(setup: &Setup, action: Action, source: &str, id: Option<&str>, how: &How) -> Exit {
    let done = desk(setup, source, how.purpose()).and_then(|mut desk| match id {
        Some(id) => one(setup, &mut desk, action, id, how),
        None => many(setup, &mut desk, action, how),
    });
    done.unwrap_or_else(|refusal| refusal.say(setup.json, action.as_str(), id))
}

fn one(setup: &Setup, desk: &mut Desk, action: Action, id: &str, arguments: &How) -> Result<Exit, Refusal> {
    let mut found = desk.actor().find(id, arguments.board.as_deref())?;
    let seen = match found.len() {
        0 => return Err(Refusal::Moved(format!("there is no claim {} (any more)", visible(id)))),
        1 => found.remove(0),
        _ => {
            let addresses: Vec<String> = found.iter().map(|seen| desk.actor().address(seen)).collect();
            let sentence = format!("{} means several claims: {}", visible(id), addresses.join(", "));
            return Err(Refusal::Error(sentence));
        }
    };
    if let Some(token) = &arguments.seen {
        let is = seen.judged.seen.as_deref().unwrap_or_default();
        // A verdict that has come to rest on the session since adds that session to the token.
        if is != token && !is.starts_with(&format!("{token}-s")) {
            return Err(Refusal::Moved(
                "it is not what was listed: it, or its session, has changed since".into(),
            ));
        }
    }
    confirm_profile(setup, desk, &seen)?;
    let report = if arguments.dry_run {
        desk.rehearse(&seen, action, &arguments.word())?
    } else {
        desk.perform(&seen, action, &arguments.word())?
    };
    let shown = if setup.json { json(&report) } else { text(&report, arguments.dry_run) };
    print(&shown);
    Ok(exit_of(&report.outcome))
}

/// A profile whose tables could be anybody's is acted on only by its name.
pub fn confirm_profile(setup: &Setup, desk: &mut Desk, seen: &Seen) -> Result<(), Refusal> {
    let named = setup.named_profiles(desk.source());
    let (profile, generic) = desk.actor().profile_of(seen);
    if generic && !named.iter().any(|name| name == profile) {
        return Err(Refusal::Refused(format!(
            "the tables of {profile} could be anybody's; --profile {profile} says that they are its"
        )));
    }
    Ok(())
}

fn many(setup: &Setup, desk: &mut Desk, action: Action, arguments: &How) -> Result<Exit, Refusal> {
    let filter = Filter {
        sets: arguments.set.clone(),
        board: arguments.board.clone(),
        holder: arguments.holder.clone(),
        limit: arguments.limit,
        ..Filter::default()
    };
    desk.actor().expect_board(arguments.board.as_deref())?;
    let all = desk.actor().select(&filter)?;
    for (at, seen) in all.iter().enumerate() {
        if at == 0 || all[at - 1].place.profile != seen.place.profile {
            confirm_profile(setup, desk, seen)?;
        }
    }
    let preview = format!("{action} {} claims\n{}", all.len(), listed(desk, &all));
    // Whoever reads standard output gets results only.
    let _ = std::io::stderr().write_all(preview.as_bytes());
    if arguments.dry_run || all.is_empty() {
        return Ok(Exit::Fine);
    }
    if !arguments.yes && !asked() {
        return Err(Refusal::Refused("nothing was done; --yes does it without asking".into()));
    }
    let mut exit = Exit::Fine;
    let mut done = 0_usize;
    let mut untold = BTreeSet::new();
    let progress = std::io::stderr().is_terminal();
    desk.perform_all(all.iter().collect(), action, &arguments.word(), &mut |told: Told<'_>| {
        done += 1;
        exit = worse(exit, exit_of(&told.outcome));
        if progress && done.is_multiple_of(500) {
            let _ = writeln!(std::io::stderr(), "{done} of {}", all.len());
        }
        let report = told.report();
        let applied = report.outcome == Outcome::Applied;
        untold.extend(report.untold().into_iter().map(str::to_owned));
        if setup.json {
            return print(&json(&report));
        }
        applied || print(&text(&report, false))
    })?;
    if !setup.json {
        print(&format!("{done} of {} done\n{}", all.len(), beyond_undo(untold.iter().map(String::as_str))));
    }
    Ok(exit)
}

/// The first claims of many, for whoever is asked about all of them.
pub fn listed(desk: &mut Desk, all: &[Seen]) -> String {
    const SHOWN: usize = 20;
    let mut list = String::new();
    for seen in all.iter().take(SHOWN) {
        list.push_str(&format!("  {}  {}\n", desk.actor().address(seen), seen.why));
    }
    if all.len() > SHOWN {
        list.push_str(&format!("  ... and {} more\n", all.len() - SHOWN));
    }
    list
}

pub fn asked() -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let _ = std::io::stderr().write_all(b"go ahead? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

pub fn exit_of(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Applied => Exit::Fine,
        Outcome::Moved(_) => Exit::Moved,
        Outcome::Refused(_) => Exit::Refused,
        Outcome::Unknown(_) => Exit::Unknown,
    }
}

/// Of several results: unknown, then refused, then moved.
pub fn worse(one: Exit, other: Exit) -> Exit {
    if (other as u8) > (one as u8) { other } else { one }
}

/// Undoes an act of the trail, or all of a batch.
pub fn undo(setup: &Setup, source: &str, action: &str, reason: Option<&str>) -> Exit {
    let mut exit = Exit::Fine;
    let undone = desk(setup, source, Purpose::Act).and_then(|mut desk| {
        Ok(desk.undo_all(action, reason, &mut |report| {
            exit = worse(exit, exit_of(&report.outcome));
            print(&if setup.json { json(&report) } else { text(&report, false) })
        })?)
    });
    match undone {
        Ok(()) => exit,
        Err(refusal) => refusal.say(setup.json, "undo", None),
    }
}
