//! A replay: its scrubber, and the pane that shows what other thresholds would have done.

use claimtop::app::replay::{PlotPoint, Replay, ReplayGap, ReplayMark, ReplayMarkKind, ReplayPace};
use claimtop::app::{Effect, Msg};
use claimtop::domain::backtest::{Measure, Series, Silence, SilenceEnd, Subject, TestedSeries};
use claimtop::domain::snapshot::Counts;
use claimtop::domain::time::Span;

use super::super::stage::{MIDDLE, SMALL, Stage, noon, span};
use super::fleet::one_dead_host;
use super::{picture, pictures};

/// A recording of the two hours before noon, in which a host died.
fn replay() -> Replay {
    let before = |minutes: i64| noon().minus(Span::minutes(minutes));
    let point = |minutes: i64, orphaned: u64, stale: u64| PlotPoint {
        at: before(minutes),
        counts: Counts { orphaned, stale, ..Counts::default() },
    };
    let mark = |minutes: i64, kind: ReplayMarkKind| ReplayMark { at: before(minutes), kind };
    Replay {
        name: "incident.rec".into(),
        begins: before(120),
        ends: noon(),
        at: noon(),
        pace: ReplayPace::Paused,
        speed: 4,
        plot: vec![point(120, 0, 1), point(70, 3, 2), point(60, 9, 4), point(30, 9, 1), point(12, 2, 0)],
        marks: vec![
            mark(100, ReplayMarkKind::Event),
            mark(70, ReplayMarkKind::Cause("web-3".into())),
            mark(12, ReplayMarkKind::Event),
        ],
        gaps: vec![ReplayGap { from: before(50), to: before(40), why: Some("locked".into()) }],
        backtest: None,
    }
}

fn subject(kind: Option<&str>, measure: Measure) -> Subject {
    Subject {
        source: "billing".into(),
        profile: "taskqueue".into(),
        board: "tasks".into(),
        kind: kind.map(str::to_owned),
        measure,
    }
}

/// A day in which living holders were often silent for a minute and rarely for ten, and 300 claims of dead ones were
/// recovered after 16 minutes.
fn series(subject: Subject, current: &str) -> Series {
    let begins = noon().minus(Span::seconds(86_400));
    let silence = |claim: u32, after: i64, seconds: i64, end: SilenceEnd| {
        let sign = begins.plus(Span::seconds(after));
        let last = sign.plus(Span::seconds(seconds));
        Silence { claim, sign, first: sign, last, end, ended_at: last.plus(Span::seconds(5)) }
    };
    let living = (0..3_000_u32).map(|claim| {
        // The longer, the rarer.
        let rare = 3_000.0 / f64::from(claim + 1);
        silence(claim, i64::from(claim) * 20, (60.0 * rare.powf(0.4)) as i64, SilenceEnd::Renewed)
    });
    let dead =
        (3_000..3_300_u32).map(|claim| silence(claim, i64::from(claim) * 9, 955, SilenceEnd::ChangedHands));
    Series {
        subject,
        current: Some(span(current)),
        frames: (0..17_280).map(|frame| begins.plus(Span::seconds(frame * 5))).collect(),
        claims: (0..3_300).map(|claim| format!("taskqueue/tasks/{claim}")).collect(),
        silences: living.chain(dead).collect(),
        floor: span("1m"),
        late_after: span("90s"),
        self_heals_after: None,
        is_partial: false,
    }
}

fn tested() -> Vec<TestedSeries> {
    let quiet = Series { silences: Vec::new(), ..series(subject(None, Measure::OrphanAfter), "15m") };
    let all = [series(subject(Some("run_tsa"), Measure::Ttl), "30m"), quiet];
    all.into_iter().filter_map(TestedSeries::around_current).collect()
}

fn stage() -> Stage {
    let mut stage = Stage::on(&one_dead_host());
    stage.model.replay = Some(replay());
    stage
}

#[test]
fn the_scrubber_of_a_replay() {
    pictures("replay_overview", &mut stage());
    picture("replay_overview", &mut stage(), (60, 20));
}

#[test]
fn what_other_thresholds_would_have_done() {
    let mut stage = stage();
    let effects = stage.press("9");
    assert!(matches!(&effects[..], [Effect::LoadBacktest]), "{effects:?}");
    picture("backtest_loading", &mut stage, SMALL);
    stage.tell(Msg::Backtested(Ok(tested())));
    pictures("backtest", &mut stage);
    picture("backtest", &mut stage, (60, 20));
    picture("backtest", &mut stage, (40, 12));
    let effects = stage.press("y");
    let copied = "[source.billing.board.tasks.kind.run_tsa] ttl = ";
    assert!(matches!(&effects[..], [Effect::Copy(line)] if line.starts_with(copied)), "{effects:?}");
    assert!(stage.press("1 9").iter().all(|effect| !matches!(effect, Effect::LoadBacktest)), "tested once");
    stage.press("j");
    picture("backtest_without_silences", &mut stage, MIDDLE);
}

#[test]
fn a_backtest_that_cannot_be_made_is_said() {
    let mut stage = stage().then("9");
    stage.tell(Msg::Backtested(Err("incident.rec is damaged".into())));
    assert!(stage.text().contains("incident.rec is damaged"));
    stage.tell(Msg::Backtested(Ok(Vec::new())));
    assert!(stage.text().contains("no threshold to test"));
}

#[test]
fn the_pane_exists_only_in_a_replay() {
    let mut live = Stage::on(&one_dead_host());
    assert!(!live.text().contains("Backtest"));
    assert!(live.press("9").is_empty());
    assert!(live.notice().1.contains("only in a replay"), "{:?}", live.notice());
    let mut replayed = stage();
    assert!(replayed.text().contains("9 Backtest") && replayed.text().contains("9 backtest"));
    replayed.press("?");
    assert!(replayed.draw((120, 140)).area.height == 140);
    // The pane before the first is the last one.
    let mut replayed = stage();
    replayed.press("backtab");
    assert!(replayed.text().contains("testing thresholds"), "{}", replayed.text());
}
