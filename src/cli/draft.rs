//! `claimtop profile draft`: writes a profile for a database that no profile knows.

use clap::Args;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

use super::output::{complain, print};
use super::setup::Setup;
use crate::domain::shell::quoted;
use crate::domain::time::Span;
use crate::domain::visible::visible;
use crate::exit::Exit;
use crate::profile::draft::{self, DatabaseSample, DraftWatch, LIKELY};
use crate::store::{Sampling, StoreError};

#[derive(Debug, Args)]
pub(super) struct DraftArgs {
    /// A SQLite file, a postgres:// address, or a name from the config
    source: String,
    /// The table of the claims [default: the one that looks most like claims]
    table: Option<String>,
    /// Watch the table this long while the workers run: changes tell more than names
    #[arg(long, value_name = "TIME", value_parser = Span::parse_interval)]
    watch: Option<Span>,
}

pub(super) fn run(setup: &Setup, arguments: &DraftArgs) -> Exit {
    match sample(setup, arguments) {
        Ok((database, table)) => answer(setup, arguments, &database, table.as_deref()),
        Err(error) => complain(&error.to_string()),
    }
}

fn answer(setup: &Setup, arguments: &DraftArgs, database: &DatabaseSample, table: Option<&str>) -> Exit {
    let source = quoted(&setup.label(&arguments.source));
    if let Some(draft) = draft::draft(database, table, &source) {
        print(&draft.render());
        return Exit::Fine;
    }
    let ranked = draft::rank(database);
    let names: Vec<String> = ranked.iter().take(8).map(|one| visible(&one.table.name)).collect();
    complain(&match names.is_empty() {
        true => format!("{}: it has no tables", setup.label(&arguments.source)),
        false => format!(
            "{}: no table looks like claims; name the one that does: claimtop profile draft {source} TABLE \
             (the likeliest are {})",
            setup.label(&arguments.source),
            names.join(", ")
        ),
    })
}

/// Reads a sample, or several over time.
fn sample(setup: &Setup, arguments: &DraftArgs) -> Result<(DatabaseSample, Option<String>), StoreError> {
    let options = setup.options(&arguments.source, setup.effort())?;
    let mut sampling = Sampling::open(&options, arguments.table.as_deref())?;
    let table = arguments.table.as_deref().and_then(|name| sampling.table(name));
    let first = sampling.look()?;
    let Some(watch) = arguments.watch else { return Ok((first, table)) };
    let likely = draft::rank(&first).into_iter().filter(|one| one.score >= LIKELY).take(3);
    let watched: Vec<String> = match &table {
        Some(table) => vec![table.clone()],
        None => likely.map(|one| one.table.name.clone()).collect(),
    };
    // If no table looks like claims yet, changes may show it.
    if !watched.is_empty() {
        sampling.narrow_to(&watched);
    }
    Ok((look_for(&mut sampling, first, watch.duration())?, table))
}

/// Reads about once a second, and pauses nine times as long as a read takes. Ctrl-C ends it early.
fn look_for(
    sampling: &mut Sampling,
    first: DatabaseSample,
    length: Duration,
) -> Result<DatabaseSample, StoreError> {
    let (started, mut watch) = (Instant::now(), DraftWatch::new(first));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return Ok(watch.finish()) };
    let mut interrupts = runtime.block_on(async { signal(SignalKind::interrupt()).ok() });
    let mut rest = Duration::from_millis(200);
    while started.elapsed() < length {
        let rests = rest.min(length.saturating_sub(started.elapsed()));
        let is_over = runtime.block_on(async {
            match &mut interrupts {
                Some(interrupts) => tokio::time::timeout(rests, interrupts.recv()).await.is_ok(),
                None => {
                    tokio::time::sleep(rests).await;
                    false
                }
            }
        });
        if is_over {
            break;
        }
        let began = Instant::now();
        watch.observe(sampling.look()?);
        rest = (began.elapsed() * 9).max(Duration::from_millis(500));
        progress(started.elapsed(), length, watch.changes());
    }
    finish_progress(started.elapsed(), watch.changes());
    Ok(watch.finish())
}

/// A progress line that is overwritten, on a terminal only.
fn progress(elapsed: Duration, length: Duration, changes: usize) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let left = length.saturating_sub(elapsed).as_secs();
        // If this fails, there is nobody to tell.
        let _ = write!(stderr, "\rwatching: {left:>4} s left, {changes} changed rows seen ");
        let _ = stderr.flush();
    }
}

fn finish_progress(length: Duration, changes: usize) {
    let mut stderr = std::io::stderr();
    let start = if stderr.is_terminal() { "\r" } else { "" };
    let idle = if changes == 0 { "; are the workers running?" } else { "" };
    let _ =
        writeln!(stderr, "{start}watched for {} s: {changes} changed rows{idle}          ", length.as_secs());
}
