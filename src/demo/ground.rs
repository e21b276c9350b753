//! What a fleet works on: a file, or a schema of its own on a server.

use std::path::{Path, PathBuf};

use super::SOURCE;
use super::error::DemoError;
use super::folder;
use super::look::Look;
use super::schema::Schema;
use crate::config::Config;
use crate::domain::time::Span;
use crate::reference::System;
use crate::store::Source;
use crate::store::postgres::Target;
use crate::worker::executor_jobs::{self, ExecutorJobs};
use crate::worker::finalization::{self, Finalization};
use crate::worker::task_queue::{self, TaskQueue};
use crate::worker::{Database, WorkerError, postgres};

#[derive(Debug, Clone)]
pub enum Ground {
    File(PathBuf),
    Server(Box<Target>),
}

impl Ground {
    /// That of the demo in this folder. Its config says where, so that no address is on a command line.
    pub fn of(folder: &Path) -> Result<Ground, DemoError> {
        let config = Config::load(Some(&folder::config(folder)))?;
        let Some(source) = config.source.get(SOURCE) else {
            return Ok(Ground::File(folder::database(folder)));
        };
        match Source::parse(&source.at.0) {
            Source::Sqlite(path) => Ok(Ground::File(path)),
            Source::Unsupported(shown) => Err(Source::unsupported(&shown).into()),
            Source::Postgres(_) => {
                let command = source.password_command.as_ref().map(|command| command.0.as_str());
                Ok(Ground::Server(Box::new(Target::parse(&source.at.0, command)?)))
            }
        }
    }

    /// The systems that are there.
    pub fn systems(&self) -> Vec<System> {
        let all = System::ALL.into_iter();
        match self {
            Ground::File(_) => all.collect(),
            Ground::Server(_) => all.filter(|system| system.postgres().is_some()).collect(),
        }
    }

    /// Makes the tables; on a server in a schema that is ours, or there is none.
    pub fn furnish(&self, folder: &Path) -> Result<(), DemoError> {
        match self {
            Ground::File(path) => {
                let mut connection = rusqlite::Connection::open(path)?;
                connection.pragma_update(None, "journal_mode", "WAL")?;
                crate::reference::install(&mut connection, &self.systems())?;
                Ok(())
            }
            Ground::Server(target) => Schema::of(target, folder).make(&self.systems()),
        }
    }

    /// Removes what is not in the folder.
    pub fn clear(&self, folder: &Path) -> Result<(), DemoError> {
        match self {
            Ground::File(_) => Ok(()),
            Ground::Server(target) => Schema::of(target, folder).remove(),
        }
    }

    pub fn look(&self) -> Result<Look, DemoError> {
        Look::at(self)
    }

    pub fn jobs(&self, ttls: &[(&str, Span)]) -> Result<Box<dyn executor_jobs::Operations>, WorkerError> {
        Ok(match self {
            Ground::File(path) => {
                let jobs = ExecutorJobs::new(Database::open(path)?);
                Box::new(ttls.iter().fold(jobs, |jobs, (kind, ttl)| jobs.with_ttl(kind, *ttl)))
            }
            Ground::Server(target) => {
                let jobs = postgres::executor_jobs::ExecutorJobs::new(postgres::Database::open(target)?);
                Box::new(ttls.iter().fold(jobs, |jobs, (kind, ttl)| jobs.with_ttl(kind, *ttl)))
            }
        })
    }

    pub fn finalization(&self) -> Result<Box<dyn finalization::Operations>, WorkerError> {
        Ok(match self {
            Ground::File(path) => Box::new(Finalization::new(Database::open(path)?)),
            Ground::Server(target) => {
                Box::new(postgres::finalization::Finalization::new(postgres::Database::open(target)?))
            }
        })
    }

    pub fn tasks(&self) -> Result<Box<dyn task_queue::Operations>, WorkerError> {
        Ok(match self {
            Ground::File(path) => Box::new(TaskQueue::new(Database::open(path)?)),
            Ground::Server(target) => {
                Box::new(postgres::task_queue::TaskQueue::new(postgres::Database::open(target)?))
            }
        })
    }
}

impl std::fmt::Display for Ground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ground::File(path) => write!(f, "{}", path.display()),
            Ground::Server(target) => write!(f, "{}, schema {}", target.label(), super::schema::NAME),
        }
    }
}
