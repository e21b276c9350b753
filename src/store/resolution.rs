//! What became of an act whose answer was lost, and what a database can be asked about it.

use std::fmt;

use super::image::{Change, Side};

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    Applied(Basis),
    NotApplied(Basis),
    /// Neither can be shown.
    Unknown,
}

/// How well an outcome is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The database says what became of the transaction, or has a record that is part of it.
    Proven,
    /// Only the rows suggest it. Somebody else may have done the same, or taken it back.
    Inferred,
}

impl Resolution {
    /// What the rows of an act suggest; `matches` compares all of them with one side.
    ///
    /// A missing row suggests nothing: whoever finished the work has deleted it, too. So at least one row
    /// has to be there.
    pub fn by_rows<E>(
        changes: &[Change],
        mut matches: impl FnMut(Side) -> Result<bool, E>,
    ) -> Result<Resolution, E> {
        let can_show = |side| changes.iter().any(|change| change.image(side).is_some());
        if can_show(Side::Before) && matches(Side::Before)? {
            return Ok(Resolution::NotApplied(Basis::Inferred));
        }
        if can_show(Side::After) && matches(Side::After)? {
            return Ok(Resolution::Applied(Basis::Inferred));
        }
        Ok(Resolution::Unknown)
    }
}

/// By what a database can be asked later what became of a transaction. The journal keeps its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransactionMark {
    /// The number that the server gave it.
    pub number: Option<String>,
    /// Since when the server has been running. After a crash it may give the number of a lost transaction to
    /// another one.
    pub running_since: Option<String>,
    /// A row of `claimtop_audit` is part of the transaction.
    pub is_audited: bool,
}

const SINCE: &str = "since:";
const AUDITED: &str = "claimtop_audit";

impl TransactionMark {
    /// Reads the text of the journal. Earlier versions wrote the number alone.
    pub fn parse(text: Option<&str>) -> TransactionMark {
        let mut mark = TransactionMark::default();
        for word in text.unwrap_or_default().split(' ') {
            match word.strip_prefix(SINCE) {
                Some(since) => mark.running_since = Some(since.into()),
                None if word == AUDITED => mark.is_audited = true,
                None if word.is_empty() => {}
                None => mark.number = Some(word.into()),
            }
        }
        mark
    }

    /// Its text, if there is anything to ask by.
    pub fn text(&self) -> Option<String> {
        let text = self.to_string();
        (!text.is_empty()).then_some(text)
    }
}

impl fmt::Display for TransactionMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.running_since.as_ref().map(|since| format!("{SINCE}{since}"));
        let audited = self.is_audited.then(|| AUDITED.to_owned());
        let words: Vec<String> = [self.number.clone(), since, audited].into_iter().flatten().collect();
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::image::{Image, RowAt};

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let full = TransactionMark {
            number: Some("4711".into()),
            running_since: Some("1794744000.5/1794744001".into()),
            is_audited: true,
        };
        let audited = TransactionMark { is_audited: true, ..TransactionMark::default() };
        for mark in [full, audited, TransactionMark::default()] {
            assert_eq!(TransactionMark::parse(mark.text().as_deref()), mark);
        }
        assert_eq!(TransactionMark::default().text(), None);
        assert_eq!(TransactionMark::parse(Some("4711")).number.as_deref(), Some("4711"));
    }

    #[test]
    fn a_row_that_is_not_there_suggests_nothing() {
        let change = |before: bool, after: bool| Change {
            table: "t".into(),
            at: RowAt::Rowid(1),
            before: before.then(Image::empty),
            after: after.then(Image::empty),
        };
        let by = |changes: &[Change], is: Side| {
            Resolution::by_rows(changes, |side| Ok::<_, ()>(side == is)).expect("no error")
        };
        let (deleted, added) = (change(true, false), change(false, true));
        let one = std::slice::from_ref;
        assert_eq!(by(one(&deleted), Side::After), Resolution::Unknown);
        assert_eq!(by(one(&deleted), Side::Before), Resolution::NotApplied(Basis::Inferred));
        assert_eq!(by(one(&added), Side::Before), Resolution::Unknown);
        assert_eq!(by(one(&added), Side::After), Resolution::Applied(Basis::Inferred));
        assert_eq!(by(&[deleted, added], Side::After), Resolution::Applied(Basis::Inferred));
        assert_eq!(by(&[], Side::After), Resolution::Unknown);
    }
}
