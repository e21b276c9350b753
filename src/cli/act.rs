//! `claimtop reclaim`, `release` and `extend`: one claim, or all of a set.

use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use super::output::print;
use super::recovery::{ActFailure, OpenPurpose, audited_actor};
use super::session::SessionFate;
use super::setup::Setup;
use crate::app::query::Query;
use crate::domain::filter::{Pattern, Test, exactly};
use crate::domain::recovery::{self, Action, Authorization, Moved, Outcome};
use crate::domain::tally::{BulkTally, Foreseen};
use crate::domain::time::Span;
use crate::domain::token::SeenToken;
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::recovery::{ActReport, AuditedActor, BulkResult, ListedClaim};
use crate::report::act::{ActMode, beyond_undo, json, text};
use crate::report::bulk;
use crate::store::Filter;
use crate::store::Seen;

/// An act on one claim, or on a set.
#[derive(Debug, Args)]
pub(super) struct ActArgs {
    /// A SQLite file, a postgres:// address, or a name from the config
    source: String,
    /// The claim: its address, or its id where that is unambiguous
    #[arg(required_unless_present_any = ["set", "holder", "kind", "because"], conflicts_with_all = ["set", "kind", "because"])]
    id: Option<String>,
    #[command(flatten)]
    how: ActOptions,
}

/// The arguments of `release`, which can also release a session.
#[derive(Debug, Args)]
pub(super) struct ReleaseArgs {
    /// A SQLite file, a postgres:// address, or a name from the config
    source: String,
    /// The claim: its address, or its id where that is unambiguous
    #[arg(required_unless_present_any = ["set", "session", "holder", "kind", "because"], conflicts_with_all = ["set", "kind", "because"])]
    id: Option<String>,
    /// Instead of claims: everything that this session holds, and then the session itself
    #[arg(long, help_heading = "Which claims", value_name = "ID", conflicts_with_all = ["id", "set", "board", "seen", "by"])]
    session: Option<String>,
    /// With --session: release its claims and locks only; the session stays registered [reason: session_ended]
    #[arg(long, help_heading = "Which claims", requires = "session", conflicts_with_all = ["id", "set", "board", "seen", "by"])]
    keep_session: bool,
    #[command(flatten)]
    how: ActOptions,
}

/// The options of an act.
#[derive(Debug, Args)]
pub(super) struct ActOptions {
    /// Instead of one claim: all claims in these sets
    #[arg(long, help_heading = "Which claims", value_name = "SET", value_delimiter = ',', value_parser = super::set)]
    set: Vec<Set>,
    /// Instead of one claim: all claims in trouble of these kinds; * stands for any text (repeatable)
    #[arg(long, help_heading = "Which claims", value_name = "KIND")]
    kind: Vec<String>,
    /// Instead of one claim: all claims that are in trouble for this reason, such as session_stale (repeatable)
    #[arg(long, help_heading = "Which claims", value_name = "REASON", value_parser = super::reason)]
    because: Vec<Reason>,
    /// Only claims on this board
    #[arg(long, help_heading = "Which claims", value_name = "NAME")]
    board: Option<String>,
    /// Of these, only claims that pass a filter of the dashboard: 'kind=mail age>10m'
    #[arg(long, help_heading = "Which claims", value_name = "TEXT", conflicts_with = "id", value_parser = Query::parse)]
    filter: Option<Query>,
    /// At most this many claims
    #[arg(long, help_heading = "Which claims", value_name = "N", conflicts_with = "id")]
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
    /// The name of the holder, where it may be alive. Without an id: all claims in trouble of these holders; * stands
    /// for any text (repeatable)
    #[arg(long, help_heading = "How", value_name = "NAME")]
    holder: Vec<String>,
    /// Of many claims, what to do with those whose holder may still be running: skip or include them [default:
    /// include those of a --holder, skip the others]
    #[arg(long, help_heading = "How", value_name = "skip|include", value_enum, conflicts_with = "id")]
    unconfirmed: Option<Unconfirmed>,
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

/// What happens to claims whose holder may still be running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unconfirmed {
    Skip,
    Include,
}

impl ActOptions {
    pub(super) fn word(&self) -> Authorization {
        let holder = match &self.holder[..] {
            [one] => Some(one.clone()),
            _ => None,
        };
        Authorization {
            force: self.force,
            reason: self.reason.clone(),
            holder,
            by: self.by,
            ..Authorization::default()
        }
    }

