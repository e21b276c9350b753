//! A screen without a terminal: a model, the frames it draws, the keys that reach it.
//!
//! Every key is pressed on a frame that was drawn, as in the runtime; what is meant to arrive
//! between two frames says so.

pub mod claims;
pub mod holders;
pub mod outcomes;
pub mod world;

use claimtop::app::audit::{AuditLine, TrailPage};
use claimtop::app::keymap::Keymap;
use claimtop::app::message::{ClickTarget, SourcePoll, TrailLine};
use claimtop::app::model::{ModelSettings, Tone};
use claimtop::app::source::{Access, LinkState, PollFailure, SourceView};
use claimtop::app::{Effect, Model, Msg};
use claimtop::domain::time::{Moment, Span};
use claimtop::events::{ChangeDetector, ObservedSource, Reread};
use claimtop::ui::theme::{Depth, Palette};
use claimtop::ui::{Theme, View, render};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;

pub use claims::{Held, claim};
pub use world::{World, job_board, lock_board, task_board};

pub const SMALL: (u16, u16) = (80, 24);
pub const MIDDLE: (u16, u16) = (120, 40);
pub const LARGE: (u16, u16) = (200, 60);
pub const TINY: (u16, u16) = (40, 12);

/// 2026-11-15T12:00:00Z.
pub fn noon() -> Moment {
    Moment::parse("2026-11-15T12:00:00Z").expect("a time")
}

pub fn span(text: &str) -> Span {
    Span::parse(text).expect("a span")
}

/// The model, what the last frame showed, and the clock on the wall.
#[derive(Debug)]
pub struct Stage {
    pub model: Model,
    pub view: View,
    pub now: Moment,
    size: (u16, u16),
    /// What a claim that left the rows is when it is read again.
    pub again: Reread,
    onlookers: BTreeMap<usize, ChangeDetector>,
}

impl Stage {
    /// A screen that has had its first answer from every source.
    pub fn of(worlds: &[World]) -> Stage {
        let mut stage = Stage::waiting_for(worlds);
        for (source, world) in worlds.iter().enumerate() {
            stage.poll_of(source, world);
        }
        stage
    }

    /// A screen on one source.
    pub fn on(world: &World) -> Stage {
        Stage::of(std::slice::from_ref(world))
    }

    /// A screen that waits for its first answer.
    pub fn waiting_for(worlds: &[World]) -> Stage {
        let sources = worlds.iter().map(World::view).collect();
        let settings = ModelSettings { interval: Span::seconds(1), bell: true };
        let model = Model::new(sources, settings, Keymap::default(), noon());
        Stage {
            model,
            view: View::default(),
            now: noon(),
            size: MIDDLE,
            again: Reread::Gone,
            onlookers: BTreeMap::new(),
        }
    }

    pub fn without_source() -> Stage {
        Stage::waiting_for(&[])
    }

    pub fn sized(mut self, size: (u16, u16)) -> Stage {
        self.size = size;
        self
    }

    pub fn with_keys(mut self, name: &str, key: &str) -> Stage {
        let changes = BTreeMap::from([(name.to_owned(), vec![key.to_owned()])]);
        self.model.keymap = Keymap::with(&changes).expect("keys without a conflict");
        self
    }

    pub fn tell(&mut self, msg: Msg) -> Vec<Effect> {
        self.model.update(self.now, msg)
    }

    /// The next poll of the first source comes back.
    pub fn poll(&mut self, world: &World) -> Vec<Effect> {
        self.poll_of(0, world)
    }

    pub fn poll_of(&mut self, source: usize, world: &World) -> Vec<Effect> {
        let poll = world.poll(self.now);
        let look = ObservedSource::of("tasks", &poll.snapshots, poll.whole.as_deref().unwrap_or_default());
        let (now, again) = (self.now, self.again.clone());
        let events = self
            .detector(source)
            .observe(look, now, &mut |_| Ok::<_, ()>(again.clone()))
            .expect("nothing is lost");
        self.tell(Msg::Polled(vec![SourcePoll { source, poll: Ok(poll), events }]))
    }

    pub fn poll_fails(&mut self, why: &str) -> Vec<Effect> {
        let now = self.now;
        let events = self.detector(0).fail(why, now).into_iter().collect();
        self.tell(Msg::Polled(vec![SourcePoll { source: 0, poll: Err(why.into()), events }]))
    }

    /// Who compares the polls of a source, as its poller does.
    fn detector(&mut self, source: usize) -> &mut ChangeDetector {
        self.onlookers.entry(source).or_insert_with(|| ChangeDetector::new("tasks.db"))
    }

    pub fn poll_cannot_reach(&mut self, why: &str) -> Vec<Effect> {
        self.tell(Msg::Polled(vec![SourcePoll {
            source: 0,
            poll: Err(PollFailure::NoLink(why.into())),
            events: Vec::new(),
        }]))
    }

    /// Answers every request for a part of the list of claims, and those that follow from the answers.
    pub fn answer_lists(&mut self, worlds: &[World], effects: Vec<Effect>) {
        let mut waiting = effects;
        while let Some(effect) = waiting.pop() {
            if let Effect::LoadList { source, request } = effect {
                let part = Ok(worlds[source].list_part(&request, self.now));
                waiting.extend(self.tell(Msg::Listed { source, request, part }));
            }
        }
    }

    /// Presses keys, each after the answers to the one before have come.
    pub fn browse(&mut self, worlds: &[World], keys: &str) {
        for key in keys.split_whitespace() {
            let effects = self.press(key);
            self.answer_lists(worlds, effects);
        }
    }

    /// Time passes, and the second ticks.
    pub fn later(&mut self, by: &str) {
        self.now = self.now.plus(span(by));
        self.tell(Msg::Tick);
    }

