//! Everything the screen shows and remembers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::audit::AuditPane;
use super::claim_column::ClaimColumn;
use super::claim_list::ClaimList;
use super::item::{Item, ListSelection};
use super::keymap::Keymap;
use super::logged_event::LoggedEvent;
use super::message::Probed;
use super::overlay::Overlay;
use super::query::Query;
use super::replay::Replay;
use super::row::RowId;
use super::source::SourceView;
use super::source_names::SourceNames;
use crate::domain::cause::{Cause, Facts, GroupBy, find_in_all};
use crate::domain::detail::{Holder, HolderActivity, Kinds};
use crate::domain::saved_view::{SavedView, ScreenState};
use crate::domain::similar::did_you_mean;
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
    Groups,
    Sessions,
    Jobs,
    Locks,
    Events,
    Audit,
    /// Only in a replay.
    Backtest,
}

impl Pane {
    pub const ALL: [Pane; 9] = [
        Pane::Overview,
        Pane::Claims,
        Pane::Groups,
        Pane::Sessions,
        Pane::Jobs,
        Pane::Locks,
        Pane::Events,
        Pane::Audit,
        Pane::Backtest,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Pane::Overview => "Overview",
            Pane::Claims => "Claims",
            Pane::Groups => "Groups",
            Pane::Sessions => "Sessions",
            Pane::Jobs => "Jobs",
            Pane::Locks => "Locks",
            Pane::Events => "Events",
            Pane::Audit => "Audit",
            Pane::Backtest => "Backtest",
        }
    }
}

/// The lists that have a selection of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListId {
    Overview(Set),
    Pane(Pane),
}

/// The order of a list of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The worst first.
    #[default]
    Worst,
    Age,
    Left,
    Holder,
    Kind,
    Board,
    Id,
}

/// Whether a list is in its usual order or reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    #[default]
    Usual,
    Reversed,
}

impl Direction {
    pub fn other(self) -> Direction {
        match self {
            Direction::Usual => Direction::Reversed,
            Direction::Reversed => Direction::Usual,
        }
    }

    /// As the heading of a column shows it.
    pub fn arrow(self) -> &'static str {
        match self {
            Direction::Usual => "▼",
            Direction::Reversed => "▲",
        }
    }
}

impl Sort {
    pub fn next(self) -> Sort {
        match self {
            Sort::Worst => Sort::Age,
            Sort::Age => Sort::Left,
            Sort::Left => Sort::Holder,
            Sort::Holder => Sort::Kind,
            Sort::Kind => Sort::Board,
            Sort::Board => Sort::Id,
            Sort::Id => Sort::Worst,
        }
    }

    const ALL: [Sort; 7] =
        [Sort::Worst, Sort::Age, Sort::Left, Sort::Holder, Sort::Kind, Sort::Board, Sort::Id];

    pub fn name(self) -> &'static str {
        match self {
            Sort::Worst => "worst",
            Sort::Age => "age",
            Sort::Left => "left",
            Sort::Holder => "holder",
            Sort::Kind => "kind",
            Sort::Board => "board",
            Sort::Id => "id",
        }
    }

    /// Parses a sort: `age`, or `-age` for the reversed order.
    pub fn parse(text: &str) -> Result<(Sort, Direction), String> {
        let text = text.trim().to_lowercase();
        let (name, direction) = match text.strip_prefix('-') {
            Some(name) => (name, Direction::Reversed),
            None => (text.as_str(), Direction::Usual),
        };
        let found = Sort::ALL.into_iter().find(|sort| sort.name() == name);
        found.map(|sort| (sort, direction)).ok_or_else(|| {
            let all = Sort::ALL.map(Sort::name);
            let near = did_you_mean(name, all);
            format!("cannot sort by {name:?}{near} (sorts: {}; -age reverses it)", all.join(", "))
        })
    }

    pub fn word(self) -> &'static str {
        match self {
            Sort::Worst => "worst first",
            Sort::Age => "oldest first",
            Sort::Left => "least time left first",
            Sort::Holder => "by holder",
            Sort::Kind => "by kind",
            Sort::Board => "by board",
            Sort::Id => "by id",
        }
    }
}

/// Whether one pane of the overview fills the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zoom {
    Off,
    On,
}

