//! Every silence that is longer than the floor is kept, with how it ended.

use claimtop::domain::time::Span;
use claimtop::recording::{Ending, Recording, RecordingOptions, Silence};

use super::{Recorder, claim, second};

fn silences(path: &std::path::Path) -> Vec<Silence> {
    let mut all = Vec::new();
    Recording::open(path).expect("a recording").each_silence(|one| all.push(one)).expect("silences");
    all
}

#[test]
fn a_silence_has_its_ending() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.rec");
    let mut recorder = Recorder::begin(&path, RecordingOptions::default());
    for at in (0..300).step_by(10) {
        let mut claims = vec![
            // Renewed at 120, then silent until the end.
            claim("renewed", "a", 0, if at < 120 { 0 } else { 120 }, at),
            // Beats every 10 seconds: never silent for long.
            claim("busy", "a", 0, at, at),
        ];
        if at < 150 {
            // Its session dies at 30.
            claims.push(claim("gone", "b", 0, 0, at.min(30)));
        }
        claims.push(match at < 200 {
            true => claim("moved", "c", 0, 0, at),
            false => claim("moved", "d", 200, at, at),
        });
        recorder.poll(at, &claims, &[]);
    }
    let unfinished: Vec<(String, Option<Ending>)> =
        silences(&path).iter().map(|one| (one.key.text(), one.ending)).collect();
    recorder.writer.finish(second(300)).expect("an end");
    let all = silences(&path);
    let found: Vec<(String, Option<Ending>)> = all.iter().map(|one| (one.key.text(), one.ending)).collect();
    assert_eq!(found, unfinished, "a killed recorder leaves the same");
    let of = |id: &str| -> Vec<&Silence> { all.iter().filter(|one| one.key.text() == id).collect() };
    assert!(of("busy").is_empty());
    let renewed = of("renewed");
    assert_eq!(renewed.iter().map(|one| one.ending).collect::<Vec<_>>(), [Some(Ending::Renewed), None]);
    assert_eq!((renewed[0].sign, renewed[0].from, renewed[0].to), (second(0), second(0), second(110)));
    assert_eq!((renewed[0].next, renewed[0].session_silent), (Some(second(120)), Some(false)));
    assert_eq!((renewed[1].sign, renewed[1].from, renewed[1].to), (second(120), second(120), second(290)));
    let gone = of("gone");
    assert_eq!((gone[0].ending, gone[0].session_silent), (Some(Ending::Gone), Some(true)));
    assert_eq!(
        (gone[0].session_beat, gone[0].to, gone[0].next),
        (Some(second(30)), second(140), Some(second(150)))
    );
    let moved = of("moved");
    assert_eq!((moved.len(), moved[0].ending), (1, Some(Ending::ChangedHands)));
    assert_eq!((moved[0].holder.as_deref(), moved[0].kind.as_deref()), (Some("c"), Some("mail")));
    assert_eq!(
        Recording::open(&path).expect("a recording").silence_floor().expect("a floor"),
        Span::seconds(60)
    );
}

#[test]
fn a_time_without_polls_is_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.rec");
    let mut recorder = Recorder::begin(&path, RecordingOptions::default());
    for at in 0..10 {
        recorder.poll(at, &[], &[]);
    }
    recorder.writer.record_failure(0, second(10), "locked", false, &[]).expect("a frame");
    recorder.poll(11, &[], &[]);
    recorder.poll(100, &[], &[]);
    drop(recorder);
    let gaps = Recording::open(&path).expect("a recording").gaps().expect("gaps");
    let found: Vec<_> = gaps.iter().map(|gap| (gap.from, gap.to, gap.why.as_deref())).collect();
    assert_eq!(found, [(second(9), second(11), Some("locked")), (second(11), second(100), None)]);
}
