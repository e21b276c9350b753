//! Acts on one claim: what may go at once, what has to be asked, what came of it.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::super::dialog::{Asks, Confirm, Field};
use super::super::message::{Done, Effect, Target};
use super::super::model::{Model, Tone};
use super::super::overlay::Overlay;
use super::super::row::{Row, RowId};
use super::super::source::{Access, Link};
use crate::domain::evidence::Conclusion;
use crate::domain::recovery::{Action, Authorization, Outcome, Refusal, permit};
use crate::domain::visible::visible;

impl Row {
    pub(super) fn target(&self) -> Target {
        Target {
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
    /// The claim that is meant: that of the open detail, or the selected one.
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
            return Some(format!("this session is read-only: {why}"));
        }
        match &view.link {
            Link::Live => None,
            Link::Connecting => Some("nothing is known of this source yet".into()),
            Link::Silent { since } | Link::Down { since, .. } => Some(format!(
                "what you see is old, and nothing is done to it: no answer for {} from {}",
                self.now.since(*since),
                view.label,
            )),
        }
    }

    /// Does `action` to the claim that is meant, at once if its risk allows, or asks.
    pub(super) fn act(&mut self, action: Action, reason: &str) -> Vec<Effect> {
        let Some(row) = self.meant() else {
            self.say(Tone::Told, "no claim is selected");
            return Vec::new();
        };
        if let Some(why) = self.refusal(row.id.source) {
            self.say(Tone::Refused, why);
            return Vec::new();
        }
        if !row.nature.acts.contains(&action) {
            self.say(Tone::Refused, format!("the profile {} does not say how to {action} this", row.profile));
            return Vec::new();
        }
        let mut target = row.target();
        // The state that was drawn is the one that was seen, whatever has arrived since.
        match self.on_screen.get(&row.id) {
            Some(drawn) => target.seen = *drawn,
            None => {
                let why = "that claim was not on the screen yet; look, then press the key again";
                self.say(Tone::Refused, why);
                return Vec::new();
            }
        }
        if row.generic && !self.vouched.contains(&(row.id.source, row.profile.clone())) {
            let why = format!("the tables of {} could be anybody's", row.profile);
            let asks = Asks::Profile(row.profile.clone());
            return self.ask(row, target, action, asks, why, reason);
        }
        self.act_or_ask(row, target, action, reason)
    }

    fn act_or_ask(&mut self, row: Row, target: Target, action: Action, reason: &str) -> Vec<Effect> {
        let now = self.now_of(row.id.source);
        let mut row = row;
        row.judge(now);
        let word = Authorization { reason: said(reason), ..Authorization::default() };
        let conclusion = row.conclusion(now);
        match permit(action, row.claim(), &row.judged.verdict, conclusion, &word) {
            Err(Refusal::NotPermitted { cause, .. }) => {
                let why = cause.to_string();
                let holder = row.claim().holder.clone().unwrap_or_default();
                self.ask(row, target, action, Asks::Name(holder), why, reason)
            }
            // Nothing that could be typed would allow it.
            Err(refusal) => {
                self.say(Tone::Refused, format!("{action} of {} refused: {}", row.shown(), refusal.cause()));
                Vec::new()
            }
            Ok(())
                if action != Action::Extend && row.nature.fenced == Some(false) && may_live(conclusion) =>
            {
                let why = "a late holder may still finish it for whoever takes it next (the system is not fenced), \
                           and this one may be alive"
                    .into();
                self.ask(row, target, action, Asks::Yes, why, reason)
            }
            Ok(()) => {
                self.say(Tone::Told, format!("{action} {} ...", row.shown()));
                vec![Effect::Act { target, action, word }]
            }
        }
    }

    pub(super) fn ask(
        &mut self,
        row: Row,
        target: Target,
        action: Action,
        asks: Asks,
        why: String,
        reason: &str,
    ) -> Vec<Effect> {
        let confirm = Confirm {
            row,
            target,
            action,
            asks,
            why,
            name: Input::default(),
            reason: Input::new(reason.into()),
            field: Field::Name,
            complaint: None,
        };
        self.overlay.push(Overlay::Confirm(Box::new(confirm)));
        Vec::new()
    }

