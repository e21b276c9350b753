//! A frame shows what the poll read, and the screen what the live one showed.

use claimtop::app::keymap::Keymap;
use claimtop::app::message::{Msg, SourcePoll};
use claimtop::app::model::{Model, ModelSettings};
use claimtop::app::source::{Access, Poll, SourceView};
use claimtop::domain::claim::Claim;
use claimtop::domain::detail::Whole;
use claimtop::domain::snapshot::Snapshot;
use claimtop::domain::time::{Moment, Span};
use claimtop::recording::{Recording, RecordingOptions};
use claimtop::ui::theme::{Depth, Palette};
use claimtop::ui::{self, Theme, View};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Recorder, claim, second};

/// What happens to a claim between two polls.
#[derive(Debug, Clone)]
enum Step {
    Claim {
        id: u8,
        holder: u8,
    },
    Beat {
        id: u8,
    },
    SessionBeats {
        holder: u8,
    },
    Finish {
        id: u8,
    },
    ChangeHands {
        id: u8,
        holder: u8,
    },
    Fail {
        id: u8,
    },
    /// A poll, so many seconds later.
    Poll {
        after: u8,
    },
    PollFails,
    /// The recorder is killed and started again.
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0_u8..12;
    let holder = || 0_u8..4;
    prop_oneof![
        3 => (id(), holder()).prop_map(|(id, holder)| Step::Claim { id, holder }),
        4 => id().prop_map(|id| Step::Beat { id }),
        2 => holder().prop_map(|holder| Step::SessionBeats { holder }),
        2 => id().prop_map(|id| Step::Finish { id }),
        1 => (id(), holder()).prop_map(|(id, holder)| Step::ChangeHands { id, holder }),
        1 => id().prop_map(|id| Step::Fail { id }),
        6 => (1_u8..250).prop_map(|after| Step::Poll { after }),
        1 => Just(Step::PollFails),
        1 => Just(Step::Restart),
    ]
}

/// A table of claims that changes.
#[derive(Default)]
struct Table {
    now: i64,
    claims: Vec<Claim>,
    beats: [i64; 4],
}

impl Table {
    fn step(&mut self, step: &Step) {
        let name = |id: u8| format!("task-{id}");
        let is = |id: u8| move |one: &Claim| one.key.text() == name(id);
        let (now, beats) = (self.now, self.beats);
        let new = |id: u8, holder: u8| {
            claim(&name(id), &format!("w-{holder}"), now, now, beats[usize::from(holder)])
        };
        match *step {
            Step::Claim { id, holder } if !self.claims.iter().any(is(id)) => {
                self.claims.push(new(id, holder));
            }
            Step::ChangeHands { id, holder } => {
                if let Some(one) = self.claims.iter_mut().find(|one| is(id)(one)) {
                    *one = new(id, holder);
                }
            }
            Step::Beat { id } => {
                if let Some(one) = self.claims.iter_mut().find(|one| is(id)(one)) {
                    one.beat_at = claimtop::domain::time::Reading::At(second(now));
                }
            }
            Step::Fail { id } => {
                if let Some(one) = self.claims.iter_mut().find(|one| is(id)(one)) {
                    one.error = Some(format!("failed at {now}"));
                }
            }
            Step::Finish { id } => self.claims.retain(|one| !is(id)(one)),
            Step::SessionBeats { holder } => self.beats[usize::from(holder)] = now,
            _ => {}
        }
        // The registry has one row for each holder.
        for one in &mut self.claims {
            let holder = one.holder.as_deref().and_then(|name| name.strip_prefix("w-"));
            let holder: usize = holder.and_then(|number| number.parse().ok()).unwrap_or(0);
            if let claimtop::domain::claim::Registry::Listed(session) = &mut one.registry {
                session.beat_at = claimtop::domain::time::Reading::At(second(self.beats[holder]));
            }
        }
    }
}

