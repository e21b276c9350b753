//! SQLite files: a thread of its own owns the connection of each.

mod act;
mod actor;
mod ask;
mod attempts;
mod audit_table;
mod batch;
mod bind;
mod bound;
mod cell;
mod census;
mod close_up;
mod direct;
mod fit;
mod functions;
mod history;
mod holders;
mod hop;
mod horizon;
mod image;
mod kinds;
mod listing;
mod look;
mod open;
mod plan;
mod probe;
mod reader;
mod rows;
mod rowset;
mod run;
mod schema;
mod session;
mod sets;
mod stream;
mod surroundings;
mod touched;
mod undo;
mod watch;

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::StoreError;
pub use actor::{Acted, Actor, Order, Pending};
pub use attempts::{Attempt, Attempts};
pub use batch::{Batch, Tried};
pub use fit::{Fit, FitBoard, fits};
pub use history::Trace;
pub use holders::Prober;
pub use image::{Change, Image, Side};
pub use listing::Listed;
pub use look::{Place, Seen};
pub use reader::{Options, Profiles, Reader, clock};
pub use session::{Ends, Holding, Registered};
pub use stream::Tally;
pub use watch::Effort;

type Question = Box<dyn FnOnce(&mut Reader) + Send>;

/// A handle on the thread that reads one file.
#[derive(Debug)]
pub struct SqliteStore {
    questions: mpsc::Sender<Question>,
    path: std::path::PathBuf,
}

impl SqliteStore {
    /// Starts the thread; `Err` as soon as the file cannot be opened or no profile fits it.
    pub async fn open(options: Options) -> Result<SqliteStore, StoreError> {
        let (questions, inbox) = mpsc::channel::<Question>();
        let (opened, answer) = oneshot::channel();
        let path = options.path.clone();
        let name = format!("sqlite {}", path.display());
        thread::Builder::new()
            .name(name)
            .spawn(move || serve(options, opened, &inbox))
            .map_err(|error| StoreError::Unreadable { path: path.clone(), why: error.to_string() })?;
        answer.await.map_err(|_| StoreError::Gone { path: path.clone() })??;
        Ok(SqliteStore { questions, path })
    }

    /// Has the thread answer a question; the caller's task is free meanwhile.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let asked: Question = Box::new(move |reader| {
            // Nobody waits any more: the answer is of no use.
            let _ = reply.send(question(reader));
        });
        let gone = || StoreError::Gone { path: self.path.clone() };
        self.questions.send(asked).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn serve(
    options: Options,
    opened: oneshot::Sender<Result<(), StoreError>>,
    inbox: &mpsc::Receiver<Question>,
) {
    let mut reader = match Reader::open(options) {
        Ok(reader) => reader,
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    if opened.send(Ok(())).is_ok() {
        while let Ok(question) = inbox.recv() {
            question(&mut reader);
        }
    }
}
