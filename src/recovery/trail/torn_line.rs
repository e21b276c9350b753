//! The bytes after the last valid line: torn by a crash, or damaged?
//!
//! A crash during an append leaves the beginning of a line without its newline, and nothing else. Bytes that end in a
//! newline and are still not a valid line were once complete: that is damage.

use super::anchor::Anchor;
use super::chain_line::{self, LineBody, TornBytes};

/// Whether a crash can have left these bytes after a chain with this `head`.
pub(super) fn is_torn(head: &Anchor, scrap: &[u8]) -> bool {
    let Some(newline) = scrap.iter().rposition(|byte| *byte == b'\n') else {
        return true;
    };
    // The seal of a torn line can be torn as well: then the last piece begins like a seal.
    let (first, last) = (&scrap[..newline], &scrap[newline + 1..]);
    !last.is_empty()
        && seal(head, first).is_ok_and(|seal| seal.0.as_bytes().starts_with(last))
        && is_torn(head, first)
}

/// The line that excludes the bytes from the chain, and the new head.
pub(super) fn seal(head: &Anchor, scrap: &[u8]) -> serde_json::Result<(String, Anchor)> {
    chain_line::write(head, &LineBody::Torn(TornBytes::of(scrap)))
}
