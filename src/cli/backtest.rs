//! `claimtop sweep FILE --backtest`: what thresholds would have done in a recording.

use clap::Args;
use std::collections::BTreeSet;
use std::path::Path;

use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::backtest::{Measure, NOTHING_TO_TEST, Series, TestedSeries, ThresholdRange};
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::recording::{Recording, RecordingError};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Backtest")]
pub(crate) struct BacktestArgs {
    /// SOURCE is a recording: print what thresholds would have taken, and how many wrongly
    #[arg(long, conflicts_with_all = ["once", "every", "dry_run", "sighted"])]
    pub(super) backtest: bool,
    /// Test these TTLs: 10m, 5m,10m or 1m..60m; KIND=1m..60m for one kind [default: the one in force]
    #[arg(long, value_name = "RANGE", requires = "backtest", value_parser = ThresholdRange::parse)]
    ttl: Vec<ThresholdRange>,
    /// Test these times after which a silent session is given up
    #[arg(long, value_name = "RANGE", requires = "backtest", value_parser = ThresholdRange::parse)]
    orphan_after: Vec<ThresholdRange>,
    /// Test these times after which a heartbeat counts as silent
    #[arg(long, value_name = "RANGE", requires = "backtest", value_parser = ThresholdRange::parse)]
    silent_after: Vec<ThresholdRange>,
}

impl BacktestArgs {
    fn ranges(&self) -> impl Iterator<Item = (Measure, &ThresholdRange)> {
        let ttl = self.ttl.iter().map(|range| (Measure::Ttl, range));
        let orphan_after = self.orphan_after.iter().map(|range| (Measure::OrphanAfter, range));
        let silent_after = self.silent_after.iter().map(|range| (Measure::SilentAfter, range));
        ttl.chain(orphan_after).chain(silent_after)
    }

    /// Kinds that a range names.
    fn kinds(&self) -> BTreeSet<String> {
        self.ranges().filter_map(|(_, range)| range.kind.clone()).collect()
    }

    /// The thresholds to test on a series. A range for its kind goes before one for all kinds.
    fn thresholds(&self, series: &Series) -> Vec<Span> {
        if self.ranges().next().is_none() {
            return series.current.into_iter().collect();
        }
        let of_measure = |kind: Option<&str>| {
            let fits = move |(measure, range): &(Measure, &ThresholdRange)| {
                *measure == series.subject.measure && range.kind.as_deref() == kind
            };
            let mut all: Vec<Span> =
                self.ranges().filter(fits).flat_map(|(_, range)| range.thresholds.clone()).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let own = series.subject.kind.as_deref().map(|kind| of_measure(Some(kind))).unwrap_or_default();
        if own.is_empty() { of_measure(None) } else { own }
    }
}

pub(super) fn run(setup: &Setup, files: &[String], arguments: &BacktestArgs) -> Exit {
    let mut exit = Exit::Fine;
    for (at, file) in files.iter().enumerate() {
        match one(Path::new(file), arguments) {
            Ok(tested) if tested.is_empty() => {
                exit = exit.and(complain(&format!("{file}: {NOTHING_TO_TEST}")));
            }
            Ok(tested) => {
                let gap = if at == 0 || setup.json { "" } else { "\n" };
                if !print(&format!("{gap}{}", written(&tested, setup.json))) {
                    return exit;
                }
            }
            Err(error) => exit = exit.and(complain(&error.to_string())),
        }
    }
    exit
}

fn one(file: &Path, arguments: &BacktestArgs) -> Result<Vec<TestedSeries>, RecordingError> {
    let all = Recording::open(file)?.series(&arguments.kinds())?;
    let tested = all.into_iter().filter_map(|series| {
        let thresholds = arguments.thresholds(&series);
        (!thresholds.is_empty()).then(|| TestedSeries::new(series, &thresholds))
    });
    Ok(tested.collect())
}

fn written(tested: &[TestedSeries], json: bool) -> String {
    match json {
        true => tested.iter().map(TestedSeries::json).collect(),
        false => tested.iter().map(TestedSeries::text).collect::<Vec<_>>().join("\n"),
    }
}
