//! `claimtop list`: the claims themselves, and the traces of earlier recoveries.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::Only;
use super::output::{complain, print};
use super::setup::{Rows, Setup};
use crate::domain::time::Moment;
use crate::exit::Exit;
use crate::report::list::{Layout, Line, TRACE_HEADINGS, Table, trace_csv, trace_json, trace_table};
use crate::report::paint::{Paint, terminal_width};
use crate::store::{Filter, Listed, Options, Reader, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Table,
    Json,
    Csv,
}

/// What a table shows unless told otherwise.
const TABLE_ROWS: usize = 1_000;
/// How many claims go from the reader to the printer at once, and how often before it waits.
const BATCH: usize = 256;
const UNDER_WAY: usize = 4;

pub fn run(setup: &Setup, sources: &[String], only: Only, format: Format) -> Exit {
    let limit = match (only.limit, format) {
        (Some(0), _) | (None, Format::Json | Format::Csv) => None,
        (Some(limit), _) => Some(limit),
        (None, Format::Table) => Some(TABLE_ROWS),
    };
    let filter = Filter {
        sets: only.set,
        board: only.board,
        holder: only.holder,
        kind: only.kind,
        limit,
        ..Filter::default()
    };
    let mut printer = Printer::new(format, sources.len() > 1, setup.rows());
    let mut exit = Exit::Fine;
    for word in sources {
        match one(setup, word, &filter, &mut printer) {
            Ok((true, None)) => {}
            Ok((true, Some(veiled))) => {
                exit = exit.and(complain(&format!("{}: {veiled}", setup.label(word))));
            }
            // Nobody reads any more.
            Ok((false, _)) => return exit,
            Err(error) => exit = exit.and(complain(&error.to_string())),
        }
    }
    printer.finish(limit, exit);
    exit
}

/// Reads in a thread of its own, and prints meanwhile. Whether anybody still reads, and why rows may be hidden from us.
fn one(
    setup: &Setup,
    word: &str,
    filter: &Filter,
    printer: &mut Printer,
) -> Result<(bool, Option<String>), StoreError> {
    let options = setup.options(word, setup.effort())?;
    let (sender, batches) = sync_channel::<Vec<Listed>>(UNDER_WAY);
    let label = setup.label(word);
    thread::scope(|scope| {
        let listing = scope.spawn(move || list(options, filter, &sender));
        // Nobody waits for the rest of what is listed once the receiver is dropped.
        let printed =
            batches.into_iter().all(|batch| batch.iter().all(|listed| printer.claim(&label, listed)));
        let ended = || StoreError::Gone { path: label.clone().into() };
        let hidden = listing.join().unwrap_or_else(|_| Err(ended()))?;
        Ok((printed, hidden))
    })
}

fn list(
    options: Options,
    filter: &Filter,
    sender: &SyncSender<Vec<Listed>>,
) -> Result<Option<String>, StoreError> {
    let mut reader = Reader::open(options)?;
    reader.expect_board(filter.board.as_deref())?;
    let mut batch = Vec::with_capacity(BATCH);
    reader.list(filter, |listed| {
        batch.push(listed);
        batch.len() < BATCH || sender.send(std::mem::take(&mut batch)).is_ok()
    })?;
    // If nobody waits any more, the rest is of no use.
    let _ = sender.send(batch);
    Ok(reader.veiled())
}

pub fn history(setup: &Setup, sources: &[String], limit: Option<usize>, format: Format) -> Exit {
    let limit = match limit {
        Some(0) => i64::MAX as usize,
        Some(limit) => limit,
        None => TABLE_ROWS,
    };
    let mut exit = Exit::Fine;
    let mut csv = Csv;
    if format == Format::Csv {
        print(&csv.record(&TRACE_HEADINGS));
    }
    for word in sources {
        let label = setup.label(word);
        let options = setup.options(word, setup.effort());
        let traces = options.and_then(|options| Reader::open(options)?.history(limit));
        match traces {
            Ok(traces) => {
                let text = match format {
                    Format::Table => trace_table(&traces),
                    Format::Json => traces.iter().map(|trace| trace_json(&label, trace) + "\n").collect(),
                    Format::Csv => traces.iter().map(|trace| csv.record(&trace_csv(&label, trace))).collect(),
                };
                if !print(&text) {
                    return exit;
                }
            }
            Err(error) => exit = exit.and(complain(&error.to_string())),
        }
    }
    exit
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

/// Prints claims in portions as they come. A table of a size that somebody may read is sorted, and printed once
/// all of it is there; a larger one comes board by board, the worst of each first.
struct Printer {
    format: Format,
    rows: Rows,
    table: Table,
    /// Rows of the table that were printed already.
    printed: usize,
    csv: Csv,
    lines: Vec<(Line, Moment)>,
    waiting: String,
}

/// The rows of a table that are sorted, and of a larger one those that are printed together.
const SORTED: usize = 10_000;

/// Written at once: a line at a time would cost more than finding it.
const PORTION: usize = 64 * 1_024;

impl Printer {
    fn new(format: Format, sources: bool, rows: Rows) -> Printer {
        let layout = Layout { sources, width: terminal_width(), paint: Paint::for_stdout() };
        let (table, lines) = (Table::new(layout), Vec::new());
        let mut printer =
            Printer { format, rows, table, printed: 0, csv: Csv, lines, waiting: String::new() };
        if format == Format::Csv {
            printer.waiting = printer.csv.record(&Line::HEADINGS);
        }
        printer
    }

    /// Takes a claim; `false` when nobody reads any more.
    fn claim(&mut self, word: &str, listed: &Listed) -> bool {
        let line = match self.rows {
            Rows::Claims => Line::new(word, listed),
            Rows::Dead => Line::of_the_dead(word, listed),
        };
        match self.format {
            Format::Json => {
                self.waiting.push_str(&line.json());
                self.waiting.push('\n');
            }
            Format::Csv => self.waiting.push_str(&self.csv.record(&line.csv())),
            Format::Table => {
                self.lines.push((line, listed.now));
                if self.lines.len() == SORTED {
                    self.take_rows();
                }
            }
        }
        self.waiting.len() < PORTION || self.flush()
    }

    /// Puts the rows that wait into the table.
    fn take_rows(&mut self) {
        self.waiting.push_str(&self.table.portion(&self.lines));
        self.printed += self.lines.len();
        self.lines.clear();
    }

    fn flush(&mut self) -> bool {
        print(&std::mem::take(&mut self.waiting))
    }

    fn finish(&mut self, limit: Option<usize>, exit: Exit) {
        if self.format != Format::Table {
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
                Rows::Claims => "no claims\n",
                Rows::Dead => "no dead jobs\n",
            });
        }
    }
}
