//! Answers of the threads: polls, pages, process checks, details.

use std::sync::Arc;

use super::super::logged_event::LoggedEvent;
use super::super::message::{Effect, Probed, SourcePoll};
use super::super::model::{Model, Pane, PollIntake, Tone};
use super::super::overlay::{Examination, Overlay};
use super::super::row::{Row, RowId};
use super::super::source::{LinkState, Poll, PollFailure, SourceView};
use crate::domain::cause::Facts;
use crate::domain::claim::Process;
use crate::domain::detail::Examined;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;
use crate::domain::visible::safe;
use crate::events::{Batching, Event, EventKind, batched};

impl Model {
    pub(super) fn polled(&mut self, polls: Vec<SourcePoll>) -> Vec<Effect> {
        let polls = polls.into_iter().filter(|poll| poll.source < self.sources.len());
        let polls: Vec<SourcePoll> = polls.collect();
        if self.pace == PollIntake::Paused {
            for SourcePoll { source, events, .. } in polls {
                self.events_while_paused.entry(source).or_default().extend(events);
            }
            return Vec::new();
        }
        self.hold_selection();
        let (now, mut read) = (self.now, Vec::new());
        for SourcePoll { source, poll, events } in polls {
            let earlier = self.events_while_paused.remove(&source).unwrap_or_default();
            self.log(source, earlier.into_iter().chain(events));
            match poll {
                Ok(poll) => read.push((source, poll)),
                Err(trouble) => self.sources[source].fail(now, trouble),
            }
        }
        if read.is_empty() { Vec::new() } else { self.polled_well(read) }
    }

    /// The answer of a source is overdue since then.
    pub(super) fn silent(&mut self, source: usize, since: Moment) -> Vec<Effect> {
        let is_news = |view: &SourceView| view.link.lost_since().is_none();
        if self.pace == PollIntake::Live && self.sources.get(source).is_some_and(is_news) {
            self.sources[source].link = LinkState::Silent { since };
        }
        Vec::new()
    }

    pub(super) fn polled_well(&mut self, polls: Vec<(usize, Poll)>) -> Vec<Effect> {
        let is_same = |one: &Option<Arc<Facts>>, other: &Option<Arc<Facts>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let (now, mut has_new_facts, mut polled) = (self.now, false, Vec::new());
        for (source, poll) in polls {
            let had = self.sources[source].facts.clone();
            self.sources[source].receive(source, poll, now);
            has_new_facts |= !is_same(&had, &self.sources[source].facts);
            self.apply_probes(source);
            polled.push(source);
        }
        self.settle_column();
        if has_new_facts {
            self.find_causes();
        }
        let mut effects: Vec<Effect> = self.alarm().into_iter().collect();
        match self.pane {
            Pane::Claims => effects.extend(polled.into_iter().flat_map(|source| self.load_claims_of(source))),
            Pane::Sessions | Pane::Jobs => effects.extend(self.load_pane()),
            _ => {}
        }
        effects.extend(self.refresh_detail());
        // Asks again what a lost connection left unanswered.
        if matches!(self.overlay.last(), Some(Overlay::Dead(dead)) if dead.rows.is_none()) {
            effects.extend(self.dead_again());
        }
        effects
    }

    /// Adds events to the log; a claim that our act took is logged as recovered, not as finished.
    pub(super) fn log(&mut self, source: usize, events: impl Iterator<Item = Event>) {
        const KEPT: usize = 2_000;
        let events = events.map(|event| match self.act_behind(source, &event) {
            Some(by) => event.recovered(by),
            None => event,
        });
        for event in batched(events.collect(), &Batching::default()) {
            self.events_logged += 1;
            self.event_log.push_front(LoggedEvent { number: self.events_logged, source, event });
        }
        self.event_log.truncate(KEPT);
    }

    fn act_behind(&mut self, source: usize, event: &Event) -> Option<String> {
        let id = RowId { source, address: event.address().to_owned() };
        if tells_of_an_end(event) { self.recovered.remove(&id) } else { None }
    }

    /// Records that our act took a claim. A poll may have noticed it before the result arrived.
    pub(super) fn recovered(&mut self, id: RowId, by: String) {
        const LATELY: Span = Span::seconds(10);
        let since = self.now_of(id.source).minus(LATELY);
        let is_it = |line: &&mut LoggedEvent| {
            line.source == id.source
                && line.event.address() == id.address
                && tells_of_an_end(&line.event)
                && line.event.at() >= since
        };
        match self.event_log.iter_mut().find(is_it) {
            Some(line) => line.event = line.event.recovered(by),
            None => _ = self.recovered.insert(id, by),
        }
    }

