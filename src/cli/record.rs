//! `claimtop record`: keeps what every poll sees. `serve --record` and `sweep --record` record beside their work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use clap::Args;

use super::output::{complain, print};
use super::pseudonym_key::pseudonyms;
use super::setup::Setup;
use crate::domain::time::Span;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::poller::{
    FullLook, NextPoll, Opener, Polled, Poller, PollerPool, Recorder, SMALL, SharedRecording, SourceWatch,
};
use crate::recording::{RecordingOptions, SourceIdentity};
use crate::signals::Signals;
use crate::store::{Backoff, Effort, Pace, StoreError};

#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// SQLite files, postgres:// addresses, or names from the config [default: all sources in the config]
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// The file to write; an existing recording is continued
    #[arg(long, value_name = "FILE", required = true)]
    out: PathBuf,
    /// How often to poll
    #[arg(long, value_name = "INTERVAL", default_value = "1s", value_parser = Span::parse_interval)]
    every: Span,
    /// End after this long [default: at Ctrl-C]
    #[arg(long = "for", value_name = "DURATION", value_parser = Span::parse)]
    length: Option<Span>,
    #[command(flatten)]
    terms: RecordingTerms,
}

/// What is kept, and how.
#[derive(Debug, Clone, Args)]
pub(super) struct RecordingTerms {
    /// Keep the last hours or days only: older frames are deleted, and the file stops growing
    #[arg(long, help_heading = "Recording", value_name = "DURATION", value_parser = Span::parse)]
    keep: Option<Span>,
    /// Record every claim of boards with up to 20,000 claims, not only those in trouble
    #[arg(long, help_heading = "Recording")]
    whole: bool,
    /// Replace ids, holders and hosts by pseudonyms and leave out error texts, to share the file
    #[arg(long, help_heading = "Recording")]
    hash_ids: bool,
}

/// The same for a verb that does something else as well.
#[derive(Debug, Clone, Args)]
pub(super) struct RecordBeside {
    /// Also record what polls see into this file, once a second
    #[arg(long, help_heading = "Recording", value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    terms: RecordingTerms,
}

/// The largest board that `--whole` reads.
const WHOLE: usize = 20_000;
/// The interval of a recording beside something else.
const BESIDE: Span = Span::seconds(1);

pub(super) fn run(setup: &Setup, arguments: &RecordArgs) -> Exit {
    let words = match setup.sources_or_all(&arguments.sources) {
        Ok(words) => words,
        Err(sentence) => return complain(&sentence),
    };
    for word in &words {
        if let Err(error) = setup.admit_address(word) {
            return complain(&error.to_string());
        }
    }
    let (wake, woken) = channel();
    let stop = wake.clone();
    let signals =
        Signals::that_stop().and_then(|signals| signals.at_stop(move || drop(stop.send(News::Ended))));
    if let Err(error) = signals {
        return complain(&format!("cannot listen for signals: {error}"));
    }
    let plan = RecordingPlan { out: &arguments.out, every: arguments.every, terms: &arguments.terms };
    let recording = match ActiveRecording::start(setup, &words, &plan, &wake) {
        Ok(recording) => recording,
        Err(sentence) => return complain(&sentence),
    };
    let started =
        format!("recording {} into {}; Ctrl-C ends it\n", labels(setup, &words), shown(&arguments.out));
    let waited = wait(&woken, arguments.length, &started);
    let ended = recording.end();
    let ended = match waited.stopped {
        Some(why) => Err(why),
        None if !waited.has_read => {
            Err(format!("nothing could be read; {} has only gaps", shown(&arguments.out)))
        }
        None => ended,
    };
    match ended {
        Ok(()) => {
            print(&format!("recorded: claimtop {} replays it\n", shown(&arguments.out)));
            Exit::Fine
        }
        Err(sentence) => complain(&sentence),
    }
}

