//! `claimtop api`: the task queue over HTTP, for workers in any language.

use clap::{Args, Subcommand};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::output::{complain, print};
use super::recovery::{ActFailure, no_access};
use super::setup::Setup;
use crate::api::{Api, ApiKeys, OpenQueue, QueuePool, RateLimit, acceptor, new_key, start};
use crate::domain::shell::quoted;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::report::json::line;
use crate::signals::{SignalRequest, Signals};
use crate::store::SourceLocation;
use crate::worker::WorkerError;
use crate::worker::task_queue::TaskQueue;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct ApiArgs {
    #[command(subcommand)]
    verb: Option<ApiVerb>,
    /// A SQLite file, a postgres:// address, or a name from the config, with the tables of task-queue
    #[arg(required = true)]
    source: Option<String>,
    /// The file with the hashes of the API keys; `claimtop api key new` writes it
    #[arg(long, value_name = "FILE", required = true)]
    keys: Option<PathBuf>,
    /// The address to listen on; one that others can reach needs --tls-cert or --plain-http
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// How many requests a key may make in a minute; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 100)]
    rate: u32,
    /// A file with the server's certificates, the own one first, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The file with the private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen without encryption on an address that others can reach: behind a proxy that encrypts
    #[arg(long, conflicts_with = "tls_cert")]
    plain_http: bool,
}

#[derive(Debug, Subcommand)]
enum ApiVerb {
    /// Make API keys
    #[command(subcommand)]
    Key(KeyVerb),
}

#[derive(Debug, Subcommand)]
enum KeyVerb {
    /// Make a key, add its hash to the file and print the key, this once
    New {
        /// The file with the hashes of the keys; it is made if there is none
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
        /// A name for the key, to find its line again
        #[arg(long, value_name = "NAME", default_value = "workers")]
        name: String,
    },
}

/// Connections to a server; a SQLite file has one writer at a time anyway.
const CONNECTIONS: usize = 4;

pub(super) fn run(setup: &Setup, arguments: &ApiArgs) -> Exit {
    if let Some(ApiVerb::Key(KeyVerb::New { keys, name })) = &arguments.verb {
        return match new_key(keys, name) {
            Ok(key) => {
                print(&if setup.json {
                    line(&serde_json::json!({"name": name, "key": key})) + "\n"
                } else {
                    format!("{key}\n")
                });
                Exit::Fine
            }
            Err(error) => complain(&safe(&error.to_string())),
        };
    }
    let (Some(source), Some(keys)) = (&arguments.source, &arguments.keys) else {
        return complain("name a source and --keys FILE");
    };
    match serve(setup, arguments, source, keys) {
        Ok(()) => Exit::Fine,
        Err(NotServed::NotDone(why)) => why.complain(),
        Err(NotServed::Sentence(sentence)) => complain(&safe(&sentence)),
    }
}

enum NotServed {
    NotDone(ActFailure),
    Sentence(String),
}

impl From<String> for NotServed {
    fn from(sentence: String) -> NotServed {
        NotServed::Sentence(sentence)
    }
}

fn serve(setup: &Setup, arguments: &ApiArgs, source: &str, key_file: &Path) -> Result<(), NotServed> {
    if setup.now.is_some() {
        return Err(NotServed::NotDone(ActFailure::ClockStands));
    }
    let keys = ApiKeys::read(key_file).map_err(|error| error.to_string())?;
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificates), Some(key)) => Some(acceptor(certificates, key)?),
        _ => None,
    };
    let address = arguments.listen;
    if !address.ip().is_loopback() && tls.is_none() && !arguments.plain_http {
        return Err(format!(
            "{address} can be reached from other hosts, and keys would travel unencrypted; give --tls-cert and \
             --tls-key, or --plain-http behind a proxy that encrypts"
        )
        .into());
    }
    let mut signals =
        Signals::that_stop_or_reload().map_err(|error| format!("cannot listen for signals: {error}"))?;
    let queue = QueuePool::start(queues(setup, source)?).map_err(|error| cannot_start(&error))?;
    let keys = Arc::new(RwLock::new(keys));
    let limit = Arc::new(RateLimit::new(Some(arguments.rate).filter(|rate| *rate > 0)));
    let listener = listen(address)?;
    let here = listener.local_addr().map_err(|error| cannot_start(&error))?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let api = Api { queue, keys: Arc::clone(&keys), limit, log };
    start(listener, api, tls).map_err(|error| cannot_start(&error))?;
    let url = format!("{scheme}://{here}/api");
    print(&match setup.json {
        true => line(&serde_json::json!({"event": "serving", "url": url})) + "\n",
        false => safe(&format!("serving {url}")) + "\n",
    });
    loop {
        match signals.wait() {
            SignalRequest::Stop => return Ok(()),
            SignalRequest::Reload => match ApiKeys::read(key_file) {
                Ok(read) => *keys.write().unwrap_or_else(PoisonError::into_inner) = read,
                Err(error) => log(&format!("the keys stay as they were: {error}")),
            },
            SignalRequest::Suspend | SignalRequest::Continue => {}
        }
    }
}

/// Errors that clients are not told.
fn log(sentence: &str) {
    complain(&safe(sentence));
}

fn cannot_start(error: &io::Error) -> NotServed {
    NotServed::Sentence(format!("cannot start: {error}"))
}

fn listen(address: SocketAddr) -> Result<TcpListener, NotServed> {
    TcpListener::bind(address).map_err(|error| {
        NotServed::Sentence(match error.kind() {
            io::ErrorKind::AddrInUse => format!("{address}: this port is taken; --listen names another"),
            _ => format!("{address}: cannot listen here: {error}"),
        })
    })
}

/// Connections to the queue, tried once: a missing table is an error now, not at the first request.
fn queues(setup: &Setup, source: &str) -> Result<Vec<OpenQueue>, NotServed> {
    let label = setup.label(source);
    let access =
        setup.write_access_to_empty(source).map_err(|why| NotServed::NotDone(no_access(&label, why)))?;
    let init = format!("`claimtop init {} --system task-queue` makes the tables", quoted(source));
    let failed =
        |error: WorkerError| NotServed::Sentence(format!("{label}: {error}; {init} where they are missing"));
    let mut queues = match &access.options().at {
        // Opening it would make it.
        SourceLocation::File(path) if !path.exists() => {
            return Err(format!("{label}: there is no such file; {init}").into());
        }
        at => open(at).map_err(failed)?,
    };
    for queue in &mut queues {
        queue.workers().map_err(failed)?;
        queue.task(0).map_err(failed)?;
    }
    Ok(queues)
}

fn open(at: &SourceLocation) -> Result<Vec<OpenQueue>, WorkerError> {
    match at {
        SourceLocation::File(path) => {
            let database = crate::worker::Database::open(path)?;
            Ok(vec![Box::new(TaskQueue::new(database))])
        }
        #[cfg(feature = "postgres")]
        SourceLocation::Server(target) => {
            use crate::worker::postgres::{Database, task_queue::TaskQueue};
            let queue = |_| -> Result<OpenQueue, WorkerError> {
                Ok(Box::new(TaskQueue::new(Database::open(target)?)))
            };
            (0..CONNECTIONS).map(queue).collect()
        }
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(_) => {
            Err(WorkerError::Invalid("the task queue is not served from MySQL yet".into()))
        }
        SourceLocation::Nowhere(why) => Err(WorkerError::Invalid(why.clone())),
    }
}
