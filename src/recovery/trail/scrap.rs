//! What stands after the last good line: a crash's doing, or not?
//!
//! A crash in the middle of an append leaves the beginning of a line without its newline, and
//! nothing else. What ends in a newline and still is no link was once whole: that is damage.

use super::anchor::Anchor;
use super::link::{self, Body, Torn};

/// Whether a crash can have left these bytes after a chain that stood at `head`.
pub(super) fn is_torn(head: &Anchor, scrap: &[u8]) -> bool {
    let Some(newline) = scrap.iter().rposition(|byte| *byte == b'\n') else {
        return true;
    };
    // The sealing of a torn line can be torn as well: then the last piece begins as a seal would.
    let (first, last) = (&scrap[..newline], &scrap[newline + 1..]);
    !last.is_empty()
        && seal(head, first).is_ok_and(|seal| seal.0.as_bytes().starts_with(last))
        && is_torn(head, first)
}

/// The line that declares the scrap no part of the chain, and where the chain then stands.
pub(super) fn seal(head: &Anchor, scrap: &[u8]) -> serde_json::Result<(String, Anchor)> {
    link::write(head, &Body::Torn(Torn::of(scrap)))
}
