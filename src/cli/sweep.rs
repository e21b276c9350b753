//! `claimtop sweep`: automatic cleanup, once or continuously.

mod arguments;
mod configured_plan;
mod printer;

use std::path::Path;
use std::sync::Arc;

use super::output::complain;
use super::record::ActiveRecording;
use super::setup::{Setup, SharedSetup};
use super::{Common, backtest};
use crate::exit::Exit;
use crate::recording::is_recording;
use crate::signals::{SignalRequest, Signals, StopFlag};
use crate::sweep::{
    SightingsFrom, SourcePlan, SweepFailure, SweepMode, SweepReporter, SweepSummary, Sweeper, SweptSource,
};
pub(super) use arguments::{SweepArgs, SweepTerms};
pub(super) use configured_plan::ConfiguredPlan;
pub(super) use printer::{SweepOutput, SweepPrinter};

pub(super) fn run(common: &Common, setup: Setup, arguments: &SweepArgs) -> Exit {
    if arguments.backtest.backtest {
        return backtest::run(&setup, &arguments.sources, &arguments.backtest);
    }
    if let Some(file) = arguments.sources.iter().find(|source| is_recording(Path::new(source))) {
        return complain(&format!(
            "{file} is a recording, which cannot be swept; --backtest tests thresholds on it"
        ));
    }
    let signals = match Signals::that_stop_or_reload() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("cannot listen for signals: {error}")),
    };
    let output = match SweepOutput::open(&setup, &arguments.terms) {
        Ok(output) => Arc::new(output),
        Err(sentence) => return complain(&sentence),
    };
    let setup = SharedSetup::new(setup);
    let (every, terms) = (arguments.every, Arc::new(arguments.terms.clone()));
    let mode = if arguments.dry_run { SweepMode::Rehearse } else { SweepMode::Act };
    let plan = |word: &String| ConfiguredPlan::new(&setup, word, every, &terms, mode);
    let plans: Vec<ConfiguredPlan> = arguments.sources.iter().map(plan).collect();
    let is_continuous = plans.iter().any(|plan| plan.every().is_some());
    let stop = StopFlag::default();
    let sources = swept(plans, &output, &stop);
    if arguments.once || arguments.sighted || !is_continuous {
        if arguments.recording.is_wanted() {
            return complain("--record needs a sweep that goes on: add --every 5m");
        }
        return once(sources, signals, &stop, arguments.sighted, &mut SweepPrinter::new(&output));
    }
    let recording = match arguments.recording.start(&setup.current(), &arguments.sources) {
        Ok(recording) => recording,
        Err(sentence) => return complain(&sentence),
    };
    let exit = match Sweeper::start(sources) {
        Ok(sweeper) => keep_on(common, &setup, sweeper, signals, &stop),
        Err(error) => complain(&format!("cannot start: {error}")),
    };
    match recording.map_or(Ok(()), ActiveRecording::end) {
        Ok(()) => exit,
        Err(sentence) => complain(&sentence),
    }
}

/// The sources of a sweep, with their plans and their place in the output.
pub(super) fn swept(
    plans: Vec<ConfiguredPlan>,
    output: &Arc<SweepOutput>,
    stop: &StopFlag,
) -> Vec<SweptSource> {
    let source = |plan| SweptSource::new(Arc::new(plan), Box::new(SweepPrinter::new(output)), stop.clone());
    plans.into_iter().map(source).collect()
}

/// One run on each source, one after the other.
fn once(
    sources: Vec<SweptSource>,
    signals: Signals,
    stop: &StopFlag,
    sighted: bool,
    printer: &mut SweepPrinter,
) -> Exit {
    let flag = stop.clone();
    if let Err(error) = signals.at_stop(move || flag.set()) {
        return complain(&format!("cannot listen for signals: {error}"));
    }
    let from = if sighted { SightingsFrom::File } else { SightingsFrom::Nowhere };
    if !sighted {
        printer.remark(
            "a single run trusts the workers' clocks; --sighted takes only claims that are unchanged since the last run",
        );
    }
    let mut exit = Exit::Fine;
    for mut source in sources {
        if stop.is_set() {
            break;
        }
        exit = exit.and(exit_of(source.sweep(from)));
    }
    exit
}

/// Sweeps until a signal requests the end.
fn keep_on(
    common: &Common,
    setup: &SharedSetup,
    sweeper: Sweeper,
    mut signals: Signals,
    stop: &StopFlag,
) -> Exit {
    loop {
        match signals.wait() {
            SignalRequest::Stop => break,
            SignalRequest::Reload if setup.reload(common) => sweeper.reload(),
            SignalRequest::Reload | SignalRequest::Suspend | SignalRequest::Continue => {}
        }
    }
    stop.set();
    sweeper.end();
    Exit::Fine
}

/// *Moved* is not a failure here: somebody else was faster, or the holder is alive.
fn exit_of(swept: Result<SweepSummary, SweepFailure>) -> Exit {
    match swept {
        Ok(summary) if summary.error.is_some() => Exit::Error,
        Ok(summary) if summary.unknown > 0 => Exit::Unknown,
        Ok(summary) if summary.refused > 0 || !summary.held.is_empty() => Exit::Refused,
        Ok(_) => Exit::Fine,
        Err(SweepFailure::Refused(_)) => Exit::Refused,
        Err(SweepFailure::Failed(_)) => Exit::Error,
    }
}