    /// The same for many claims; their holders may be named by a pattern.
    fn word_for_many(&self) -> Authorization {
        if self.unconfirmed == Some(Unconfirmed::Skip) {
            return Authorization { holder: None, ..self.word() };
        }
        let holders = self.holder.iter().map(|name| Pattern::typed(name)).collect();
        let is_pattern = |name: &String| name.contains('*');
        let word = self.word();
        Authorization { holder: word.holder.clone().filter(|name| !is_pattern(name)), holders, ..word }
    }

    /// The selected claims.
    fn filter(&self) -> Filter {
        let names_a_set = !self.set.is_empty();
        let sets = if names_a_set { self.set.clone() } else { vec![Set::Orphaned, Set::Stale] };
        let mut filter = Filter {
            sets,
            reasons: self.because.iter().copied().collect(),
            board: self.board.clone(),
            conditions: self.filter.iter().flat_map(Query::conditions).cloned().collect(),
            limit: self.limit,
        };
        let patterns = |names: &[String]| names.iter().map(|name| Pattern::typed(name)).collect();
        if !self.holder.is_empty() {
            filter = filter.with(Test::Holder(patterns(&self.holder)));
        }
        if !self.kind.is_empty() {
            filter = filter.with(Test::Kind(patterns(&self.kind)));
        }
        filter
    }

    fn purpose(&self) -> OpenPurpose {
        match (self.dry_run, self.yes) {
            (true, _) => OpenPurpose::Rehearse,
            (false, true) => OpenPurpose::Act,
            (false, false) => OpenPurpose::ActUnconfirmed,
        }
    }
}

pub(super) fn run(setup: &Setup, action: Action, arguments: &ActArgs) -> Exit {
    let ActArgs { source, id, how } = arguments;
    claims(setup, action, source, id.as_deref(), how)
}

pub(super) fn release(setup: &Setup, arguments: &ReleaseArgs) -> Exit {
    let ReleaseArgs { source, id, session, keep_session, how } = arguments;
    let Some(session) = session else {
        return claims(setup, Action::Release, source, id.as_deref(), how);
    };
    let fate = if *keep_session { SessionFate::Stays } else { SessionFate::Ends };
    let done = audited_actor(setup, source, how.purpose())
        .and_then(|mut actor| super::session::release(setup, &mut actor, source, (session, fate), how));
    done.unwrap_or_else(|refusal| refusal.say(setup.json, Action::Release.as_str(), Some(session)))
}

fn claims(setup: &Setup, action: Action, source: &str, id: Option<&str>, how: &ActOptions) -> Exit {
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
    arguments: &ActOptions,
) -> Result<Exit, ActFailure> {
    let seen = find_one(actor, id, arguments.board.as_deref(), arguments.seen.as_deref())?;
    confirm_profile(setup, actor, &seen)?;
    let report = if arguments.dry_run {
        actor.rehearse(&seen, action, &arguments.word())?
    } else {
        actor.perform(&seen, action, &arguments.word())?
    };
    let undo = setup.undo_command(source);
    let telling = if arguments.dry_run { ActMode::Rehearsed } else { ActMode::Done { undo: &undo } };
    let shown = if setup.json { json(&report) } else { text(&report, telling) };
    print(&shown);
    Ok(exit_of(&report.outcome))
}

/// The claim with this address or id, if it still matches the token of `list --json`.
pub(super) fn find_one(
    actor: &mut AuditedActor,
    id: &str,
    board: Option<&str>,
    token: Option<&str>,
) -> Result<Seen, ActFailure> {
    let mut found = actor.actor().find(id, board)?;
    let seen = match found.len() {
        0 => return Err(ActFailure::NoClaim { id: id.to_owned() }),
        1 => found.remove(0),
        _ => {
            let addresses = found.iter().map(|seen| actor.actor().address(seen)).collect();
            return Err(ActFailure::Ambiguous { id: id.to_owned(), addresses });
        }
    };
    if let Some(token) = token {
        let was = SeenToken::parse(token);
        let is_it = seen.judged.seen.zip(was).is_some_and(|(is, was)| is.continues(&was));
        if !is_it {
            return Err(ActFailure::Moved(Moved::NotAsListed));
        }
    }
    Ok(seen)
}