    /// Presses keys by name, each on a frame that was drawn: `"j r esc"`.
    pub fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys.split_whitespace() {
            self.look();
            effects.extend(self.press_blindly(key));
        }
        effects
    }

    /// The same, for a story told in one breath.
    pub fn then(mut self, keys: &str) -> Stage {
        self.press(keys);
        self
    }

    /// A key that was pressed before the next frame.
    pub fn press_blindly(&mut self, key: &str) -> Vec<Effect> {
        self.tell(Msg::Key(key_named(key)))
    }

    /// Types a text, letter by letter.
    pub fn write(&mut self, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for letter in text.chars() {
            self.look();
            effects.extend(self.tell(Msg::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE))));
        }
        effects
    }

    /// A click on what stands there on the last frame.
    pub fn click(&mut self, column: u16, line: u16) -> Vec<Effect> {
        let spot: Option<ClickTarget> = self.view.hit(column, line).cloned();
        spot.map_or_else(Vec::new, |spot| self.tell(Msg::Clicked(spot)))
    }

    /// Draws a frame of the usual size.
    pub fn look(&mut self) -> Buffer {
        self.draw(self.size)
    }

    /// Draws a frame, and takes note of it as the runtime does.
    pub fn draw(&mut self, size: (u16, u16)) -> Buffer {
        self.draw_in(&Theme::new(Palette::Dark, Depth::True), size)
    }

    pub fn draw_in(&mut self, theme: &Theme, (width, height): (u16, u16)) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.model.now = self.now;
        self.view.begin();
        render(&self.model, &mut self.view, theme, area, &mut buffer);
        let rows = std::mem::take(&mut self.view.rows);
        self.model.drawn(rows, self.view.page_lines);
        self.model.scroll_end = self.view.scroll_end;
        buffer
    }

    /// The whole screen as text.
    pub fn text(&mut self) -> String {
        claimtop::ui::picture::plain(&self.look())
    }

    /// The id of the selected claim.
    pub fn selected(&self) -> Option<String> {
        self.model.selected_row().map(|row| row.shown())
    }

    /// Where the selection stands in the list that keys mean.
    pub fn place(&self) -> usize {
        let list = self.model.list();
        self.model.selection(list).place(&self.model.items(list)).expect("a selection")
    }

    /// The ids of the rows of the list that keys mean.
    pub fn listed(&self) -> Vec<String> {
        use claimtop::app::item::Item;
        let ids = self.model.items(self.model.list());
        let shown = |item: &Item| match item {
            Item::Claim(id) => self.model.row(id).map(|row| row.shown()).unwrap_or_default(),
            other => format!("{other:?}"),
        };
        ids.iter().map(shown).collect()
    }

    /// The ids of the rows of all panes of the overview.
    pub fn in_trouble(&self) -> Vec<String> {
        let rows = self.model.columns().iter().flat_map(|set| self.model.set_rows(*set));
        rows.map(|row| row.shown()).collect()
    }

    pub fn notice(&self) -> (Tone, &str) {
        let notice = self.model.notice.as_ref().expect("a notice");
        (notice.tone, notice.text.as_str())
    }
}

/// A source that has not answered yet.
impl World {
    fn view(&self) -> SourceView {
        let access = match &self.read_only {
            Some(why) => Access::ReadOnly(why.clone()),
            None => Access::Write,
        };
        let mut view = SourceView::new(self.label.clone(), self.engine, access);
        view.place = self.place.clone();
        assert_eq!(view.link, LinkState::Connecting);
        view
    }
}

/// A key by its name: a letter, `esc`, `enter`, `ctrl-c`.
pub fn key_named(name: &str) -> KeyEvent {
    let (modifiers, rest) = match name.strip_prefix("ctrl-") {
        Some(rest) => (KeyModifiers::CONTROL, rest),
        None => (KeyModifiers::NONE, name),
    };
    let code = match rest {
        "esc" => KeyCode::Esc,
        "enter" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "backspace" => KeyCode::Backspace,
        "end" => KeyCode::End,
        "home" => KeyCode::Home,
        letter => KeyCode::Char(letter.chars().next().expect("a key")),
    };
    KeyEvent::new(code, modifiers)
}

/// The trail with these acts alone.
pub fn acts(lines: impl IntoIterator<Item = TrailLine>) -> Msg {
    trail(lines.into_iter().map(AuditLine::Act))
}

/// The trail with these lines, read to its end.
pub fn trail(lines: impl IntoIterator<Item = AuditLine>) -> Msg {
    Msg::Trail(Ok(TrailPage { lines: lines.into_iter().collect(), ..TrailPage::default() }))
}

/// An entry of the trail.
pub fn entry(seq: u64, action: &str, outcome: Option<&str>, address: &str) -> TrailLine {
    TrailLine {
        seq,
        at: format!("2026-11-15T11:{:02}:07.250Z", 59 - seq.min(59)),
        action_id: format!("0193-{seq:04}"),
        action: action.into(),
        outcome: outcome.map(Into::into),
        why: (outcome == Some("moved")).then(|| "renewed 1.2s ago by worker-7".into()),
        source: "/srv/tasks.db".into(),
        on: Some(0),
        address: address.into(),
        holder: Some("worker-7".into()),
        who: "ops@desk".into(),
        reason: (seq.is_multiple_of(2)).then(|| "the host was drained for the upgrade".into()),
        undoes: None,
        evidence: vec![
            ("conclusion".into(), "probably dead".into()),
            ("reasons".into(), "lease_expired, session_stale".into()),
            ("why".into(), "its session has been silent for 7m06s".into()),
        ],
        images: vec!["status   claimed → pending".into(), "holder   worker-7 → NULL".into()],
    }
}
