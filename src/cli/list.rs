//! `claimtop list`: the claims themselves, and the traces of earlier recoveries.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::Only;
use super::output::{complain, print};
use super::setup::{RowSelection, Setup};
use crate::domain::board_id::BoardId;
use crate::domain::detail::HolderActivity;
use crate::domain::time::Moment;
use crate::exit::Exit;
use crate::report::activity::{ACTIVITY_HEADINGS, activity_csv, activity_json, activity_table};
use crate::report::list::{
    ClaimLine, ClaimTable, Layout, TRACE_HEADINGS, trace_csv, trace_json, trace_table,
};
use crate::report::paint::{Paint, terminal_width};
use crate::store::{Filter, Listed, Options, Reader, StoreError, Trace};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListFormat {
    Table,
    Json,
    Csv,
}

/// How many of the newest traces are grouped.
const GROUPED_TRACES: usize = 100_000;
/// The default limit of a table.
const TABLE_ROWS: usize = 1_000;
/// The size of a batch from the reader to the printer, and how many batches may wait.
const BATCH: usize = 256;
const UNDER_WAY: usize = 4;

pub(super) fn run(setup: &Setup, sources: &[String], only: &Only, format: ListFormat) -> Exit {
    let limit = limit_of(only, format);
    let filter = only.filter(limit);
    let mut printer = ClaimPrinter::new(format, sources.len() > 1, setup.rows());
    let mut exit = Exit::Fine;
    for word in sources.iter().filter(|word| only.takes_source(&setup.label(word))) {
        match one(setup, word, &filter, &mut printer) {
            Ok((true, None)) => {}
            Ok((true, Some(veiled))) => {
                exit = exit.and(complain(&format!("{}: {veiled}", setup.label(word))));
            }
            // Standard output is closed.
            Ok((false, _)) => return exit,
            Err(error) => exit = exit.and(complain(&error.to_string())),
        }
    }
    printer.finish(limit, exit);
    exit
}

/// How many claims are printed at most.
pub(super) fn limit_of(only: &Only, format: ListFormat) -> Option<usize> {
    match (only.limit, format) {
        (Some(0), _) | (None, ListFormat::Json | ListFormat::Csv) => None,
        (Some(limit), _) => Some(limit),
        (None, ListFormat::Table) => Some(TABLE_ROWS),
    }
}

/// Reads in another thread and prints meanwhile. Returns whether standard output is still open, and why rows may be
/// hidden.
fn one(
    setup: &Setup,
    word: &str,
    filter: &Filter,
    printer: &mut ClaimPrinter,
) -> Result<(bool, Option<String>), StoreError> {
    let options = setup.options(word, setup.effort())?;
    let (sender, batches) = sync_channel::<Vec<Listed>>(UNDER_WAY);
    let (label, rows) = (setup.label(word), setup.rows());
    thread::scope(|scope| {
        let listing = scope.spawn(move || list(options, rows, filter, &sender));
        // The reader stops once the receiver is dropped.
        let printed =
            batches.into_iter().all(|batch| batch.iter().all(|listed| printer.claim(&label, listed)));
        let ended = || StoreError::Gone { path: label.clone().into() };
        let hidden = listing.join().unwrap_or_else(|_| Err(ended()))?;
        Ok((printed, hidden))
    })
}

fn list(
    options: Options,
    rows: RowSelection,
    filter: &Filter,
    sender: &SyncSender<Vec<Listed>>,
) -> Result<Option<String>, StoreError> {
    let mut reader = Reader::open(options)?;
    reader.expect_board(filter.board.as_deref())?;
    let mut batch = Vec::with_capacity(BATCH);
    // Without it no claim is called late; the list is still complete.
    let beats = if rows == RowSelection::Claims { reader.beat_intervals().ok() } else { None };
    reader.list(filter, |mut listed| {
        let board = BoardId::new(&listed.profile, &listed.board);
        let claim = &listed.judged.claim;
        listed.pace = beats.as_ref().and_then(|beats| beats.pace(&board, claim, listed.now));
        batch.push(listed);
        batch.len() < BATCH || sender.send(std::mem::take(&mut batch)).is_ok()
    })?;
    // If the receiver is gone, the rest is not needed.
    let _ = sender.send(batch);
    Ok(reader.veiled())
}

/// By what the traces of a history are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum HistoryBy {
    Holder,
}

