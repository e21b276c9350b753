//! Everything the screen shows and remembers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::item::{Item, Selection};
use super::keymap::Keymap;
use super::logged_event::LoggedEvent;
use super::message::{Probed, TrailLine};
use super::overlay::Overlay;
use super::query::Query;
use super::row::{Row, RowId};
use super::source::SourceView;
use crate::domain::detail::{Holder, Kinds, PageRequest};
use crate::domain::snapshot::Counts;
use crate::domain::time::{Moment, Span};
use crate::domain::token::SeenToken;
use crate::domain::verdict::Set;
use crate::events::Event;

/// The panes, in the order of their tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    Overview,
    Claims,
    Sessions,
    Jobs,
    Locks,
    Events,
    Audit,
}

impl Pane {
    pub const ALL: [Pane; 7] =
        [Pane::Overview, Pane::Claims, Pane::Sessions, Pane::Jobs, Pane::Locks, Pane::Events, Pane::Audit];

    pub fn title(self) -> &'static str {
        match self {
            Pane::Overview => "Overview",
            Pane::Claims => "Claims",
            Pane::Sessions => "Sessions",
            Pane::Jobs => "Jobs",
            Pane::Locks => "Locks",
            Pane::Events => "Events",
            Pane::Audit => "Audit",
        }
    }
}

/// The lists that have a selection of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListId {
    Overview(Set),
    Pane(Pane),
}

/// The columns of the overview, from left to right; the last only if anything is in it.
const COLUMNS: [Set; 4] = [Set::Stale, Set::Expiring, Set::Orphaned, Set::Unknown];

/// By what a list of claims is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The worst first; in Claims the order of the table.
    #[default]
    Worst,
    Age,
    Left,
    Holder,
    Kind,
    Id,
}

impl Sort {
    pub fn next(self) -> Sort {
        match self {
            Sort::Worst => Sort::Age,
            Sort::Age => Sort::Left,
            Sort::Left => Sort::Holder,
            Sort::Holder => Sort::Kind,
            Sort::Kind => Sort::Id,
            Sort::Id => Sort::Worst,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Sort::Worst => "worst first",
            Sort::Age => "oldest first",
            Sort::Left => "least time left first",
            Sort::Holder => "by holder",
            Sort::Kind => "by kind",
            Sort::Id => "by id",
        }
    }
}

/// Whether polls are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Live,
    Paused,
}

/// The last thing that was said to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub tone: Tone,
    pub text: String,
    pub at: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Done,
    Told,
    Moved,
    Refused,
    Unknown,
}

/// A page of the Claims pane.
#[derive(Debug, Clone, Default)]
pub struct Browsed {
    /// Which of the boards of all sources.
    pub board: usize,
    pub rows: Vec<Row>,
    pub is_first: bool,
    pub is_last: bool,
    pub problem: Option<String>,
    /// The request that is under way; what answers another is not wanted any more.
    pub pending: Option<PageRequest>,
    /// Where the selection goes when the page that was asked for is there.
    pub land: Landing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Landing {
    #[default]
    Stay,
    Top,
    Bottom,
}

/// What the user set, apart from keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub interval: Span,
    pub bell: bool,
}

#[derive(Debug)]
pub struct Model {
    pub now: Moment,
    pub sources: Vec<SourceView>,
    /// Only this source, where there are several.
    pub only: Option<usize>,
    pub pane: Pane,
    pub column: Set,
    pub overlay: Vec<Overlay>,
    pub query: Query,
    pub query_problem: Option<String>,
    pub sort: Sort,
    pub pace: Pace,
    pub settings: Settings,
    pub keymap: Keymap,
    pub marked: BTreeSet<RowId>,
    pub snoozed: BTreeMap<RowId, Moment>,
    /// Profiles whose tables could be anybody's, and that the operator has vouched for.
    pub vouched: BTreeSet<(usize, String)>,
    pub probes: BTreeMap<(usize, String), Probed>,
    pub notice: Option<Notice>,
    /// Acts that can be taken back, the last one last.
    pub undoable: Vec<(usize, String, String)>,
    pub browsed: Browsed,
    pub holders: BTreeMap<usize, Result<Vec<Holder>, String>>,
    pub kinds: BTreeMap<usize, Result<Vec<Kinds>, String>>,
    pub trail: Option<Result<Vec<TrailLine>, String>>,
    pub happenings: VecDeque<LoggedEvent>,
    /// The rows of the last frame, and the state in which each was drawn.
    pub on_screen: BTreeMap<RowId, Option<SeenToken>>,
    /// How many lines of the selected list fit on the screen.
    pub page_lines: usize,
    /// Claims that an act of ours took, so that the log can say so.
    pub(super) recovered: BTreeMap<RowId, String>,
    /// Events of polls that came back while the screen stood still, by source.
    pub(super) unheard: BTreeMap<usize, Vec<Event>>,
    pub(super) selections: BTreeMap<ListId, Selection>,
    pub(super) happened: u64,
    /// How many acts in bulk were asked about.
    pub(super) questions: u64,
    /// Something was stale or orphaned at the last poll.
    pub(super) alarmed: bool,
}

