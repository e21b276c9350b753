//! Every interleaving of an act, its worker, and whoever settles and undoes it, with a crash at every step.
//!
//! One claim, one row. The states are few, so all of them are visited. What an open act came to is decided by the
//! program's own rule ([`Resolution::by_rows`]), or by the rule it had before, which has to fail here.

use claimtop::store::{Basis, Change, Image, Resolution, RowAt, Side};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;

/// What the row can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    Absent,
    /// As it was seen and as the act takes it: the first worker's claim.
    Seen,
    /// Renewed by the first worker.
    Renewed,
    /// As an act leaves it that updates the row: nobody's.
    Freed,
    /// Another worker's claim.
    Others,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Delete,
    Update,
}

impl Kind {
    fn after(self) -> Row {
        match self {
            Kind::Delete => Row::Absent,
            Kind::Update => Row::Freed,
        }
    }
}

/// What the database can say of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Nothing but its rows: a file without `claimtop_audit`.
    Rows,
    /// Whether it was committed: a row of `claimtop_audit`, or a server that kept running.
    Marker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A missing row counts as what a deletion leaves, and what is inferred is undone.
    Old,
    New,
}

#[derive(Debug, Clone, Copy)]
struct World {
    kind: Kind,
    evidence: Evidence,
    rule: Rule,
    /// Others may do exactly what the act does, or put the row back exactly as it was.
    others_do_the_same: bool,
}

/// How far somebody is with an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Progress {
    NotBegun,
    /// It has the lock and has run its statement.
    Changed,
    IntentWritten,
    Committed,
    /// Done, given up, or dead.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Recorded {
    is_applied: bool,
    is_inferred: bool,
}

/// An act, or the undo of it: what its actor does, what the journal has, and what is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Act {
    progress: Progress,
    has_intent: bool,
    outcome: Option<Recorded>,
    is_committed: bool,
}

const NOT_BEGUN: Act =
    Act { progress: Progress::NotBegun, has_intent: false, outcome: None, is_committed: false };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    row: Row,
    act: Act,
    undo: Act,
    /// What a settler has found out and not written yet: of the act, or of its undo.
    found: Option<(bool, Recorded)>,
    /// The claim that the row shows was made after the act.
    is_new: bool,
    /// The claim that the act was after is finished: the task is done.
    is_finished: bool,
    /// Somebody has claimed the row after the act and finished.
    is_finished_by_others: bool,
    /// An undo has brought back a claim of finished work.
    revived: bool,
    /// An undo has put back a row that the act had not taken.
    undone_unapplied: bool,
    /// How many steps the workers, crashes and settlers have left.
    workers: u8,
    crashes: u8,
    settlers: u8,
}

const START: State = State {
    row: Row::Seen,
    act: NOT_BEGUN,
    undo: NOT_BEGUN,
    found: None,
    is_new: false,
    is_finished: false,
    is_finished_by_others: false,
    revived: false,
    undone_unapplied: false,
    workers: 3,
    crashes: 2,
    settlers: 3,
};

impl State {
    fn is_locked(&self) -> bool {
        [self.act, self.undo]
            .iter()
            .any(|act| matches!(act.progress, Progress::Changed | Progress::IntentWritten))
    }

    /// Everything that can happen next.
    fn next(&self, world: World) -> Vec<(&'static str, State)> {
        let mut next = Vec::new();
        self.act_on(world, &mut next);
        self.undo_on(world, &mut next);
        self.work_on(world, &mut next);
        self.settle_on(world, &mut next);
        next
    }

    fn act_on(&self, world: World, next: &mut Vec<(&'static str, State)>) {
        let with = |act: Act| State { act, ..*self };
        let act = self.act;
        match act.progress {
            // Whoever looked sees at the last moment that the row has changed.
            Progress::NotBegun if !self.is_locked() => {
                let begins = if self.row == Row::Seen { Progress::Changed } else { Progress::Over };
                next.push(("the act begins", with(Act { progress: begins, ..act })));
            }
            Progress::Changed => next.push((
                "its intent is written",
                with(Act { progress: Progress::IntentWritten, has_intent: true, ..act }),
            )),
            Progress::IntentWritten => {
                let act = Act { progress: Progress::Committed, is_committed: true, ..act };
                next.push(("it commits", State { row: world.kind.after(), ..with(act) }));
            }
            Progress::Committed => {
                let outcome = Some(Recorded { is_applied: true, is_inferred: false });
                next.push(("its outcome is written", with(Act { progress: Progress::Over, outcome, ..act })));
            }
            Progress::NotBegun | Progress::Over => {}
        }
        self.crash(act, with(Act { progress: Progress::Over, ..act }), "the act is killed", next);
    }

    /// A crash takes back what was not committed, and frees the lock.
    fn crash(&self, act: Act, dead: State, what: &'static str, next: &mut Vec<(&'static str, State)>) {
        let is_alive = !matches!(act.progress, Progress::NotBegun | Progress::Over);
        if is_alive && self.crashes > 0 {
            next.push((what, State { crashes: self.crashes - 1, ..dead }));
        }
    }