/// How much of the header is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderUse {
    Full,
    /// The sources alone.
    OneLine,
}

/// Whether polls are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollIntake {
    Live,
    Paused,
}

/// The last message to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub tone: Tone,
    pub text: String,
    pub at: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Done,
    Info,
    Moved,
    Refused,
    Unknown,
}

/// What the user set, apart from keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    pub interval: Span,
    pub bell: bool,
}

#[derive(Debug)]
pub struct Model {
    pub now: Moment,
    pub sources: Vec<SourceView>,
    pub source_names: SourceNames,
    /// Only this source, where there are several.
    pub only: Option<usize>,
    pub pane: Pane,
    /// The selected pane of the overview.
    pub column: Set,
    /// Set once a key was pressed: from then on only the operator changes the selected pane.
    pub(super) is_settled: bool,
    pub zoom: Zoom,
    pub header: HeaderUse,
    pub overlay: Vec<Overlay>,
    pub query: Query,
    pub query_problem: Option<String>,
    pub sort: Sort,
    pub direction: Direction,
    pub pace: PollIntake,
    pub settings: ModelSettings,
    pub keymap: Keymap,
    pub marked: BTreeSet<RowId>,
    pub snoozed: BTreeMap<RowId, Moment>,
    /// Generic profiles that the operator has confirmed, by source.
    pub confirmed_profiles: BTreeSet<(usize, String)>,
    pub probes: BTreeMap<(usize, String), Probed>,
    pub notice: Option<Notice>,
    /// Acts that can be undone, the newest last.
    pub undoable: Vec<(usize, String, String)>,
    /// The rows of the Claims pane, and the columns that it shows if somebody chose them.
    pub claims: ClaimList,
    pub claim_columns: Vec<ClaimColumn>,
    /// Views of the config, and what was kept of earlier sessions.
    pub(super) offered_views: BTreeMap<String, SavedView>,
    pub(super) kept: ScreenState,
    /// The last filter that was not empty: `n` looks for it.
    pub searched: Query,
    pub holders: BTreeMap<usize, Result<Vec<Holder>, String>>,
    pub kinds: BTreeMap<usize, Result<Vec<Kinds>, String>>,
    /// What holders did in the last minutes, by source.
    pub activity: BTreeMap<usize, Vec<HolderActivity>>,
    pub audit: AuditPane,
    pub event_log: VecDeque<LoggedEvent>,
    /// The causes in all shown sources, worst first.
    pub causes: Vec<Cause>,
    /// The facts in which these causes were found.
    pub facts: Facts,
    /// What the Groups pane groups by.
    pub group_by: GroupBy,
    /// The rows of the last frame, and the state in which each was drawn.
    pub on_screen: BTreeMap<RowId, Option<SeenToken>>,
    /// How many lines of the selected list fit on the screen.
    pub page_lines: usize,
    /// How far the text on top can be scrolled.
    pub scroll_end: u16,
    /// The pane that a list of claims was opened from: the way back.
    pub(super) came_from: Option<Pane>,
    /// When the last act on one claim was asked for.
    pub(super) acted_at: Option<Moment>,
    /// Claims that our acts took, for the event log.
    pub(super) recovered: BTreeMap<RowId, String>,
    /// Events that arrived while the screen was paused, by source.
    pub(super) events_while_paused: BTreeMap<usize, Vec<Event>>,
    pub(super) selections: BTreeMap<ListId, ListSelection>,
    pub(super) events_logged: u64,
    /// The number of the last bulk question.
    pub(super) questions: u64,
    /// Something was stale or orphaned at the last poll.
    pub(super) alarmed: bool,
    /// The recording that is shown, if this is a replay.
    pub replay: Option<Replay>,
    /// The file that polls are recorded into, if they are.
    pub recording: Option<String>,
}

