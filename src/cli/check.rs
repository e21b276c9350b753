//! `claimtop check`: polls all sources at once; with `--watch` repeatedly.

mod checked_source;
mod source_pool;

use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::event_stream::{BatchArgs, EventStream};
use super::output::{complain, print};
use super::recorded;
use super::setup::Setup;
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::report::check::{CheckResult, CheckThresholds, GaugeLimit, json, plugin, text};
use crate::report::json::line;
use crate::report::paint::Paint;
use crate::signals::Signals;
use crate::store::clock;
use checked_source::CheckedSource;
use source_pool::SourcePool;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// SQLite files, postgres:// addresses, or names from the config [default: all sources in the config]
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// Count everything; read whole tables where no index helps
    #[arg(long)]
    exact: bool,
    /// Warn (exit 1) from this many claims on: stale=1,expiring=5 (also orphaned, unknown, runaway, and
    /// reclaims: jobs that were recovered within an hour). A set that neither --warn nor --crit names keeps its usual meaning
    #[arg(long, help_heading = "Monitoring", value_name = "SET=COUNT", value_delimiter = ',', value_parser = GaugeLimit::parse)]
    warn: Vec<GaugeLimit>,
    /// Critical (exit 2) from this many claims on: stale=10,orphaned=1
    #[arg(long, help_heading = "Monitoring", value_name = "SET=COUNT", value_delimiter = ',', value_parser = GaugeLimit::parse)]
    crit: Vec<GaugeLimit>,
    /// Print as monitoring plugins do, with performance data on the first line
    #[arg(long, help_heading = "Monitoring", conflicts_with = "json")]
    plugin: bool,
    /// Look again at this interval, until a signal ends it
    #[arg(long, help_heading = "Watching", value_name = "INTERVAL", value_parser = interval)]
    watch: Option<Duration>,
    /// Append what happens between two looks to a file as JSON lines; - prints it
    #[arg(long, help_heading = "Watching", value_name = "FILE|-", requires = "watch")]
    events: Option<PathBuf>,
    /// What a recording saw at this instant: 2026-11-15T03:12:00Z, or 03:12 [default: its end]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["watch", "exact"])]
    at: Option<String>,
    #[command(flatten)]
    batches: BatchArgs,
    /// End after so many rounds
    #[arg(long, value_name = "N", hide = true, requires = "watch")]
    count: Option<u64>,
}

fn interval(text: &str) -> Result<Duration, String> {
    Span::parse_interval(text).map(Span::duration)
}

pub(super) fn run(setup: &Setup, arguments: &CheckArgs) -> Exit {
    let thresholds = match CheckThresholds::new(&arguments.warn, &arguments.crit) {
        Ok(thresholds) => thresholds,
        Err(sentence) => return complain(&sentence),
    };
    if recorded::is_asked_for(&arguments.sources, arguments.at.as_deref()) {
        return check_recording(setup, arguments, &thresholds);
    }
    let mut rounds = match CheckRounds::new(setup, arguments, thresholds) {
        Ok(rounds) => rounds,
        Err(sentence) => return complain(&sentence),
    };
    let Some(interval) = arguments.watch else {
        rounds.round();
        return rounds.exit;
    };
    // A signal drops the sender, which ends the pause.
    let (sender, stopped) = channel::<()>();
    if let Err(error) = Signals::that_stop().and_then(|signals| signals.at_stop(move || drop(sender))) {
        return complain(&format!("cannot start: {error}"));
    }
    while rounds.next() && stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {}
    rounds.exit
}

/// The same page about a recording.
fn check_recording(setup: &Setup, arguments: &CheckArgs, thresholds: &CheckThresholds) -> Exit {
    let (looked, at) = match recorded::check(&arguments.sources, arguments.at.as_deref()) {
        Ok(looked) => looked,
        Err(sentence) => return complain(&sentence),
    };
    print(&if setup.json {
        format!("{}\n", line(&json(&looked, at)))
    } else if arguments.plugin {
        plugin(&looked, thresholds)
    } else {
        format!("as recorded at {}\n{}", at.rfc3339(), text(&looked, thresholds, Paint::for_stdout()))
    });
    for sentence in looked.iter().flat_map(CheckResult::failures) {
        complain(&sentence);
    }
    looked.iter().map(|source| source.exit(thresholds)).fold(Exit::Fine, Exit::and)
}

/// Polls all sources at once, round after round; the last round decides the exit code.
struct CheckRounds<'a> {
    setup: &'a Setup,
    arguments: &'a CheckArgs,
    thresholds: CheckThresholds,
    sources: SourcePool,
    stream: EventStream,
    rounds: u64,
    exit: Exit,
}

impl CheckRounds<'_> {
    fn new<'a>(
        setup: &'a Setup,
        arguments: &'a CheckArgs,
        thresholds: CheckThresholds,
    ) -> Result<CheckRounds<'a>, String> {
        let batching = arguments.batches.batching(&setup.config.events);
        let stream = EventStream::open(arguments.events.as_deref(), batching)?;
        let source = |word: &String| CheckedSource::new(setup, word, arguments.exact, stream.is_open());
        let sources = SourcePool::new(setup.sources_or_all(&arguments.sources)?.iter().map(source));
        Ok(CheckRounds { setup, arguments, thresholds, sources, stream, rounds: 0, exit: Exit::Fine })
    }

    /// One round of several, with its time. Returns whether another one follows.
    fn next(&mut self) -> bool {
        // Separate pages from each other; JSON lines contain their time.
        let plain = !self.setup.json && !self.arguments.plugin && self.has_stdout();
        let gap = if self.rounds == 0 { "" } else { "\n" };
        let at = self.setup.now.unwrap_or_else(clock).rfc3339();
        let is_read = (!plain || print(&format!("{gap}{at}\n"))) & self.round();
        self.rounds += 1;
        is_read && self.arguments.count.is_none_or(|count| self.rounds < count)
    }

    /// One round. Returns whether standard output is still open.
    fn round(&mut self) -> bool {
        let at = self.setup.now.unwrap_or_else(clock);
        let (looked, events) = self.sources.look(at);
        let shown = if self.setup.json {
            format!("{}\n", line(&json(&looked, self.setup.now.unwrap_or_else(clock))))
        } else if self.arguments.plugin {
            plugin(&looked, &self.thresholds)
        } else {
            text(&looked, &self.thresholds, Paint::for_stdout())
        };
        // With events on standard output, everything else goes to standard error.
        let mut is_read = if self.has_stdout() { print(&shown) } else { remark(&shown) };
        for source in &looked {
            for sentence in source.failures() {
                complain(&sentence);
            }
        }
        for events in events {
            is_read &= self.stream.write(events);
        }
        self.exit = looked.iter().map(|source| source.exit(&self.thresholds)).fold(Exit::Fine, Exit::and);
        is_read
    }

    /// Whether the rounds are printed to standard output.
    fn has_stdout(&self) -> bool {
        self.setup.json || self.arguments.events.as_ref().is_none_or(|path| path.as_os_str() != "-")
    }
}

fn remark(text: &str) -> bool {
    std::io::stderr().write_all(text.as_bytes()).is_ok()
}
