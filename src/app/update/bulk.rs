//! Bulk acts: preview with exact counts, confirmation, progress, result.

use std::sync::Arc;

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::super::bulk::{BulkField, BulkOf, InBulk, Many, Ready, Stage, Summary};
use super::super::message::Effect;
use super::super::model::{ListId, Model, Pane, Tone};
use super::super::overlay::Overlay;
use super::super::row::RowId;
use super::acts::given;
use crate::domain::filter::exactly;
use crate::domain::recovery::{Action, Authorization};
use crate::domain::snapshot::Snapshot;
use crate::domain::tally::{BulkTally, NotDone};
use crate::domain::visible::visible;

impl Model {
    /// Acts on all marked claims; without marks, on those of the selected pane of the overview or the selected group.
    pub(super) fn act_on_all(&mut self, action: Action, reason: &str) -> Vec<Effect> {
        let marked: Vec<_> =
            self.marked.iter().filter_map(|id| self.row(id)).map(|row| row.target()).collect();
        // If all marked claims are gone, do not act on the whole pane instead.
        if marked.is_empty() && !self.marked.is_empty() {
            self.notify(Tone::Info, "the marked claims are gone; esc clears the marks");
            return Vec::new();
        }
        let (source, what, all) = match (marked.first(), self.list()) {
            (Some(first), _) => {
                let source = first.id.source;
                let here = marked.iter().filter(|target| target.id.source == source).cloned().collect();
                (source, Many::Marked(here), marked.len())
            }
            (None, ListId::Overview(set)) => match self.selected_row().map(|row| row.id.source) {
                // With a filter, act only on the claims that are shown.
                Some(source) if self.is_narrowed() => {
                    let all = self.set_rows(set);
                    let rows = all.iter().filter(|row| row.id.source == source);
                    (source, Many::Marked(rows.map(|row| row.target()).collect()), all.len())
                }
                Some(source) => (source, Many::Worst(set), self.claims_of_pane(set, None)),
                None => {
                    self.notify(Tone::Info, format!("nothing is {set}"));
                    return Vec::new();
                }
            },
            (None, ListId::Pane(Pane::Groups)) => return self.act_on_group(action, reason),
            (None, _) => {
                self.notify(Tone::Info, "mark claims with space first");
                return Vec::new();
            }
        };
        let here = match &what {
            Many::Marked(here) => here.len(),
            Many::Worst(set) => self.claims_of_pane(*set, Some(source)),
            Many::Session(_) | Many::Group(_) => all,
        };
        self.prepare(source, action, what, all.saturating_sub(here), reason)
    }

    /// All claims in trouble of the selected group, loaded or not.
    fn act_on_group(&mut self, action: Action, reason: &str) -> Vec<Effect> {
        let Some(line) = self.selected_group() else {
            self.notify(Tone::Info, "nothing is in trouble");
            return Vec::new();
        };
        self.prepare(line.source, action, Many::Group(Box::new(line.target())), 0, reason)
    }

    /// Everything that the selected session holds.
    pub(super) fn release_session(&mut self, reason: &str) -> Vec<Effect> {
        let Some((source, holder)) = self.selected_holder() else {
            self.notify(Tone::Info, "no session is selected");
            return Vec::new();
        };
        let name = super::super::lists::holder_name(holder);
        self.prepare(source, Action::Release, Many::Session(name), 0, reason)
    }

