//! `claimtop list`: the claims themselves, and the traces of earlier recoveries.

use tokio::sync::mpsc;

use super::Only;
use super::output::{complain, print};
use super::setup::Setup;
use crate::exit::Exit;
use crate::report::list::{Layout, Line, TRACE_HEADINGS, table, trace_csv, trace_json, trace_table};
use crate::report::paint::{Paint, terminal_width};
use crate::store::sqlite::Listed;
use crate::store::{Filter, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Table,
    Json,
    Csv,
}

/// What a table shows unless told otherwise.
const TABLE_ROWS: usize = 1_000;
/// How many claims may be under way between the reader and the printer.
const UNDER_WAY: usize = 256;

pub async fn run(setup: &Setup, sources: &[String], only: Only, format: Format) -> Exit {
    let limit = match (only.limit, format) {
        (Some(0), _) | (None, Format::Json | Format::Csv) => None,
        (Some(limit), _) => Some(limit),
        (None, Format::Table) => Some(TABLE_ROWS),
    };
    let filter = Filter { sets: only.set, board: only.board, holder: only.holder, kind: only.kind, limit };
    let mut printer = Printer::new(format, sources.len() > 1);
    let mut exit = Exit::Fine;
    for word in sources {
        match one(setup, word, &filter, &mut printer).await {
            Ok(true) => {}
            // Nobody reads any more.
            Ok(false) => return exit,
            Err(error) => exit = exit.and(complain(&error.to_string())),
        }
    }
    printer.finish(limit, exit);
    exit
}

async fn one(setup: &Setup, word: &str, filter: &Filter, printer: &mut Printer) -> Result<bool, StoreError> {
    let store = setup.open(word).await?;
    let (sender, mut claims) = mpsc::channel::<Listed>(UNDER_WAY);
    let filter = filter.clone();
    let listing = store.ask(move |reader| {
        reader.expect_board(filter.board.as_deref())?;
        reader.list(&filter, |listed| sender.blocking_send(listed).is_ok())
    });
    let printing = async {
        while let Some(listed) = claims.recv().await {
            if !printer.claim(word, &listed) {
                claims.close();
                return false;
            }
        }
        true
    };
    let (listed, printed) = tokio::join!(listing, printing);
    listed.map(|()| printed)
}

pub async fn history(setup: &Setup, sources: &[String], limit: Option<usize>, format: Format) -> Exit {
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
        let traces = match setup.open(word).await {
            Ok(store) => store.ask(move |reader| reader.history(limit)).await,
            Err(error) => Err(error),
        };
        match traces {
            Ok(traces) => {
                let text = match format {
                    Format::Table => trace_table(&traces),
                    Format::Json => traces.iter().map(|trace| trace_json(word, trace) + "\n").collect(),
                    Format::Csv => traces.iter().map(|trace| csv.record(&trace_csv(word, trace))).collect(),
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

/// Prints claims as they come, or, for a table, once all are there.
struct Printer {
    format: Format,
    sources: bool,
    csv: Csv,
    lines: Vec<(Line, crate::domain::time::Moment)>,
    started: bool,
}

impl Printer {
    fn new(format: Format, sources: bool) -> Printer {
        Printer { format, sources, csv: Csv, lines: Vec::new(), started: false }
    }

    fn claim(&mut self, word: &str, listed: &Listed) -> bool {
        let line = Line::new(word, listed);
        match self.format {
            Format::Json => print(&(line.json() + "\n")),
            Format::Csv => {
                let heading = if self.started { String::new() } else { self.csv.record(&Line::HEADINGS) };
                self.started = true;
                print(&(heading + &self.csv.record(&line.csv())))
            }
            Format::Table => {
                self.lines.push((line, listed.now));
                true
            }
        }
    }

    fn finish(&mut self, limit: Option<usize>, exit: Exit) {
        match self.format {
            Format::Table if self.lines.is_empty() => {
                if exit == Exit::Fine {
                    print("no claims\n");
                }
            }
            Format::Table => {
                self.lines.sort_by_key(|(line, _)| line.rank());
                let paint = Paint::for_stdout();
                let layout = Layout { sources: self.sources, width: terminal_width(), paint };
                print(&table(&self.lines, layout));
                if limit.is_some_and(|limit| self.lines.len() >= limit) {
                    print(&format!("... the first {} only; --limit 0 shows all\n", self.lines.len()));
                }
            }
            Format::Csv if !self.started => {
                print(&self.csv.record(&Line::HEADINGS));
            }
            Format::Csv | Format::Json => {}
        }
    }
}
