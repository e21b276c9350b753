//! Where profiles come from: compiled in, from the user's config folder, or from a named file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{Profile, ProfileError};
use crate::domain::similar::did_you_mean;

/// Every profile in `assets/profiles/`, by name: the five reference systems first.
const BUILT_IN: [(&str, &str); 48] = [
    ("coordination", include_str!("../../assets/profiles/coordination.toml")),
    ("executor-jobs", include_str!("../../assets/profiles/executor-jobs.toml")),
    ("merge-queue", include_str!("../../assets/profiles/merge-queue.toml")),
    ("finalization", include_str!("../../assets/profiles/finalization.toml")),
    ("task-queue", include_str!("../../assets/profiles/task-queue.toml")),
    ("airflow", include_str!("../../assets/profiles/airflow.toml")),
    ("apalis", include_str!("../../assets/profiles/apalis.toml")),
    ("apalis-postgres", include_str!("../../assets/profiles/apalis-postgres.toml")),
    ("apscheduler4", include_str!("../../assets/profiles/apscheduler4.toml")),
    ("celery-sqlalchemy", include_str!("../../assets/profiles/celery-sqlalchemy.toml")),
    ("chancy", include_str!("../../assets/profiles/chancy.toml")),
    ("db-scheduler", include_str!("../../assets/profiles/db-scheduler.toml")),
    ("dbos", include_str!("../../assets/profiles/dbos.toml")),
    ("delayed-job", include_str!("../../assets/profiles/delayed-job.toml")),
    ("django-background-tasks", include_str!("../../assets/profiles/django-background-tasks.toml")),
    ("django-db-queue", include_str!("../../assets/profiles/django-db-queue.toml")),
    ("django-q2", include_str!("../../assets/profiles/django-q2.toml")),
    ("django-tasks", include_str!("../../assets/profiles/django-tasks.toml")),
    ("dramatiq-pg", include_str!("../../assets/profiles/dramatiq-pg.toml")),
    ("flyway", include_str!("../../assets/profiles/flyway.toml")),
    ("golang-migrate", include_str!("../../assets/profiles/golang-migrate.toml")),
    ("good-job", include_str!("../../assets/profiles/good-job.toml")),
    ("good-job-3", include_str!("../../assets/profiles/good-job-3.toml")),
    ("graphile-worker", include_str!("../../assets/profiles/graphile-worker.toml")),
    ("hangfire", include_str!("../../assets/profiles/hangfire.toml")),
    ("huey", include_str!("../../assets/profiles/huey.toml")),
    ("knex", include_str!("../../assets/profiles/knex.toml")),
    ("laravel", include_str!("../../assets/profiles/laravel.toml")),
    ("liquibase", include_str!("../../assets/profiles/liquibase.toml")),
    ("litequeue", include_str!("../../assets/profiles/litequeue.toml")),
    ("litequeue-0.9", include_str!("../../assets/profiles/litequeue-0.9.toml")),
    ("minion", include_str!("../../assets/profiles/minion.toml")),
    ("oban", include_str!("../../assets/profiles/oban.toml")),
    ("oban-py", include_str!("../../assets/profiles/oban-py.toml")),
    ("persist-queue", include_str!("../../assets/profiles/persist-queue.toml")),
    ("pg-boss", include_str!("../../assets/profiles/pg-boss.toml")),
    ("pg-boss-10", include_str!("../../assets/profiles/pg-boss-10.toml")),
    ("pg-boss-11", include_str!("../../assets/profiles/pg-boss-11.toml")),
    ("pgagent", include_str!("../../assets/profiles/pgagent.toml")),
    ("pgqueuer", include_str!("../../assets/profiles/pgqueuer.toml")),
    ("procrastinate", include_str!("../../assets/profiles/procrastinate.toml")),
    ("quartz", include_str!("../../assets/profiles/quartz.toml")),
    ("que", include_str!("../../assets/profiles/que.toml")),
    ("river", include_str!("../../assets/profiles/river.toml")),
    ("saq", include_str!("../../assets/profiles/saq.toml")),
    ("shedlock", include_str!("../../assets/profiles/shedlock.toml")),
    ("solid-queue", include_str!("../../assets/profiles/solid-queue.toml")),
    ("symfony-messenger", include_str!("../../assets/profiles/symfony-messenger.toml")),
];

