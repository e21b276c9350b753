//! The columns of a list of claims, by the names that people type.

use super::model::Sort;
use crate::domain::similar::did_you_mean;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimColumn {
    Verdict,
    Id,
    Source,
    Board,
    Kind,
    Holder,
    Age,
    Fuse,
    Left,
    Process,
    Why,
}

impl ClaimColumn {
    pub const ALL: [ClaimColumn; 11] = [
        ClaimColumn::Verdict,
        ClaimColumn::Id,
        ClaimColumn::Source,
        ClaimColumn::Board,
        ClaimColumn::Kind,
        ClaimColumn::Holder,
        ClaimColumn::Age,
        ClaimColumn::Fuse,
        ClaimColumn::Left,
        ClaimColumn::Process,
        ClaimColumn::Why,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ClaimColumn::Verdict => "verdict",
            ClaimColumn::Id => "id",
            ClaimColumn::Source => "source",
            ClaimColumn::Board => "board",
            ClaimColumn::Kind => "kind",
            ClaimColumn::Holder => "holder",
            ClaimColumn::Age => "age",
            ClaimColumn::Fuse => "fuse",
            ClaimColumn::Left => "left",
            ClaimColumn::Process => "process",
            ClaimColumn::Why => "why",
        }
    }

    pub fn parse(name: &str) -> Result<ClaimColumn, String> {
        let wanted = name.trim().to_lowercase();
        ClaimColumn::ALL.into_iter().find(|column| column.name() == wanted).ok_or_else(|| {
            let all = ClaimColumn::ALL.map(ClaimColumn::name);
            format!("there is no column {name:?}{} (columns: {})", did_you_mean(name, all), all.join(", "))
        })
    }

    /// What a list is sorted by to have this column in order.
    pub fn sort(self) -> Option<Sort> {
        match self {
            ClaimColumn::Verdict => Some(Sort::Worst),
            ClaimColumn::Id => Some(Sort::Id),
            ClaimColumn::Board => Some(Sort::Board),
            ClaimColumn::Kind => Some(Sort::Kind),
            ClaimColumn::Holder => Some(Sort::Holder),
            ClaimColumn::Age => Some(Sort::Age),
            ClaimColumn::Left => Some(Sort::Left),
            ClaimColumn::Source | ClaimColumn::Fuse | ClaimColumn::Process | ClaimColumn::Why => None,
        }
    }
}
