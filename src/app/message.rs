//! What reaches the model, and what it asks for.

use crossterm::event::KeyEvent;

use super::item::Item;
use super::model::Pane;
use super::row::{Row, RowId};
use super::source::{Poll, Trouble};
use crate::domain::claim::{Claim, Process};
use crate::domain::detail::{Examined, Holder, Kinds, Page, PageRequest};
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::domain::snapshot::Mark;
use crate::domain::tally::BulkTally;
use crate::domain::time::{Moment, Span};
use crate::domain::token::SeenToken;
use crate::domain::verdict::Set;
use crate::events::Event;

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    Polled {
        source: usize,
        poll: Result<Poll, Trouble>,
        /// What this poll, and those that nobody took in, revealed.
        events: Vec<Event>,
    },
    /// A source has been asked, and its answer is overdue.
    Silent {
        source: usize,
        since: Moment,
    },
    Key(KeyEvent),
    Paste(String),
    Clicked(Spot),
    Scrolled(isize),
    /// A second passed, or the terminal was resized.
    Tick,
    Acted(Done),
    /// The rows and columns that an undo would write, as lines, or why it would not.
    UndoReady {
        action_id: String,
        ready: Result<Vec<String>, String>,
    },
    /// The answer to a question by its number: whoever asked may have asked another since.
    BulkReady {
        question: u64,
        ready: Result<Ready, String>,
    },
    BulkProgress {
        done: usize,
    },
    BulkDone(Summary),
    Probed(Vec<Probed>),
    Paged {
        source: usize,
        request: PageRequest,
        page: Result<Page, Trouble>,
    },
    /// The dead jobs that an open list asked for.
    Dead {
        grave: DeadJobsQuery,
        found: Result<Vec<Row>, Trouble>,
    },
    Holders {
        source: usize,
        holders: Result<Vec<Holder>, Trouble>,
    },
    Kinds {
        source: usize,
        kinds: Result<Vec<Kinds>, Trouble>,
    },
    Trail(Result<Vec<TrailLine>, String>),
    Examined {
        id: RowId,
        found: Result<Option<Box<Examined>>, Trouble>,
    },
    Said(String),
}

/// Something to be done about it.
#[derive(Debug, Clone)]
pub enum Effect {
    Act {
        target: Target,
        action: Action,
        word: Authorization,
    },
    PrepareBulk {
        question: u64,
        source: usize,
        action: Action,
        what: Many,
    },
    /// Does what the answer to that question showed.
    RunBulk {
        question: u64,
        source: usize,
        word: Authorization,
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
    LoadPage {
        source: usize,
        request: PageRequest,
    },
    LoadDead(DeadJobsQuery),
    LoadHolders {
        source: usize,
    },
    LoadKinds {
        source: usize,
    },
    LoadTrail,
    Examine {
        target: Target,
    },
    SetPace {
        interval: Span,
        paused: bool,
    },
    Copy(String),
    Save(Format),
    Bell,
    Suspend,
    Quit,
}

/// Where dead jobs lie: those of one kind on one board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadJobsQuery {
    pub source: usize,
    pub profile: String,
    pub board: String,
    pub kind: Option<String>,
}

/// A claim as it was on the screen when something was asked for.
#[derive(Debug, Clone)]
pub struct Target {
    pub id: RowId,
    pub profile: String,
    pub board: String,
    pub mark: Option<Mark>,
    /// Stands for its state as it was drawn.
    pub seen: Option<SeenToken>,
    pub claim: Claim,
}

/// The claims of an act in bulk.
#[derive(Debug, Clone)]
pub enum Many {
    Marked(Vec<Target>),
    Set(Set),
    /// Everything a session holds, and its own end.
    Session(String),
}

/// What an act in bulk would do, before anybody has said yes.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// What will come of it if nothing moves: `applied` will be done, the rest is skipped.
    pub tally: BulkTally,
    /// The first of those that will be done, one line each.
    pub lines: Vec<String>,
    /// What else there is to know before.
    pub notes: Vec<String>,
    /// The holder must be named: it may be alive.
    pub holder: Option<String>,
    /// Whose claims they are.
    pub profiles: Vec<String>,
}

/// What came of an act in bulk, or of its undo.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub source: usize,
    pub of: BulkOf,
    pub tally: BulkTally,
    /// Undoes all of it.
    pub batch: Option<String>,
    /// The claims that it was done to, as far as they are kept.
    pub addresses: Vec<String>,
}

/// What was done in bulk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkOf {
    Act(Action),
    /// The undo of the acts with this id.
    Undo(String),
}

/// What came of an act.
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

/// What the kernel said of a holder's process.
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
    /// Which of the watched sources it was done to, if one of them.
    pub on: Option<usize>,
    pub address: String,
    pub holder: Option<String>,
    pub who: String,
    pub reason: Option<String>,
    /// Before and after, column by column, as lines.
    pub images: Vec<String>,
}

/// A form in which the screen can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Ansi,
    Svg,
}

/// What a mouse can hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    Pane(Pane),
    Column(Set),
    Item(Item),
}
