//! Answers that come back: polls, pages, probes, closer looks.

use super::super::logged_event::LoggedEvent;
use super::super::message::{Effect, Probed};
use super::super::model::{Landing, ListId, Model, Pace, Pane, Tone};
use super::super::overlay::{Examination, Overlay};
use super::super::row::{Row, RowId};
use super::super::source::{Link, Poll, SourceView, Trouble};
use super::LOST;
use crate::domain::claim::Process;
use crate::domain::detail::{Cursor, Examined, Page, PageRequest};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;
use crate::domain::visible::safe;
use crate::events::{Event, What, batched};

/// Rows of a page of the Claims pane.
const PAGE: usize = 200;

impl Model {
    pub(super) fn polled(
        &mut self,
        source: usize,
        poll: Result<Poll, Trouble>,
        events: Vec<Event>,
    ) -> Vec<Effect> {
        if source >= self.sources.len() {
            return Vec::new();
        }
        if self.pace == Pace::Paused {
            self.unheard.entry(source).or_default().extend(events);
            return Vec::new();
        }
        self.hold_selection();
        let earlier = self.unheard.remove(&source).unwrap_or_default();
        self.log(source, earlier.into_iter().chain(events));
        match poll {
            Ok(poll) => self.polled_well(source, poll),
            Err(trouble) => {
                let now = self.now;
                self.sources[source].fail(now, trouble);
                Vec::new()
            }
        }
    }

    /// A source owes an answer since then.
    pub(super) fn silent(&mut self, source: usize, since: Moment) -> Vec<Effect> {
        let is_news = |view: &SourceView| view.link.lost_since().is_none();
        if self.pace == Pace::Live && self.sources.get(source).is_some_and(is_news) {
            self.sources[source].link = Link::Silent { since };
        }
        Vec::new()
    }

    fn polled_well(&mut self, source: usize, poll: Poll) -> Vec<Effect> {
        self.sources[source].receive(source, poll);
        self.apply_probes(source);
        let mut effects: Vec<Effect> = self.alarm().into_iter().collect();
        if matches!(self.pane, Pane::Claims | Pane::Sessions | Pane::Jobs) {
            effects.extend(self.load_pane());
        }
        effects.extend(self.refresh_detail());
        // What a lost link has left unanswered is asked again.
        if matches!(self.overlay.last(), Some(Overlay::Dead(dead)) if dead.rows.is_none()) {
            effects.extend(self.dead_again());
        }
        effects
    }

    /// Takes events into the log; what an act of ours took was not finished but recovered.
    fn log(&mut self, source: usize, events: impl Iterator<Item = Event>) {
        const KEPT: usize = 2_000;
        let events = events.map(|event| match self.act_behind(source, &event) {
            Some(by) => event.recovered(by),
            None => event,
        });
        for event in batched(events.collect()) {
            self.happened += 1;
            self.happenings.push_front(LoggedEvent { number: self.happened, source, event });
        }
        self.happenings.truncate(KEPT);
    }

    fn act_behind(&mut self, source: usize, event: &Event) -> Option<String> {
        let id = RowId { source, address: event.address().to_owned() };
        if tells_of_an_end(event) { self.recovered.remove(&id) } else { None }
    }

