//! `claimtop serve`: metrics for Prometheus, with an optional sweeper.

use clap::{ArgGroup, Args};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use super::Common;
use super::output::{complain, print};
use super::record::{ActiveRecording, RecordBeside};
use super::setup::{Setup, SharedSetup};
use super::sweep::{ConfiguredPlan, SweepOutput, SweepTerms, swept};
use crate::domain::time::Span;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::metrics::MetricsRegistry;
use crate::poller::{Opener, Poller, PollerPool};
use crate::recovery::trail::Trail;
use crate::report::json::line;
use crate::serve::{LivePage, Reopen, ServedContent, follow, start, watch};
use crate::signals::{SignalRequest, Signals, StopFlag};
use crate::store::{Effort, NoWriteAccess};
use crate::sweep::{SweepMode, Sweeper};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("of_the_sweep")
    .args(["sweep_every", "set", "board", "max", "max_share", "events"]).multiple(true).requires("sweep"))]
pub(super) struct ServeArgs {
    /// SQLite files, postgres:// addresses, or names from the config
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// The address to listen on; there is no authentication, so it warns if others can reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    /// How often to poll
    #[arg(long, value_name = "INTERVAL", default_value = "5s", value_parser = interval)]
    every: Duration,
    /// Also answer / with a live page for people: read-only, with ids and holders
    #[arg(long)]
    page: bool,
    /// Also sweep, with the brakes of `claimtop sweep --every`
    #[arg(long)]
    sweep: bool,
    /// How often to sweep [default: from the config, or 5m]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse_interval)]
    sweep_every: Option<Span>,
    #[command(flatten)]
    terms: SweepTerms,
    #[command(flatten)]
    recording: RecordBeside,
}

fn interval(text: &str) -> Result<Duration, String> {
    Span::parse_interval(text).map(Span::duration)
}

/// How many of the worst rows of each set a poll fetches, for the age of the worst.
const ROWS: usize = 50;

pub(super) fn run(common: &Common, setup: Setup, arguments: &ServeArgs) -> Exit {
    let mut sources = arguments.sources.clone();
    let mut known = Vec::new();
    sources.retain(|word| {
        let label = setup.label(word);
        let is_new = !known.contains(&label);
        known.push(label);
        is_new
    });
    if arguments.sweep && common.read_only {
        complain("refused: --sweep writes, and this session is read-only");
        return Exit::Refused;
    }
    // An address that is wrong or contains a password is an error now: waiting does not help.
    for word in &sources {
        if let Err(error) = setup.admit_address(word) {
            return complain(&error.to_string());
        }
    }
    let signals = match Signals::that_stop_or_reload() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("cannot listen for signals: {error}")),
    };
    match (MetricsServer { common, arguments, sources }).run(setup, signals) {
        Ok(exit) => exit,
        Err(sentence) => complain(&sentence),
    }
}

struct MetricsServer<'a> {
    common: &'a Common,
    arguments: &'a ServeArgs,
    sources: Vec<String>,
}