pub(super) fn history(
    setup: &Setup,
    sources: &[String],
    limit: Option<usize>,
    by: Option<HistoryBy>,
    format: ListFormat,
) -> Exit {
    let limit = match (limit, by) {
        (Some(0), _) => i64::MAX as usize,
        (Some(limit), _) => limit,
        (None, None) => TABLE_ROWS,
        (None, Some(HistoryBy::Holder)) => GROUPED_TRACES,
    };
    let mut exit = Exit::Fine;
    let mut csv = Csv;
    if format == ListFormat::Csv {
        print(&match by {
            None => csv.record(&TRACE_HEADINGS),
            Some(HistoryBy::Holder) => csv.record(&ACTIVITY_HEADINGS),
        });
    }
    for word in sources {
        let label = setup.label(word);
        let options = setup.options(word, setup.effort());
        let text = options.and_then(|options| {
            let mut reader = Reader::open(options)?;
            Ok(match by {
                None => trace_text(&label, &reader.history(limit)?, format, &mut csv),
                Some(HistoryBy::Holder) => activity_text(&label, &reader.activity(limit)?, format, &mut csv),
            })
        });
        match text {
            Ok(text) if !print(&text) => return exit,
            Ok(_) => {}
            Err(error) => exit = exit.and(complain(&error.to_string())),
        }
    }
    exit
}

fn trace_text(label: &str, traces: &[Trace], format: ListFormat, csv: &mut Csv) -> String {
    match format {
        ListFormat::Table => trace_table(traces),
        ListFormat::Json => traces.iter().map(|trace| trace_json(label, trace) + "\n").collect(),
        ListFormat::Csv => traces.iter().map(|trace| csv.record(&trace_csv(label, trace))).collect(),
    }
}

fn activity_text(label: &str, holders: &[HolderActivity], format: ListFormat, csv: &mut Csv) -> String {
    match format {
        ListFormat::Table => activity_table(holders),
        ListFormat::Json => holders.iter().map(|holder| activity_json(label, holder) + "\n").collect(),
        ListFormat::Csv => holders.iter().map(|holder| csv.record(&activity_csv(label, holder))).collect(),
    }
}

/// Writes records of a CSV file.
#[derive(Debug)]
struct Csv;

impl Csv {
    fn record<T: AsRef<[u8]>>(&mut self, fields: &[T]) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Writing to memory cannot fail.
        let _ = writer.write_record(fields);
        writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// Prints claims in parts as they come. A table of readable size is sorted and printed when it is complete; a larger
/// one is printed board by board, the worst of each first.
pub(super) struct ClaimPrinter {
    format: ListFormat,
    rows: RowSelection,
    table: ClaimTable,
    /// How many rows of the table were printed.
    printed: usize,
    csv: Csv,
    lines: Vec<(ClaimLine, Moment)>,
    waiting: String,
}

/// The largest table that is sorted; of a larger one, the rows that are printed together.
const SORTED: usize = 10_000;

/// The size of one write: writing line by line would cost more than finding the claims.
const PORTION: usize = 64 * 1_024;

impl ClaimPrinter {
    pub(super) fn new(format: ListFormat, sources: bool, rows: RowSelection) -> ClaimPrinter {
        let layout = Layout { sources, width: terminal_width(), paint: Paint::for_stdout() };
        let (table, lines) = (ClaimTable::new(layout), Vec::new());
        let mut printer =
            ClaimPrinter { format, rows, table, printed: 0, csv: Csv, lines, waiting: String::new() };
        if format == ListFormat::Csv {
            printer.waiting = printer.csv.record(&ClaimLine::HEADINGS);
        }
        printer
    }

    /// Adds a claim; `false` if standard output is closed.
    pub(super) fn claim(&mut self, word: &str, listed: &Listed) -> bool {
        let line = match self.rows {
            RowSelection::Claims => ClaimLine::new(word, listed),
            RowSelection::Dead => ClaimLine::of_the_dead(word, listed),
        };
        match self.format {
            ListFormat::Json => {
                self.waiting.push_str(&line.json());
                self.waiting.push('\n');
            }
            ListFormat::Csv => self.waiting.push_str(&self.csv.record(&line.csv())),
            ListFormat::Table => {
                self.lines.push((line, listed.now));
                if self.lines.len() == SORTED {
                    self.take_rows();
                }
            }
        }
        self.waiting.len() < PORTION || self.flush()
    }

    /// Prints the waiting rows.
    fn take_rows(&mut self) {
        self.waiting.push_str(&self.table.portion(&self.lines));
        self.printed += self.lines.len();
        self.lines.clear();
    }

    fn flush(&mut self) -> bool {
        print(&std::mem::take(&mut self.waiting))
    }

    pub(super) fn finish(&mut self, limit: Option<usize>, exit: Exit) {
        if self.format != ListFormat::Table {
            self.flush();
        } else if self.printed + self.lines.len() > 0 {
            if self.printed == 0 {
                self.lines.sort_by_key(|(line, _)| line.rank());
            }
            if !self.lines.is_empty() {
                self.take_rows();
            }
            self.flush();
            if limit.is_some_and(|limit| self.printed >= limit) {
                print(&format!("... the first {} only; --limit 0 shows all\n", self.printed));
            }
        } else if exit == Exit::Fine {
            print(match self.rows {
                RowSelection::Claims => "no claims\n",
                RowSelection::Dead => "no dead jobs\n",
            });
        }
    }
}
