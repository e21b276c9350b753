//! Why none of the profiles fits a database.

use std::collections::BTreeSet;

use crate::domain::shell::quoted;
use crate::store::bind::{Lack, joined};

/// Why no profile fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoProfileFits {
    /// Those that fit do not describe dead jobs.
    NothingDead,
    /// The tables that a profile names may not be read.
    Unreadable { tables: Vec<String> },
    /// These profiles nearly fit: what each of them lacks.
    Near(Vec<(String, Vec<Lack>)>),
    /// There is not one table.
    NoTables,
    /// No profile knows the tables: some of them, and how many there are besides.
    OtherTables { tables: Vec<String>, more: usize },
}

impl NoProfileFits {
    pub(super) fn problem(&self) -> String {
        let why = match self {
            NoProfileFits::NothingDead => {
                "none of its profiles says what is dead and how to queue it again".into()
            }
            NoProfileFits::Unreadable { tables } => {
                format!("{} may not be read by us: GRANT SELECT", tables.join(", "))
            }
            NoProfileFits::Near(profiles) => nearly(profiles),
            NoProfileFits::NoTables => "it has no tables".into(),
            NoProfileFits::OtherTables { tables, more } => {
                format!("its tables are {}", listed(tables, *more))
            }
        };
        format!("no profile fits: {why}")
    }

    pub(super) fn advice(&self, source: &str) -> Option<String> {
        match self {
            NoProfileFits::OtherTables { .. } => Some(format!(
                "write a profile (`claimtop profile draft {} > FILE.toml` makes a first one) and pass --profile FILE.toml",
                quoted(source)
            )),
            NoProfileFits::NoTables => {
                Some("check that it is the right database, or start the application that creates them".into())
            }
            NoProfileFits::NothingDead | NoProfileFits::Unreadable { .. } | NoProfileFits::Near(_) => None,
        }
    }

    /// The same for somebody whose profiles did fit: what has changed, and no advice on how to come by a profile.
    pub(super) fn after(&self, known: &BTreeSet<&str>) -> String {
        let why = match self {
            NoProfileFits::NoTables => "its tables are gone; there are none".into(),
            NoProfileFits::OtherTables { tables, more } => {
                format!("its tables are gone or renamed; there are {}", listed(tables, *more))
            }
            NoProfileFits::Near(profiles) => {
                let lost: Vec<String> = profiles
                    .iter()
                    .filter(|(name, _)| known.contains(name.as_str()))
                    .flat_map(|(_, lacks)| lacks.iter().map(Lack::without_board))
                    .collect();
                if lost.is_empty() { nearly(profiles) } else { lost.join(", ") }
            }
            NoProfileFits::Unreadable { tables } => {
                format!("{} may not be read by us: GRANT SELECT", tables.join(", "))
            }
            NoProfileFits::NothingDead => {
                "none of its profiles says what is dead and how to queue it again".into()
            }
        };
        let names: Vec<&str> = known.iter().copied().collect();
        let fit = if names.len() == 1 { "fits" } else { "fit" };
        format!("{} no longer {fit}: {why}", names.join(", "))
    }
}

fn listed(tables: &[String], more: usize) -> String {
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    tables.join(", ") + &more
}

/// "jobs would, but board job: column t.at is missing (claimed_at)".
fn nearly(profiles: &[(String, Vec<Lack>)]) -> String {
    let one = |(name, lacks): &(String, Vec<Lack>)| format!("{name} would, but {}", joined(lacks, ", "));
    profiles.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;
    use crate::store::bind::Problem;

    #[test]
    fn whoever_had_a_profile_is_told_what_is_wrong_with_it() {
        let at = Problem::NoColumn { table: "t".into(), column: "at".into(), near: None };
        let lacks = vec![
            Lack::Field { board: "job".into(), field: "claimed_at".into(), problem: at },
            Lack::Field {
                board: "lock".into(),
                field: "id".into(),
                problem: Problem::Missing("t.x is text".into()),
            },
        ];
        let near =
            "jobs would, but board job: column t.at is missing (claimed_at), board lock: t.x is text (id)";
        for (why, said, after) in [
            (
                NoProfileFits::NoTables,
                "it has no tables; check that it is the right database, or start the application that creates them",
                "its tables are gone; there are none",
            ),
            (
                NoProfileFits::OtherTables { tables: vec!["a".into(), "b".into()], more: 3 },
                "its tables are a, b, and 3 more; write a profile (`claimtop profile draft db > FILE.toml` makes a first one) and pass --profile FILE.toml",
                "its tables are gone or renamed; there are a, b, and 3 more",
            ),
            (
                NoProfileFits::Near(vec![("jobs".into(), lacks)]),
                near,
                "column t.at is missing (claimed_at), t.x is text (id)",
            ),
            (
                NoProfileFits::Unreadable { tables: vec!["t".into()] },
                "t may not be read by us: GRANT SELECT",
                "t may not be read by us: GRANT SELECT",
            ),
        ] {
            let error = StoreError::NoProfile { path: "db".into(), why };
            let known = BTreeSet::from(["jobs"]);
            assert_eq!(error.sentence_after(&known), format!("db: jobs no longer fits: {after}"));
            assert_eq!(error.brief(&known), format!("jobs no longer fits: {after}"));
            assert_eq!(error.sentence_after(&BTreeSet::new()), format!("db: no profile fits: {said}"));
        }
    }
}
