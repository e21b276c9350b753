//! How the library's own readers and actors get to a database, on whichever engine it is.

use claimtop::config::Config;
use claimtop::domain::time::Moment;
use claimtop::store::{Effort, Options, Profiles, SourceLocation, Standing, WriteAccess, WriteRules};
use std::path::PathBuf;
use std::time::Duration;

use super::{Database, NOW};

impl Database {
    /// At [`NOW`], with much patience and little effort, unless `change` says otherwise.
    pub fn options(&self, profiles: Profiles, change: impl FnOnce(&mut Options)) -> Options {
        let mut options = match self.server() {
            Some(_) => at_server(&self.source(), profiles),
            None => at_file(self.path(), profiles),
        };
        change(&mut options);
        options
    }
}

/// Permission to write, where no config forbids it.
pub fn writable(options: Options) -> WriteAccess {
    let granted = WriteRules::default().grant("", Standing::Unconfigured, || Ok(options));
    granted.expect("nothing is protected")
}

/// The same for a file.
pub fn at_file(path: PathBuf, profiles: Profiles) -> Options {
    usual(SourceLocation::File(path), profiles)
}

/// The same for whatever a text says of a server.
pub fn at_server(source: &str, profiles: Profiles) -> Options {
    usual(SourceLocation::of(source, None), profiles)
}

fn usual(at: SourceLocation, profiles: Profiles) -> Options {
    Options {
        at,
        profiles,
        operator: Config::default().operator(None),
        effort: Effort { rows: 5, slice: 1_000, whole: 1_000 },
        busy_timeout: Duration::from_secs(20),
        poll_timeout: Duration::from_secs(60),
        frozen_at: Moment::from_micros(NOW * 1_000),
        prober: None,
        registrations: claimtop::store::Registrations::default(),
        protected: Default::default(),
        allow_functions: Vec::new(),
        warn: None,
    }
}
