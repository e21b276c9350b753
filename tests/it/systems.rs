//! The built-in profiles on the tables of real systems: each recognises its own, and no other does.
//!
//! A fixture is the tables of one version of a system on one engine; those of libraries that can be installed
//! are written by `./tests/systems --fixtures`. The workers themselves are run by `./tests/systems`.

mod broken_keys;
mod kept_jobs;
mod recognition;
mod registries;
mod supported;
mod unrelated;
mod variants;

use crate::support::engine::{Engine, engines};
use crate::support::options::{at_file, at_server};
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

/// The reference systems, with the tables that `init` makes.
fn reference() -> Vec<Fixture> {
    let of = |engine: Engine, name: &str| {
        let folder = format!("assets/schema/{engine:?}").to_lowercase();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(format!("{name}.sql"));
        let sql = std::fs::read_to_string(path).ok()?;
        Some(Fixture { system: name.into(), profile: name.into(), engine, sql })
    };
    let all = engines().iter().flat_map(|&engine| REFERENCE.map(|name| of(engine, name)));
    all.flatten().collect()
}

impl Fixture {
    /// The engine as profiles call it.
    fn spoken(&self) -> format::Engine {
        match self.engine {
            Engine::Sqlite => format::Engine::Sqlite,
            Engine::Postgres => format::Engine::Postgres,
        }
    }

    /// Its profile, with the value of a variable that is listed first of those that are here.
    fn usual_profile(&self) -> Profile {
        let profile = Library::built_in().find(&self.profile).expect("a built-in profile");
        let Some(template) = profile.template() else { return profile };
        let is_here = |value: &&String| {
            let table = template.filled(value);
            let made = [format!(" {table} ("), format!(".{table} ("), format!("\"{table}\" (")];
            made.iter().any(|made| self.sql.contains(made))
        };
        match profile.vars[&template.var].candidates.iter().find(is_here) {
            Some(value) => profile.with_usual(&template, value).expect("a valid profile"),
            None => profile,
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
            Tables::File(_) => at_file(self.source().into(), profiles),
            Tables::Server(server) => at_server(&server.url(), profiles),
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
    fit.profile == profile.name
        && fit.boards.len() == profile.boards.len()
        && fit.problems().is_empty()
        && columns.into_iter().all(|(_, sql)| sql.is_some())
}
