//! Which kinds get their own label: a kind is a text of the database, and there may be many.

use std::collections::{BTreeSet, HashMap};

/// How many kinds of one board get their own label.
const MOST: usize = 50;
const LONGEST: usize = 100;
/// The label of all other kinds.
const OTHER: &str = "other";

/// The first kinds that were seen on each board; they keep their labels.
#[derive(Debug, Clone, Default)]
pub(super) struct KindNames(HashMap<String, BTreeSet<String>>);

impl KindNames {
    /// The label for a kind of a board; empty if the claim has no kind.
    pub(super) fn label<'a>(&mut self, board: &str, kind: Option<&'a str>) -> &'a str {
        let Some(kind) = kind else { return "" };
        let known = self.0.entry(board.into()).or_default();
        if known.contains(kind) {
            return kind;
        }
        if known.len() >= MOST || kind.len() > LONGEST {
            return OTHER;
        }
        known.insert(kind.into());
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kinds_keep_their_labels_and_the_rest_share_one() {
        let mut names = KindNames::default();
        let kinds: Vec<String> = (0..MOST + 5).map(|number| format!("kind-{number}")).collect();
        let labels: Vec<&str> = kinds.iter().map(|kind| names.label("b", Some(kind))).collect();
        assert_eq!(labels[MOST - 1], kinds[MOST - 1]);
        assert!(labels[MOST..].iter().all(|label| *label == OTHER));
        assert_eq!(names.label("b", Some("kind-0")), "kind-0");
        assert_eq!(names.label("another", Some("kind-54")), "kind-54");
        assert_eq!(names.label("another", Some(&"x".repeat(LONGEST + 1))), OTHER);
        assert_eq!(names.label("b", None), "");
    }
}
