//! How the library's own readers and actors get to a database, on whichever engine it is.

use claimtop::config::Config;
use claimtop::domain::time::Moment;
use claimtop::store::{Effort, Options, Profiles, Standing, WriteAccess, WriteRules, postgres, sqlite};
use std::path::PathBuf;
use std::time::Duration;

use super::{Database, NOW};

impl Database {
    /// At [`NOW`], with much patience and little effort, unless `change` says otherwise. What is said
    /// of a file is meant of a server too.
    pub fn options(&self, profiles: Profiles, change: impl FnOnce(&mut sqlite::Options)) -> Options {
        let mut options = usual(profiles);
        if self.server().is_none() {
            options.path = self.path();
        }
        change(&mut options);
        if self.server().is_none() { options.into() } else { on_server(&self.source(), options).into() }
    }
}

/// Permission to write, where no config forbids it.
pub fn writable(options: impl Into<Options>) -> WriteAccess {
    let options = options.into();
    let granted = WriteRules::default().grant("", Standing::Unconfigured, || Ok(options));
    granted.expect("nothing is protected")
}

/// The same for whatever a text says of a server.
pub fn at_server(source: &str, profiles: Profiles) -> postgres::Options {
    on_server(source, usual(profiles))
}

pub fn usual(profiles: Profiles) -> sqlite::Options {
    sqlite::Options {
        path: PathBuf::new(),
        profiles,
        operator: Config::default().operator(None),
        effort: Effort { rows: 5, slice: 1_000, whole: 1_000 },
        busy_timeout: Duration::from_secs(20),
        poll_timeout: Duration::from_secs(60),
        frozen_at: Moment::from_micros(NOW * 1_000),
        prober: None,
        registrations: claimtop::store::Registrations::default(),
        protected: Default::default(),
    }
}

fn on_server(source: &str, options: sqlite::Options) -> postgres::Options {
    postgres::Options {
        target: postgres::Target::parse(source, None).expect("a target"),
        profiles: options.profiles,
        operator: options.operator,
        effort: options.effort,
        busy_timeout: options.busy_timeout,
        poll_timeout: options.poll_timeout,
        frozen_at: options.frozen_at,
        prober: options.prober,
        registrations: options.registrations,
        allow_functions: Vec::new(),
        warn: None,
        protected: options.protected,
    }
}
