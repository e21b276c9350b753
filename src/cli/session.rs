//! `claimtop release --session`: everything a session holds, and then the session unless it stays.

use std::io::Write;

use super::act::{ActOptions, OutcomePrinter, asked, claims_word, conclude, confirm_profile, exit_of};
use super::output::print;
use super::recovery::ActFailure;
use super::setup::Setup;
use crate::domain::tally::BulkTally;
use crate::domain::visible::{safe, visible};
use crate::exit::Exit;
use crate::recovery::{ActReport, AuditedActor, BulkResult};
use crate::report::act::{ActMode, json, text};
use crate::report::bulk;
use crate::store::{Ends, Holding, Registered};

/// What happens to a session once its claims are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionFate {
    Ends,
    /// Coordination's `releaseSessionClaims`.
    Stays,
}

/// The reason of `releaseSessionClaims` if none is given.
const SESSION_ENDED: &str = "session_ended";

pub(super) fn release(
    setup: &Setup,
    actor: &mut AuditedActor,
    source: &str,
    (session, fate): (&str, SessionFate),
    how: &ActOptions,
) -> Result<Exit, ActFailure> {
    let mut holding = actor.actor().held_by(session)?;
    if holding.claims.is_empty() && holding.registered.is_empty() {
        return Err(ActFailure::NoSession { name: session.to_owned() });
    }
    for seen in &holding.claims {
        confirm_profile(setup, actor, seen)?;
    }
    let mut word = how.word();
    let what_of_it = about_session(&holding, fate);
    if fate == SessionFate::Stays {
        holding.registered.clear();
        word.reason.get_or_insert_with(|| SESSION_ENDED.into());
    }
    let preview = actor.plan_session(&holding, &word)?;
    // Standard output contains results only.
    let said = describe(actor, &holding, &preview) + &what_of_it;
    let _ = write!(std::io::stderr(), "{}: {said}", setup.label(source));
    if how.dry_run {
        let reports = actor.rehearse_session(&holding, &word)?;
        let mut tally = BulkTally::of(preview.wanted);
        for report in &reports {
            tally.add(&report.outcome, || visible(&report.id));
            print(&if setup.json { json(report) } else { text(report, ActMode::Rehearsed) });
        }
        // A release that is refused as a whole prints one object.
        if reports.len() < preview.wanted {
            return Ok(exit_of(&reports[0].outcome));
        }
        let result = BulkResult { batch: None, tally, error: None };
        return Ok(conclude(setup, result, source, (ACTS, "done"), true));
    }
    // Do not ask about a release that is refused anyway.
    actor.actor().permit_session(&holding, &word).map_err(ActFailure::Refused)?;
    if !how.yes && !asked() {
        return Err(ActFailure::NotConfirmed);
    }
    let mut each = OutcomePrinter::new(setup, source, preview.wanted, 0);
    let result = actor.release_session(&holding, &word, &mut |report: ActReport| each.hear(&report))?;
    let untold = each.beyond_undo();
    let exit = conclude(setup, result, source, (ACTS, "done"), false);
    if !setup.json {
        print(&untold);
    }
    Ok(exit)
}

/// A session's claims, and its own end.
const ACTS: &str = "acts";

/// What will be done, and the claims.
fn describe(actor: &mut AuditedActor, holding: &Holding, preview: &BulkTally) -> String {
    let session = visible(&holding.session);
    let claims = holding.claims.len();
    let mut text = format!("release {claims} {} of session {session}; ", claims_word(claims));
    text.push_str(&bulk::preview(preview, ACTS, "done"));
    for seen in holding.claims.iter().take(20) {
        text.push_str(&format!("  {}  {}\n", safe(&actor.actor().address(seen)), safe(&seen.why)));
    }
    if claims > 20 {
        text.push_str(&format!("  ... and {} more\n", claims - 20));
    }
    text
}

/// What happens to the session itself.
fn about_session(holding: &Holding, fate: SessionFate) -> String {
    if holding.registered.is_empty() {
        return "  it is not registered (any more): there is no session to end\n".into();
    }
    let line = |registered: &Registered| {
        let (address, profile) = (registered.address(), &registered.profile);
        match (fate, registered.ends) {
            (SessionFate::Stays, _) => format!("  {address}  stays registered\n"),
            (SessionFate::Ends, Ends::Described) => format!("  {address}  and then the session itself\n"),
            (SessionFate::Ends, Ends::Undescribed) => {
                format!("  {address}  stays: profile {profile} does not say how a session ends\n")
            }
        }
    };
    holding.registered.iter().map(line).collect()
}
