//! Acts on one claim: permission, confirmation, result.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::super::dialog::{Asks, Confirm, ConfirmField, SourceName, terminate_command};
use super::super::item::Item;
use super::super::message::{Done, Effect, ShownClaim};
use super::super::model::{Model, Tone};
use super::super::overlay::Overlay;
use super::super::row::{Row, RowId};
use super::super::source::{Access, LinkState};
use crate::domain::recovery::{Action, Authorization, Confirmation, Outcome, Refusal, permit};
use crate::domain::snapshot::{Extension, HeldBy};
use crate::domain::time::Span;
use crate::domain::visible::visible;

impl Row {
    pub(super) fn target(&self) -> ShownClaim {
        ShownClaim {
            id: self.id.clone(),
            profile: self.profile.clone(),
            board: self.board.clone(),
            mark: self.judged.mark.clone(),
            seen: self.judged.seen,
            claim: self.judged.claim.clone(),
        }
    }
}

impl Model {
    /// The claim of the open detail, or else the selected one.
    pub(super) fn meant(&self) -> Option<Row> {
        match self.overlay.last() {
            Some(Overlay::Detail(detail)) => Some(detail.row.clone()),
            _ => self.selected_row().cloned(),
        }
    }

    /// Why nothing can be done to a source now, if so.
    pub(super) fn refusal(&self, source: usize) -> Option<String> {
        let view = self.sources.get(source)?;
        if let Access::ReadOnly(why) = view.access() {
            return Some(self.about(source, &format!("this source is read-only: {why}")));
        }
        match &view.link {
            LinkState::Live => None,
            LinkState::Connecting => Some(self.about(source, "nothing is known of this source yet")),
            LinkState::Silent { since } | LinkState::Down { since, .. } => Some(format!(
                "what you see is old, and nothing is done to it: no answer for {} from {}",
                self.now.since(*since),
                view.label,
            )),
        }
    }

