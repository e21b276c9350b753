//! claimtop.

pub mod cli;
pub mod config;
pub mod domain;
pub mod exit;
pub mod profile;
pub mod report;
pub mod store;