impl MetricsServer<'_> {
    fn run(self, setup: Setup, mut signals: Signals) -> Result<Exit, String> {
        let metrics = Arc::new(MetricsRegistry::new(self.sources.iter().map(|word| setup.label(word))));
        let listener = self.listen()?;
        let recording = self.arguments.recording.start(&setup, &self.sources)?;
        let here = started(listener.local_addr())?;
        let labels = self.sources.iter().map(|word| setup.label(word));
        let page = self.arguments.page.then(|| Arc::new(LivePage::new(labels, self.arguments.every)));
        let answers = ServedContent { metrics: Arc::clone(&metrics), page };
        started(start(listener, answers.clone()))?;
        let setup = SharedSetup::new(setup);
        let watchers = self.watchers(&setup, &answers)?;
        // Held until the end: dropping it ends the thread that reads the trail.
        let _trail = match Trail::default_folder() {
            Some(folder) => Some(started(follow(&folder, self.arguments.every, Arc::clone(&metrics)))?),
            None => None,
        };
        announce(here, self.arguments.page, setup.current().json);
        let stop = StopFlag::default();
        let sweeper = if self.arguments.sweep { Some(self.sweeper(&setup, &metrics, &stop)?) } else { None };
        loop {
            match signals.wait() {
                SignalRequest::Stop => break,
                SignalRequest::Reload if setup.reload(self.common) => {
                    for watcher in &watchers {
                        watcher.ask(Reopen);
                    }
                    sweeper.iter().for_each(Sweeper::reload);
                }
                SignalRequest::Reload | SignalRequest::Suspend | SignalRequest::Continue => {}
            }
        }
        stop.set();
        sweeper.into_iter().for_each(Sweeper::end);
        recording.map_or(Ok(()), ActiveRecording::end)?;
        Ok(Exit::Fine)
    }

    fn listen(&self) -> Result<TcpListener, String> {
        let address = self.arguments.listen;
        let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("{address}: this port is taken, perhaps by another claimtop; --listen names another")
            }
            _ => format!("{address}: cannot listen here: {error}"),
        })?;
        if !address.ip().is_loopback() {
            complain(&format!(
                "warning: {address} can be reached from other hosts, and there is no authentication: whoever \
                 reaches it reads every figure{}",
                if self.arguments.page { ", and every id and holder on the page" } else { "" }
            ));
        }
        Ok(listener)
    }

    fn watchers(&self, setup: &SharedSetup, answers: &ServedContent) -> Result<Vec<Poller<Reopen>>, String> {
        let pool = PollerPool::new("watcher");
        let watcher = |(number, word): (usize, &String)| {
            let (setup, word) = (setup.clone(), word.clone());
            let has_page = answers.page.is_some();
            let open: Opener = Arc::new(move || {
                let setup = setup.current();
                let slice = setup.config.census_slice;
                // People see as many rows as on the dashboard.
                let rows = if has_page { setup.config.row_limit } else { ROWS };
                setup.options(&word, Effort { rows, slice, whole: slice })
            });
            started(watch(&pool, number, open, self.arguments.every, answers))
        };
        self.sources.iter().enumerate().map(watcher).collect()
    }

    /// Sweeps the writable sources and reports to the metrics.
    fn sweeper(
        &self,
        setup: &SharedSetup,
        metrics: &Arc<MetricsRegistry>,
        stop: &StopFlag,
    ) -> Result<Sweeper, String> {
        let now = setup.current();
        let terms = Arc::new(self.arguments.terms.clone());
        let counted = Arc::clone(metrics);
        let output = SweepOutput::open(&now, &terms)?;
        let output = Arc::new(output.with_listener(move |summary| counted.swept(summary)));
        let every = self.arguments.sweep_every;
        let plan = |word: String| ConfiguredPlan::new(setup, &word, every, &terms, SweepMode::Act);
        let plans = self.swept(&now, metrics).into_iter().map(plan).collect();
        started(Sweeper::start(swept(plans, &output, stop)))
    }

    /// The writable sources; announces them as swept.
    fn swept(&self, setup: &Setup, metrics: &MetricsRegistry) -> Vec<String> {
        let is_read_only =
            |word: &String| matches!(setup.write_access(word, setup.effort()), Err(NoWriteAccess::ReadOnly));
        let (spared, swept): (Vec<String>, Vec<String>) =
            self.sources.iter().cloned().partition(is_read_only);
        for word in &spared {
            complain(&format!("{}: read-only by the config, and so not swept", setup.label(word)));
        }
        swept.iter().for_each(|word| metrics.will_sweep(&setup.label(word)));
        swept
    }
}

fn started<T>(part: io::Result<T>) -> Result<T, String> {
    part.map_err(|error| format!("cannot start: {error}"))
}

/// Prints the address: the system may have chosen the port.
fn announce(here: SocketAddr, page: bool, json: bool) {
    let url = format!("http://{here}/metrics");
    let page = page.then(|| format!("http://{here}/"));
    let text = match (json, page) {
        (true, None) => line(&serde_json::json!({"event": "serving", "url": url})),
        (true, Some(page)) => line(&serde_json::json!({"event": "serving", "url": url, "page": page})),
        (false, None) => safe(&format!("serving {url}")),
        (false, Some(page)) => safe(&format!("serving {url}")) + "\n" + &safe(&format!("the page is {page}")),
    };
    print(&(text + "\n"));
}
