//! Which task is next, and whether a worker may take it. Pure: the time is an argument.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::task::Task;
use crate::poller::NextPoll;

/// A task whose last turn took longer lets another worker watch the schedule meanwhile.
const SHORT: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskId(u64);

pub(super) struct Schedule {
    tasks: BTreeMap<TaskId, Entry>,
    added: u64,
    /// Tasks that rest, by the time of their next poll.
    due: BTreeSet<(Instant, TaskId)>,
    /// Tasks that rest and have a request. They go first: somebody waits for the answer.
    asked: VecDeque<TaskId>,
    turns: BTreeMap<TaskId, RunningTurn>,
    /// How many turns may run at once, without those that take long.
    most_busy: usize,
    pub(super) workers: usize,
    /// Workers without a turn.
    pub(super) free: usize,
    /// Until when one of these waits for the next task that is due, if one does.
    pub(super) watched_until: Option<Option<Instant>>,
}

struct Entry {
    state: EntryState,
    /// What the last turns took; a long one is remembered for a while.
    took: Duration,
}

enum EntryState {
    Resting {
        task: Box<dyn Task>,
        due: Option<Instant>,
    },
    InTurn,
    /// In its last turn.
    Ending,
}

#[derive(Clone, Copy)]
struct RunningTurn {
    since: Instant,
    /// Whether the source did not answer in time before. It is not waited for again.
    is_slow: bool,
}

/// When a task answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Now,
    AfterTurn,
    Never,
}

/// What a free worker does next.
pub(super) enum Step {
    Turn(Turn),
    /// Nothing, until this time or until it is woken.
    Wait(Option<Instant>),
    /// It ends: there is no task left.
    End,
}

/// A task that a worker has taken.
pub(super) struct Turn {
    pub id: TaskId,
    pub task: Box<dyn Task>,
    /// Whether it is expected to end in a moment.
    pub is_short: bool,
}

impl Schedule {
    pub(super) fn new(most_busy: usize) -> Schedule {
        Schedule {
            tasks: BTreeMap::new(),
            added: 0,
            due: BTreeSet::new(),
            asked: VecDeque::new(),
            turns: BTreeMap::new(),
            most_busy,
            workers: 0,
            free: 0,
            watched_until: None,
        }
    }

    /// Adds a task that takes its first turn then, or when it is asked.
    pub(super) fn add(&mut self, task: Box<dyn Task>, due: Option<Instant>) -> TaskId {
        self.added += 1;
        let id = TaskId(self.added);
        self.due.extend(due.map(|due| (due, id)));
        let state = EntryState::Resting { task, due };
        self.tasks.insert(id, Entry { state, took: Duration::ZERO });
        id
    }

    pub(super) fn has(&self, id: TaskId) -> bool {
        self.tasks.contains_key(&id)
    }

    /// Whether a task is due before the worker wakes up that waits for it.
    pub(super) fn is_watched_too_late(&self) -> bool {
        match (self.watched_until, self.due.first()) {
            (Some(Some(until)), Some((due, _))) => *due < until,
            (Some(None), due) => due.is_some(),
            (Some(Some(_)) | None, _) => false,
        }
    }

    /// Lets a task answer its requests.
    pub(super) fn ask(&mut self, id: TaskId) -> Asked {
        match self.tasks.get_mut(&id).map(|entry| &mut entry.state) {
            Some(EntryState::Resting { due, .. }) => {
                if let Some(due) = due.take() {
                    self.due.remove(&(due, id));
                }
                if !self.asked.contains(&id) {
                    self.asked.push_back(id);
                }
                Asked::Now
            }
            Some(EntryState::InTurn) => Asked::AfterTurn,
            Some(EntryState::Ending) | None => Asked::Never,
        }
    }

    /// Ends a task: now, or after its turn. Returns a task that was not in a turn, to be dropped.
    pub(super) fn end(&mut self, id: TaskId) -> Option<Box<dyn Task>> {
        let entry = self.tasks.get_mut(&id)?;
        match std::mem::replace(&mut entry.state, EntryState::Ending) {
            EntryState::Resting { task, due } => {
                self.tasks.remove(&id);
                self.asked.retain(|other| *other != id);
                if let Some(due) = due {
                    self.due.remove(&(due, id));
                }
                Some(task)
            }
            EntryState::InTurn | EntryState::Ending => None,
        }
    }

