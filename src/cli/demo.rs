//! `claimtop demo`: a live fleet, with the dashboard on it or without.

use clap::{Args, Subcommand};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use super::dashboard;
use super::output::{complain, print};
use super::setup::Setup;
use crate::background;
use crate::config::Config;
use crate::demo::{self, Character, DemoError, Fleet, Folder, Place, Server, Tally, Temperament, WorkerSlot};
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::reference::System;
use crate::signals::Signals;
use crate::store::NoWriteAccess;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How many workers
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(5..=200))]
    workers: u16,
    /// Run without a screen
    #[arg(long)]
    headless: bool,
    /// Without a screen: end after this long [default: when a signal comes]
    #[arg(long = "for", value_name = "TIME", requires = "headless", value_parser = Span::parse)]
    time: Option<Span>,
    /// Keep the database in this folder, with a config for it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Work on this PostgreSQL server, in a schema of its own that is removed at the end
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// The same number, the same characters
    #[arg(long, value_name = "N", hide = true)]
    seed: Option<u64>,
}

/// The processes that a demo starts.
#[derive(Debug, Subcommand)]
pub enum Child {
    Worker {
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        parent: u32,
        #[arg(long, value_parser = system)]
        system: System,
        #[arg(long, value_parser = temperament)]
        temperament: Temperament,
        #[arg(long)]
        number: u32,
        #[arg(long)]
        fleet: usize,
        #[arg(long)]
        seed: u64,
        #[arg(long, value_parser = Span::parse)]
        lifetime: Span,
    },
    Feeder {
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        parent: u32,
        #[arg(long)]
        seed: u64,
    },
    Janitor {
        #[arg(long)]
        folder: PathBuf,
        #[arg(long, value_parser = place)]
        place: Place,
    },
}

fn system(text: &str) -> Result<System, String> {
    System::ALL.into_iter().find(|system| system.as_str() == text).ok_or_else(|| "no such system".into())
}

fn temperament(text: &str) -> Result<Temperament, String> {
    let known = Temperament::ALL.into_iter().find(|temperament| temperament.as_str() == text);
    known.ok_or_else(|| "no such temperament".into())
}

fn place(text: &str) -> Result<Place, String> {
    match text {
        "temporary" => Ok(Place::Temporary),
        "kept" => Ok(Place::Kept),
        _ => Err("temporary or kept".into()),
    }
}

/// A process of somebody else's demo; what it has to say goes to that demo's log.
pub fn child(child: Child) -> Exit {
    let ended = match child {
        Child::Worker { folder, parent, system, temperament, number, fleet, seed, lifetime } => {
            let post = WorkerSlot { system, temperament };
            demo::work(
                &folder,
                parent,
                Character { post, number, fleet, seed, lifetime: lifetime.duration() },
            )
        }
        Child::Feeder { folder, parent, seed } => demo::feed(&folder, parent, seed),
        Child::Janitor { folder, place } => demo::tidy(&folder, place),
    };
    match ended {
        Ok(()) => Exit::Fine,
        Err(error) => complain(&error.to_string()),
    }
}

pub fn run(setup: &Setup, arguments: &DemoArgs) -> Exit {
    if setup.now.is_some() {
        return complain("--now is for looking at what stands still; the demo lives");
    }
    let seen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !arguments.headless && !seen {
        return complain(
            "the dashboard needs a terminal, and this is none; `claimtop demo --headless` runs without one",
        );
    }
    let server = match arguments.postgres.as_deref().map(|word| server(setup, word)).transpose() {
        Ok(server) => server,
        Err(sentence) => return complain(&sentence),
    };
    let done = match arguments.headless {
        true => headless(arguments, server),
        false => on_screen(setup, arguments, server),
    };
    done.unwrap_or_else(|error| complain(&error.to_string()))
}

/// The server that a word means: a URL, or the name of a source in the config.
fn server(setup: &Setup, word: &str) -> Result<Server, String> {
    let access = match setup.write_access_to_empty(word) {
        Ok(access) => access,
        Err(NoWriteAccess::ReadOnly) => {
            return Err(format!("{} is open read-only in this session", setup.label(word)));
        }
        Err(NoWriteAccess::Store(error)) => return Err(error.to_string()),
    };
    if setup.source(word).engine() != "postgres" {
        return Err(format!("--postgres takes the URL of a server, and {} is none", setup.label(word)));
    }
    let configured = setup.config.named(word).and_then(|name| setup.config.source.get(name));
    let at = configured.map_or(word, |source| &source.at.0);
    let command = configured.and_then(|source| source.password_command.as_ref());
    Ok(Server::new(&access, at, command.map(|command| command.0.as_str())))
}

fn start(arguments: &DemoArgs, server: Option<Server>) -> Result<Fleet, DemoError> {
    let folder = match &arguments.keep {
        Some(path) => Folder::kept(path)?,
        None => Folder::temporary()?,
    };
    let folder = folder.on(server);
    let seed = arguments.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1);
    Fleet::start(folder, usize::from(arguments.workers), seed)
}

fn on_screen(setup: &Setup, arguments: &DemoArgs, server: Option<Server>) -> Result<Exit, DemoError> {
    let mut fleet = start(arguments, server)?;
    let mut setup = setup.clone();
    // The user's keys and colours, the demo's source.
    match Config::load(Some(&fleet.folder().config())) {
        Ok(config) => setup.config.source = config.source,
        Err(error) => return Ok(complain(&error.to_string())),
    }
    let exit = dashboard::run(&setup, &[demo::SOURCE.into()]);
    say_what_is_kept(&fleet);
    fleet.leave()?;
    Ok(exit)
}

fn headless(arguments: &DemoArgs, server: Option<Server>) -> Result<Exit, DemoError> {
    let runtime = background::runtime().map_err(DemoError::Process)?;
    // Listened to before anything is there to be cleaned up.
    let mut signals = Signals::that_stop().map_err(DemoError::Process)?;
    let started = Instant::now();
    let mut fleet = start(arguments, server)?;
    let (ground, config) = (fleet.folder().ground()?, fleet.folder().config());
    print(&format!(
        "{} workers on {ground}; look with `claimtop list fleet --config {}`\n",
        arguments.workers,
        config.display()
    ));
    runtime.block_on(async {
        tokio::select! {
            _ = signals.next() => {}
            () = time_up(arguments.time) => {}
        }
    });
    let toll = fleet.halt();
    let tally = Tally::of(&fleet.folder().ground()?)?;
    print(&format!("{:.0} s: {tally}; {toll}\n", started.elapsed().as_secs_f64()));
    say_what_is_kept(&fleet);
    fleet.leave()?;
    Ok(Exit::Fine)
}

async fn time_up(time: Option<Span>) {
    match time {
        Some(time) => tokio::time::sleep(time.duration()).await,
        None => std::future::pending().await,
    }
}

fn say_what_is_kept(fleet: &Fleet) {
    match fleet.folder().place {
        Place::Kept => {
            let config = fleet.folder().config();
            print(&format!("kept: `claimtop --config {}` opens it again\n", config.display()));
        }
        Place::Temporary => {}
    }
}