    pub(super) fn prepare(
        &mut self,
        source: usize,
        action: Action,
        what: Many,
        elsewhere: usize,
        reason: &str,
    ) -> Vec<Effect> {
        if let Some(why) = self.refusal(source) {
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        self.questions += 1;
        let question = self.questions;
        let source_name = self.source_name_to_type(source);
        let bulk = InBulk {
            question,
            source,
            action,
            what: what.clone(),
            elsewhere,
            stage: Stage::Looking,
            name: Input::default(),
            reason: Input::new(reason.into()),
            source_name,
            field: BulkField::List,
            scroll: 0,
            complaint: None,
        };
        self.overlay.push(Overlay::InBulk(Box::new(bulk)));
        vec![Effect::PrepareBulk { question, source, action, what }]
    }

    /// A generic profile among these that the operator has not confirmed yet.
    fn unconfirmed_profile(&self, source: usize, profiles: &[String]) -> Option<String> {
        let generic = self.sources.get(source)?.snapshots.iter().filter(|snapshot| snapshot.generic);
        let mut names = generic.map(|snapshot| &snapshot.profile).filter(|name| profiles.contains(name));
        names.find(|name| !self.confirmed_profiles.contains(&(source, String::clone(name)))).cloned()
    }

    pub(super) fn bulk_ready(&mut self, question: u64, ready: Result<Ready, String>) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last() else { return Vec::new() };
        if bulk.question != question || !matches!(bulk.stage, Stage::Looking) {
            return Vec::new();
        }
        let profiles = ready.as_ref().map_or(&[][..], |ready| &ready.profiles);
        let unconfirmed_profile = self.unconfirmed_profile(bulk.source, profiles);
        let stage = match (ready, unconfirmed_profile) {
            (Ok(_), Some(profile)) => Stage::Failed(format!(
                "the tables of {profile} could be anybody's: act on one of its claims first, which asks about them"
            )),
            (Ok(ready), None) => Stage::Preview(Arc::new(ready)),
            (Err(why), _) => Stage::Failed(why),
        };
        if let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() {
            // A session that may be alive must be named, so the cursor starts there.
            if matches!(&stage, Stage::Preview(ready) if ready.holder.is_some()) {
                bulk.field = BulkField::Name;
            }
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
                // Marks in other sources stay.
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
        self.notify(tone, text);
        let mut effects = self.after_an_act();
        if self.pane == Pane::Sessions {
            effects.extend(self.load_pane());
        }
        effects
    }

    /// Handles a key in the dialog of a bulk act.
    pub(super) fn bulk_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() else { return Vec::new() };
        match (&bulk.stage, key.code) {
            (Stage::Preview(ready), _) => {
                let ready = Arc::clone(ready);
                self.preview_key(key, &ready)
            }
            // Only Esc stops a running act.
            (Stage::Running { .. }, KeyCode::Esc) => {
                let source = bulk.source;
                bulk.complaint = Some("cancelled: it ends after the current transaction".into());
                vec![Effect::CancelBulk { source }]
            }
            (Stage::Running { .. }, _) => Vec::new(),
            (Stage::Looking | Stage::Failed(_), KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'n')) => {
                self.overlay.pop();
                Vec::new()
            }
            (Stage::Looking | Stage::Failed(_), _) => Vec::new(),
        }
    }

    fn preview_key(&mut self, key: KeyEvent, ready: &Ready) -> Vec<Effect> {
        let page = self.page_lines.max(1);
        let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() else { return Vec::new() };
        let last = ready.lines.len().saturating_sub(1);
        let in_list = bulk.field == BulkField::List;
        match key.code {
            KeyCode::Esc => return self.leave_bulk(),
            KeyCode::Enter => return self.run_bulk(ready),
            KeyCode::Tab | KeyCode::BackTab => bulk.field = bulk.next_field(key.code),
            KeyCode::Up => bulk.scroll = bulk.scroll.saturating_sub(1),
            KeyCode::Down => bulk.scroll = (bulk.scroll + 1).min(last),
            KeyCode::PageUp => bulk.scroll = bulk.scroll.saturating_sub(page),
            KeyCode::PageDown => bulk.scroll = (bulk.scroll + page).min(last),
            KeyCode::Char('n' | 'N' | 'q') if in_list => return self.leave_bulk(),
            KeyCode::Char('y' | 'Y') if in_list => return self.run_bulk(ready),
            KeyCode::Char('c') if in_list => return self.copy_bulk_command(ready),
            KeyCode::Char('k') if in_list => bulk.scroll = bulk.scroll.saturating_sub(1),
            KeyCode::Char('j') if in_list => bulk.scroll = (bulk.scroll + 1).min(last),
            KeyCode::Char('g') | KeyCode::Home if in_list => bulk.scroll = 0,
            KeyCode::Char('G') | KeyCode::End if in_list => bulk.scroll = last,
            _ => {
                let event = Event::Key(key);
                if in_list {
                    return Vec::new();
                }
                bulk.input().handle_event(&event);
                bulk.complaint = None;
            }
        }
        Vec::new()
    }

    fn leave_bulk(&mut self) -> Vec<Effect> {
        self.overlay.pop();
        self.notify(Tone::Info, "nothing was done");
        Vec::new()
    }

    fn copy_bulk_command(&mut self, ready: &Ready) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last() else { return Vec::new() };
        let source = self.sources.get(bulk.source).map_or("", |source| source.in_commands.as_str());
        match bulk.command_line(ready, source, &self.generic_profiles(bulk.source, &ready.profiles)) {
            Some(command) => {
                self.notify(Tone::Info, "copied (if the terminal allows it)");
                vec![Effect::Copy(command)]
            }
            None => Vec::new(),
        }
    }

    /// These profiles, if one of them is generic: a command line that names one profile must name all that
    /// it means.
    pub fn generic_profiles(&self, source: usize, profiles: &[String]) -> Vec<String> {
        let snapshots = self.sources.get(source).map_or(&[][..], |source| &source.snapshots);
        let is_generic = |snapshot: &Snapshot| snapshot.generic && profiles.contains(&snapshot.profile);
        if snapshots.iter().any(is_generic) { profiles.to_vec() } else { Vec::new() }
    }

    fn run_bulk(&mut self, ready: &Ready) -> Vec<Effect> {
        let Some(Overlay::InBulk(bulk)) = self.overlay.last_mut() else { return Vec::new() };
        let (typed, wanted) = (bulk.name.value().to_owned(), bulk.typed_name());
        let must_name = ready.holder.is_some();
        let is_named = wanted.as_deref().is_some_and(|name| name == typed);
        if let Some(wanted) = wanted.filter(|_| !is_named && (must_name || !typed.is_empty())) {
            bulk.complaint = Some(format!("that does not match; type {}", visible(&wanted)));
            bulk.field = BulkField::Name;
            return Vec::new();
        }
        if let Some(source) = bulk.source_name.as_ref().filter(|source| !source.is_typed()) {
            bulk.complaint = Some(source.complaint());
            bulk.field = BulkField::Source;
            return Vec::new();
        }
        let count = ready.tally.applied + if is_named { ready.unnamed.count } else { 0 };
        if count == 0 {
            let skipped = not_done(&ready.tally);
            self.overlay.pop();
            self.notify(Tone::Info, format!("there is nothing to do{skipped}"));
            return Vec::new();
        }
        if is_named && bulk.reason.value().trim().is_empty() {
            bulk.complaint = Some("a reason is needed as well: it goes into the trail".into());
            bulk.field = BulkField::Reason;
            return Vec::new();
        }
        let holders = if is_named { exactly(ready.unnamed.holders.iter()) } else { Vec::new() };
        let authorization = Authorization {
            force: must_name,
            reason: given(bulk.reason.value()),
            holder: ready.holder.clone(),
            holders,
            ..Authorization::default()
        };
        bulk.complaint = None;
        bulk.stage = Stage::Running { done: 0, of: count };
        vec![Effect::RunBulk { question: bulk.question, source: bulk.source, authorization }]
    }
}

impl InBulk {
    /// Where keys go next.
    fn next_field(&self, key: KeyCode) -> BulkField {
        let fields = self.fields();
        let at = fields.iter().position(|field| *field == self.field).unwrap_or(0);
        let steps = if key == KeyCode::BackTab { fields.len() - 1 } else { 1 };
        fields[(at + steps) % fields.len()]
    }
}

/// What was not done, and the first reason: ", 2 refused (b: its process is alive)".
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