    /// What a free worker should do.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        if self.tasks.is_empty() {
            return Step::End;
        }
        let busy: Vec<Instant> = self.busy(now).collect();
        if busy.len() >= self.most_busy {
            // Until a turn ends, or has taken so long that it no longer counts.
            return Step::Wait(busy.into_iter().min().map(|since| since + PATIENCE));
        }
        let id = match (self.asked.pop_front(), self.due.first().copied()) {
            (Some(id), _) => id,
            (None, Some((due, id))) if due <= now => {
                self.due.remove(&(due, id));
                id
            }
            (None, next) => return Step::Wait(next.map(|(due, _)| due)),
        };
        self.begin(id, now)
    }

    fn begin(&mut self, id: TaskId, now: Instant) -> Step {
        let Some(entry) = self.tasks.get_mut(&id) else { return Step::Wait(Some(now)) };
        let is_short = entry.took < SHORT && entry.took > Duration::ZERO;
        match std::mem::replace(&mut entry.state, EntryState::InTurn) {
            EntryState::Resting { task, .. } => {
                self.turns.insert(id, RunningTurn { since: now, is_slow: entry.took >= PATIENCE });
                Step::Turn(Turn { id, task, is_short })
            }
            // Tasks in a turn are neither due nor asked.
            state @ (EntryState::InTurn | EntryState::Ending) => {
                entry.state = state;
                Step::Wait(Some(now))
            }
        }
    }

    /// Takes a task back after its turn, unless that was the last one: then it is to be dropped and [`Self::forget`].
    pub(super) fn put_back(&mut self, turn: Turn, next: NextPoll, now: Instant) -> Option<Box<dyn Task>> {
        let Turn { id, task, .. } = turn;
        let since = self.turns.remove(&id).map_or(now, |turn| turn.since);
        let Some(entry) = self.tasks.get_mut(&id) else { return Some(task) };
        entry.took = now.saturating_duration_since(since).max(entry.took / 2);
        if next == NextPoll::Never || matches!(entry.state, EntryState::Ending) {
            entry.state = EntryState::Ending;
            return Some(task);
        }
        let has_requests = task.has_requests();
        let due = match next {
            NextPoll::At(due) if !has_requests => Some(due),
            NextPoll::At(_) | NextPoll::WhenAsked | NextPoll::Never => None,
        };
        entry.state = EntryState::Resting { task, due };
        if let Some(due) = due {
            self.due.insert((due, id));
        } else if has_requests {
            self.asked.push_back(id);
        }
        None
    }

    /// Removes a task that has ended.
    pub(super) fn forget(&mut self, id: TaskId) {
        self.tasks.remove(&id);
    }

    /// Whether a task waits that a free worker may take now.
    pub(super) fn is_work_waiting(&self, now: Instant) -> bool {
        let waits = !self.asked.is_empty() || self.due.first().is_some_and(|(due, _)| *due <= now);
        waits && self.busy(now).count() < self.most_busy
    }

    /// Whether another worker is needed: none is free, and not every task has one.
    pub(super) fn needs_worker(&self) -> bool {
        self.free == 0 && self.workers < self.tasks.len()
    }

    /// Whether a free worker is not needed: there are more than usual, or nothing is due.
    pub(super) fn has_spare_worker(&self) -> bool {
        let is_quiet = self.asked.is_empty() && self.due.is_empty();
        is_quiet || (self.free > 1 && self.workers > self.most_busy + 1)
    }

    /// Since when the turns run that count as busy: those that take long do not.
    fn busy(&self, now: Instant) -> impl Iterator<Item = Instant> {
        let is_busy =
            move |turn: &&RunningTurn| !turn.is_slow && now.saturating_duration_since(turn.since) < PATIENCE;
        self.turns.values().filter(is_busy).map(|turn| turn.since)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Schedule { workers, free, .. } = self;
        write!(f, "Schedule({} tasks, {workers} workers, {free} free)", self.tasks.len())
    }
}
