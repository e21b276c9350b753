//! `claimtop reclaim`, `release` and `extend`: one claim, or all of a set.

use clap::Args;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use super::output::print;
use super::recovery::{Purpose, Refusal, audited_actor};
use super::setup::Setup;
use crate::domain::recovery::{self, Action, Authorization, Moved, Outcome};
use crate::domain::tally::BulkTally;
use crate::domain::time::Span;
use crate::domain::token::SeenToken;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};
use crate::exit::Exit;
use crate::recovery::{AuditedActor, BulkResult, ListedClaim, Report};
use crate::report::act::{Telling, beyond_undo, json, text};
use crate::report::bulk;
use crate::store::Filter;
use crate::store::Seen;

/// An act on one claim, or on a set.
#[derive(Debug, Args)]
pub struct ActArgs {
    /// A SQLite file, a postgres:// address, or a name from the config
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
    /// A SQLite file, a postgres:// address, or a name from the config
    source: String,
    /// The claim: its address, or its id where that is unambiguous
    #[arg(required_unless_present_any = ["set", "session"], conflicts_with = "set")]
    id: Option<String>,
    /// Instead of claims: everything that this session holds, and then the session itself
    #[arg(long, help_heading = "Which claims", value_name = "ID", conflicts_with_all = ["id", "set", "board", "seen", "by"])]
    session: Option<String>,
    #[command(flatten)]
    how: How,
}

/// What can be said to an act.
#[derive(Debug, Args)]
pub struct How {
    /// Instead of one claim: all claims in these sets
    #[arg(long, help_heading = "Which claims", value_name = "SET", value_delimiter = ',', value_parser = super::set)]
    set: Vec<Set>,
    /// Only claims on this board
    #[arg(long, help_heading = "Which claims", value_name = "NAME")]
    board: Option<String>,
    /// At most this many claims
    #[arg(long, help_heading = "Which claims", value_name = "N", requires = "set", conflicts_with = "id")]
    limit: Option<usize>,
    /// Act only if the claim is still exactly what `list --json` showed
    #[arg(long, help_heading = "Which claims", value_name = "TOKEN", conflicts_with = "set")]
    seen: Option<String>,
    /// The reason, for the trail
    #[arg(long, help_heading = "How", value_name = "TEXT")]
    reason: Option<String>,
    /// Act also on a claim that is not stale or orphaned, or whose holder is alive; needs --reason and --holder
    #[arg(long, help_heading = "How")]
    force: bool,
    /// The name of the holder, where it may be alive
    #[arg(long, help_heading = "How", value_name = "NAME")]
    holder: Option<String>,
    /// Show the statements and the rows that they would change; change nothing
    #[arg(long, help_heading = "How")]
    pub dry_run: bool,
    /// Do not ask before a bulk
    #[arg(long, help_heading = "How")]
    pub yes: bool,
    /// How much more time an extension gives [default: the usual lease]; refused where the system counts from
    /// the last sign of life
    #[arg(long, help_heading = "How", value_name = "DURATION", value_parser = Span::parse)]
    by: Option<Span>,
}

