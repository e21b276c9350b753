//! Opens a source: the one place in the store that names its engines.

use super::driver::Driver;
use super::look::ReadEngine;
#[cfg(feature = "mysql")]
use super::mysql;
#[cfg(feature = "postgres")]
use super::postgres;
use super::sampling::SampleSource;
use super::source_location::SourceLocation;
use super::{Fit, Options, StoreError, WriteAccess, sqlite};
use crate::profile::format::Profile;

/// Opens a source to read it.
pub(super) fn reader(options: Options) -> Result<Box<dyn ReadEngine>, StoreError> {
    Ok(match options.at.clone() {
        SourceLocation::File(path) => Box::new(sqlite::Reader::open(path, options)?),
        #[cfg(feature = "postgres")]
        SourceLocation::Server(target) => Box::new(postgres::Reader::open(*target, options)?),
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(target) => Box::new(mysql::Reader::open(*target, options)?),
        SourceLocation::Nowhere(why) => return Err(nowhere(why)),
    })
}

/// Opens a source to act on it.
pub(super) fn driver(access: WriteAccess) -> Result<Box<dyn Driver>, StoreError> {
    let options = access.into_options();
    Ok(match options.at.clone() {
        SourceLocation::File(path) => Box::new(sqlite::Actor::open(path, options)?),
        #[cfg(feature = "postgres")]
        SourceLocation::Server(target) => Box::new(postgres::Actor::open(*target, options)?),
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(target) => Box::new(mysql::Actor::open(*target, options)?),
        SourceLocation::Nowhere(why) => return Err(nowhere(why)),
    })
}

/// Opens a source to take samples of its tables.
pub(super) fn sample(options: &Options) -> Result<Box<dyn SampleSource>, StoreError> {
    Ok(match &options.at {
        SourceLocation::File(path) => Box::new(sqlite::SqliteSample::open(path, options)?),
        #[cfg(feature = "postgres")]
        SourceLocation::Server(target) => Box::new(postgres::PostgresSample::open(target, options)?),
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(_) => return Err(mysql::no_drafts(options)),
        SourceLocation::Nowhere(why) => return Err(nowhere(why.clone())),
    })
}

/// Lays each of the profiles onto the database.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    match &options.at {
        SourceLocation::File(path) => sqlite::fits(path, options, profiles),
        #[cfg(feature = "postgres")]
        SourceLocation::Server(target) => postgres::fits(target, options, profiles),
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(target) => mysql::fits(target, options, profiles),
        SourceLocation::Nowhere(why) => Err(nowhere(why.clone())),
    }
}

fn nowhere(why: String) -> StoreError {
    StoreError::BadTarget { source_name: "the source".into(), why }
}
