//! `claimtop release --session`: everything a session holds, and then the session.

use std::io::Write;

use super::act::{How, OutcomePrinter, asked, claims_word, conclude, confirm_profile, exit_of};
use super::output::print;
use super::recovery::Refusal;
use super::setup::Setup;
use crate::domain::tally::BulkTally;
use crate::domain::visible::{safe, visible};
use crate::exit::Exit;
use crate::recovery::{AuditedActor, BulkResult, Report};
use crate::report::act::{Telling, json, text};
use crate::report::bulk;
use crate::store::{Ends, Holding};

pub fn release(
    setup: &Setup,
    actor: &mut AuditedActor,
    source: &str,
    session: &str,
    how: &How,
) -> Result<Exit, Refusal> {
    let holding = actor.actor().held_by(session)?;
    if holding.claims.is_empty() && holding.registered.is_empty() {
        let name = visible(session);
        return Err(Refusal::Moved(format!("there is no session {name} (any more), and it holds nothing")));
    }
    for seen in &holding.claims {
        confirm_profile(setup, actor, seen)?;
    }
    let word = how.word();
    let preview = actor.plan_session(&holding, &word)?;
    // Whoever reads standard output gets results only.
    let said = describe(actor, &holding, &preview);
    let _ = write!(std::io::stderr(), "{}: {said}", setup.label(source));
    if how.dry_run {
        let reports = actor.rehearse_session(&holding, &word)?;
        let mut tally = BulkTally::of(preview.wanted);
        for report in &reports {
            tally.add(&report.outcome, || visible(&report.id));
            print(&if setup.json { json(report) } else { text(report, Telling::Rehearsed) });
        }
        // A release that is refused as a whole is one object.
        if reports.len() < preview.wanted {
            return Ok(exit_of(&reports[0].outcome));
        }
        let result = BulkResult { batch: None, tally, error: None };
        return Ok(conclude(setup, result, source, (ACTS, "done"), true));
    }
    // What is refused anyway is not asked about.
    actor.actor().permit_session(&holding, &word).map_err(|refused| Refusal::Refused(refused.to_string()))?;
    if !how.yes && !asked() {
        return Err(Refusal::Refused("nothing was done; --yes does it without asking".into()));
    }
    let mut each = OutcomePrinter::new(setup, source, preview.wanted, 0);
    let result = actor.release_session(&holding, &word, &mut |report: Report| each.hear(&report))?;
    let untold = each.beyond_undo();
    let exit = conclude(setup, result, source, (ACTS, "done"), false);
    if !setup.json {
        print(&untold);
    }
    Ok(exit)
}

/// A session's claims, and its own end.
const ACTS: &str = "acts";

/// What will be done, the claims, and what becomes of the session itself.
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
    if holding.registered.is_empty() {
        text.push_str("  it is not registered (any more): there is no session to end\n");
    }
    for registered in &holding.registered {
        let (address, profile) = (registered.address(), &registered.profile);
        text.push_str(&match registered.ends {
            Ends::Described => format!("  {address}  and then the session itself\n"),
            Ends::Undescribed => {
                format!("  {address}  stays: profile {profile} does not say how a session ends\n")
            }
        });
    }
    text
}
