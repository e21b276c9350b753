//! Which profiles fit, and why others nearly fit.

use super::{CheckState, DoctorCheck, DoctorTarget};
use crate::profile::format::Profile;
use crate::store::{Fit, LeftOut, Profiles, fits};

pub(super) fn check(target: &DoctorTarget) -> Vec<DoctorCheck> {
    let found = match fits(&target.options, target.profiles.clone()) {
        Ok(found) => found,
        Err(error) => return vec![DoctorCheck::error("profile", &error)],
    };
    let mut checks = Vec::new();
    let any = found.iter().any(|fit| !fit.boards.is_empty());
    for (fit, profile) in found.iter().zip(&target.profiles) {
        if fit.boards.is_empty() {
            checks.extend(misfit(fit, target).map(|check| if any { bearable(check, target) } else { check }));
        } else {
            checks.push(DoctorCheck::ok("profile", fitting(fit)));
            checks.extend(fit.left_out.iter().map(|what| left_out(fit, what)));
            checks.extend(absent(fit, profile));
            checks.extend(generic(profile, target));
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

/// A profile that does not fit matters only if it was named, or if one of its tables exists.
fn misfit(fit: &Fit, target: &DoctorTarget) -> Option<DoctorCheck> {
    let named = matches!(target.options.profiles, Profiles::Named(_));
    (named || fit.misfit.is_near()).then(|| {
        DoctorCheck::failed(
            "profile",
            format!("{} does not fit: {}", fit.profile, fit.problems().join("; ")),
            format!(
                "bring the tables to what `claimtop profile show {}` expects, or write a profile for these",
                fit.profile
            ),
        )
    })
}

/// If another profile fits, a misfit of a profile that was not named is not an error.
fn bearable(check: DoctorCheck, target: &DoctorTarget) -> DoctorCheck {
    match &target.options.profiles {
        Profiles::Named(_) => check,
        Profiles::Detect(_) | Profiles::Dead(_) => DoctorCheck { state: CheckState::Warning, ..check },
    }
}

fn left_out(fit: &Fit, what: &LeftOut) -> DoctorCheck {
    DoctorCheck::warning(
        "columns",
        format!("{}: {what}", fit.profile),
        format!("bring the table to what `claimtop profile show {}` expects", fit.profile),
    )
}

/// Boards whose table does not exist. A board with its own `detect` belongs to another version of the system, and is
/// not reported.
fn absent(fit: &Fit, profile: &Profile) -> Vec<DoctorCheck> {
    let is_there = |name: &str| fit.boards.iter().any(|board| board.name == name);
    let was_said = |name: &str| {
        let is_it = |what: &LeftOut| matches!(what, LeftOut::Board { board, .. } if board == name);
        fit.left_out.iter().any(is_it)
    };
    let boards = profile.boards.iter().filter(|board| board.detect.is_empty());
    boards
        .filter(|board| !is_there(&board.name) && !was_said(&board.name))
        .map(|board| {
            DoctorCheck::warning(
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

fn generic(profile: &Profile, target: &DoctorTarget) -> Option<DoctorCheck> {
    let unsure = profile.generic && !target.vouched.contains(&profile.name);
    unsure.then(|| {
        DoctorCheck::warning(
            "confirmation",
            format!(
                "the tables of {} could be anybody's, so acts are refused until it is named",
                profile.name
            ),
            format!("pass --profile {0}, or write profiles = [\"{0}\"] in the config", profile.name),
        )
    })
}
