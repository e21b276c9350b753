//! Dialogs and texts over the panes; the last one is on top.

use tui_input::Input;

use super::bulk::InBulk;
use super::dialog::{Confirm, UndoPreview};
use super::item::{Item, ListSelection};
use super::message::{DeadJobsQuery, TrailLine};
use super::row::Row;
use crate::domain::detail::Examined;

#[derive(Debug, Clone)]
pub enum Overlay {
    Help {
        scroll: u16,
    },
    Palette(PaletteInput),
    /// Every source with its state, access and notes.
    Sources {
        scroll: u16,
    },
    /// The filter as it is being written.
    Filter(Input),
    Detail(Box<Detail>),
    Confirm(Box<Confirm>),
    InBulk(Box<InBulk>),
    Undo(Box<UndoPreview>),
    Dead(Box<Dead>),
    /// In which form the screen is to be saved.
    Save,
    Entry {
        line: Box<TrailLine>,
        scroll: u16,
    },
}

/// Every command by name.
#[derive(Debug, Clone, Default)]
pub struct PaletteInput {
    pub input: Input,
    pub selected: usize,
}

/// The dead jobs of one kind.
#[derive(Debug, Clone)]
pub struct Dead {
    pub query: DeadJobsQuery,
    /// None while the list is loading.
    pub rows: Option<Result<Vec<Row>, String>>,
    pub selection: ListSelection,
}

impl Dead {
    pub fn rows(&self) -> &[Row] {
        match &self.rows {
            Some(Ok(rows)) => rows,
            Some(Err(_)) | None => &[],
        }
    }

    pub fn items(&self) -> Vec<Item> {
        self.rows().iter().map(|row| Item::Claim(row.id.clone())).collect()
    }

    pub fn selected(&self) -> Option<&Row> {
        self.selection.place(&self.items()).and_then(|at| self.rows().get(at))
    }
}

/// One claim with everything that is known of it.
#[derive(Debug, Clone)]
pub struct Detail {
    /// As it was when the detail was opened, or as it was last seen.
    pub row: Row,
    pub examined: Examination,
    pub scroll: u16,
}

/// The state of a closer look.
#[derive(Debug, Clone)]
pub enum Examination {
    Pending,
    Found(Box<Examined>),
    /// It is claimed no longer.
    Gone,
    Failed(String),
}
