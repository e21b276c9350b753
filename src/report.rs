//! Output: tables for people, JSON and CSV for programs.
//!
//! Every string of a database passes through [`crate::domain::visible`], or in JSON through an escape, before it
//! reaches a terminal.

pub mod act;
pub mod activity;
pub mod audit;
pub mod backtest;
pub mod bulk;
pub mod changes;
pub mod check;
pub mod doctor;
pub mod document;
pub mod holders;
pub mod html;
pub mod incident;
pub mod json;
pub mod list;
pub mod markdown;
pub mod paint;
pub mod recorded_incident;
pub mod table;
pub mod terminate;
