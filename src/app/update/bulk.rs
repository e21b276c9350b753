//! Acts on many claims: looked at first, shown with their exact number, then done.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::super::dialog::{Field, InBulk, Stage};
use super::super::message::{BulkOf, Effect, Many, Ready, Summary};
use super::super::model::{ListId, Model, Pane, Tone};
use super::super::overlay::Overlay;
use super::super::row::RowId;
use super::acts::said;
use crate::domain::recovery::{Action, Authorization};
use crate::domain::tally::{BulkTally, NotDone};
use crate::domain::visible::visible;

impl Model {
    /// All that are marked, or else the whole set that the overview stands in.
    pub(super) fn act_on_all(&mut self, action: Action, reason: &str) -> Vec<Effect> {
        let marked: Vec<_> =
            self.marked.iter().filter_map(|id| self.row(id)).map(|row| row.target()).collect();
        // Marks whose claims are gone must not turn into the whole set.
        if marked.is_empty() && !self.marked.is_empty() {
            self.say(Tone::Told, "the marked claims are gone; esc clears the marks");
            return Vec::new();
        }
        let (source, what, all) = match (marked.first(), self.list()) {
            (Some(first), _) => {
                let source = first.id.source;
                let here = marked.iter().filter(|target| target.id.source == source).cloned().collect();
                (source, Many::Marked(here), marked.len())
            }
            (None, ListId::Overview(set)) => match self.selected_row().map(|row| row.id.source) {
                // What is out of sight is not meant.
                Some(source) if !self.query.is_empty() || !self.snoozed.is_empty() => {
                    let all = self.set_rows(set);
                    let rows = all.iter().filter(|row| row.id.source == source);
                    (source, Many::Marked(rows.map(|row| row.target()).collect()), all.len())
                }
                Some(source) => {
                    let all = usize::try_from(self.counts().of(set)).unwrap_or(usize::MAX);
                    (source, Many::Set(set), all)
                }
                None => {
                    self.say(Tone::Told, format!("nothing is {set}"));
                    return Vec::new();
                }
            },
            (None, _) => {
                self.say(Tone::Told, "mark claims with space first");
                return Vec::new();
            }
        };
        let here = match &what {
            Many::Marked(here) => here.len(),
            Many::Set(set) => {
                let counted = self.sources.get(source).map_or(0, |source| source.counts().of(*set));
                usize::try_from(counted).unwrap_or(usize::MAX)
            }
            Many::Session(_) => all,
        };
        self.prepare(source, action, what, all.saturating_sub(here), reason)
    }

    /// Everything that the selected session holds.
    pub(super) fn release_session(&mut self, reason: &str) -> Vec<Effect> {
        let Some((source, holder)) = self.selected_holder() else {
            self.say(Tone::Told, "no session is selected");
            return Vec::new();
        };
        let name = super::super::lists::holder_name(holder);
        self.prepare(source, Action::Release, Many::Session(name), 0, reason)
    }

    fn prepare(
        &mut self,
        source: usize,
        action: Action,
        what: Many,
        elsewhere: usize,
        reason: &str,
    ) -> Vec<Effect> {
        if let Some(why) = self.refusal(source) {
            self.say(Tone::Refused, why);
            return Vec::new();
        }
        self.questions += 1;
        let question = self.questions;
        let bulk = InBulk {
            question,
            source,
            action,
            what: what.clone(),
            elsewhere,
            stage: Stage::Looking,
            name: Input::default(),
            reason: Input::new(reason.into()),
            field: Field::Name,
            complaint: None,
        };
        self.overlay.push(Overlay::InBulk(Box::new(bulk)));
        vec![Effect::PrepareBulk { question, source, action, what }]
    }

    /// One of these profiles of the source that nobody has vouched for, though its tables could be anybody's.
    fn unvouched(&self, source: usize, profiles: &[String]) -> Option<String> {
        let generic = self.sources.get(source)?.snapshots.iter().filter(|snapshot| snapshot.generic);
        let mut names = generic.map(|snapshot| &snapshot.profile).filter(|name| profiles.contains(name));
        names.find(|name| !self.vouched.contains(&(source, String::clone(name)))).cloned()
    }

