//! How the library's own readers and actors get to a database, on whichever engine it is.

use claimtop::config::Config;
use claimtop::domain::time::Moment;
use claimtop::store::{Effort, Options, Profiles, postgres, sqlite};
use std::path::PathBuf;
use std::time::Duration;

use super::postgres::PgDatabase;
use super::{Database, NOW};

impl Database {
    /// At [`NOW`], with much patience and little effort, unless `change` says otherwise. What is said
    /// of a file is meant of a server too.
    pub fn options(&self, profiles: Profiles, change: impl FnOnce(&mut sqlite::Options)) -> Options {
        let mut options = sqlite::Options {
            path: if self.server().is_none() { self.path() } else { PathBuf::new() },
            profiles,
            operator: Config::default().operator(None),
            effort: Effort { rows: 5, slice: 1_000, whole: 1_000 },
            busy_timeout: Duration::from_secs(20),
            poll_timeout: Duration::from_secs(60),
            frozen_at: Moment::from_micros(NOW * 1_000),
            prober: None,
        };
        change(&mut options);
        let Some(server) = self.server() else { return options.into() };
        postgres::Options {
            target: postgres::Target::parse(&self.source(), None).expect("a target"),
            operator: options.operator,
            effort: options.effort,
            busy_timeout: options.busy_timeout,
            poll_timeout: options.poll_timeout,
            frozen_at: options.frozen_at,
            prober: options.prober,
            ..server.options(options.profiles)
        }
        .into()
    }
}

impl PgDatabase {
    /// The same for what is on a server only.
    pub fn options(&self, profiles: Profiles) -> postgres::Options {
        postgres::Options {
            target: postgres::Target::parse(&self.url(), None).expect("a target"),
            profiles,
            operator: Config::default().operator(None),
            effort: Effort { rows: 5, slice: 1_000, whole: 1_000 },
            busy_timeout: Duration::from_secs(20),
            poll_timeout: Duration::from_secs(60),
            frozen_at: Moment::from_micros(NOW * 1_000),
            prober: None,
            zone: "UTC".into(),
        }
    }
}