    /// An act of ours took a claim. A poll may have seen it before the word of it came.
    pub(super) fn recovered(&mut self, id: RowId, by: String) {
        const LATELY: Span = Span::seconds(10);
        let since = self.now_of(id.source).minus(LATELY);
        let is_it = |line: &&mut LoggedEvent| {
            line.source == id.source
                && line.event.address() == id.address
                && tells_of_an_end(&line.event)
                && line.event.at() >= since
        };
        match self.happenings.iter_mut().find(is_it) {
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
            [] => "no process to ask for: the rows name none".into(),
            [probe] => {
                format!("{}: {} ({})", safe(&probe.holder), probe.process.as_str(), safe(&probe.evidence))
            }
            _ => format!("{} alive, {} dead, {} unknown", counts[0], counts[1], counts[2]),
        };
        // The offer to undo stays: the rows themselves show what the kernel said.
        let offered = self
            .notice
            .as_ref()
            .is_some_and(|notice| notice.tone == Tone::Done && self.now.since(notice.at) < Span::seconds(10));
        if !offered {
            self.say(Tone::Told, text);
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

    /// What the kernel said counts for as long as it was asked of this very holder.
    fn apply_probes(&mut self, source: usize) {
        if self.probes.is_empty() {
            return;
        }
        let now = self.now_of(source);
        let probes = &self.probes;
        let browsed = self.browsed.rows.iter_mut().filter(|row| row.id.source == source);
        for row in self.sources[source].rows.iter_mut().chain(browsed) {
            let holder = row.claim().holder.clone();
            apply(row, holder.and_then(|holder| probes.get(&(source, holder))), now);
        }
    }

    pub(super) fn paged(
        &mut self,
        source: usize,
        request: &PageRequest,
        page: Result<Page, Trouble>,
    ) -> Vec<Effect> {
        // The operator has moved on.
        if self.browsed.pending.as_ref() != Some(request) {
            return Vec::new();
        }
        self.browsed.pending = None;
        let page = match page {
            Ok(page) => page,
            Err(trouble) => {
                let is_lost = self.is_lost(source, &trouble);
                self.browsed.problem = Some(if is_lost { LOST.into() } else { safe(trouble.why()) });
                return Vec::new();
            }
        };
        let snapshot = self.sources[source].snapshots.iter().find(|one| one.profile == request.profile);
        let Some((snapshot, board)) = snapshot
            .and_then(|one| Some((one, one.boards.iter().find(|board| board.board == request.board)?)))
        else {
            return Vec::new();
        };
        let (nature, generic) = (std::sync::Arc::clone(&board.nature), snapshot.generic);
        // Past either end there is nothing: the page that is shown stays.
        if page.claims.is_empty() && matches!(request.from, Cursor::After(_) | Cursor::Before(_)) {
            match request.from {
                Cursor::After(_) => self.browsed.is_last = true,
                _ => self.browsed.is_first = true,
            }
            return Vec::new();
        }
        self.hold_selection();
        let row = |judged| Row::new(source, &request.profile, &request.board, generic, &nature, judged);
        self.browsed.rows = page.claims.into_iter().map(row).collect();
        self.browsed.is_first = page.is_first;
        self.browsed.is_last = page.is_last;
        self.browsed.problem = None;
        self.apply_probes(source);
        self.land();
        Vec::new()
    }

    fn land(&mut self) {
        let list = ListId::Pane(Pane::Claims);
        let items = self.items(list);
        let selection = self.selections.entry(list).or_default();
        match std::mem::take(&mut self.browsed.land) {
            Landing::Stay => {}
            Landing::Top => selection.select(&items, 0),
            Landing::Bottom => selection.select(&items, items.len().saturating_sub(1)),
        }
    }

    /// Asks for a page of the board that is browsed.
    pub(super) fn load_page(&mut self, from: Cursor, land: Landing) -> Vec<Effect> {
        let boards = self.boards();
        self.browsed.board = self.browsed.board.min(boards.len().saturating_sub(1));
        let Some(board) = boards.get(self.browsed.board) else { return Vec::new() };
        // Reading the same page again can wait; a key cannot.
        if self.browsed.pending.is_some() && land == Landing::Stay {
            return Vec::new();
        }
        self.browsed.land = land;
        let (holder, kind) = self.query.for_database();
        let request = PageRequest {
            profile: board.profile.clone(),
            board: board.board.clone(),
            from,
            holder,
            kind,
            rows: PAGE,
        };
        self.browsed.pending = Some(request.clone());
        vec![Effect::LoadPage { source: board.source, request }]
    }

    /// The page that is shown, read again.
    pub(super) fn load_page_again(&mut self) -> Vec<Effect> {
        let first = self.browsed.rows.first().and_then(|row| row.judged.mark.clone());
        let from = match first {
            Some(mark) if !self.browsed.is_first => Cursor::From(mark),
            _ => Cursor::First,
        };
        self.load_page(from, Landing::Stay)
    }

    pub(super) fn examined(
        &mut self,
        id: &RowId,
        found: Result<Option<Box<Examined>>, Trouble>,
    ) -> Vec<Effect> {
        let now = self.now_of(id.source);
        let is_lost = found.as_ref().is_err_and(|trouble| self.is_lost(id.source, trouble));
        if let Some(Overlay::Detail(detail)) = self.overlay.last_mut()
            && detail.row.id == *id
        {
            detail.examined = match found {
                // Its columns stay, as old as the rest of the screen; without any, it still waits for them.
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

/// Whether it says that a claim is no longer what it was, as an act of ours would make it.
fn tells_of_an_end(event: &Event) -> bool {
    matches!(event.what(), What::ChangedHands | What::Renewed | What::Finished | What::Left)
}

fn apply(row: &mut Row, probe: Option<&Probed>, now: Moment) {
    if let Some(probe) = probe {
        row.judged.claim.worker.process = probe.process;
        row.judged.claim.worker.evidence = Some(probe.evidence.clone());
        row.judge(now);
    }
}