impl Model {
    pub fn new(sources: Vec<SourceView>, settings: ModelSettings, keymap: Keymap, now: Moment) -> Model {
        Model {
            now,
            source_names: SourceNames::of(&sources),
            sources,
            only: None,
            pane: Pane::Overview,
            column: Set::Orphaned,
            is_settled: false,
            zoom: Zoom::Off,
            header: HeaderUse::Full,
            overlay: Vec::new(),
            query: Query::default(),
            query_problem: None,
            sort: Sort::default(),
            direction: Direction::default(),
            pace: PollIntake::Live,
            settings,
            keymap,
            marked: BTreeSet::new(),
            snoozed: BTreeMap::new(),
            confirmed_profiles: BTreeSet::new(),
            probes: BTreeMap::new(),
            notice: None,
            undoable: Vec::new(),
            claims: ClaimList::default(),
            claim_columns: Vec::new(),
            offered_views: BTreeMap::new(),
            kept: ScreenState::default(),
            searched: Query::default(),
            holders: BTreeMap::new(),
            kinds: BTreeMap::new(),
            activity: BTreeMap::new(),
            audit: AuditPane::default(),
            event_log: VecDeque::new(),
            causes: Vec::new(),
            facts: Facts::default(),
            group_by: GroupBy::default(),
            on_screen: BTreeMap::new(),
            page_lines: 10,
            scroll_end: 0,
            came_from: None,
            acted_at: None,
            recovered: BTreeMap::new(),
            events_while_paused: BTreeMap::new(),
            selections: BTreeMap::new(),
            events_logged: 0,
            questions: 0,
            alarmed: false,
            replay: None,
            recording: None,
        }
    }

    /// The panes that there are, in the order of their tabs.
    pub fn panes(&self) -> impl DoubleEndedIterator<Item = Pane> + use<> {
        let is_replay = self.replay.is_some();
        Pane::ALL.into_iter().filter(move |pane| *pane != Pane::Backtest || is_replay)
    }

    /// The sources that are shown, with their numbers.
    pub fn shown_sources(&self) -> impl Iterator<Item = (usize, &SourceView)> {
        self.sources.iter().enumerate().filter(|(at, _)| self.only.is_none_or(|only| only == *at))
    }

    /// The name of a source, where there are several to tell apart.
    pub fn source_name(&self, source: usize) -> Option<String> {
        if self.sources.len() < 2 { None } else { Some(self.name_of(source)) }
    }

    /// The short name of a source, with its number if another one has the same.
    pub fn name_of(&self, source: usize) -> String {
        self.source_names.get(source).cloned().unwrap_or_default()
    }

    /// A sentence about a source, with its name if there are several.
    pub fn about(&self, source: usize, said: &str) -> String {
        self.source_name(source).map_or_else(|| said.to_owned(), |name| format!("{name}: {said}"))
    }

    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for (_, source) in self.shown_sources() {
            all += source.counts();
        }
        all
    }

    /// Looks for causes in the facts of the sources that are shown.
    pub(super) fn find_causes(&mut self) {
        let facts: Vec<&Facts> =
            self.shown_sources().filter_map(|(_, source)| source.facts.as_deref()).collect();
        let merged = Facts::merged(facts.iter().copied());
        let recorded = self.shown_sources().map(|(_, source)| source.recorded_causes.as_deref());
        let causes = match recorded.collect::<Option<Vec<_>>>() {
            Some(recorded) if !recorded.is_empty() => {
                let mut causes = recorded.concat();
                causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
                causes
            }
            _ => find_in_all(&merged, &facts),
        };
        (self.facts, self.causes) = (merged, causes);
    }

    /// Now, by the clock of a source.
    pub fn now_of(&self, source: usize) -> Moment {
        let Some(view) = self.sources.get(source) else { return self.now };
        // A replica lags behind: what it has not received yet must not count as silence.
        self.now.plus(view.clock_offset()).minus(view.replica().unwrap_or(Span::ZERO))
    }

    pub fn notify(&mut self, tone: Tone, text: impl Into<String>) {
        self.notice = Some(Notice { tone, text: text.into(), at: self.now });
    }

    /// Whether something on the screen changes with time alone, so that it must be redrawn.
    pub fn has_countdown(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.is_playing();
        }
        let runs = |source: &SourceView| source.polled_at.is_some() || source.link.lost_since().is_some();
        self.shown_sources().any(|(_, source)| runs(source))
    }

    /// Records what a frame showed.
    pub fn drawn(&mut self, rows: BTreeMap<RowId, Option<SeenToken>>, page_lines: usize) {
        // The palette hides the rows, so its commands act on what was visible before it opened.
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

    pub fn selection(&self, list: ListId) -> ListSelection {
        self.selections.get(&list).cloned().unwrap_or_default()
    }
}
