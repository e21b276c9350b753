//! From the reading thread to the model: its answers and its silence.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{PollAnswer, ReaderThread, SILENCE};
use crate::app::message::Msg;
use crate::store::clock;

impl ReaderThread {
    /// Sends every answer to the model, and a message when none has come for a while: the waiting thread cannot send
    /// that.
    pub(crate) fn report_to(&self, source: usize, messages: &mpsc::Sender<Msg>) {
        forward(source, self, messages.clone());
        notice_silence(source, self, messages.clone());
    }
}

/// Reports that a source is silent: the thread that waits for it cannot.
fn notice_silence(source: usize, reader: &ReaderThread, messages: mpsc::Sender<Msg>) {
    let mut turns = reader.turns.clone();
    tokio::spawn(async move {
        while let Ok(turn) = turns.wait_for(|turn| turn % 2 == 1).await.map(|turn| *turn) {
            let since = clock();
            let silent = tokio::time::timeout(SILENCE, turns.wait_for(|now| *now != turn)).await.is_err();
            if silent && messages.send(Msg::Silent { source, since }).await.is_err() {
                return;
            }
            if turns.wait_for(|now| *now != turn).await.is_err() {
                return;
            }
        }
    });
}

/// If several polls wait, only the latest is sent.
fn forward(source: usize, reader: &ReaderThread, messages: mpsc::Sender<Msg>) {
    let (mut polls, slot) = (reader.polls.clone(), Arc::clone(&reader.latest));
    tokio::spawn(async move {
        while polls.changed().await.is_ok() {
            polls.borrow_and_update();
            let Some(PollAnswer { poll, events }) = slot.lock().ok().and_then(|mut latest| latest.take())
            else {
                continue;
            };
            if messages.send(Msg::Polled { source, poll, events }).await.is_err() {
                return;
            }
        }
        let _ = messages
            .send(Msg::Polled {
                source,
                poll: Err("the reader of this source has ended unexpectedly".into()),
                events: Vec::new(),
            })
            .await;
    });
}