    fn undo_on(&self, world: World, next: &mut Vec<(&'static str, State)>) {
        let with = |undo: Act| State { undo, ..*self };
        let undo = self.undo;
        let may = self
            .act
            .outcome
            .is_some_and(|outcome| outcome.is_applied && (world.rule == Rule::Old || !outcome.is_inferred));
        match undo.progress {
            Progress::NotBegun if may && !self.is_locked() => {
                let is_as_left = self.row == world.kind.after();
                let begins = if is_as_left { Progress::Changed } else { Progress::Over };
                next.push(("the undo begins", with(Act { progress: begins, ..undo })));
            }
            Progress::Changed => next.push((
                "the undo's intent is written",
                with(Act { progress: Progress::IntentWritten, has_intent: true, ..undo }),
            )),
            Progress::IntentWritten => {
                let undo = Act { progress: Progress::Committed, is_committed: true, ..undo };
                let after = State {
                    row: Row::Seen,
                    is_new: false,
                    revived: self.revived || self.is_finished,
                    undone_unapplied: self.undone_unapplied || !self.act.is_committed,
                    ..with(undo)
                };
                next.push(("the undo commits", after));
            }
            Progress::Committed => {
                let outcome = Some(Recorded { is_applied: true, is_inferred: false });
                next.push((
                    "the undo's outcome is written",
                    with(Act { progress: Progress::Over, outcome, ..undo }),
                ));
            }
            Progress::NotBegun | Progress::Over => {}
        }
        self.crash(undo, with(Act { progress: Progress::Over, ..undo }), "the undo is killed", next);
    }

    fn work_on(&self, world: World, next: &mut Vec<(&'static str, State)>) {
        if self.workers == 0 || self.is_locked() {
            return;
        }
        let then = State { workers: self.workers - 1, ..*self };
        let is_done = self.is_finished || self.is_finished_by_others;
        match self.row {
            Row::Seen | Row::Renewed => {
                next.push(("the worker renews", State { row: Row::Renewed, ..then }));
                // Finishing deletes the row, whatever kind of act there is.
                let is_finished = self.is_finished || !self.is_new;
                let is_finished_by_others = self.is_finished_by_others || self.is_new;
                let after = State { row: Row::Absent, is_finished, is_finished_by_others, ..then };
                next.push(("the worker finishes", after));
                if world.others_do_the_same {
                    next.push(("somebody else does the same", State { row: world.kind.after(), ..then }));
                }
            }
            Row::Others => {
                let after = State { row: Row::Absent, is_finished_by_others: true, ..then };
                next.push(("another worker finishes", after));
            }
            Row::Absent | Row::Freed if !is_done => {
                next.push(("another worker claims", State { row: Row::Others, ..then }));
                if world.others_do_the_same {
                    next.push((
                        "the worker claims with the same values",
                        State { row: Row::Seen, is_new: self.act.is_committed, ..then },
                    ));
                }
            }
            Row::Absent | Row::Freed => {}
        }
    }

    /// A settler reads the open intents, takes the lock to look, and then writes what it found.
    fn settle_on(&self, world: World, next: &mut Vec<(&'static str, State)>) {
        match self.found {
            None if self.settlers > 0 && !self.is_locked() => {
                for (of_undo, act) in [(false, self.act), (true, self.undo)] {
                    if act.has_intent && act.outcome.is_none() {
                        let found = self.resolve(world, of_undo).map(|recorded| (of_undo, recorded));
                        next.push((
                            "somebody looks what it came to",
                            State { found, settlers: self.settlers - 1, ..*self },
                        ));
                    }
                }
            }
            None => {}
            Some((of_undo, recorded)) => {
                let mut after = State { found: None, ..*self };
                let act = if of_undo { &mut after.undo } else { &mut after.act };
                act.outcome = act.outcome.or(Some(recorded));
                next.push(("that is written", after));
            }
        }
    }

    fn resolve(&self, world: World, of_undo: bool) -> Option<Recorded> {
        let act = if of_undo { self.undo } else { self.act };
        if world.evidence == Evidence::Marker {
            return Some(Recorded { is_applied: act.is_committed, is_inferred: false });
        }
        let (before, after) = match of_undo {
            false => (Row::Seen, world.kind.after()),
            true => (world.kind.after(), Row::Seen),
        };
        let matches = |side| match side {
            Side::Before => self.row == before,
            Side::After => self.row == after,
        };
        let resolution = match world.rule {
            Rule::Old if matches(Side::Before) => Resolution::NotApplied(Basis::Inferred),
            Rule::Old if matches(Side::After) => Resolution::Applied(Basis::Inferred),
            Rule::Old => Resolution::Unknown,
            Rule::New => {
                let image = |row: Row| (row != Row::Absent).then(Image::empty);
                let (table, at) = ("claims".to_owned(), RowAt::Rowid(1));
                let change = Change { table, at, before: image(before), after: image(after) };
                let by_rows = Resolution::by_rows(&[change], |side| Ok::<_, Infallible>(matches(side)));
                by_rows.unwrap_or_else(|never| match never {})
            }
        };
        match resolution {
            Resolution::Applied(basis) => {
                Some(Recorded { is_applied: true, is_inferred: basis == Basis::Inferred })
            }
            Resolution::NotApplied(basis) => {
                Some(Recorded { is_applied: false, is_inferred: basis == Basis::Inferred })
            }
            Resolution::Unknown => None,
        }
    }
}

/// What must hold in every state; the name of what does not.
fn broken(state: &State) -> Option<&'static str> {
    for act in [state.act, state.undo] {
        if act.is_committed && !act.has_intent {
            return Some("an act without its record");
        }
        match act.outcome {
            Some(Recorded { is_applied: true, is_inferred: false }) if !act.is_committed => {
                return Some("applied for certain, and it was not");
            }
            Some(Recorded { is_applied: false, is_inferred: false }) if act.is_committed => {
                return Some("refused for certain, and it was applied");
            }
            _ => {}
        }
    }
    if state.undone_unapplied {
        return Some("an undo of what was never done");
    }
    state.revived.then_some("finished work came back")
}

/// Without somebody who does the same by chance, what is inferred is true as well.
fn inferred_wrongly(state: &State) -> Option<&'static str> {
    let is_wrong = |act: &Act| act.outcome.is_some_and(|outcome| outcome.is_applied != act.is_committed);
    [state.act, state.undo].iter().any(is_wrong).then_some("a false outcome")
}

/// Visits every state; how many there are, or the way to the first that is not as it must be.
fn explore(world: World, broken: impl Fn(&State) -> Option<&'static str>) -> Result<usize, Vec<String>> {
    let mut came_from: HashMap<State, Option<(State, &'static str)>> = HashMap::from([(START, None)]);
    let mut waiting = VecDeque::from([START]);
    while let Some(state) = waiting.pop_front() {
        if let Some(what) = broken(&state) {
            let mut way = vec![what.to_owned()];
            let mut at = state;
            while let Some(Some((before, step))) = came_from.get(&at) {
                way.push((*step).to_owned());
                at = *before;
            }
            way.reverse();
            return Err(way);
        }
        for (step, after) in state.next(world) {
            came_from.entry(after).or_insert_with(|| {
                waiting.push_back(after);
                Some((state, step))
            });
        }
    }
    Ok(came_from.len())
}

fn worlds(rule: Rule) -> Vec<World> {
    let mut worlds = Vec::new();
    for kind in [Kind::Delete, Kind::Update] {
        for evidence in [Evidence::Rows, Evidence::Marker] {
            for others_do_the_same in [false, true] {
                worlds.push(World { kind, evidence, rule, others_do_the_same });
            }
        }
    }
    worlds
}

#[test]
fn no_order_of_steps_and_crashes_breaks_what_is_promised() {
    let mut visited = 0;
    for world in worlds(Rule::New) {
        visited += explore(world, broken).unwrap_or_else(|way| panic!("{world:?}: {way:#?}"));
        if !world.others_do_the_same {
            explore(world, inferred_wrongly).unwrap_or_else(|way| panic!("{world:?}: {way:#?}"));
        }
    }
    let visited = u64::try_from(visited).expect("a number");
    crate::support::figures::promise(
        "No order of steps and crashes of an act, its worker and its undo breaks a promise (states).",
        visited,
        0,
    );
}

#[test]
fn every_open_act_can_be_settled_where_the_database_keeps_a_record() {
    for world in worlds(Rule::New).into_iter().filter(|world| world.evidence == Evidence::Marker) {
        let left_open = |state: &State| {
            let is_open = |act: &Act| act.has_intent && act.outcome.is_none();
            let is_at_an_end = state.next(world).is_empty() && state.settlers > 0;
            let is_any_open = [state.act, state.undo].iter().any(is_open);
            (is_at_an_end && is_any_open).then_some("open for ever")
        };
        explore(world, left_open).unwrap_or_else(|way| panic!("{world:?}: {way:#?}"));
    }
}

#[test]
fn the_rule_before_this_one_revives_finished_work() {
    let world =
        World { kind: Kind::Delete, evidence: Evidence::Rows, rule: Rule::Old, others_do_the_same: false };
    let way = explore(world, inferred_wrongly).expect_err("a false outcome");
    assert_eq!(way.last().map(String::as_str), Some("a false outcome"), "{way:#?}");
    assert!(way.contains(&"the worker finishes".to_owned()), "{way:#?}");
    let revived = |state: &State| state.revived.then_some("finished work came back");
    let way = explore(world, revived).expect_err("finished work that came back");
    eprintln!("{way:#?}");
}

/// This is not promised: between an act that deletes the row and its undo, somebody may claim the task, finish it,
/// and delete the row again. No trace of that is left in the table.
#[test]
fn a_claim_that_came_and_went_after_a_deletion_cannot_be_seen() {
    let world =
        World { kind: Kind::Delete, evidence: Evidence::Marker, rule: Rule::New, others_do_the_same: false };
    let unseen = |state: &State| (state.undo.is_committed && state.is_finished_by_others).then_some("unseen");
    explore(world, unseen).expect_err("a way there");
    let update = World { kind: Kind::Update, ..world };
    explore(update, unseen).expect("a row that stays shows it");
}
