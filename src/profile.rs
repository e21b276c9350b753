//! Profiles: where a system keeps its claims, as data.
//!
//! A profile is a TOML file. The built-in ones are compiled in from `assets/profiles/`;
//! users add theirs by name, from their config folder, or by path. This layer knows the file
//! format and the rules that follow from it; it must not know any database.

pub mod draft;
pub mod format;
pub mod installed;
pub mod keys;
pub mod library;
pub mod parse;
mod problems;
pub mod proof;
pub mod rules;
mod sql;
mod summary;
mod template;

pub use format::Profile;
pub use library::Library;
