//! A thread of its own for one source, for callers that must not wait.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::{Options, Reader, StoreError};

type Question = Box<dyn FnOnce(&mut Reader) + Send>;

/// A handle on the thread that reads one source.
#[derive(Debug)]
pub struct Handle {
    questions: mpsc::Sender<Question>,
    name: String,
}

impl Handle {
    /// Starts the thread; `Err` as soon as the source cannot be opened or no profile fits it.
    pub async fn open(options: Options) -> Result<Handle, StoreError> {
        let (questions, inbox) = mpsc::channel::<Question>();
        let (opened, answer) = oneshot::channel();
        let name = options.name();
        let gone = || StoreError::Gone { path: name.clone().into() };
        thread::Builder::new()
            .name(name.clone())
            .spawn(move || serve(options, opened, &inbox))
            .map_err(|_| gone())?;
        answer.await.map_err(|_| gone())??;
        Ok(Handle { questions, name })
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
        let gone = || StoreError::Gone { path: self.name.clone().into() };
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
