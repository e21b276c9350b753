//! Drafts of profiles for databases that no profile knows.
//!
//! Given a sample of a database, it ranks the tables that look like claims, guesses what their columns mean, and
//! writes a profile with the evidence beside every line. It knows names, types and values, and does no I/O.

mod acts;
mod changes;
mod column;
mod held;
mod names;
mod page;
mod rank;
mod registry;
mod render;
mod roles;
mod sample;
mod sql;
mod watch;
mod words;

pub use changes::Changes;
pub use names::ColumnPart;
pub use rank::{Candidate, LIKELY, rank};
pub use render::Draft;
pub use sample::{DatabaseSample, Reference, SampleColumn, TableSample};
pub use watch::DraftWatch;

/// The draft for one table, or for the likeliest one; nothing, if no table looks like claims or jobs.
pub fn draft<'a>(database: &'a DatabaseSample, table: Option<&str>, source: &str) -> Option<Draft<'a>> {
    let ranked = rank(database);
    let is_likely = |candidate: &&Candidate<'_>| candidate.score >= LIKELY;
    let chosen = match table {
        Some(name) => ranked.iter().find(|candidate| candidate.table.name == name)?,
        None => {
            let has_jobs = || ranked.iter().find(|candidate| candidate.is_for_jobs());
            ranked.iter().find(is_likely).or_else(has_jobs)?
        }
    };
    let others = ranked.iter().filter(is_likely).filter(|other| other.table.name != chosen.table.name);
    let others = others.take(5).map(|other| format!("{} ({})", other.table.name, other.score)).collect();
    let registry = registry::find(chosen, database);
    Some(Draft { engine: database.engine, claim: chosen.clone(), registry, others, source: source.into() })
}

/// Whether the values of a column are worth counting: it may hold the states of jobs.
pub fn is_state(column: &str, declared: &str) -> bool {
    let (words, declared) = (words::Words::of(column), declared.to_ascii_lowercase());
    let is_named = words.contains(&["status", "state", "phase"]) && !declared.contains("json");
    is_named || declared.contains("bool")
}