impl How {
    pub fn word(&self) -> Authorization {
        Authorization {
            force: self.force,
            reason: self.reason.clone(),
            holder: self.holder.clone(),
            by: self.by,
            ..Authorization::default()
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
    let done = audited_actor(setup, source, how.purpose())
        .and_then(|mut actor| super::session::release(setup, &mut actor, source, session, how));
    done.unwrap_or_else(|refusal| refusal.say(setup.json, Action::Release.as_str(), Some(session)))
}

fn claims(setup: &Setup, action: Action, source: &str, id: Option<&str>, how: &How) -> Exit {
    let done = audited_actor(setup, source, how.purpose()).and_then(|mut actor| match id {
        Some(id) => one(setup, &mut actor, action, (source, id), how),
        None => many(setup, &mut actor, action, how, source),
    });
    done.unwrap_or_else(|refusal| refusal.say(setup.json, action.as_str(), id))
}

fn one(
    setup: &Setup,
    actor: &mut AuditedActor,
    action: Action,
    (source, id): (&str, &str),
    arguments: &How,
) -> Result<Exit, Refusal> {
    let mut found = actor.actor().find(id, arguments.board.as_deref())?;
    let seen = match found.len() {
        0 => return Err(Refusal::Moved(format!("there is no claim {} (any more)", visible(id)))),
        1 => found.remove(0),
        _ => {
            let addresses: Vec<String> = found.iter().map(|seen| actor.actor().address(seen)).collect();
            let sentence = format!("{} means several claims: {}", visible(id), addresses.join(", "));
            return Err(Refusal::Error(sentence));
        }
    };
    if let Some(token) = &arguments.seen {
        let was = SeenToken::parse(token);
        let is_it = seen.judged.seen.zip(was).is_some_and(|(is, was)| is.continues(&was));
        if !is_it {
            return Err(Refusal::Moved(Moved::NotAsListed.to_string()));
        }
    }
    confirm_profile(setup, actor, &seen)?;
    let report = if arguments.dry_run {
        actor.rehearse(&seen, action, &arguments.word())?
    } else {
        actor.perform(&seen, action, &arguments.word())?
    };
    let undo = setup.undo_command(source);
    let telling = if arguments.dry_run { Telling::Rehearsed } else { Telling::Done { undo: &undo } };
    let shown = if setup.json { json(&report) } else { text(&report, telling) };
    print(&shown);
    Ok(exit_of(&report.outcome))
}

/// A profile whose tables could be anybody's is acted on only by its name.
pub fn confirm_profile(setup: &Setup, actor: &mut AuditedActor, seen: &Seen) -> Result<(), Refusal> {
    let named = setup.named_profiles(actor.source());
    let (profile, generic) = actor.actor().profile_of(seen);
    if generic && !named.iter().any(|name| name == profile) {
        let refusal = recovery::Refusal::Unconfirmed { profile: profile.to_owned() };
        return Err(Refusal::Refused(refusal.to_string()));
    }
    Ok(())
}

fn many(
    setup: &Setup,
    actor: &mut AuditedActor,
    action: Action,
    how: &How,
    source: &str,
) -> Result<Exit, Refusal> {
    let filter = Filter {
        sets: how.set.clone(),
        board: how.board.clone(),
        holder: how.holder.clone(),
        limit: how.limit,
        ..Filter::default()
    };
    actor.actor().expect_board(how.board.as_deref())?;
    let claims = actor.actor().selection(&filter)?;
    for seen in claims.samples() {
        confirm_profile(setup, actor, seen)?;
    }
    let word = how.word();
    let plan = actor.plan(claims, action, &word, &mut |report| {
        if setup.json {
            print(&json(&report));
        }
    })?;
    let (claims, done) = (claims_word(plan.preview.wanted), action.done());
    let said = bulk::preview(&plan.preview, claims, done) + &listed(&plan.listed, plan.preview.applied);
    // Whoever reads standard output gets results only.
    let _ = write!(std::io::stderr(), "{}: {said}", setup.label(source));
    if how.dry_run || plan.preview.applied == 0 {
        let result = BulkResult { batch: None, tally: plan.preview, error: None };
        return Ok(conclude(setup, result, source, (claims, done), how.dry_run));
    }
    if !how.yes && !asked() {
        return Err(Refusal::Refused("nothing was done; --yes does it without asking".into()));
    }
    let (wanted, skipped) = (plan.preview.wanted, plan.preview.wanted - plan.preview.applied);
    let mut each = OutcomePrinter::new(setup, source, wanted, skipped);
    let result = actor.run_plan(plan, &word, &mut |told| each.hear(&told.report()))?;
    let untold = each.beyond_undo();
    let exit = conclude(setup, result, source, (claims, done), false);
    if !setup.json {
        print(&untold);
    }
    Ok(exit)
}

/// Says what came of a bulk act, and what it means for the exit code.
pub fn conclude(
    setup: &Setup,
    result: BulkResult,
    source: &str,
    (claims, done): (&str, &str),
    dry_run: bool,
) -> Exit {
    let BulkResult { batch, tally, error } = result;
    let written = batch.as_ref().filter(|_| tally.applied + tally.unknown > 0);
    let undo = written.map(|batch| format!("{} {batch}", setup.undo_command(source)));
    if setup.json {
        print(&bulk::json(batch.as_deref(), &tally, undo.as_deref(), dry_run));
    } else if !dry_run {
        print(&bulk::result(&tally, claims, done, undo.as_deref()));
    }
    let exit = exit_of_all(&tally);
    match error {
        Some(error) => worse(exit, Refusal::from(error).complain()),
        None => exit,
    }
}

/// Prints results as they come: all of them for programs, for people the first that were not as they should.
pub struct OutcomePrinter<'a> {
    setup: &'a Setup,
    /// As in [`Telling::Done`].
    undo: String,
    wanted: usize,
    heard: usize,
    /// What was not done and has been printed.
    printed: usize,
    progress: bool,
    untold: BTreeSet<String>,
}

impl<'a> OutcomePrinter<'a> {
    pub fn new(setup: &'a Setup, source: &str, wanted: usize, heard: usize) -> OutcomePrinter<'a> {
        let progress = std::io::stderr().is_terminal();
        let undo = setup.undo_command(source);
        OutcomePrinter { setup, undo, wanted, heard, printed: 0, progress, untold: BTreeSet::new() }
    }

    /// Whether there is still somebody to read it.
    pub fn hear(&mut self, report: &Report) -> bool {
        self.heard += 1;
        if self.progress && self.heard.is_multiple_of(500) {
            let _ = writeln!(std::io::stderr(), "{} of {}", self.heard, self.wanted);
        }
        self.untold.extend(report.untold().into_iter().map(str::to_owned));
        if self.setup.json {
            return print(&json(report));
        }
        let is_plain = report.outcome == Outcome::Applied && report.effects.is_empty();
        if is_plain || self.printed >= SHOWN {
            return true;
        }
        self.printed += 1;
        print(&text(report, Telling::Done { undo: &self.undo }))
    }

    /// What an undo will not take back.
    pub fn beyond_undo(&self) -> String {
        beyond_undo(self.untold.iter().map(String::as_str))
    }
}

/// So many of many are printed for people.
const SHOWN: usize = 20;

/// The first of the claims that will be done.
fn listed(first: &[ListedClaim], all: usize) -> String {
    let mut list = String::new();
    for claim in first.iter().take(SHOWN) {
        list.push_str(&format!("  {}  {}\n", safe(&claim.address), safe(&claim.why)));
    }
    if all > SHOWN.min(first.len()) {
        list.push_str(&format!("  ... and {} more\n", all - SHOWN.min(first.len())));
    }
    list
}

pub fn claims_word(count: usize) -> &'static str {
    if count == 1 { "claim" } else { "claims" }
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

/// The worst of them.
pub fn exit_of_all(tally: &BulkTally) -> Exit {
    let all = [
        (tally.not_tried(), Exit::Error),
        (tally.moved, Exit::Moved),
        (tally.refused, Exit::Refused),
        (tally.unknown, Exit::Unknown),
    ];
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    some.fold(Exit::Fine, |worst, (_, exit)| worse(worst, exit))
}

/// Of several results: unknown, then refused, then moved.
pub fn worse(one: Exit, other: Exit) -> Exit {
    if (other as u8) > (one as u8) { other } else { one }
}
