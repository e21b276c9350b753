//! `claimtop demo`: a live fleet, with or without the dashboard.

use clap::{Args, Subcommand};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::dashboard;
use super::output::{complain, print};
use super::setup::Setup;
use crate::background;
use crate::config::Config;
use crate::demo::{
    self, Behaviour, DemoError, DemoFolder, DemoServer, Fleet, FolderLifetime, WorkTally, WorkerSlot,
    WorkerSpec,
};
use crate::domain::time::Span;
use crate::exit::Exit;
use crate::reference::System;
use crate::signals::Signals;
use crate::store::NoWriteAccess;

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
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
    /// The seed of all random choices
    #[arg(long, value_name = "N", hide = true)]
    seed: Option<u64>,
}

/// The processes that a demo starts.
#[derive(Debug, Subcommand)]
pub(super) enum Child {
    Worker {
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        parent: u32,
        #[arg(long, value_parser = system)]
        system: System,
        #[arg(long, value_parser = behaviour)]
        behaviour: Behaviour,
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
        place: FolderLifetime,
    },
}

fn system(text: &str) -> Result<System, String> {
    System::ALL.into_iter().find(|system| system.as_str() == text).ok_or_else(|| "no such system".into())
}

fn behaviour(text: &str) -> Result<Behaviour, String> {
    let known = Behaviour::ALL.into_iter().find(|behaviour| behaviour.as_str() == text);
    known.ok_or_else(|| "no such behaviour".into())
}

fn place(text: &str) -> Result<FolderLifetime, String> {
    match text {
        "temporary" => Ok(FolderLifetime::Temporary),
        "kept" => Ok(FolderLifetime::Kept),
        _ => Err("temporary or kept".into()),
    }
}

/// Runs a process of a demo; its errors go to the log of that demo.
pub(super) fn child(child: Child) -> Exit {
    let ended = match child {
        Child::Worker { folder, parent, system, behaviour, number, fleet, seed, lifetime } => {
            let slot = WorkerSlot { system, behaviour };
            demo::work(
                &folder,
                parent,
                WorkerSpec { slot, number, fleet, seed, lifetime: lifetime.duration() },
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

pub(super) fn run(setup: &Setup, arguments: &DemoArgs) -> Exit {
    if setup.now.is_some() {
        return complain("--now cannot be used with demo: its claims live in real time");
    }
    let seen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !arguments.headless && !seen {
        return complain(
            "the dashboard needs a terminal, and standard input or output is none; `claimtop demo --headless` runs without one",
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

/// The server for a URL, or for the name of a source in the config.
fn server(setup: &Setup, word: &str) -> Result<DemoServer, String> {
    let access = match setup.write_access_to_empty(word) {
        Ok(access) => access,
        Err(NoWriteAccess::ReadOnly) => {
            return Err(format!("{} is read-only in this session", setup.label(word)));
        }
        Err(NoWriteAccess::Store(error)) => return Err(error.to_string()),
    };
    if setup.source(word).engine() != "postgres" {
        return Err(format!(
            "--postgres needs the URL of a PostgreSQL server; {} is not one",
            setup.label(word)
        ));
    }
    let configured = setup.config.named(word).and_then(|name| setup.config.source.get(name));
    let at = configured.map_or(word, |source| &source.at.0);
    let command = configured.and_then(|source| source.password_command.as_ref());
    Ok(DemoServer::new(&access, at, command.map(|command| command.0.as_str())))
}

fn start(arguments: &DemoArgs, server: Option<DemoServer>) -> Result<Fleet, DemoError> {
    let folder = match &arguments.keep {
        Some(path) => DemoFolder::kept(path)?,
        None => DemoFolder::temporary()?,
    };
    let folder = folder.on(server);
    let seed = arguments.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1);
    Fleet::start(folder, usize::from(arguments.workers), seed)
}

fn on_screen(setup: &Setup, arguments: &DemoArgs, server: Option<DemoServer>) -> Result<Exit, DemoError> {
    let mut fleet = start(arguments, server)?;
    let mut setup = setup.clone();
    // Keys and colours come from the user's config, the source from the demo's.
    match Config::load(Some(&fleet.folder().config())) {
        Ok(config) => Arc::make_mut(&mut setup.config).source = config.source,
        Err(error) => return Ok(complain(&error.to_string())),
    }
    let exit = dashboard::run(&setup, &[demo::SOURCE.into()]);
    print_kept_folder(&fleet);
    fleet.clean_up()?;
    Ok(exit)
}

fn headless(arguments: &DemoArgs, server: Option<DemoServer>) -> Result<Exit, DemoError> {
    let runtime = background::runtime().map_err(DemoError::Process)?;
    // Listen for signals before there is anything to clean up.
    let mut signals = Signals::that_stop().map_err(DemoError::Process)?;
    let started = Instant::now();
    let mut fleet = start(arguments, server)?;
    let (database, config) = (fleet.folder().database()?, fleet.folder().config());
    print(&format!(
        "{} workers on {database}; look with `claimtop list fleet --config {}`\n",
        arguments.workers,
        config.display()
    ));
    runtime.block_on(async {
        tokio::select! {
            _ = signals.next() => {}
            () = time_up(arguments.time) => {}
        }
    });
    let stats = fleet.halt();
    let tally = WorkTally::of(&fleet.folder().database()?)?;
    print(&format!("{:.0} s: {tally}; {stats}\n", started.elapsed().as_secs_f64()));
    print_kept_folder(&fleet);
    fleet.clean_up()?;
    Ok(Exit::Fine)
}

async fn time_up(time: Option<Span>) {
    match time {
        Some(time) => tokio::time::sleep(time.duration()).await,
        None => std::future::pending().await,
    }
}

fn print_kept_folder(fleet: &Fleet) {
    match fleet.folder().place {
        FolderLifetime::Kept => {
            let config = fleet.folder().config();
            print(&format!("kept: `claimtop --config {}` opens it again\n", config.display()));
        }
        FolderLifetime::Temporary => {}
    }
}
