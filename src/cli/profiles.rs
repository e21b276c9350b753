//! `claimtop profile`: lists, shows and checks profiles.

use super::ProfileVerb;
use super::draft;
use super::output::{complain, print};
use super::profile_help;
use super::setup::Setup;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::profile::format::Profile;
use crate::profile::library::{LibraryEntry, ProfileOrigin};
use crate::profile::proof::Proof;
use crate::report::table::{TableCell, render};
use crate::store::StoreError;
use crate::store::{Fit, Options, Profiles, fits};

pub(super) fn run(setup: &Setup, verb: ProfileVerb) -> Exit {
    match verb {
        ProfileVerb::List => list(setup),
        ProfileVerb::Show { name } => show(setup, &name),
        ProfileVerb::Check { name, source } => check(setup, &name, source),
        ProfileVerb::Detect { source } => detect(setup, &source),
        ProfileVerb::Draft(arguments) => draft::run(setup, &arguments),
        ProfileVerb::Help { key } => profile_help::run(key.as_deref()),
    }
}

fn list(setup: &Setup) -> Exit {
    let heading = ["NAME", "SYSTEM", "VERSIONS", "ENGINE", "FENCED", "DEADLINE", "RECLAIM", "PROOF", "FROM"];
    let mut rows = vec![heading.map(TableCell::text).to_vec()];
    for entry in setup.library.entries() {
        let origin = entry.origin.describe();
        let proof = Proof::of(&entry.name).filter(|_| entry.origin == ProfileOrigin::BuiltIn);
        let [engine, proven] =
            proof.map_or_else(Default::default, |proof| [proof.engines(), proof.describe()]);
        let [system, versions, fenced, deadline, reclaim] = match entry.profile() {
            Ok(profile) => {
                let board = &profile.boards[0];
                let fenced = board.fencing().into();
                let (deadline, reclaim) = (board.deadline_basis(), board.reclaim_effect());
                [profile.title, profile.versions, fenced, deadline, reclaim]
            }
            Err(error) => [error.to_string(), String::new(), String::new(), String::new(), String::new()],
        };
        let cells =
            [&entry.name, &system, &versions, &engine, &fenced, &deadline, &reclaim, &proven, &origin];
        rows.push(cells.map(|cell| TableCell::text(safe(cell))).to_vec());
    }
    print(&render(&rows));
    Exit::Fine
}

fn show(setup: &Setup, name: &str) -> Exit {
    match setup.library.find(name) {
        Ok(profile) => {
            print(&profile.text);
            Exit::Fine
        }
        Err(error) => complain(&error.to_string()),
    }
}

fn check(setup: &Setup, name: &str, source: Option<String>) -> Exit {
    let profile = match setup.library.find(name) {
        Ok(profile) => profile,
        Err(error) => {
            for problem in error.each() {
                complain(&problem.to_string());
            }
            return Exit::Error;
        }
    };
    let Some(source) = source else {
        print(&format!("{} is well-formed; name a SOURCE to see whether it fits\n", profile.name));
        return Exit::Fine;
    };
    // A named profile is checked even if it is generic.
    let fits = setup.options(&source, setup.effort()).and_then(|options| {
        let profiles = Profiles::Named(vec![profile.clone()]);
        fits(&Options { profiles, ..options }, vec![profile])
    });
    match fits {
        Ok(fits) => report(&fits, true),
        Err(error) => complain(&error.to_string()),
    }
}

fn detect(setup: &Setup, source: &str) -> Exit {
    let profiles: Result<Vec<Profile>, _> =
        setup.library.entries().iter().map(LibraryEntry::profile).collect();
    let fits = profiles
        .map_err(StoreError::from)
        .and_then(|profiles| fits(&setup.options(source, setup.effort())?, profiles));
    match fits {
        Ok(fits) => report(&fits, false),
        Err(error) => complain(&error.to_string()),
    }
}

/// Column by column with `detail`, otherwise one line per profile. An error if nothing fits.
fn report(fits: &[Fit], detail: bool) -> Exit {
    let mut rows = Vec::new();
    for fit in fits {
        let verdict = if fit.boards.is_empty() { "does not fit" } else { "fits" };
        let boards: Vec<&str> = fit.boards.iter().map(|board| board.name.as_str()).collect();
        let what = if fit.boards.is_empty() { fit.problems().join("; ") } else { boards.join(", ") };
        rows.push(vec![
            TableCell::text(fit.profile.clone()),
            TableCell::text(verdict),
            TableCell::text(safe(&what)),
        ]);
    }
    let mut text = render(&rows);
    for fit in fits.iter().filter(|_| detail) {
        for board in &fit.boards {
            text.push_str(&format!("\nboard {}\n", board.name));
            let columns = board.columns.iter().map(|(field, sql)| {
                let sql = sql.as_deref().map_or_else(|| "(not in this database)".into(), safe);
                vec![TableCell::text(format!("  {field}")), TableCell::text(sql)]
            });
            text.push_str(&render(&columns.collect::<Vec<_>>()));
        }
        for missing in fit.problems() {
            text.push_str(&format!("\nleft out: {}\n", safe(&missing)));
        }
    }
    print(&text);
    let is_broken = detail && fits.iter().any(Fit::is_broken);
    if !is_broken && fits.iter().any(|fit| !fit.boards.is_empty()) { Exit::Fine } else { Exit::Error }
}