    /// Acts on the selected claim: at once if the risk allows it, else after a confirmation.
    pub(super) fn act(&mut self, action: Action, reason: &str) -> Vec<Effect> {
        let Some(row) = self.meant() else {
            self.notify(Tone::Info, "no claim is selected");
            return Vec::new();
        };
        if let Some(why) = self.refusal(row.id.source) {
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        if !row.nature.acts.contains(&action) {
            let hint = self.terminate_hint(&row);
            let said = format!("the profile {} does not say how to {action} this{hint}", row.profile);
            self.notify(Tone::Refused, said);
            return Vec::new();
        }
        let mut target = row.target();
        // The operator saw the state that was drawn, not what has arrived since.
        match self.on_screen.get(&row.id) {
            Some(drawn) => target.seen = *drawn,
            None => {
                let why = "that claim was not on the screen yet; look, then press the key again";
                self.notify(Tone::Refused, why);
                return Vec::new();
            }
        }
        if let Some(why) = self.selection_moved(&row) {
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        if row.generic && !self.confirmed_profiles.contains(&(row.id.source, row.profile.clone())) {
            let why = format!("the tables of {} could be anybody's", row.profile);
            let asks = Asks::Profile(row.profile.clone());
            return self.ask(row, target, action, asks, why, reason);
        }
        self.act_or_ask(row, target, action, reason)
    }

    /// Refuses a key if the selected claim has just moved into the place of another one. Once
    /// the notice was shown, the next key acts on this claim.
    fn selection_moved(&mut self, row: &Row) -> Option<String> {
        const QUICK: Span = Span::seconds(1);
        let list = self.list();
        let items = self.items(list);
        if !self.overlay.is_empty() {
            return None;
        }
        let Some(Item::Claim(gone)) = self.selection(list).replaced(&items).cloned() else { return None };
        let is_quick = self.acted_at.is_some_and(|at| self.now.since(at) < QUICK);
        let at = self.selection(list).place(&items).unwrap_or(0);
        self.selections.entry(list).or_default().select(&items, at);
        if gone.source == row.id.source && !is_quick {
            return None;
        }
        let shown = self.about(row.id.source, &row.shown());
        Some(format!(
            "the claim above this one is gone, so {shown} is selected now; press the key again to act on it"
        ))
    }

    /// Starts an act.
    fn send(
        &mut self,
        row: &Row,
        target: ShownClaim,
        action: Action,
        authorization: Authorization,
    ) -> Vec<Effect> {
        self.acted_at = Some(self.now);
        self.notify(Tone::Info, self.about(row.id.source, &format!("{action} {} ...", row.shown())));
        vec![Effect::Act { target, action, authorization }]
    }

    /// The command that frees a claim which a server session holds.
    fn terminate_hint(&self, row: &Row) -> String {
        let source = self.sources.get(row.id.source).map_or("", |source| source.in_commands.as_str());
        match row.nature.held_by {
            HeldBy::Row => String::new(),
            HeldBy::Session => format!("; its session can be ended: {}", terminate_command(row, source)),
        }
    }

    fn act_or_ask(&mut self, row: Row, target: ShownClaim, action: Action, reason: &str) -> Vec<Effect> {
        let now = self.now_of(row.id.source);
        let mut row = row;
        row.judge(now);
        let authorization = Authorization { reason: given(reason), ..Authorization::default() };
        let conclusion = row.conclusion(now);
        match permit(action, row.claim(), &row.judged.verdict, conclusion, &authorization) {
            Err(Refusal::NotPermitted { cause, .. }) => {
                let why = cause.to_string();
                let holder = row.claim().holder.clone().unwrap_or_default();
                self.ask(row, target, action, Asks::Name(holder), why, reason)
            }
            // No confirmation would allow it.
            Err(refusal) => {
                let said = format!("{action} of {} refused: {}", row.shown(), refusal.cause());
                self.notify(Tone::Refused, self.about(row.id.source, &said));
                Vec::new()
            }
            Ok(()) if let Some(risk) = row.risk(action) => {
                self.ask(row, target, action, Asks::Yes, risk.into(), reason)
            }
            // An extension first asks how much time.
            Ok(()) if action == Action::Extend => {
                self.ask(row, target, action, Asks::Yes, String::new(), reason)
            }
            Ok(()) if self.confirms_all(row.id.source) => {
                self.ask(row, target, action, Asks::Yes, String::new(), reason)
            }
            Ok(()) => self.send(&row, target, action, authorization),
        }
    }

    /// Whether every act on a source has to be confirmed by its name.
    pub(super) fn confirms_all(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(|view| view.confirmation == Confirmation::Always)
    }

    /// The source's name, if it has to be typed before every act.
    pub(super) fn source_name_to_type(&self, source: usize) -> Option<SourceName> {
        self.confirms_all(source).then(|| SourceName::new(self.name_of(source)))
    }

    pub(super) fn ask(
        &mut self,
        row: Row,
        target: ShownClaim,
        action: Action,
        asks: Asks,
        why: String,
        reason: &str,
    ) -> Vec<Effect> {
        let asks = match asks {
            Asks::Yes if self.confirms_all(row.id.source) => Asks::Source(self.name_of(row.id.source)),
            asks => asks,
        };
        let has_length = action == Action::Extend && row.nature.extension == Extension::AnyLength;
        let time = has_length.then(|| Input::new(row.usual_extension().to_string()));
        let mut confirm = Confirm {
            row,
            target,
            action,
            asks,
            why,
            time,
            name: Input::default(),
            reason: Input::new(reason.into()),
            field: ConfirmField::Name,
            complaint: None,
        };
        confirm.field = confirm.fields().first().copied().unwrap_or(ConfirmField::Name);
        self.overlay.push(Overlay::Confirm(Box::new(confirm)));
        Vec::new()
    }

    /// Handles a key in the confirmation dialog.
    pub(super) fn confirm_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlay.last() else { return Vec::new() };
        let fields = confirm.fields();
        let yes = fields.is_empty() && matches!(key.code, KeyCode::Char('y' | 'Y'));
        // The source may have been lost since the question was asked.
        if (yes || key.code == KeyCode::Enter)
            && let Some(why) = self.refusal(confirm.target.id.source)
        {
            self.overlay.pop();
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        let Some(Overlay::Confirm(confirm)) = self.overlay.last_mut() else { return Vec::new() };
        let at = fields.iter().position(|field| *field == confirm.field).unwrap_or(0);
        match key.code {
            KeyCode::Esc => self.cancel(),
            KeyCode::Enter if !fields.is_empty() => self.confirmed_by_typing(),
            KeyCode::Tab | KeyCode::Down if !fields.is_empty() => {
                confirm.field = fields[(at + 1) % fields.len()];
                Vec::new()
            }
            KeyCode::BackTab | KeyCode::Up if !fields.is_empty() => {
                confirm.field = fields[(at + fields.len() - 1) % fields.len()];
                Vec::new()
            }
            _ if !fields.is_empty() => {
                confirm.input().handle_event(&Event::Key(key));
                confirm.complaint = None;
                Vec::new()
            }
            KeyCode::Char('y' | 'Y') | KeyCode::Enter => self.confirmed(),
            KeyCode::Char('n' | 'N' | 'q') => self.cancel(),
            _ => Vec::new(),
        }
    }

    fn cancel(&mut self) -> Vec<Effect> {
        self.overlay.pop();
        self.notify(Tone::Info, "nothing was done");
        Vec::new()
    }

    fn confirmed(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlay.pop() else { return Vec::new() };
        let Confirm { row, target, action, asks, reason, .. } = *confirm;
        if let Asks::Profile(profile) = asks {
            self.confirmed_profiles.insert((row.id.source, profile));
            return self.act_or_ask(row, target, action, reason.value());
        }
        let authorization = Authorization { reason: given(reason.value()), ..Authorization::default() };
        self.send(&row, target, action, authorization)
    }

    fn confirmed_by_typing(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlay.last_mut() else { return Vec::new() };
        let by = match confirm.time.as_ref().map(|time| Span::parse_interval(time.value().trim())) {
            Some(Err(why)) => return confirm.object(ConfirmField::Time, why),
            Some(Ok(by)) => Some(by),
            None => None,
        };
        let named = confirm.name.value();
        match &confirm.asks {
            Asks::Name(holder) if named != holder => {
                let why = format!("{} is not its holder; that is {}", visible(named), visible(holder));
                return confirm.object(ConfirmField::Name, why);
            }
            Asks::Source(source) if named.trim() != source => {
                let why = format!("that is not the name of the source; type {source}");
                return confirm.object(ConfirmField::Name, why);
            }
            Asks::Name(_) if confirm.reason.value().trim().is_empty() => {
                let why = "a reason is needed as well: it goes into the trail".into();
                return confirm.object(ConfirmField::Reason, why);
            }
            Asks::Name(_) | Asks::Source(_) | Asks::Yes | Asks::Profile(_) => {}
        }
        let is_named = matches!(confirm.asks, Asks::Name(_));
        let authorization = Authorization {
            force: is_named,
            reason: given(confirm.reason.value()),
            holder: confirm.row.claim().holder.clone().filter(|_| is_named),
            by,
            ..Authorization::default()
        };
        let (row, target, action) = (confirm.row.clone(), confirm.target.clone(), confirm.action);
        self.overlay.pop();
        self.send(&row, target, action, authorization)
    }

    /// Reports the result of an act.
    pub(super) fn acted(&mut self, done: Done) -> Vec<Effect> {
        let Done { source, address, action_id, action, outcome, shown, holder } = done;
        let from = holder.as_deref().map_or_else(String::new, |holder| format!(" ({})", visible(holder)));
        let from = self.source_name(source).map_or(from.clone(), |name| format!("{from} in {name}"));
        match &outcome {
            Outcome::Applied if action == "undo" => {
                self.undoable.retain(|(_, id, _)| *id != action_id);
                self.notify(Tone::Done, format!("undone: {shown}{from} is as it was"));
            }
            Outcome::Applied => {
                let key = self.keymap.key(super::super::actions::Command::Undo);
                self.notify(Tone::Done, format!("done, {key} undoes it: {action} {shown}{from}"));
                self.recovered(RowId { source, address }, format!("{action} by you"));
                self.undoable.push((source, action_id, shown));
            }
            // The undo can be tried again.
            Outcome::Refused(_) | Outcome::Unknown(_) if action == "undo" => {
                let why = outcome.cause().unwrap_or_default();
                self.notify(Tone::Refused, self.about(source, &format!("not undone: {why}")));
                self.undoable.push((source, action_id, shown));
            }
            Outcome::Moved(what) => {
                self.notify(
                    Tone::Moved,
                    self.about(source, &format!("{shown} moved, nothing was written: {what}")),
                );
            }
            Outcome::Refused(refusal) => {
                let said = format!("{action} of {shown} refused: {}", refusal.cause());
                self.notify(Tone::Refused, self.about(source, &said));
            }
            Outcome::Unknown(why) => {
                let said = format!("the outcome of {action} of {shown} is unknown: {why}");
                self.notify(Tone::Unknown, self.about(source, &said));
            }
        }
        self.after_an_act()
    }

    /// Reloads the trail and the dead jobs if they are shown.
    pub(super) fn after_an_act(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.dead_again().into_iter().collect();
        if self.pane == super::super::model::Pane::Audit {
            effects.push(self.load_trail());
        }
        effects
    }
}

impl Confirm {
    /// Shows what is wrong with an answer.
    fn object(&mut self, field: ConfirmField, why: String) -> Vec<Effect> {
        (self.complaint, self.field) = (Some(why), field);
        Vec::new()
    }
}

/// A reason, if there is one.
pub(super) fn given(reason: &str) -> Option<String> {
    Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
}
