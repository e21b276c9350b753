//! The built-in profiles on the tables of real systems: each recognises its own, and no other does.
//!
//! A fixture is the tables of one version of a system on one engine; those of libraries that can be installed
//! are written by `./tests/systems --fixtures`. The workers themselves are run by `./tests/systems`.

mod broken_keys;
mod recognition;
mod supported;
mod unrelated;

use crate::support::engine::{Engine, engines};
use crate::support::options::at_server;
use crate::support::postgres::PgDatabase;
use crate::support::{command, stdout};
use claimtop::profile::{Library, Profile, format};
use claimtop::store::{Fit, Options, Profiles, StoreError, fits};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The profiles that `init` has tables for.
const REFERENCE: [&str; 5] = ["coordination", "executor-jobs", "merge-queue", "finalization", "task-queue"];

/// The tables of one version of a system.
struct Fixture {
    system: String,
    profile: String,
    engine: Engine,
    sql: String,
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// Those of this run's engines.
fn fixtures() -> Vec<Fixture> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder("it/systems/fixtures"))
        .expect("the fixtures")
        .map(|entry| entry.expect("a fixture").path())
        .collect();
    paths.sort();
    let all = paths.iter().map(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let (system, engine) = stem.rsplit_once('.').expect("SYSTEM.ENGINE.sql");
        let described = folder("systems.d").join(system).join("system.toml");
        let described: toml::Table =
            std::fs::read_to_string(described).expect("system.toml").parse().expect("TOML");
        Fixture {
            system: system.into(),
            profile: described["profile"].as_str().expect("a profile").into(),
            engine: if engine == "sqlite" { Engine::Sqlite } else { Engine::Postgres },
            sql: std::fs::read_to_string(path).expect("SQL"),
        }
    });
    all.filter(|fixture| engines().contains(&fixture.engine)).collect()
}

impl Fixture {
    /// The engine as profiles call it.
    fn spoken(&self) -> format::Engine {
        match self.engine {
            Engine::Sqlite => format::Engine::Sqlite,
            Engine::Postgres => format::Engine::Postgres,
        }
    }

    fn tables(&self) -> Tables {
        eprintln!("{} on {:?}", self.system, self.engine);
        Tables::new(self.engine, &self.sql)
    }
}

/// A database with some tables and no rows.
enum Tables {
    File(TempDir),
    Server(Box<PgDatabase>),
}

impl Tables {
    fn new(engine: Engine, sql: &str) -> Tables {
        match engine {
            Engine::Sqlite => {
                let file = Tables::File(tempfile::tempdir().expect("a folder"));
                file.run(sql);
                file
            }
            Engine::Postgres => Tables::Server(Box::new(PgDatabase::new(sql))),
        }
    }

    fn source(&self) -> String {
        match self {
            Tables::File(folder) => folder.path().join("it.db").to_string_lossy().into_owned(),
            Tables::Server(server) => server.url(),
        }
    }

    fn run(&self, sql: &str) {
        match self {
            Tables::File(_) => {
                let connection = rusqlite::Connection::open(self.source()).expect("a database");
                connection.execute_batch(sql).expect(sql);
            }
            Tables::Server(server) => server.run(sql),
        }
    }

    fn options(&self, profiles: Profiles) -> Options {
        match self {
            Tables::File(_) => {
                let mut options = crate::support::options::usual(profiles);
                options.path = self.source().into();
                options.into()
            }
            Tables::Server(server) => at_server(&server.url(), profiles).into(),
        }
    }

    /// How these profiles fit; none fits a file without a single table.
    fn fits(&self, profiles: Vec<Profile>) -> Vec<Fit> {
        match fits(&self.options(Profiles::Detect(Library::built_in())), profiles) {
            Err(StoreError::Empty { .. }) => Vec::new(),
            fits => fits.expect("a readable database"),
        }
    }

    /// The built-in profiles that fit.
    fn recognised(&self) -> Vec<String> {
        let fits = self.fits(built_in());
        fits.into_iter().filter(|fit| !fit.boards.is_empty()).map(|fit| fit.profile).collect()
    }

    fn claimtop(&self, arguments: &[&str]) -> String {
        stdout(&command(arguments).arg(self.source()).output().expect("claimtop runs"))
    }
}

fn built_in() -> Vec<Profile> {
    Library::built_in().entries().iter().map(|entry| entry.profile().expect("a valid profile")).collect()
}

/// Every board and every field that the profile has is in the database.
fn is_whole(fit: &Fit, profile: &Profile) -> bool {
    let columns = fit.boards.iter().flat_map(|board| &board.columns);
    fit.boards.len() == profile.boards.len()
        && fit.problems().is_empty()
        && columns.into_iter().all(|(_, sql)| sql.is_some())
}