impl Model {
    pub fn new(sources: Vec<SourceView>, settings: Settings, keymap: Keymap, now: Moment) -> Model {
        Model {
            now,
            sources,
            only: None,
            pane: Pane::Overview,
            column: Set::Stale,
            overlay: Vec::new(),
            query: Query::default(),
            query_problem: None,
            sort: Sort::default(),
            pace: Pace::Live,
            settings,
            keymap,
            marked: BTreeSet::new(),
            snoozed: BTreeMap::new(),
            vouched: BTreeSet::new(),
            probes: BTreeMap::new(),
            notice: None,
            undoable: Vec::new(),
            browsed: Browsed::default(),
            holders: BTreeMap::new(),
            kinds: BTreeMap::new(),
            trail: None,
            happenings: VecDeque::new(),
            on_screen: BTreeMap::new(),
            page_lines: 10,
            recovered: BTreeMap::new(),
            unheard: BTreeMap::new(),
            selections: BTreeMap::new(),
            happened: 0,
            questions: 0,
            alarmed: false,
        }
    }

    /// The sources that are shown, with their numbers.
    pub fn shown_sources(&self) -> impl Iterator<Item = (usize, &SourceView)> {
        self.sources.iter().enumerate().filter(|(at, _)| self.only.is_none_or(|only| only == *at))
    }

    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for (_, source) in self.shown_sources() {
            all += source.counts();
        }
        all
    }

    /// The columns of the overview, from left to right.
    pub fn columns(&self) -> &'static [Set] {
        let unclear = self.counts().unknown > 0 || self.column == Set::Unknown;
        if unclear { &COLUMNS } else { &COLUMNS[..3] }
    }

    /// Now, by the clock of a source.
    pub fn now_of(&self, source: usize) -> Moment {
        let Some(view) = self.sources.get(source) else { return self.now };
        // What a replica has not heard of yet cannot be held against anybody.
        self.now.plus(view.clock_offset()).minus(view.replica().unwrap_or(Span::ZERO))
    }

    pub fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.notice = Some(Notice { tone, text: text.into(), at: self.now });
    }

    /// The screen as it is at an instant: what changes with time alone is drawn anew.
    pub fn has_countdown(&self) -> bool {
        let runs = |source: &SourceView| source.polled_at.is_some() || source.link.lost_since().is_some();
        self.shown_sources().any(|(_, source)| runs(source))
    }

    /// Takes note of what a frame showed.
    pub fn drawn(&mut self, rows: BTreeMap<RowId, Option<SeenToken>>, page_lines: usize) {
        // The palette hides the rows: its commands mean what was seen before it opened.
        if !matches!(self.overlay.last(), Some(Overlay::Palette(_))) {
            self.on_screen = rows;
        }
        self.page_lines = page_lines.max(1);
    }

    /// The selected item of the pane that is shown.
    pub fn selected(&self) -> Option<Item> {
        let items = self.items(self.list());
        self.selection(self.list()).item(&items).cloned()
    }

    pub fn list(&self) -> ListId {
        match self.pane {
            Pane::Overview => ListId::Overview(self.column),
            pane => ListId::Pane(pane),
        }
    }

    pub fn selection(&self, list: ListId) -> Selection {
        self.selections.get(&list).cloned().unwrap_or_default()
    }
}
