//! What polls saw of a claim, one version after the other, and the silences in it.

use std::collections::HashMap;

use super::silence::{Silence, SilenceEnd};
use crate::domain::time::Moment;

/// A claim as several polls saw it, unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Version<'a> {
    /// Which task, and on which board.
    pub task: &'a str,
    pub holder: Option<&'a str>,
    pub claimed_at: Option<Moment>,
    /// The sign of life that the threshold counts from.
    pub sign: Moment,
    /// The first and the last poll that saw it.
    pub first: Moment,
    pub last: Moment,
    pub after: After,
}

/// What the polls after the last one saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// At this poll the task had another version, which is known too.
    Changed(Moment),
    /// At this poll its holder had given a new sign of life; that version is not known.
    Renewed(Moment),
    /// At this poll another holder had it; that version is not known.
    ChangedHands(Moment),
    /// At this poll nobody held the task.
    Gone(Moment),
    /// There was no later poll.
    Nothing,
}

/// Whether the holder of a claim was alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolderState {
    Alive,
    Silent,
    /// The system registers no holders.
    Unknown,
}

/// The silences in versions that are sorted by task and time. `state` tells whether a holder was alive at a poll.
pub fn silences(
    versions: &[Version<'_>],
    state: impl Fn(Option<&str>, Moment) -> HolderState,
) -> Vec<Silence> {
    let mut all: Vec<Silence> = Vec::with_capacity(versions.len());
    let mut claims: HashMap<(&str, Option<&str>, Option<Moment>), u32> = HashMap::new();
    let mut continued = false;
    for (at, version) in versions.iter().enumerate() {
        let number = u32::try_from(claims.len()).unwrap_or(u32::MAX);
        let claim = *claims.entry((version.task, version.holder, version.claimed_at)).or_insert(number);
        let next = versions.get(at + 1).filter(|next| next.task == version.task);
        let (end, ended_at) = end(version, next, &state);
        match all.last_mut().filter(|_| continued) {
            Some(silence) => (silence.last, silence.end, silence.ended_at) = (version.last, end, ended_at),
            None => {
                let (sign, first, last) = (version.sign, version.first, version.last);
                all.push(Silence { claim, sign, first, last, end, ended_at });
            }
        }
        continued = next.is_some_and(|next| is_same_silence(version, next));
    }
    all.sort_by_key(|silence| (silence.claim, silence.first));
    all
}

/// Whether only something else in the row changed.
fn is_same_silence(one: &Version<'_>, next: &Version<'_>) -> bool {
    matches!(one.after, After::Changed(at) if at == next.first)
        && (one.holder, one.claimed_at, one.sign) == (next.holder, next.claimed_at, next.sign)
}

fn end(
    version: &Version<'_>,
    next: Option<&Version<'_>>,
    state: &impl Fn(Option<&str>, Moment) -> HolderState,
) -> (SilenceEnd, Moment) {
    match (version.after, next) {
        // The same holder took the task again: it was alive.
        (After::Changed(at), Some(next)) if next.holder == version.holder => (SilenceEnd::Renewed, at),
        (After::Changed(at), Some(_)) => (SilenceEnd::ChangedHands, at),
        (After::Renewed(at), _) => (SilenceEnd::Renewed, at),
        (After::ChangedHands(at), _) => (SilenceEnd::ChangedHands, at),
        (After::Gone(at) | After::Changed(at), _) => {
            let end = match state(version.holder, at) {
                HolderState::Alive => SilenceEnd::Finished,
                HolderState::Silent => SilenceEnd::Abandoned,
                HolderState::Unknown => SilenceEnd::Vanished,
            };
            (end, at)
        }
        (After::Nothing, _) => (SilenceEnd::Open, version.last),
    }
}
