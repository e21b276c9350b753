//! `claimtop check`: one look at each source, all at once.

use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::event_stream::EventStream;
use super::output::{complain, print};
use super::setup::Setup;
use super::source_events::SourceEvents;
use crate::domain::seen_boards::SeenBoards;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Span;
use crate::events::batched;
use crate::exit::Exit;
use crate::report::check::{Limit, Looked, Thresholds, json, plugin, text};
use crate::report::json::line;
use crate::report::paint::Paint;
use crate::store::StoreError;
use crate::store::{Reader, clock};

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// SQLite files, postgres:// addresses, or names from the config
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// Count everything; read whole tables where no index helps
    #[arg(long)]
    exact: bool,
    /// Warn (exit 1) from this many claims on: stale=1,expiring=5 (also orphaned, unknown, runaway). A set
    /// that neither --warn nor --crit names keeps its usual meaning
    #[arg(long, help_heading = "Monitoring", value_name = "SET=COUNT", value_delimiter = ',', value_parser = Limit::parse)]
    warn: Vec<Limit>,
    /// Critical (exit 2) from this many claims on: stale=10,orphaned=1
    #[arg(long, help_heading = "Monitoring", value_name = "SET=COUNT", value_delimiter = ',', value_parser = Limit::parse)]
    crit: Vec<Limit>,
    /// Print as monitoring plugins do, with performance data on the first line
    #[arg(long, help_heading = "Monitoring", conflicts_with = "json")]
    plugin: bool,
    /// Look again at this interval, until a signal ends it
    #[arg(long, help_heading = "Watching", value_name = "INTERVAL", value_parser = interval)]
    watch: Option<Duration>,
    /// Append what happens between two looks to a file as JSON lines; - prints it
    #[arg(long, help_heading = "Watching", value_name = "FILE|-", requires = "watch")]
    events: Option<PathBuf>,
    /// End after so many rounds
    #[arg(long, value_name = "N", hide = true, requires = "watch")]
    count: Option<u64>,
}

fn interval(text: &str) -> Result<Duration, String> {
    Span::parse_interval(text).map(Span::duration)
}

pub fn run(setup: &Setup, arguments: &CheckArgs) -> Exit {
    let thresholds = match Thresholds::new(&arguments.warn, &arguments.crit) {
        Ok(thresholds) => thresholds,
        Err(sentence) => return complain(&sentence),
    };
    match arguments.watch {
        None => round(setup, arguments, &thresholds, &mut rolls(arguments)).exit,
        Some(interval) => watch(setup, arguments, &thresholds, interval),
    }
}

/// How one round went.
struct Round {
    exit: Exit,
    /// Whether anybody still reads what is printed.
    heard: bool,
}

/// Nothing was seen of any source yet.
fn rolls(arguments: &CheckArgs) -> Vec<SeenBoards> {
    vec![SeenBoards::default(); arguments.sources.len()]
}

fn round(setup: &Setup, arguments: &CheckArgs, thresholds: &Thresholds, rolls: &mut [SeenBoards]) -> Round {
    let looked = look_at_all(setup, &arguments.sources, arguments.exact, rolls);
    let at = setup.now.unwrap_or_else(clock);
    let shown = if setup.json {
        format!("{}\n", line(&json(&looked, at)))
    } else if arguments.plugin {
        plugin(&looked, thresholds)
    } else {
        text(&looked, thresholds, Paint::for_stdout())
    };
    // Who asked for events on standard output reads the rest elsewhere.
    let heard = if has_stdout(setup, arguments) { print(&shown) } else { remark(&shown) };
    for source in &looked {
        for sentence in source.failures() {
            complain(&sentence);
        }
    }
    let exit = looked.iter().map(|source| source.exit(thresholds)).fold(Exit::Fine, Exit::and);
    Round { exit, heard }
}

/// Whether standard output is for the rounds, not for events alone.
fn has_stdout(setup: &Setup, arguments: &CheckArgs) -> bool {
    setup.json || arguments.events.as_ref().is_none_or(|path| path.as_os_str() != "-")
}

fn remark(text: &str) -> bool {
    std::io::stderr().write_all(text.as_bytes()).is_ok()
}

