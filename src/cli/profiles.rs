//! `claimtop profile`: what profiles there are, what they say, and what they fit.

use super::ProfileVerb;
use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::profile::format::Profile;
use crate::profile::library::Entry;
use crate::report::table::{Cell, render};
use crate::store::StoreError;
use crate::store::{Fit, Profiles, fits};

pub fn run(setup: &Setup, verb: ProfileVerb) -> Exit {
    match verb {
        ProfileVerb::List => list(setup),
        ProfileVerb::Show { name } => show(setup, &name),
        ProfileVerb::Check { name, source } => check(setup, &name, source),
        ProfileVerb::Detect { source } => detect(setup, &source),
    }
}

fn list(setup: &Setup) -> Exit {
    let mut rows = vec![["NAME", "BOARDS", "FROM", "ABOUT"].map(Cell::text).to_vec()];
    for entry in setup.library.entries() {
        let (boards, about) = match entry.profile() {
            Ok(profile) => {
                let boards: Vec<&str> = profile.boards.iter().map(|board| board.name.as_str()).collect();
                (boards.join(", "), profile.about)
            }
            Err(error) => ("-".into(), error.to_string()),
        };
        rows.push(vec![
            Cell::text(safe(&entry.name)),
            Cell::text(safe(&boards)),
            Cell::text(safe(&entry.origin.describe())),
            Cell::text(safe(&about)),
        ]);
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
        Err(error) => return complain(&error.to_string()),
    };
    let Some(source) = source else {
        print(&format!("{} is well-formed; name a SOURCE to see whether it fits\n", profile.name));
        return Exit::Fine;
    };
    // Whoever names a profile means the tables it speaks of, whatever those are.
    let fits = setup.options(&source, setup.effort()).and_then(|options| {
        fits(&options.with_profiles(Profiles::Named(vec![profile.clone()])), vec![profile])
    });
    match fits {
        Ok(fits) => report(&fits, true),
        Err(error) => complain(&error.to_string()),
    }
}

fn detect(setup: &Setup, source: &str) -> Exit {
    let profiles: Result<Vec<Profile>, _> = setup.library.entries().iter().map(Entry::profile).collect();
    let fits = profiles
        .map_err(StoreError::from)
        .and_then(|profiles| fits(&setup.options(source, setup.effort())?, profiles));
    match fits {
        Ok(fits) => report(&fits, false),
        Err(error) => complain(&error.to_string()),
    }
}

/// Column by column in `detail`, else a line a profile. An error if nothing fits.
fn report(fits: &[Fit], detail: bool) -> Exit {
    let mut rows = Vec::new();
    for fit in fits {
        let verdict = if fit.boards.is_empty() { "does not fit" } else { "fits" };
        let boards: Vec<&str> = fit.boards.iter().map(|board| board.name.as_str()).collect();
        let what = if fit.boards.is_empty() { fit.problems().join("; ") } else { boards.join(", ") };
        rows.push(vec![Cell::text(fit.profile.clone()), Cell::text(verdict), Cell::text(safe(&what))]);
    }
    let mut text = render(&rows);
    for fit in fits.iter().filter(|_| detail) {
        for board in &fit.boards {
            text.push_str(&format!("\nboard {}\n", board.name));
            let columns = board.columns.iter().map(|(field, sql)| {
                let sql = sql.as_deref().map_or_else(|| "(not in this database)".into(), safe);
                vec![Cell::text(format!("  {field}")), Cell::text(sql)]
            });
            text.push_str(&render(&columns.collect::<Vec<_>>()));
        }
        for missing in fit.problems() {
            text.push_str(&format!("\nleft out: {}\n", safe(&missing)));
        }
    }
    print(&text);
    if fits.iter().any(|fit| !fit.boards.is_empty()) { Exit::Fine } else { Exit::Error }
}