/// A profile that can be used by its name.
#[derive(Debug, Clone)]
pub struct LibraryEntry {
    pub name: String,
    pub origin: ProfileOrigin,
    text: String,
}

impl LibraryEntry {
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        Profile::parse(&self.name, &self.text)
    }

    /// Whether the profile could fit a database with these tables. Only a quick look: a profile
    /// of somebody else's is always tried, so that its errors are told.
    pub fn may_fit<'a>(&self, mut tables: impl Iterator<Item = &'a str>) -> bool {
        let is_any = |written: String| written.starts_with('{') && written.ends_with('}');
        self.origin != ProfileOrigin::BuiltIn
            || self.tables().any(is_any)
            || tables.any(|table| self.names(table))
    }

    /// The tables that it speaks of, as they are written.
    fn tables(&self) -> impl Iterator<Item = String> {
        let lines = self.text.lines().filter(|line| line.starts_with("table"));
        lines.filter_map(|line| Some(line.split('"').nth(1)?.to_ascii_lowercase()))
    }

    /// Whether it speaks of a table.
    pub fn names(&self, table: &str) -> bool {
        let (text, table) = (self.text.to_ascii_lowercase(), table.to_ascii_lowercase());
        let bare = table.rsplit_once('.').map_or(table.as_str(), |(_, bare)| bare);
        // What surrounds a variable in the name of a table.
        let may_be = |written: String| {
            let Some((before, rest)) = written.split_once('{') else { return false };
            let Some((_, after)) = rest.split_once('}') else { return false };
            let after = after.trim_start_matches('.');
            // A variable alone is no name.
            let is_named = !before.is_empty() || !after.is_empty();
            is_named && bare.starts_with(before) && bare.ends_with(after)
        };
        text.contains(&format!("\"{table}\"")) || self.tables().any(may_be)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileOrigin {
    BuiltIn,
    File(PathBuf),
}

impl ProfileOrigin {
    pub fn describe(&self) -> String {
        match self {
            ProfileOrigin::BuiltIn => "built in".into(),
            ProfileOrigin::File(path) => path.display().to_string(),
        }
    }
}

/// Every profile that can be used by its name. All sources share one.
#[derive(Debug, Clone)]
pub struct Library {
    entries: Arc<Vec<LibraryEntry>>,
}

impl Library {
    /// The built-in profiles alone.
    pub fn built_in() -> Library {
        let entry = |(name, text): (&str, &str)| LibraryEntry {
            name: name.into(),
            origin: ProfileOrigin::BuiltIn,
            text: text.into(),
        };
        Library { entries: Arc::new(BUILT_IN.map(entry).into()) }
    }

    /// The built-in profiles and those in `folder`, which go before built-in ones of their name.
    pub fn with_folder(folder: Option<&Path>) -> Result<Library, ProfileError> {
        let mut library = Library::built_in();
        let Some(Ok(listing)) = folder.map(std::fs::read_dir) else {
            return Ok(library);
        };
        let mut paths: Vec<PathBuf> = listing
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .collect();
        paths.sort();
        for path in paths {
            let entry = read(&path)?;
            let entries = Arc::make_mut(&mut library.entries);
            entries.retain(|known| known.name != entry.name);
            entries.push(entry);
        }
        Ok(library)
    }

    pub fn entries(&self) -> &[LibraryEntry] {
        &self.entries
    }

    /// The profile that a user means by a name or a path.
    pub fn find(&self, name: &str) -> Result<Profile, ProfileError> {
        if name.contains('/') || name.ends_with(".toml") {
            return read(Path::new(name))?.profile();
        }
        match (self.entries.iter().find(|entry| entry.name == name), name.split_once('@')) {
            (Some(entry), _) => entry.profile(),
            (None, Some((base, value))) => self.find(base)?.called_after(value),
            (None, None) => {
                let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
                let near = did_you_mean(name, names.iter().copied());
                Err(ProfileError::Invalid {
                    name: name.into(),
                    problem: format!(
                        "no such profile{near}; there are {} (or name a file)",
                        names.join(", ")
                    ),
                })
            }
        }
    }
}

fn read(path: &Path) -> Result<LibraryEntry, ProfileError> {
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let text = std::fs::read_to_string(path).map_err(|error| ProfileError::Invalid {
        name: path.display().to_string(),
        problem: format!("cannot be read: {error}"),
    })?;
    Ok(LibraryEntry { name, origin: ProfileOrigin::File(path.into()), text })
}
