//! Which profiles fit, and what keeps those from fitting that nearly do.

use super::{Check, DoctorTarget, State};
use crate::profile::format::Profile;
use crate::store::{Fit, LeftOut, Profiles, fits};

pub fn look(patient: &DoctorTarget) -> Vec<Check> {
    let found = match fits(&patient.options, patient.profiles.clone()) {
        Ok(found) => found,
        Err(error) => return vec![Check::error("profile", &error)],
    };
    let mut checks = Vec::new();
    let any = found.iter().any(|fit| !fit.boards.is_empty());
    for (fit, profile) in found.iter().zip(&patient.profiles) {
        if fit.boards.is_empty() {
            checks
                .extend(misfit(fit, patient).map(|check| if any { bearable(check, patient) } else { check }));
        } else {
            checks.push(Check::ok("profile", fitting(fit)));
            checks.extend(fit.left_out.iter().map(|what| left_out(fit, what)));
            checks.extend(absent(fit, profile));
            checks.extend(generic(profile, patient));
        }
    }
    checks
}

fn fitting(fit: &Fit) -> String {
    let boards: Vec<&str> = fit.boards.iter().map(|board| board.name.as_str()).collect();
    let lacking: Vec<String> = fit
        .boards
        .iter()
        .flat_map(|board| board.columns.iter().map(move |column| (board, column)))
        .filter(|(_, (_, sql))| sql.is_none())
        .map(|(board, (field, _))| format!("{}.{field}", board.name))
        .collect();
    let without =
        if lacking.is_empty() { String::new() } else { format!("; without {}", lacking.join(", ")) };
    format!("{} fits: {}{without}", fit.profile, boards.join(", "))
}

/// A profile that fits nowhere matters only if it was named, or if a table of its is there.
fn misfit(fit: &Fit, patient: &DoctorTarget) -> Option<Check> {
    let named = matches!(patient.options.profiles(), Profiles::Named(_));
    (named || fit.misfit.is_near()).then(|| {
        Check::failed(
            "profile",
            format!("{} does not fit: {}", fit.profile, fit.problems().join("; ")),
            format!(
                "bring the tables to what `claimtop profile show {}` expects, or write a profile for these",
                fit.profile
            ),
        )
    })
}

/// Beside a profile that fits, one that was only tried may be of another system.
fn bearable(check: Check, patient: &DoctorTarget) -> Check {
    match patient.options.profiles() {
        Profiles::Named(_) => check,
        Profiles::Detect(_) | Profiles::Dead(_) => Check { state: State::Warning, ..check },
    }
}

fn left_out(fit: &Fit, what: &LeftOut) -> Check {
    Check::warning(
        "columns",
        format!("{}: {what}", fit.profile),
        format!("bring the table to what `claimtop profile show {}` expects", fit.profile),
    )
}

/// Boards whose whole table is missing. One that is told apart by `detect` is another version of the
/// system, and not to be missed.
fn absent(fit: &Fit, profile: &Profile) -> Vec<Check> {
    let is_there = |name: &str| fit.boards.iter().any(|board| board.name == name);
    let was_said = |name: &str| {
        let is_it = |what: &LeftOut| matches!(what, LeftOut::Board { board, .. } if board == name);
        fit.left_out.iter().any(is_it)
    };
    let boards = profile.boards.iter().filter(|board| board.detect.is_empty());
    boards
        .filter(|board| !is_there(&board.name) && !was_said(&board.name))
        .map(|board| {
            Check::warning(
                "tables",
                format!("{}: there is no table {}: its claims cannot be seen", fit.profile, board.table),
                format!(
                    "let the application create it, or run `claimtop init SOURCE --system {}`",
                    fit.profile
                ),
            )
        })
        .collect()
}

fn generic(profile: &Profile, patient: &DoctorTarget) -> Option<Check> {
    let unsure = profile.generic && !patient.vouched.contains(&profile.name);
    unsure.then(|| {
        Check::warning(
            "confirmation",
            format!(
                "the tables of {} could be anybody's, so acts are refused until it is named",
                profile.name
            ),
            format!("pass --profile {0}, or write profiles = [\"{0}\"] in the config", profile.name),
        )
    })
}