    pub(super) fn bulk_ready(&mut self, question: u64, ready: Result<Ready, String>) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last() else { return Vec::new() };
        if bulk.question != question || !matches!(bulk.stage, Stage::Looking) {
            return Vec::new();
        }
        let profiles = ready.as_ref().map_or(&[][..], |ready| &ready.profiles);
        let unvouched = self.unvouched(bulk.source, profiles);
        let stage = match (ready, unvouched) {
            (Ok(_), Some(profile)) => Stage::Failed(format!(
                "the tables of {profile} could be anybody's: act on one of its claims first, which asks about them"
            )),
            (Ok(ready), None) => Stage::Preview(ready),
            (Err(why), _) => Stage::Failed(why),
        };
        if let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() {
            bulk.stage = stage;
        }
        Vec::new()
    }

    pub(super) fn bulk_progress(&mut self, now_done: usize) -> Vec<Effect> {
        if let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut()
            && let Stage::Running { done, .. } = &mut bulk.stage
        {
            *done = now_done;
        }
        Vec::new()
    }

    pub(super) fn bulk_done(&mut self, summary: Summary) -> Vec<Effect> {
        let Summary { source, of, tally, batch, addresses } = summary;
        let text = match &of {
            BulkOf::Act(action) => {
                if matches!(self.overlay.last(), Some(Overlay::InBulk(_))) {
                    self.overlay.pop();
                }
                // Those of other sources wait for their own turn.
                self.marked.retain(|id| id.source != source);
                for address in addresses {
                    self.recovered(RowId { source, address }, format!("{action} by you"));
                }
                format!("{action}: {} of {} done", tally.applied, tally.wanted)
            }
            BulkOf::Undo(id) => {
                // What was not tried can be tried again.
                if tally.not_tried() > 0 {
                    self.undoable.push((source, id.clone(), format!("{} acts", tally.not_tried())));
                }
                format!("undone: {} of {} acts", tally.applied, tally.wanted)
            }
        };
        let is_undoable = tally.applied + tally.unknown > 0 && matches!(of, BulkOf::Act(_));
        let mut text = text + &not_done(&tally);
        if let Some(batch) = batch.filter(|_| is_undoable) {
            let key = self.keymap.key(super::super::actions::Command::Undo);
            text += &format!("; {key} undoes all of it");
            self.undoable.push((source, batch, format!("{} claims", tally.applied)));
        }
        let tone = match (tally.unknown, tally.refused + tally.not_tried(), tally.moved) {
            (0, 0, 0) => Tone::Done,
            (0, 0, _) => Tone::Moved,
            (0, _, _) => Tone::Refused,
            _ => Tone::Unknown,
        };
        self.say(tone, text);
        let mut effects = self.after_an_act();
        if self.pane == Pane::Sessions {
            effects.extend(self.load_pane());
        }
        effects
    }

    /// A key while an act on many is asked about or runs.
    pub(super) fn bulk_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() else { return Vec::new() };
        let ready = match &bulk.stage {
            Stage::Preview(ready) => ready.clone(),
            // What runs is not stopped half-way by a stray key.
            Stage::Running { .. } => return Vec::new(),
            Stage::Looking | Stage::Failed(_) => {
                if matches!(key.code, KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'n')) {
                    self.overlay.pop();
                }
                return Vec::new();
            }
        };
        match (&ready.holder, key.code) {
            (_, KeyCode::Esc) | (None, KeyCode::Char('n' | 'N' | 'q')) => {
                self.overlay.pop();
                self.say(Tone::Told, "nothing was done");
                Vec::new()
            }
            (None, KeyCode::Char('y' | 'Y') | KeyCode::Enter) | (Some(_), KeyCode::Enter) => {
                self.run_bulk(&ready)
            }
            (Some(_), KeyCode::Tab | KeyCode::BackTab | KeyCode::Up | KeyCode::Down) => {
                bulk.field = match bulk.field {
                    Field::Name => Field::Reason,
                    Field::Reason => Field::Name,
                };
                Vec::new()
            }
            (Some(_), _) => {
                let event = Event::Key(key);
                match bulk.field {
                    Field::Name => bulk.name.handle_event(&event),
                    Field::Reason => bulk.reason.handle_event(&event),
                };
                bulk.complaint = None;
                Vec::new()
            }
            (None, _) => Vec::new(),
        }
    }

    fn run_bulk(&mut self, ready: &Ready) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() else { return Vec::new() };
        if ready.tally.applied == 0 {
            let skipped = not_done(&ready.tally);
            self.overlay.pop();
            self.say(Tone::Told, format!("there is nothing to do{skipped}"));
            return Vec::new();
        }
        if let Some(holder) = &ready.holder {
            if bulk.name.value() != holder {
                bulk.complaint = Some(format!("that is not it; type {}", visible(holder)));
                bulk.field = Field::Name;
                return Vec::new();
            }
            if bulk.reason.value().trim().is_empty() {
                bulk.complaint = Some("a reason is needed as well: it goes into the trail".into());
                bulk.field = Field::Reason;
                return Vec::new();
            }
        }
        let word = Authorization {
            force: ready.holder.is_some(),
            reason: said(bulk.reason.value()),
            holder: ready.holder.clone(),
            ..Authorization::default()
        };
        bulk.stage = Stage::Running { done: 0, of: ready.tally.applied };
        vec![Effect::RunBulk { question: bulk.question, source: bulk.source, word }]
    }
}

/// What of it was not done, and the first reason: ", 2 refused (b: its process is alive)".
fn not_done(tally: &BulkTally) -> String {
    let counts = tally.not_done();
    if counts.is_empty() {
        return String::new();
    }
    let why = tally.stopped.clone().map(|why| format!("stopped: {why}"));
    let first = tally.reasons.first().map(NotDone::in_full);
    let why = why.or(first).map_or_else(String::new, |why| format!(" ({why})"));
    format!(", {counts}{why}")
}
