//! `claimtop serve`: metrics for Prometheus, and the sweeper beside them if that is wanted.

use clap::{ArgGroup, Args};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Common;
use super::output::{complain, print};
use super::setup::Setup;
use super::sweep::{SweepTerms, Sweeper};
use crate::domain::time::Span;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::metrics::Metrics;
use crate::recovery::trail::Trail;
use crate::report::json::line;
use crate::serve::{Opener, Watcher, follow, start};
use crate::store::{Effort, NoWriteAccess};
use crate::sweep::{Call, Calls, Summary};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("of_the_sweep")
    .args(["sweep_every", "set", "board", "max", "max_share", "events"]).multiple(true).requires("sweep"))]
pub struct ServeArgs {
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// Where to answer; there is no authentication, so another address than this host's own is said to be open
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    /// How far apart the polls are
    #[arg(long, value_name = "INTERVAL", default_value = "5s", value_parser = interval)]
    every: Duration,
    /// Sweep as well, with the brakes of `claimtop sweep --every`
    #[arg(long)]
    sweep: bool,
    /// How far apart the sweeps are [default: the config's, or 5m]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse_interval)]
    sweep_every: Option<Span>,
    #[command(flatten)]
    terms: SweepTerms,
}

fn interval(text: &str) -> Result<Duration, String> {
    Span::parse_interval(text).map(Span::duration)
}

/// Nobody waits for this long; a signal ends the wait.
const LONG: Duration = Duration::from_secs(3_600);
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
    let calls = match Calls::listen() {
        Ok(calls) => calls,
        Err(error) => return complain(&format!("cannot listen for signals: {error}")),
    };
    match (Server { common, arguments, sources, calls }).run(setup) {
        Ok(exit) => exit,
        Err(sentence) => complain(&sentence),
    }
}

struct Server<'a> {
    common: &'a Common,
    arguments: &'a ServeArgs,
    sources: Vec<String>,
    calls: Calls,
}

impl Server<'_> {
    fn run(mut self, setup: Setup) -> Result<Exit, String> {
        let metrics = Arc::new(Metrics::new(self.sources.iter().map(|word| setup.label(word))));
        let listener = self.listen()?;
        let here = started(listener.local_addr())?;
        started(start(listener, Arc::clone(&metrics)))?;
        let setup = Arc::new(Mutex::new(setup));
        let watchers = self.watchers(&setup, &metrics)?;
        // Held until the end: the thread that reads the trail ends with it.
        let _trail = match Trail::default_folder() {
            Some(folder) => Some(started(follow(&folder, self.arguments.every, Arc::clone(&metrics)))?),
            None => None,
        };
        let now = current(&setup);
        announce(here, now.json);
        if !self.arguments.sweep {
            self.attend(&setup, &watchers);
            return Ok(Exit::Fine);
        }
        let swept = self.swept(&now, &metrics);
        let witness = |summary: &Summary| metrics.swept(summary);
        let (every, terms) = (self.arguments.sweep_every, &self.arguments.terms);
        let mut sweeper =
            Sweeper::new(self.common, now, &swept, every, terms, self.calls.clone())?.before(&witness);
        thread::scope(|scope| {
            // It ends by itself, after its current batch, on the same signal.
            scope.spawn(move || sweeper.keep_on());
            self.attend(&setup, &watchers);
        });
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

    fn watchers(&self, setup: &Arc<Mutex<Setup>>, metrics: &Arc<Metrics>) -> Result<Vec<Watcher>, String> {
        let watcher = |(number, word): (usize, &String)| {
            let (setup, word) = (Arc::clone(setup), word.clone());
            let open: Opener = Arc::new(move || {
                let setup = current(&setup);
                let slice = setup.config.census_slice;
                setup.options(&word, Effort { rows: ROWS, slice, whole: slice })
            });
            started(Watcher::start(number, open, self.arguments.every, Arc::clone(metrics)))
        };
        self.sources.iter().enumerate().map(watcher).collect()
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

    /// Waits for signals until one says stop.
    fn attend(&mut self, setup: &Mutex<Setup>, watchers: &[Watcher]) {
        loop {
            match self.calls.wait(LONG) {
                Call::None => {}
                Call::Stop => return,
                Call::Reload => match current(setup).reload(self.common) {
                    Ok(new) => {
                        *setup.lock().unwrap_or_else(PoisonError::into_inner) = new;
                        watchers.iter().for_each(|watcher| watcher.restart(self.arguments.every));
                        complain("the config was read again");
                    }
                    Err(sentence) => _ = complain(&format!("the config stays as it was: {sentence}")),
                },
            }
        }
    }
}

fn current(setup: &Mutex<Setup>) -> Setup {
    setup.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