/// What the threads of a recording tell.
#[derive(Debug)]
enum News {
    /// The first frame of a source was written.
    Polled,
    /// A source can no longer be read, and why; its frames are gaps.
    Failed(String),
    /// A signal asks for the end.
    Ended,
    /// Recording has stopped, and why.
    Stopped(String),
}

/// How the wait for the end of a recording came out.
#[derive(Debug, Default)]
struct Waited {
    /// Some source was read at least once.
    has_read: bool,
    /// Why recording stopped early.
    stopped: Option<String>,
}

/// Waits for the end of a recording, and reports sources that cannot be read. Its length counts from the first frame on,
/// so that a short recording has one.
fn wait(woken: &Receiver<News>, length: Option<Span>, started: &str) -> Waited {
    let mut waited = Waited::default();
    let (mut has_begun, mut until) = (false, None);
    loop {
        let news = match until {
            Some(until) => {
                woken.recv_timeout(Instant::saturating_duration_since(&until, Instant::now())).ok()
            }
            None => woken.recv().ok(),
        };
        match news {
            Some(News::Polled) => waited.has_read = true,
            Some(News::Failed(why)) => drop(complain(&format!("{why}; recorded as a gap"))),
            Some(News::Stopped(why)) => return Waited { stopped: Some(why), ..waited },
            Some(News::Ended) | None => return waited,
        }
        if !std::mem::replace(&mut has_begun, true) {
            print(started);
            until = length.map(|length| Instant::now() + length.duration());
        }
    }
}

fn labels(setup: &Setup, words: &[String]) -> String {
    words.iter().map(|word| safe(&setup.label(word))).collect::<Vec<_>>().join(", ")
}

fn shown(path: &Path) -> String {
    safe(&path.display().to_string())
}

pub(super) struct RecordingPlan<'a> {
    out: &'a Path,
    every: Span,
    terms: &'a RecordingTerms,
}

/// The sources that are polled and recorded.
pub(super) struct ActiveRecording {
    recording: SharedRecording,
    pollers: Vec<Poller<()>>,
}

impl RecordBeside {
    pub(super) fn is_wanted(&self) -> bool {
        self.record.is_some()
    }

    /// Starts to record, if that was asked for. If it stops early, it says so on standard error.
    pub(super) fn start(&self, setup: &Setup, words: &[String]) -> Result<Option<ActiveRecording>, String> {
        let Some(out) = &self.record else {
            return match self.terms.keep.is_some() || self.terms.whole || self.terms.hash_ids {
                true => Err("--keep, --whole and --hash-ids need --record FILE".into()),
                false => Ok(None),
            };
        };
        let (wake, woken) = channel();
        let plan = RecordingPlan { out, every: BESIDE, terms: &self.terms };
        let recording = ActiveRecording::start(setup, words, &plan, &wake)?;
        let reporter = std::thread::Builder::new().name("recording".into()).spawn(move || {
            for news in woken {
                if let News::Stopped(sentence) = news {
                    complain(&sentence);
                }
            }
        });
        reporter.map_err(|error| format!("cannot start: {error}"))?;
        Ok(Some(recording))
    }
}

impl ActiveRecording {
    fn start(
        setup: &Setup,
        words: &[String],
        plan: &RecordingPlan<'_>,
        news: &Sender<News>,
    ) -> Result<ActiveRecording, String> {
        let sources: Vec<SourceIdentity> = words.iter().map(|word| identity(setup, word)).collect();
        let options = RecordingOptions {
            keep: plan.terms.keep,
            pseudonyms: plan.terms.hash_ids.then(pseudonyms),
            ..RecordingOptions::default()
        };
        let recording =
            SharedRecording::begin(plan.out, &sources, options).map_err(|error| error.to_string())?;
        let (pool, mut pollers) = (PollerPool::new("recorder"), Vec::new());
        for (number, word) in words.iter().enumerate() {
            let (own, name) = (setup.silent(), word.clone());
            let slice = setup.config.census_slice;
            let effort = Effort { rows: setup.config.row_limit, slice, whole: slice };
            let open: Opener = Arc::new(move || own.options(&name, effort));
            let recorded = RecordedSource {
                label: safe(&setup.label(word)),
                watch: SourceWatch::new(&setup.label(word), open),
                full: FullLook::with_boards_up_to(if plan.terms.whole { WHOLE } else { SMALL }),
                recorder: recording.recorder(number),
                every: plan.every.duration(),
                pace: Pace::default(),
                backoff: Backoff::new(),
                news: news.clone(),
                state: SourceState::New,
            };
            let started = pool.start(recorded);
            pollers.push(started.map_err(|error| format!("cannot start: {error}"))?);
        }
        Ok(ActiveRecording { recording, pollers })
    }