/// Rounds until a signal comes; the last one decides about the exit code.
fn watch(setup: &Setup, arguments: &CheckArgs, thresholds: &Thresholds, interval: Duration) -> Exit {
    let started = Builder::new_current_thread().enable_all().build();
    let started = started.and_then(|runtime| Ok((Pause::listen(&runtime)?, runtime)));
    let (mut pause, runtime) = match started {
        Ok(started) => started,
        Err(error) => return complain(&format!("cannot start: {error}")),
    };
    let mut stream = match EventStream::open(arguments.events.as_deref()) {
        Ok(stream) => stream,
        Err(sentence) => return complain(&sentence),
    };
    let listened = arguments.sources.iter().filter(|_| stream.is_open());
    let mut witnesses: Vec<SourceEvents> = listened.map(|word| SourceEvents::new(setup, word)).collect();
    let mut rolls = rolls(arguments);
    let mut rounds = 0;
    loop {
        // Pages need to be told apart; JSON lines carry their instant.
        let plain = !setup.json && !arguments.plugin && has_stdout(setup, arguments);
        let gap = if rounds == 0 { "" } else { "\n" };
        let heard = !plain || print(&format!("{gap}{}\n", setup.now.unwrap_or_else(clock).rfc3339()));
        let mut last = round(setup, arguments, thresholds, &mut rolls);
        for events in &mut witnesses {
            last.heard &= stream.write(&batched(events.look(setup)));
        }
        rounds += 1;
        let done = arguments.count.is_some_and(|count| rounds >= count) || !heard || !last.heard;
        if done || runtime.block_on(pause.of(interval)) == Woken::BySignal {
            return last.exit;
        }
    }
}

/// The time between two rounds, which a signal cuts short. One that came during a round waits for it.
struct Pause {
    signals: [Signal; 3],
}

#[derive(Debug, PartialEq, Eq)]
enum Woken {
    ByTime,
    BySignal,
}

impl Pause {
    fn listen(runtime: &Runtime) -> std::io::Result<Pause> {
        let _inside = runtime.enter();
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Pause { signals: [interrupt?, terminate?, hangup?] })
    }

    async fn of(&mut self, interval: Duration) -> Woken {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            biased;
            _ = interrupt.recv() => Woken::BySignal,
            _ = terminate.recv() => Woken::BySignal,
            _ = hangup.recv() => Woken::BySignal,
            () = tokio::time::sleep(interval) => Woken::ByTime,
        }
    }
}

/// Every source in a thread of its own but the last, which this one takes.
fn look_at_all(setup: &Setup, sources: &[String], exact: bool, rolls: &mut [SeenBoards]) -> Vec<Looked> {
    let look = |word: &String, roll: &mut SeenBoards| Looked {
        source: setup.label(word),
        engine: setup.source(word).engine(),
        result: look(setup, word, exact, roll),
    };
    let (Some((last, others)), Some((last_roll, rolls))) = (sources.split_last(), rolls.split_last_mut())
    else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            others.iter().zip(rolls).map(|(word, roll)| (word, scope.spawn(|| look(word, roll)))).collect();
        let last = look(last, last_roll);
        let joined = threads.into_iter().map(|(word, thread)| {
            thread.join().unwrap_or_else(|_| Looked {
                source: setup.label(word),
                engine: setup.source(word).engine(),
                result: Err(format!("{}: the look at it crashed", setup.label(word))),
            })
        });
        joined.chain([last]).collect()
    })
}

fn look(setup: &Setup, word: &str, exact: bool, roll: &mut SeenBoards) -> Result<Vec<Snapshot>, String> {
    let mut effort = setup.effort();
    if exact {
        effort.slice = usize::MAX;
    }
    let poll = || Reader::open(setup.options(word, effort)?)?.poll();
    let mut snapshots = poll().map_err(|error: StoreError| error.sentence_after(&roll.profiles()))?;
    let missing = roll.call(&snapshots);
    if let Some(first) = snapshots.first_mut() {
        first.notices.splice(0..0, missing);
    }
    Ok(snapshots)
}