    /// A key while an act is asked about.
    pub(super) fn confirm_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlay.last() else { return Vec::new() };
        let yes = !matches!(confirm.asks, Asks::Name(_)) && matches!(key.code, KeyCode::Char('y' | 'Y'));
        // The source may have been lost since the question was asked.
        if (yes || key.code == KeyCode::Enter)
            && let Some(why) = self.refusal(confirm.target.id.source)
        {
            self.overlay.pop();
            self.say(Tone::Refused, why);
            return Vec::new();
        }
        let Some(Overlay::Confirm(confirm)) = self.overlay.last_mut() else { return Vec::new() };
        match (&confirm.asks, key.code) {
            (_, KeyCode::Esc) => {
                self.overlay.pop();
                self.say(Tone::Told, "nothing was done");
                Vec::new()
            }
            (Asks::Name(_), KeyCode::Tab | KeyCode::BackTab | KeyCode::Up | KeyCode::Down) => {
                confirm.field = match confirm.field {
                    Field::Name => Field::Reason,
                    Field::Reason => Field::Name,
                };
                Vec::new()
            }
            (Asks::Name(_), KeyCode::Enter) => self.confirmed_by_name(),
            (Asks::Name(_), _) => {
                let event = Event::Key(key);
                match confirm.field {
                    Field::Name => confirm.name.handle_event(&event),
                    Field::Reason => confirm.reason.handle_event(&event),
                };
                confirm.complaint = None;
                Vec::new()
            }
            (Asks::Yes | Asks::Profile(_), KeyCode::Char('y' | 'Y') | KeyCode::Enter) => self.confirmed(),
            (Asks::Yes | Asks::Profile(_), KeyCode::Char('n' | 'N' | 'q')) => {
                self.overlay.pop();
                self.say(Tone::Told, "nothing was done");
                Vec::new()
            }
            (Asks::Yes | Asks::Profile(_), _) => Vec::new(),
        }
    }

    fn confirmed(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlay.pop() else { return Vec::new() };
        let Confirm { row, target, action, asks, reason, .. } = *confirm;
        if let Asks::Profile(profile) = asks {
            self.vouched.insert((row.id.source, profile));
            return self.act_or_ask(row, target, action, reason.value());
        }
        self.say(Tone::Told, format!("{action} {} ...", row.shown()));
        vec![Effect::Act {
            target,
            action,
            word: Authorization { reason: said(reason.value()), ..Authorization::default() },
        }]
    }

    fn confirmed_by_name(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlay.last_mut() else { return Vec::new() };
        let Asks::Name(holder) = &confirm.asks else { return Vec::new() };
        let named = confirm.name.value();
        if named != holder {
            confirm.complaint =
                Some(format!("{} is not its holder; that is {}", visible(named), visible(holder)));
            confirm.field = Field::Name;
            return Vec::new();
        }
        if confirm.reason.value().trim().is_empty() {
            confirm.complaint = Some("a reason is needed as well: it goes into the trail".into());
            confirm.field = Field::Reason;
            return Vec::new();
        }
        let word = Authorization {
            force: true,
            reason: said(confirm.reason.value()),
            holder: Some(holder.clone()),
            ..Authorization::default()
        };
        let (target, action, shown) = (confirm.target.clone(), confirm.action, confirm.row.shown());
        self.overlay.pop();
        self.say(Tone::Told, format!("{action} {shown} ..."));
        vec![Effect::Act { target, action, word }]
    }

    /// An act has come to its end.
    pub(super) fn acted(&mut self, done: Done) -> Vec<Effect> {
        let Done { source, address, action_id, action, outcome, shown, holder } = done;
        let from = holder.as_deref().map_or_else(String::new, |holder| format!(" ({})", visible(holder)));
        match &outcome {
            Outcome::Applied if action == "undo" => {
                self.undoable.retain(|(_, id, _)| *id != action_id);
                self.say(Tone::Done, format!("undone: {shown}{from} is as it was"));
            }
            Outcome::Applied => {
                let key = self.keymap.key(super::super::actions::Command::Undo);
                self.say(Tone::Done, format!("done, {key} undoes it: {action} {shown}{from}"));
                self.recovered(RowId { source, address }, format!("{action} by you"));
                self.undoable.push((source, action_id, shown));
            }
            // It may go better the next time.
            Outcome::Refused(_) | Outcome::Unknown(_) if action == "undo" => {
                let why = outcome.cause().unwrap_or_default();
                self.say(Tone::Refused, format!("not undone: {why}"));
                self.undoable.push((source, action_id, shown));
            }
            Outcome::Moved(what) => {
                self.say(Tone::Moved, format!("{shown} moved, nothing was written: {what}"));
            }
            Outcome::Refused(refusal) => {
                self.say(Tone::Refused, format!("{action} of {shown} refused: {}", refusal.cause()));
            }
            Outcome::Unknown(why) => {
                self.say(Tone::Unknown, format!("whether {action} of {shown} was done is not known: {why}"));
            }
        }
        self.after_an_act()
    }

    /// The trail has grown, and the dead are fewer, where they are shown.
    pub(super) fn after_an_act(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.dead_again().into_iter().collect();
        if self.pane == super::super::model::Pane::Audit {
            effects.push(Effect::LoadTrail);
        }
        effects
    }
}

/// A reason, if there is one.
pub(super) fn said(reason: &str) -> Option<String> {
    Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
}

fn may_live(conclusion: Conclusion) -> bool {
    match conclusion {
        Conclusion::Alive | Conclusion::Slow => true,
        Conclusion::Dead | Conclusion::ProbablyDead | Conclusion::Unknown => false,
    }
}