    /// Rings once when something goes wrong after a calm.
    fn alarm(&mut self) -> Option<Effect> {
        let counts = self.counts();
        let alarmed = counts.stale > 0 || counts.orphaned > 0;
        let rings = alarmed && !self.alarmed && self.settings.bell;
        self.alarmed = alarmed;
        rings.then_some(Effect::Bell)
    }

    /// An open detail follows its claim.
    fn refresh_detail(&mut self) -> Option<Effect> {
        let Some(Overlay::Detail(detail)) = self.overlay.last() else { return None };
        let id = detail.row.id.clone();
        let now = self.now_of(id.source);
        let fresh = self.row(&id).cloned();
        let Some(Overlay::Detail(detail)) = self.overlay.last_mut() else { return None };
        match fresh {
            Some(row) => detail.row = row,
            None => detail.row.judge(now),
        }
        Some(Effect::Examine { target: detail.row.target() })
    }

    pub(super) fn probed(&mut self, probes: Vec<Probed>) -> Vec<Effect> {
        let mut counts = [0_usize; 3];
        for probe in &probes {
            counts[match probe.process {
                Process::Alive => 0,
                Process::Dead => 1,
                Process::Unknown => 2,
            }] += 1;
        }
        let text = match &probes[..] {
            [] => "nothing to check: the rows name no process".into(),
            [probe] => {
                format!("{}: {} ({})", safe(&probe.holder), probe.process.as_str(), safe(&probe.evidence))
            }
            _ => format!("{} alive, {} dead, {} unknown", counts[0], counts[1], counts[2]),
        };
        // Keep a notice that offers undo: the rows show the result of the check anyway.
        let offered = self
            .notice
            .as_ref()
            .is_some_and(|notice| notice.tone == Tone::Done && self.now.since(notice.at) < Span::seconds(10));
        if !offered {
            self.notify(Tone::Info, text);
        }
        self.hold_selection();
        for probe in probes {
            self.probes.insert((probe.source, probe.holder.clone()), probe);
        }
        for source in 0..self.sources.len() {
            self.apply_probes(source);
        }
        let clocks: Vec<_> = (0..self.sources.len()).map(|source| self.now_of(source)).collect();
        if let Some(Overlay::Detail(detail)) = self.overlay.last_mut() {
            let now = clocks.get(detail.row.id.source).copied().unwrap_or(self.now);
            let known = detail.row.claim().holder.clone();
            let probe = known.and_then(|holder| self.probes.get(&(detail.row.id.source, holder)));
            apply(&mut detail.row, probe, now);
        }
        Vec::new()
    }

    /// The result of a process check counts only for the holder that it was made for.
    pub(super) fn apply_probes(&mut self, source: usize) {
        if self.probes.is_empty() {
            return;
        }
        let now = self.now_of(source);
        let probes = &self.probes;
        for row in self.sources[source].rows.iter_mut().chain(self.claims.rows_mut(source)) {
            let holder = row.claim().holder.clone();
            apply(row, holder.and_then(|holder| probes.get(&(source, holder))), now);
        }
    }

    pub(super) fn examined(
        &mut self,
        id: &RowId,
        found: Result<Option<Box<Examined>>, PollFailure>,
    ) -> Vec<Effect> {
        let now = self.now_of(id.source);
        let is_lost = found.as_ref().is_err_and(|trouble| self.is_lost(id.source, trouble));
        if let Some(Overlay::Detail(detail)) = self.overlay.last_mut()
            && detail.row.id == *id
        {
            detail.examined = match found {
                // Known columns stay, as old as the rest of the screen; without any it goes on waiting.
                Err(_) if is_lost => return Vec::new(),
                Ok(Some(examined)) => {
                    let process = detail.row.judged.claim.worker.clone();
                    detail.row.judged = examined.judged.clone();
                    detail.row.judged.claim.worker.process = process.process;
                    detail.row.judged.claim.worker.evidence = process.evidence;
                    detail.row.judge(now);
                    Examination::Found(examined)
                }
                Ok(None) => Examination::Gone,
                Err(trouble) => Examination::Failed(safe(trouble.why())),
            };
        }
        Vec::new()
    }

    /// Whether a set has anything in it that is not snoozed.
    pub fn is_calm(&self) -> bool {
        [Set::Stale, Set::Orphaned, Set::Expiring, Set::Unknown]
            .into_iter()
            .all(|set| self.counts().of(set) == 0)
    }
}

/// Whether an event can be the effect of our own act.
fn tells_of_an_end(event: &Event) -> bool {
    matches!(
        event.kind(),
        EventKind::ChangedHands
            | EventKind::Retried
            | EventKind::Renewed
            | EventKind::Finished
            | EventKind::Left
    )
}

fn apply(row: &mut Row, probe: Option<&Probed>, now: Moment) {
    if let Some(probe) = probe {
        row.judged.claim.worker.process = probe.process;
        row.judged.claim.worker.evidence = Some(probe.evidence.clone());
        row.judge(now);
    }
}
