//! `claimtop doctor`: a checklist for each source.

use std::path::Path;

use super::output::{complain, print};
use super::setup::Setup;
use crate::doctor::{CheckState, Diagnosis, DoctorTarget, examine, examine_recording};
use crate::exit::Exit;
use crate::profile::format::Profile;
use crate::profile::library::LibraryEntry;
use crate::recording::{Recording, is_recording};
use crate::report::doctor::{line, page};
use crate::report::paint::Paint;
use crate::store::{NoWriteAccess, Profiles, SessionMode, StoreError};

pub(super) fn run(setup: &Setup, sources: &[String]) -> Exit {
    let mut setup = setup.silent();
    // One of the checks is where the holders' processes run.
    setup.check_pid = true;
    let mut exit = Exit::Fine;
    for (at, word) in sources.iter().enumerate() {
        let (label, engine) = (setup.label(word), setup.source(word).engine());
        let (diagnosis, error) = match diagnosis(&setup, word) {
            Ok(diagnosis) => (diagnosis, None),
            Err(sentence) => {
                (Diagnosis { checks: Vec::new(), unreachable: Some(sentence.clone()) }, Some(sentence))
            }
        };
        if setup.json {
            print(&(line(&label, engine, &diagnosis) + "\n"));
        } else if error.is_none() {
            let gap = if at == 0 { "" } else { "\n" };
            print(&format!("{gap}{}", page(&label, &diagnosis, Paint::for_stdout())));
        }
        if let Some(sentence) = error {
            complain(&sentence);
        }
        exit = exit.and(exit_of(&diagnosis));
    }
    exit
}

fn diagnosis(setup: &Setup, word: &str) -> Result<Diagnosis, String> {
    if is_recording(Path::new(word)) {
        let recording = Recording::open(Path::new(word)).map_err(|error| error.to_string())?;
        return examine_recording(&recording).map_err(|error| error.to_string());
    }
    target(setup, word).map(|target| examine(&target)).map_err(|error| error.to_string())
}

fn exit_of(diagnosis: &Diagnosis) -> Exit {
    match (&diagnosis.unreachable, diagnosis.worst()) {
        (Some(_), _) => Exit::Error,
        (None, CheckState::Ok) => Exit::Fine,
        (None, CheckState::Warning) => Exit::Warning,
        (None, CheckState::Failed) => Exit::Critical,
    }
}

fn target(setup: &Setup, word: &str) -> Result<DoctorTarget, StoreError> {
    let (options, session) = match setup.write_access(word, setup.effort()) {
        Ok(access) => (access.options().clone(), SessionMode::ReadWrite),
        Err(NoWriteAccess::ReadOnly) => (setup.options(word, setup.effort())?, SessionMode::ReadOnly),
        Err(NoWriteAccess::Store(error)) => return Err(error),
    };
    let name = setup.settings_for(word);
    Ok(DoctorTarget {
        profiles: profiles(setup, &options.profiles)?,
        vouched: setup.named_profiles(word),
        session,
        holders_on: name.and_then(|name| setup.config.source.get(&name)?.holders_on),
        options,
    })
}

/// The named profiles, or all of them.
fn profiles(setup: &Setup, which: &Profiles) -> Result<Vec<Profile>, StoreError> {
    match which {
        Profiles::Named(profiles) => Ok(profiles.clone()),
        Profiles::Detect(_) | Profiles::Dead(_) => {
            Ok(setup.library.entries().iter().map(LibraryEntry::profile).collect::<Result<_, _>>()?)
        }
    }
}
