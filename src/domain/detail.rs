//! What a closer look at a source finds: a page of a board, one claim with all its columns, the
//! kinds, the holders, the coming minutes.

use std::collections::BTreeMap;

use super::claim::{Claim, Registry, Worker};
use super::filter::Condition;
use super::snapshot::{Judged, Mark};
use super::time::{Moment, Reading, Span};
use super::value::Value;

/// From where a page is read, in the order of the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Cursor {
    First,
    /// Beginning with this row, if it is still there.
    From(Mark),
    After(Mark),
    Before(Mark),
    Last,
}

impl Cursor {
    /// Whether rows are read from their end.
    pub fn is_backward(&self) -> bool {
        matches!(self, Cursor::Before(_) | Cursor::Last)
    }
}

/// Which page of which board.
#[derive(Debug, Clone, PartialEq)]
pub struct PageRequest {
    pub profile: String,
    pub board: String,
    pub from: Cursor,
    /// The database itself looks for these.
    pub conditions: Vec<Condition>,
    pub rows: usize,
}

/// Claims in the order of their rows.
#[derive(Debug, Clone)]
pub struct Page {
    pub claims: Vec<Judged>,
    pub now: Moment,
    /// There are no rows before, or after, these.
    pub is_first: bool,
    pub is_last: bool,
}

impl Page {
    /// What was read for a request, one row longer than asked for if there are more, in the order in which
    /// it was read.
    pub fn of(request: &PageRequest, mut claims: Vec<Judged>, now: Moment) -> Page {
        let ended = claims.len() <= request.rows;
        claims.truncate(request.rows);
        let (is_first, is_last) = match request.from {
            Cursor::First => (true, ended),
            Cursor::From(_) | Cursor::After(_) => (false, ended),
            Cursor::Before(_) => (ended, false),
            Cursor::Last => (ended, true),
        };
        if request.from.is_backward() {
            claims.reverse();
        }
        Page { claims, now, is_first, is_last }
    }
}

/// Every claim of a board that is small enough to be read whole.
#[derive(Debug, Clone)]
pub struct Whole {
    pub profile: String,
    pub board: String,
    pub claims: Vec<Judged>,
}

/// A claim with everything its rows hold.
#[derive(Debug, Clone)]
pub struct Examined {
    pub judged: Judged,
    pub columns: Vec<(String, Value)>,
    pub session: Vec<(String, Value)>,
    pub now: Moment,
}

/// How many claims will reach their deadline in each of the coming minutes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Horizon {
    pub minutes: Vec<u64>,
    /// The first five of them, ten seconds each: for systems that think in seconds.
    pub moments: Vec<u64>,
    /// Not all deadlines could be looked at.
    pub at_least: bool,
}

impl Horizon {
    /// An empty one that reaches this far.
    pub fn of(minutes: usize) -> Horizon {
        Horizon { minutes: vec![0; minutes], moments: vec![0; 30], at_least: false }
    }

    /// Counts a deadline that lies this far ahead.
    pub fn add(&mut self, ahead: Span) {
        for (counts, step) in [(&mut self.minutes, Span::minutes(1)), (&mut self.moments, Span::seconds(10))]
        {
            let place = usize::try_from(ahead.as_micros() / step.as_micros()).ok();
            if let Some(count) = place.and_then(|at| counts.get_mut(at)) {
                *count += 1;
            }
        }
    }
}

/// The kinds of one board.
#[derive(Debug, Clone, PartialEq)]
pub struct Kinds {
    pub profile: String,
    pub board: String,
    pub kinds: Vec<KindTally>,
    /// There were too many rows to look at all of them.
    pub at_least: bool,
}

/// More recoveries than this within an hour are too many: workers die, or a deadline is too short.
pub const TOO_MANY: u64 = 100;

/// The claims and the backlog of one kind on a board.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KindTally {
    pub kind: Option<String>,
    pub running: u64,
    pub stale: u64,
    pub orphaned: u64,
    /// As many attempts as they may have.
    pub exhausted: u64,
    pub ttl: Option<Span>,
    /// The longest time any of them took, over what it may take.
    pub overrun: Option<f64>,
    pub queued: u64,
    pub dead: u64,
    pub oldest_queued: Option<Moment>,
    /// Recoveries within the last hour, whoever did them, where the system keeps traces of them.
    pub reclaimed: Option<u64>,
}

/// One who holds claims, or could.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    pub profile: String,
    /// The table it is listed in: the registry, or the claims themselves.
    pub listed_in: String,
    pub id: Value,
    /// When it was last heard of, and when it started.
    pub beat_at: Reading,
    pub started_at: Reading,
    pub is_stale: bool,
    pub worker: Worker,
    /// How many claims it holds, on all boards that share its registry.
    pub claims: u64,
    pub now: Moment,
}

impl Holder {
    /// Counts another of its claims. Without a registry its last sign of life is that of any of them.
    pub fn add(&mut self, claim: &Claim) {
        self.claims += 1;
        if let (Registry::None | Registry::Unregistered, Some(sign)) =
            (&claim.registry, claim.sign_of_life().max(self.beat_at.at()))
        {
            self.beat_at = Reading::At(sign);
        }
    }
}

/// What one holder did, as the system's own history tells.
#[derive(Debug, Clone, PartialEq)]
pub struct HolderActivity {
    pub profile: String,
    pub history: String,
    pub holder: Option<String>,
    /// Traces that were read.
    pub count: u64,
    /// Those of the last five minutes.
    pub recent: u64,
    pub last: Option<Moment>,
    /// What they say, and how often.
    pub what: BTreeMap<String, u64>,
    pub now: Moment,
}

impl HolderActivity {
    /// The time over which activity counts as recent.
    pub const RECENT: Span = Span::minutes(5);

    /// Recent traces a minute.
    pub fn per_minute(&self) -> f64 {
        self.recent as f64 * 60_000.0 / Self::RECENT.as_millis() as f64
    }

    pub fn add(&mut self, at: Option<Moment>, what: Option<&str>) {
        self.count += 1;
        self.recent += u64::from(at.is_some_and(|at| self.now.since(at) <= Self::RECENT));
        self.last = self.last.max(at);
        if let Some(what) = what {
            *self.what.entry(what.into()).or_default() += 1;
        }
    }
}

/// The holders that claims name, where no registry does.
#[derive(Debug, Default)]
pub struct NamedHolders(BTreeMap<String, Holder>);

impl NamedHolders {
    /// Counts a claim of a table for whoever holds it.
    pub fn add(&mut self, table: &str, claim: &Claim, now: Moment) {
        let Some(name) = claim.holder.clone() else { return };
        let holder = self.0.entry(name.clone()).or_insert_with(|| Holder {
            profile: String::new(),
            listed_in: table.into(),
            id: Value::Text(name),
            beat_at: Reading::Absent,
            started_at: Reading::Absent,
            is_stale: false,
            worker: claim.worker.clone(),
            claims: 0,
            now,
        });
        holder.claims += 1;
        if let Some(sign) = claim.sign_of_life().max(holder.beat_at.at()) {
            holder.beat_at = Reading::At(sign);
        }
    }

    pub fn all(self) -> Vec<Holder> {
        self.0.into_values().collect()
    }
}
