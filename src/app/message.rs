//! Messages to the model, and the effects that it returns.

use crossterm::event::KeyEvent;

use super::actions::Command;
use super::audit::{TrailPage, Unfolded};
use super::bulk::{Many, Ready, Summary};
use super::item::Item;
use super::model::Pane;
use super::replay::{ReplayMove, ReplayedSource};
use super::row::{Row, RowId};
use super::source::{Poll, PollFailure};
use crate::domain::audit::ActFilter;
use crate::domain::backtest::TestedSeries;
use crate::domain::claim::{Claim, Process};
use crate::domain::claim_list::{ListPart, ListRequest};
use crate::domain::detail::{Examined, Holder, HolderActivity, Kinds};
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::domain::saved_view::ScreenState;
use crate::domain::snapshot::Mark;
use crate::domain::time::{Moment, Span};
use crate::domain::token::SeenToken;
use crate::domain::verdict::Set;
use crate::events::Event;

/// The result of polling one source.
#[derive(Debug)]
pub struct SourcePoll {
    pub source: usize,
    pub poll: Result<Poll, PollFailure>,
    /// The events of this poll and of earlier polls that were not taken in.
    pub events: Vec<Event>,
}

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// Each source at most once.
    Polled(Vec<SourcePoll>),
    /// The answer of a source is overdue.
    Silent {
        source: usize,
        since: Moment,
    },
    Key(KeyEvent),
    Paste(String),
    Clicked(ClickTarget),
    Scrolled(isize),
    /// A second passed, or the terminal was resized.
    Tick,
    Acted(Done),
    /// The rows and columns that an undo would write, as lines, or why it would not.
    UndoReady {
        action_id: String,
        ready: Result<Vec<String>, String>,
    },
    /// The answer to the question with this number; another question may have been asked since.
    BulkReady {
        question: u64,
        ready: Result<Ready, String>,
    },
    BulkProgress {
        done: usize,
    },
    BulkDone(Summary),
    Probed(Vec<Probed>),
    /// A part of the list of claims.
    Listed {
        source: usize,
        request: ListRequest,
        part: Result<ListPart, PollFailure>,
    },
    /// The dead jobs that an open list asked for.
    Dead {
        query: DeadJobsQuery,
        found: Result<Vec<Row>, PollFailure>,
    },
    Holders {
        source: usize,
        holders: Result<Vec<Holder>, PollFailure>,
    },
    Kinds {
        source: usize,
        kinds: Result<Vec<Kinds>, PollFailure>,
        /// What holders did in the last minutes, as the system's history tells.
        activity: Vec<HolderActivity>,
    },
    Trail(Result<TrailPage, String>),
    /// The acts of a bulk.
    Unfolded {
        id: String,
        acts: Unfolded,
    },
    /// What was done to a claim before, the newest first.
    History {
        claim: RowId,
        lines: Vec<TrailLine>,
    },
    Examined {
        id: RowId,
        found: Result<Option<Box<Examined>>, PollFailure>,
    },
    /// Something to tell the operator.
    Notice(String),
    /// An instant of the recording that is replayed.
    Replayed {
        at: Moment,
        sources: Vec<ReplayedSource>,
    },
    /// What thresholds would have done in the recording.
    Backtested(Result<Vec<TestedSeries>, String>),
    /// Polls are recorded into this file.
    RecordingBegan(String),
    /// Recording has stopped, and why.
    RecordingStopped(String),
}

/// What the runtime has to do.
#[derive(Debug, Clone)]
pub enum Effect {
    Act {
        target: ShownClaim,
        action: Action,
        authorization: Authorization,
    },
    PrepareBulk {
        question: u64,
        source: usize,
        action: Action,
        what: Many,
    },
    /// Runs the bulk act that the preview of this question showed.
    RunBulk {
        question: u64,
        source: usize,
        authorization: Authorization,
    },
    /// Ends a running act in bulk after its current transaction.
    CancelBulk {
        source: usize,
    },
    /// From now on, gathers facts as soon as anything is in trouble: the Groups pane is open.
    GatherFacts {
        source: usize,
    },
    /// Finds out what an undo would write.
    PrepareUndo {
        source: usize,
        action_id: String,
    },
    Undo {
        source: usize,
        action_id: String,
    },
    Probe(Vec<Row>),
    LoadList {
        source: usize,
        request: ListRequest,
    },
    LoadDead(DeadJobsQuery),
    LoadHolders {
        source: usize,
    },
    LoadKinds {
        source: usize,
    },
    LoadTrail(ActFilter),
    /// Reads the acts of a bulk that pass a filter.
    LoadBulk {
        id: String,
        filter: ActFilter,
    },
    LoadHistory(RowId),
    Examine {
        target: ShownClaim,
    },
    SetPace {
        interval: Span,
        paused: bool,
    },
    SetTheme(&'static str),
    Copy(String),
    Save(Format),
    /// Keeps for the next start what was chosen on the screen.
    Remember(ScreenState),
    /// Goes elsewhere in the recording that is replayed.
    Replay(ReplayMove),
    /// Tests thresholds on the recording that is replayed.
    LoadBacktest,
    /// Records polls into this file.
    Record(String),
    StopRecording,
    Bell,
    Suspend,
    Quit,
}

/// Selects the dead jobs of one kind on one board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadJobsQuery {
    pub source: usize,
    pub profile: String,
    pub board: String,
    pub kind: Option<String>,
}

/// A claim as the screen showed it when the key was pressed.
#[derive(Debug, Clone)]
pub struct ShownClaim {
    pub id: RowId,
    pub profile: String,
    pub board: String,
    pub mark: Option<Mark>,
    /// The state that was drawn.
    pub seen: Option<SeenToken>,
    pub claim: Claim,
}

/// The result of an act.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    pub source: usize,
    /// The claim, as the screen knows it.
    pub address: String,
    pub action_id: String,
    pub action: String,
    pub outcome: Outcome,
    /// The claim's id as it may be shown.
    pub shown: String,
    pub holder: Option<String>,
}

/// What the kernel reports about a holder's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    pub source: usize,
    pub holder: String,
    pub process: Process,
    pub evidence: String,
    pub at: Moment,
}

/// An entry of the trail, ready to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct TrailLine {
    pub seq: u64,
    pub at: String,
    pub action_id: String,
    pub action: String,
    /// Applied, moved, refused, or nothing yet.
    pub outcome: Option<String>,
    pub why: Option<String>,
    pub source: String,
    /// The number of the watched source it was done to, if it is watched.
    pub on: Option<usize>,
    pub address: String,
    pub holder: Option<String>,
    pub who: String,
    pub reason: Option<String>,
    /// The act that this one undoes.
    pub undoes: Option<String>,
    /// The evidence for the verdict: names and values.
    pub evidence: Vec<(String, String)>,
    /// Before and after, column by column, as lines.
    pub images: Vec<String>,
}

/// A file format for a saved screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Ansi,
    Svg,
}

/// A place that answers to a click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClickTarget {
    Pane(Pane),
    Column(Set),
    Item(Item),
    /// A source in the strip.
    Source(usize),
    /// A key in the footer.
    Command(Command),
    /// A line of the palette.
    Choice(usize),
    /// A button of a dialog: a click is the same as its key.
    Key(KeyEvent),
}
