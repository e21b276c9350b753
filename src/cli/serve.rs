//! `claimtop serve`: metrics for Prometheus, and the sweeper beside them if that is wanted.

use clap::{ArgGroup, Args};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use super::Common;
use super::output::{complain, print};
use super::setup::{Setup, SharedSetup};
use super::sweep::{ConfiguredPlan, SweepOutput, SweepTerms, swept};
use crate::domain::time::Span;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::metrics::Metrics;
use crate::poller::{Opener, Poller};
use crate::recovery::trail::Trail;
use crate::report::json::line;
use crate::serve::{Reopen, follow, start, watch};
use crate::signals::{Request, Signals, StopFlag};
use crate::store::{Effort, NoWriteAccess};
use crate::sweep::{Manner, Sweeper};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("of_the_sweep")
    .args(["sweep_every", "set", "board", "max", "max_share", "events"]).multiple(true).requires("sweep"))]
pub struct ServeArgs {
    /// SQLite files, postgres:// addresses, or names from the config
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// The address to listen on; there is no authentication, so it warns if others can reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    /// How often to poll
    #[arg(long, value_name = "INTERVAL", default_value = "5s", value_parser = interval)]
    every: Duration,
    /// Also sweep, with the brakes of `claimtop sweep --every`
    #[arg(long)]
    sweep: bool,
    /// How often to sweep [default: from the config, or 5m]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse_interval)]
    sweep_every: Option<Span>,
    #[command(flatten)]
    terms: SweepTerms,
}

fn interval(text: &str) -> Result<Duration, String> {
    Span::parse_interval(text).map(Span::duration)
}

/// The worst rows of each set that a poll fetches, for the age of the worst.
const ROWS: usize = 50;

pub fn run(common: &Common, setup: Setup, arguments: &ServeArgs) -> Exit {
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
    // An address that is wrong, or holds a password, does not get better by waiting for it.
    for word in &sources {
        if setup.source(word).engine() != "sqlite"
            && let Err(error) = setup.target(word)
        {
            return complain(&error.to_string());
        }
    }
    let signals = match Signals::that_stop_or_reload() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("cannot listen for signals: {error}")),
    };
    match (Server { common, arguments, sources }).run(setup, signals) {
        Ok(exit) => exit,
        Err(sentence) => complain(&sentence),
    }
}

struct Server<'a> {
    common: &'a Common,
    arguments: &'a ServeArgs,
    sources: Vec<String>,
}

impl Server<'_> {
    fn run(self, setup: Setup, mut signals: Signals) -> Result<Exit, String> {
        let metrics = Arc::new(Metrics::new(self.sources.iter().map(|word| setup.label(word))));
        let listener = self.listen()?;
        let here = started(listener.local_addr())?;
        started(start(listener, Arc::clone(&metrics)))?;
        let setup = SharedSetup::new(setup);
        let watchers = self.watchers(&setup, &metrics)?;
        // Held until the end: the thread that reads the trail ends with it.
        let _trail = match Trail::default_folder() {
            Some(folder) => Some(started(follow(&folder, self.arguments.every, Arc::clone(&metrics)))?),
            None => None,
        };
        announce(here, setup.current().json);
        let stop = StopFlag::default();
        let sweeper = if self.arguments.sweep { Some(self.sweeper(&setup, &metrics, &stop)?) } else { None };
        loop {
            match signals.wait() {
                Request::Stop => break,
                Request::Reload if setup.reload(self.common) => {
                    watchers.iter().for_each(|watcher| watcher.ask(Reopen));
                    sweeper.iter().for_each(Sweeper::reload);
                }
                Request::Reload | Request::Suspend | Request::Continue => {}
            }
        }
        stop.set();
        sweeper.into_iter().for_each(Sweeper::end);
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
                 reaches it reads every figure"
            ));
        }
        Ok(listener)
    }

    fn watchers(&self, setup: &SharedSetup, metrics: &Arc<Metrics>) -> Result<Vec<Poller<Reopen>>, String> {
        let watcher = |(number, word): (usize, &String)| {
            let (setup, word) = (setup.clone(), word.clone());
            let open: Opener = Arc::new(move || {
                let setup = setup.current();
                let slice = setup.config.census_slice;
                setup.options(&word, Effort { rows: ROWS, slice, whole: slice })
            });
            started(watch(number, open, self.arguments.every, Arc::clone(metrics)))
        };
        self.sources.iter().enumerate().map(watcher).collect()
    }

    /// Sweeps the sources that may be written, with their figures in the metrics.
    fn sweeper(
        &self,
        setup: &SharedSetup,
        metrics: &Arc<Metrics>,
        stop: &StopFlag,
    ) -> Result<Sweeper, String> {
        let now = setup.current();
        let terms = Arc::new(self.arguments.terms.clone());
        let counted = Arc::clone(metrics);
        let output = SweepOutput::open(now.json, terms.events.as_deref())?;
        let output = Arc::new(output.with_listener(move |summary| counted.swept(summary)));
        let every = self.arguments.sweep_every;
        let plan = |word: String| ConfiguredPlan::new(setup, &word, every, &terms, Manner::Act);
        let plans = self.swept(&now, metrics).into_iter().map(plan).collect();
        started(Sweeper::start(swept(plans, &output, stop)))
    }

    /// The sources that may be written, made known as those that are swept.
    fn swept(&self, setup: &Setup, metrics: &Metrics) -> Vec<String> {
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

/// Says where it answers: the port may have been chosen by the system.
fn announce(here: SocketAddr, json: bool) {
    let url = format!("http://{here}/metrics");
    let text = if json {
        line(&serde_json::json!({"event": "serving", "url": url}))
    } else {
        safe(&format!("serving {url}"))
    };
    print(&(text + "\n"));
}
