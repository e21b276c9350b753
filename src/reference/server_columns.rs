//! The columns of a table on a server, compared with those of the reference.

use std::collections::BTreeMap;
use std::fmt;

use super::{InstallError, System};
use crate::domain::visible::safe;

#[derive(Debug)]
pub(super) struct CatalogColumn {
    pub kind: String,
    /// Its position in the primary key, from 1; 0 if it is not part of it.
    pub key: String,
    pub may_be_empty: bool,
    /// Whether a row can be written without naming it.
    pub may_be_left_out: bool,
}

/// One difference from the reference.
#[derive(Debug)]
pub(super) struct ObjectDifference(String);

impl ObjectDifference {
    pub(super) fn new(text: String) -> ObjectDifference {
        ObjectDifference(text)
    }
}

impl fmt::Display for ObjectDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&safe(&self.0))
    }
}

/// The error for an object that is there and differs.
pub(super) fn differs(
    system: System,
    kind: &str,
    name: &str,
    differences: &[ObjectDifference],
) -> InstallError {
    let how = differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    InstallError::Differs { system: system.as_str(), kind: kind.into(), name: name.into(), how }
}

/// How the columns of a table differ from the wanted ones; it may have more, as long as a row can be written without
/// them.
pub(super) fn compare(
    has: &BTreeMap<String, CatalogColumn>,
    wants: &BTreeMap<String, CatalogColumn>,
) -> Vec<ObjectDifference> {
    let mut wrong = Vec::new();
    for (name, wanted) in wants {
        match has.get(name) {
            None => wrong.push(format!("the column {name} is missing")),
            Some(is) if is.kind != wanted.kind => {
                wrong.push(format!("the column {name} is {}, not {}", is.kind, wanted.kind));
            }
            Some(is) if is.key != wanted.key => {
                wrong.push(format!("the column {name} has another place in the primary key"));
            }
            Some(is) if wanted.may_be_empty && !is.may_be_empty => {
                wrong.push(format!("the column {name} may not be empty"));
            }
            Some(is) if wanted.may_be_left_out && !is.may_be_left_out => {
                wrong.push(format!("the column {name} may not be left out"));
            }
            Some(_) => {}
        }
    }
    let unknown = has.iter().filter(|(name, is)| !wants.contains_key(*name) && !is.may_be_left_out);
    wrong.extend(unknown.map(|(name, _)| format!("the column {name} is unknown and may not be left out")));
    wrong.into_iter().map(ObjectDifference).collect()
}