    /// Ends the polls, then the recording.
    pub(super) fn end(self) -> Result<(), String> {
        self.pollers.into_iter().for_each(Poller::end);
        self.recording.finish().map_err(|error| error.to_string())
    }
}

/// A source as a recording names it: without its password.
pub(super) fn identity(setup: &Setup, word: &str) -> SourceIdentity {
    let configured = setup.config.settings_for(word).and_then(|name| setup.config.source.get(name));
    let label = setup.label(word);
    SourceIdentity {
        engine: setup.source(word).engine().into(),
        shown: label.clone(),
        badge: configured.and_then(crate::config::SourceConfig::source_label).map(|badge| badge.text),
        label,
    }
}

/// One source that is polled and recorded, as the dashboard would poll it.
struct RecordedSource {
    label: String,
    watch: SourceWatch,
    full: FullLook,
    recorder: Recorder,
    every: Duration,
    pace: Pace,
    backoff: Backoff,
    news: Sender<News>,
    state: SourceState,
}

/// What was told last of a source.
#[derive(Debug, PartialEq, Eq)]
enum SourceState {
    New,
    Read,
    Failed(String),
}

impl Polled for RecordedSource {
    type Request = ();

    fn poll(&mut self) -> NextPoll {
        let started = Instant::now();
        let stopped = match self.full.look(&mut self.watch, started) {
            Ok(poll) => {
                self.backoff.reset();
                self.full.record(&self.recorder, &mut self.watch, &poll)
            }
            Err(error) => return self.fail(started, &error),
        };
        self.tell(SourceState::Read);
        match stopped {
            None => NextPoll::At(started + self.pace.after(started.elapsed(), self.every)),
            Some(why) => self.stop(why),
        }
    }

    fn answer(&mut self, (): ()) -> NextPoll {
        NextPoll::At(Instant::now())
    }
}

impl RecordedSource {
    fn fail(&mut self, started: Instant, error: &StoreError) -> NextPoll {
        self.full.forget();
        let why = error.brief(&self.watch.detector.profiles());
        let events = self.watch.fail(&why);
        let is_unreachable = matches!(error, StoreError::Unreachable { .. } | StoreError::Denied { .. });
        let stopped = self.recorder.failure(&why, is_unreachable, &events);
        self.tell(SourceState::Failed(why));
        match stopped {
            Some(why) => self.stop(why),
            None if is_unreachable => NextPoll::At(Instant::now() + self.backoff.next().max(self.every)),
            None => NextPoll::At(started + self.every),
        }
    }

    /// Tells what is new: the first frame, or that polls fail for another reason than before.
    fn tell(&mut self, state: SourceState) {
        if state == self.state {
            return;
        }
        let news = match &state {
            SourceState::New | SourceState::Read => News::Polled,
            SourceState::Failed(why) => News::Failed(format!("{}: {why}", self.label)),
        };
        self.state = state;
        let _ = self.news.send(news);
    }

    fn stop(&self, why: String) -> NextPoll {
        // Whoever listens may have ended.
        let _ = self.news.send(News::Stopped(why));
        NextPoll::Never
    }
}
