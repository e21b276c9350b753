//! The database that a fleet works on: a file, or a schema on a server.

use std::path::{Path, PathBuf};

use super::SOURCE;
#[cfg(feature = "postgres")]
use super::demo_schema::{self, DemoSchema};
use super::error::DemoError;
use super::folder;
use super::read_connection::ReadConnection;
use crate::config::Config;
use crate::domain::time::Span;
#[cfg(feature = "postgres")]
use crate::postgres::Target;
use crate::reference::System;
use crate::store::Source;
#[cfg(not(feature = "postgres"))]
use crate::store::StoreError;
use crate::worker::executor_jobs::{self, ExecutorJobs};
use crate::worker::finalization::{self, Finalization};
#[cfg(feature = "postgres")]
use crate::worker::postgres;
use crate::worker::task_queue::{self, TaskQueue};
use crate::worker::{Database, WorkerError};

#[derive(Debug, Clone)]
pub enum DemoDatabase {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Server(Box<Target>),
}

impl DemoDatabase {
    /// The database of the demo in this folder. Its config has the address, so no address is on a command line.
    pub fn of(folder: &Path) -> Result<DemoDatabase, DemoError> {
        let config = Config::load(Some(&folder::config(folder)))?;
        let Some(source) = config.source.get(SOURCE) else {
            return Ok(DemoDatabase::File(folder::database_path(folder)));
        };
        match Source::parse(&source.at.0) {
            Source::Sqlite(path) => Ok(DemoDatabase::File(path)),
            Source::Mysql(shown) | Source::Unsupported(shown) => Err(Source::unsupported(&shown).into()),
            #[cfg(not(feature = "postgres"))]
            Source::Postgres(source_name) => Err(StoreError::NotBuiltIn { source_name }.into()),
            #[cfg(feature = "postgres")]
            Source::Postgres(_) => {
                let command = source.password_command.as_ref().map(|command| command.0.as_str());
                Ok(DemoDatabase::Server(Box::new(Target::parse(&source.at.0, command)?)))
            }
        }
    }

    /// The systems that exist on this engine.
    pub fn systems(&self) -> Vec<System> {
        let all = System::ALL.into_iter();
        match self {
            DemoDatabase::File(_) => all.collect(),
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(_) => all.filter(|system| system.postgres().is_some()).collect(),
        }
    }

    /// Creates the tables; on a server in a new schema of the demo.
    pub fn create(&self, folder: &Path) -> Result<(), DemoError> {
        match self {
            DemoDatabase::File(path) => {
                let mut connection = rusqlite::Connection::open(path)?;
                connection.pragma_update(None, "journal_mode", "WAL")?;
                crate::reference::install(&mut connection, &self.systems())?;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => DemoSchema::of(target, folder).create(&self.systems()),
        }
    }

    /// Removes what is outside the folder.
    pub fn clear(&self, folder: &Path) -> Result<(), DemoError> {
        match self {
            DemoDatabase::File(_) => Ok(()),
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => DemoSchema::of(target, folder).remove(),
        }
    }

    pub fn look(&self) -> Result<ReadConnection, DemoError> {
        ReadConnection::at(self)
    }

    pub fn jobs(&self, ttls: &[(&str, Span)]) -> Result<Box<dyn executor_jobs::Operations>, WorkerError> {
        Ok(match self {
            DemoDatabase::File(path) => {
                let jobs = ExecutorJobs::new(Database::open(path)?);
                Box::new(ttls.iter().fold(jobs, |jobs, (kind, ttl)| jobs.with_ttl(kind, *ttl)))
            }
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => {
                let jobs = postgres::executor_jobs::ExecutorJobs::new(postgres::Database::open(target)?);
                Box::new(ttls.iter().fold(jobs, |jobs, (kind, ttl)| jobs.with_ttl(kind, *ttl)))
            }
        })
    }

    pub fn finalization(&self) -> Result<Box<dyn finalization::Operations>, WorkerError> {
        Ok(match self {
            DemoDatabase::File(path) => Box::new(Finalization::new(Database::open(path)?)),
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => {
                Box::new(postgres::finalization::Finalization::new(postgres::Database::open(target)?))
            }
        })
    }

    pub fn tasks(&self) -> Result<Box<dyn task_queue::Operations>, WorkerError> {
        Ok(match self {
            DemoDatabase::File(path) => Box::new(TaskQueue::new(Database::open(path)?)),
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => {
                Box::new(postgres::task_queue::TaskQueue::new(postgres::Database::open(target)?))
            }
        })
    }
}

impl std::fmt::Display for DemoDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DemoDatabase::File(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => write!(f, "{}, schema {}", target.label(), demo_schema::NAME),
        }
    }
}