/// The screen of a source after a poll.
fn screen(snapshot: Snapshot, whole: Whole, now: Moment) -> Vec<String> {
    let view = SourceView::new("tasks.db".into(), "sqlite", Access::ReadOnly("a test".into()));
    let settings = ModelSettings { interval: Span::seconds(1), bell: false };
    let mut model = Model::new(vec![view], settings, Keymap::default(), now);
    let poll = Poll {
        snapshots: vec![snapshot],
        horizon: None,
        whole: Some(vec![whole]),
        warnings: vec!["a warning".into()],
        facts: None,
        causes: None,
    };
    model.update(now, Msg::Polled(vec![SourcePoll { source: 0, poll: Ok(poll), events: Vec::new() }]));
    let mut buffer = Buffer::empty(Rect::new(0, 0, 140, 40));
    let area = buffer.area;
    let theme = Theme::new(Palette::named("dark").expect("a theme"), Depth::None);
    ui::render(&model, &mut View::default(), &theme, area, &mut buffer);
    ui::picture::plain(&buffer).lines().map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_frame_shows_what_the_live_screen_showed(steps in prop::collection::vec(step(), 1..120)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.rec");
        let mut table = Table::default();
        let mut recorder = Some(Recorder::begin(&path, RecordingOptions::default()));
        let mut live: Vec<(Moment, Option<(Snapshot, Whole)>)> = Vec::new();
        for step in &steps {
            let to = recorder.as_mut().expect("a recorder");
            match step {
                Step::Poll { after } => {
                    table.now += i64::from(*after);
                    live.push((second(table.now), Some(to.poll(table.now, &table.claims, &[]))));
                }
                Step::PollFails => {
                    table.now += 1;
                    to.writer.record_failure(0, second(table.now), "locked", false, &[]).expect("a frame");
                    live.push((second(table.now), None));
                }
                Step::Restart => {
                    drop(recorder.take());
                    recorder = Some(Recorder::begin(&path, RecordingOptions::default()));
                }
                step => table.step(step),
            }
        }
        if live.is_empty() {
            return Ok(());
        }
        let recording = Recording::open(&path).expect("a recording");
        for (at, shown) in live.iter().rev() {
            let frame = recording.frame_at(Some(0), *at).expect("readable").expect("a frame");
            prop_assert_eq!(frame.at, *at);
            let Some((snapshot, whole)) = shown else {
                prop_assert_eq!(frame.failure.as_deref(), Some("locked"));
                continue;
            };
            let replayed = recording.poll(&frame).expect("readable").expect("a poll");
            prop_assert_eq!(format!("{:?}", replayed.snapshots), format!("{:?}", [snapshot]));
            prop_assert_eq!(format!("{:?}", replayed.whole), format!("{:?}", [whole]));
            prop_assert_eq!(
                screen(replayed.snapshots[0].clone(), replayed.whole[0].clone(), *at),
                screen(snapshot.clone(), whole.clone(), *at)
            );
        }
    }
}

#[test]
fn frames_before_and_after_a_keyframe_are_exact_and_a_ring_keeps_the_last_ones() {
    for keep in [None, Some(Span::seconds(400))] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.rec");
        let mut recorder = Recorder::begin(&path, RecordingOptions { keep, ..RecordingOptions::default() });
        let mut live = Vec::new();
        for at in 0..1_000 {
            // Every claim beats at another second, one comes and one goes every ten.
            let ids = at / 10..at / 10 + 20;
            let beat = |id: i64| at - (at + id * 7) % 30;
            let claims: Vec<Claim> = ids
                .map(|id| {
                    claim(&format!("t{id}"), &format!("w{}", id % 3), id * 10 - 200, beat(id), at - at % 10)
                })
                .collect();
            live.push(recorder.poll(at, &claims, &[]));
        }
        recorder.writer.finish(second(1_000)).expect("an end");
        assert!(!path.with_extension("rec-wal").exists(), "a finished recording is one file");
        let recording = Recording::open(&path).expect("a recording");
        let frames = recording.frames().expect("frames");
        match keep {
            None => assert_eq!(frames.len(), 1_000),
            Some(_) => assert!((400..=800).contains(&frames.len()), "{} frames", frames.len()),
        }
        for frame in frames {
            let at = usize::try_from(frame.at.since(second(0)).as_micros() / 1_000_000).expect("a second");
            let replayed = recording.poll(&frame).expect("readable").expect("a poll");
            assert_eq!(format!("{:?}", replayed.snapshots), format!("{:?}", [&live[at].0]), "second {at}");
            assert_eq!(format!("{:?}", replayed.whole), format!("{:?}", [&live[at].1]), "second {at}");
            assert_eq!(replayed.horizon.minutes[0], at as u64);
        }
    }
}
