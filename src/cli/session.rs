//! `claimtop release --session`: everything a session holds, and then the session.

use std::io::{IsTerminal, Write};

use super::act::{How, asked, confirm_profile, exit_of, listed, worse};
use super::output::print;
use super::recovery::Refusal;
use super::setup::Setup;
use crate::domain::recovery::Outcome;
use crate::domain::visible::visible;
use crate::exit::Exit;
use crate::recovery::{Desk, Report};
use crate::report::act::{json, text};
use crate::store::{Ends, Holding};

pub fn release(setup: &Setup, desk: &mut Desk, session: &str, how: &How) -> Result<Exit, Refusal> {
    let holding = desk.actor().held_by(session)?;
    if holding.claims.is_empty() && holding.registered.is_empty() {
        let name = visible(session);
        return Err(Refusal::Moved(format!("there is no session {name} (any more), and it holds nothing")));
    }
    for seen in &holding.claims {
        confirm_profile(setup, desk, seen)?;
    }
    // Whoever reads standard output gets results only.
    let _ = std::io::stderr().write_all(preview(desk, &holding).as_bytes());
    let word = how.word();
    if how.dry_run {
        let mut exit = Exit::Fine;
        for report in desk.rehearse_session(&holding, &word)? {
            exit = worse(exit, exit_of(&report.outcome));
            print(&if setup.json { json(&report) } else { text(&report, true) });
        }
        return Ok(exit);
    }
    // What is refused anyway is not asked about.
    desk.actor().permit_session(&holding, &word).map_err(Refusal::Refused)?;
    if !how.yes && !asked() {
        return Err(Refusal::Refused("nothing was done; --yes does it without asking".into()));
    }
    let (mut exit, mut done, mut applied) = (Exit::Fine, 0_usize, 0_usize);
    let progress = std::io::stderr().is_terminal();
    desk.release_session(&holding, &word, &mut |report: Report| {
        done += 1;
        exit = worse(exit, exit_of(&report.outcome));
        if progress && done.is_multiple_of(500) {
            let _ = writeln!(std::io::stderr(), "{done} of {}", holding.claims.len());
        }
        if setup.json {
            return print(&json(&report));
        }
        let is_claim = done <= holding.claims.len();
        applied += usize::from(is_claim && report.outcome == Outcome::Applied);
        // One line for all claims that went as they should, and one for the session's end.
        (is_claim && report.outcome == Outcome::Applied) || print(&text(&report, false))
    })?;
    if !setup.json {
        print(&format!("{applied} of {} claims released\n", holding.claims.len()));
    }
    Ok(exit)
}

/// The exact count, the claims, and what becomes of the session itself.
fn preview(desk: &mut Desk, holding: &Holding) -> String {
    let session = visible(&holding.session);
    let mut preview = format!("release {} claims of session {session}\n", holding.claims.len());
    preview.push_str(&listed(desk, &holding.claims));
    if holding.registered.is_empty() {
        preview.push_str("  it is not registered (any more): there is no session to end\n");
    }
    for registered in &holding.registered {
        let (address, profile) = (registered.address(), &registered.profile);
        preview.push_str(&match registered.ends {
            Ends::Described => format!("  {address}  and then the session itself\n"),
            Ends::Undescribed => {
                format!("  {address}  stays: profile {profile} does not say how a session ends\n")
            }
        });
    }
    preview
}