/// A generic profile is acted on only if it was named.
pub(super) fn confirm_profile(
    setup: &Setup,
    actor: &mut AuditedActor,
    seen: &Seen,
) -> Result<(), ActFailure> {
    let named = setup.named_profiles(actor.source());
    let (profile, generic) = actor.actor().profile_of(seen);
    if generic && !named.iter().any(|name| name == profile) {
        return Err(ActFailure::Refused(recovery::Refusal::Unconfirmed { profile: profile.to_owned() }));
    }
    Ok(())
}

fn many(
    setup: &Setup,
    actor: &mut AuditedActor,
    action: Action,
    how: &ActOptions,
    source: &str,
) -> Result<Exit, ActFailure> {
    let filter = how.filter();
    actor.actor().expect_board(how.board.as_deref())?;
    let claims = actor.actor().selection(&filter)?;
    for seen in claims.samples() {
        confirm_profile(setup, actor, seen)?;
    }
    let mut word = how.word_for_many();
    let mut plan = actor.plan(claims, action, &word, &mut |report| {
        if setup.json {
            print(&json(&report));
        }
    })?;
    if how.unconfirmed == Some(Unconfirmed::Include) {
        word.holders.extend(exactly(plan.unnamed_holders()));
        plan.include_named();
    }
    let (claims, done) = (claims_word(plan.preview.wanted), action.done());
    let mut said = bulk::preview(&plan.preview, claims, done)
        + &listed(plan.listing.of(Foreseen::Done), plan.preview.applied);
    said.extend(plan.risk().map(|risk| format!("  warning: {risk}\n")));
    // Standard output contains results only.
    let _ = write!(std::io::stderr(), "{}: {said}", setup.label(source));
    if how.dry_run || plan.preview.applied == 0 {
        let result = BulkResult { batch: None, tally: plan.preview, error: None };
        return Ok(conclude(setup, result, source, (claims, done), how.dry_run));
    }
    if !how.yes && !asked() {
        return Err(ActFailure::NotConfirmed);
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

/// Prints the result of a bulk act and returns the exit code.
pub(super) fn conclude(
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
        Some(error) => worse(exit, ActFailure::from(error).complain()),
        None => exit,
    }
}

/// Prints results as they come: all of them as JSON, for people only the first failures.
pub(super) struct OutcomePrinter<'a> {
    setup: &'a Setup,
    /// As in [`ActMode::Done`].
    undo: String,
    wanted: usize,
    heard: usize,
    /// How many failures have been printed.
    printed: usize,
    progress: bool,
    untold: BTreeSet<String>,
}

impl<'a> OutcomePrinter<'a> {
    pub(super) fn new(setup: &'a Setup, source: &str, wanted: usize, heard: usize) -> OutcomePrinter<'a> {
        let progress = std::io::stderr().is_terminal();
        let undo = setup.undo_command(source);
        OutcomePrinter { setup, undo, wanted, heard, printed: 0, progress, untold: BTreeSet::new() }
    }

    /// Whether standard output is still open.
    pub(super) fn hear(&mut self, report: &ActReport) -> bool {
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
        print(&text(report, ActMode::Done { undo: &self.undo }))
    }

    /// What an undo does not revert.
    pub(super) fn beyond_undo(&self) -> String {
        beyond_undo(self.untold.iter().map(String::as_str))
    }
}

/// How many failures of a bulk are printed for people.
const SHOWN: usize = 20;

/// The first claims that will be done.
fn listed(claims: &[ListedClaim], all: usize) -> String {
    let mut list = String::new();
    let first = &claims[..claims.len().min(SHOWN)];
    for claim in first {
        list.push_str(&format!("  {}  {}\n", safe(&claim.address), safe(&claim.why)));
    }
    if all > first.len() {
        list.push_str(&format!("  ... and {} more\n", all - first.len()));
    }
    list
}

pub(super) fn claims_word(count: usize) -> &'static str {
    if count == 1 { "claim" } else { "claims" }
}

pub(super) fn asked() -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let _ = std::io::stderr().write_all(b"go ahead? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

pub(super) fn exit_of(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Applied => Exit::Fine,
        Outcome::Moved(_) => Exit::Moved,
        Outcome::Refused(_) => Exit::Refused,
        Outcome::Unknown(_) => Exit::Unknown,
    }
}

/// The worst of the exit codes.
pub(super) fn exit_of_all(tally: &BulkTally) -> Exit {
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
pub(super) fn worse(one: Exit, other: Exit) -> Exit {
    if (other as u8) > (one as u8) { other } else { one }
}
