//! A line of the journal, which is a link of the hash chain.
//!
//! ```text
//! {"seq":7,"prev":"…","hash":"…","record":{…}}                     a record
//! {"seq":8,"prev":"…","hash":"…","batch":{"of":{…},"rows":[…]}}    many acts at once
//! {"seq":9,"prev":"…","hash":"…","torn":{"bytes":91,"sha256":"…"}}  a seal: the bytes above it are torn
//! ```
//!
//! The hash is the SHA-256 of the line without its `"hash":"…",`. It is computed from the text itself, so a reader does
//! not have to render the JSON again, which could differ in the last digit of a number.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::anchor::Anchor;
use super::batch::{BatchLine, IntendedBatches, whole};
use super::canonical::canonical;
use super::record::{JournalEntry, Record, RecordStage};

#[derive(Debug)]
pub(super) struct ChainLine {
    pub(super) seq: u64,
    pub(super) prev: String,
    pub(super) hash: String,
    pub(super) body: LineBody,
    /// Whether the hash matches the text.
    pub(super) holds: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LineBody {
    Record(Box<Record>),
    #[serde(skip_serializing)]
    Batch(BatchLine),
    Torn(TornBytes),
}

/// A line as JSON.
#[derive(Deserialize)]
struct LineFields {
    seq: u64,
    prev: String,
    hash: String,
    record: Option<Box<Record>>,
    batch: Option<BatchLine>,
    torn: Option<TornBytes>,
}

/// The bytes that a crash left between two lines of the chain, without the newline that the seal added.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TornBytes {
    bytes: usize,
    sha256: String,
}

impl TornBytes {
    pub(super) fn of(scrap: &[u8]) -> TornBytes {
        TornBytes { bytes: scrap.len(), sha256: digest(&[scrap]) }
    }
}

impl ChainLine {
    /// Parses a line without its newline; `None` if it is not a line of a journal.
    pub(super) fn read(line: &[u8]) -> Option<ChainLine> {
        ChainLine::parse(str::from_utf8(line).ok()?).ok()
    }

    /// The same for a text, with the reason if it is not a line of a journal.
    pub(super) fn parse(text: &str) -> serde_json::Result<ChainLine> {
        let LineFields { seq, prev, hash, record, batch, torn } = serde_json::from_str(text)?;
        let body = match (record, batch, torn) {
            (Some(record), None, None) => LineBody::Record(record),
            (None, Some(batch), None) => LineBody::Batch(batch),
            (None, None, Some(torn)) => LineBody::Torn(torn),
            _ => return Err(serde::de::Error::custom("no record, batch or seal")),
        };
        let holds = fits(text, seq, &prev, &hash);
        Ok(ChainLine { seq, prev, hash, body, holds })
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor { count: self.seq, head: self.hash.clone() }
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(self.body, LineBody::Batch(_))
    }

    /// The batch whose outcome the line contains.
    pub(super) fn outcome_of_batch(&self) -> Option<&str> {
        match &self.body {
            LineBody::Batch(batch) if batch.of.stage == RecordStage::Outcome => Some(&batch.of.action_id),
            _ => None,
        }
    }

    /// The head of the chain after a valid line, found without parsing the line's contents.
    pub(super) fn head(line: &[u8]) -> Option<Anchor> {
        let text = str::from_utf8(line).ok()?;
        let rest = text.strip_prefix("{\"seq\":")?;
        let (seq, rest) = rest.split_once(",\"prev\":\"")?;
        let (prev, rest) = rest.split_at_checked(64)?;
        let (hash, _) = rest.strip_prefix("\",\"hash\":\"")?.split_at_checked(64)?;
        let seq = seq.parse().ok()?;
        let whole = text.ends_with("}}") && fits(text, seq, prev, hash);
        whole.then(|| Anchor { count: seq, head: hash.to_owned() })
    }

    /// The records in the line; a seal has none.
    pub(super) fn entries(self, intended: &mut IntendedBatches) -> Vec<JournalEntry> {
        let ChainLine { seq, prev, hash, body, .. } = self;
        let entry = |record| JournalEntry { seq, prev: prev.clone(), hash: hash.clone(), record };
        match body {
            LineBody::Record(mut record) => {
                record.after = whole(&record.before, record.after);
                vec![entry(*record)]
            }
            LineBody::Batch(batch) => intended.records(batch).into_iter().map(entry).collect(),
            LineBody::Torn(_) => Vec::new(),
        }
    }
}

fn fits(text: &str, seq: u64, prev: &str, hash: &str) -> bool {
    let start = opening(seq, prev);
    text.strip_prefix(&start)
        .and_then(|rest| rest.strip_prefix(&hash_field(hash)))
        .is_some_and(|rest| digest(&[start.as_bytes(), rest.as_bytes()]) == hash)
}

/// The text of the line that follows `head`, without its newline, and the new head.
pub(super) fn write(head: &Anchor, body: &LineBody) -> serde_json::Result<(String, Anchor)> {
    let body = canonical(body)?;
    let mut text = String::new();
    let head = chain(&mut text, head, &[body.strip_prefix('{').unwrap_or(&body)]);
    Ok((text, head))
}

/// Appends the line that follows `head` to a text. Its body, without the opening brace, consists of pieces.
pub(super) fn chain(text: &mut String, head: &Anchor, pieces: &[&str]) -> Anchor {
    let seq = head.count.saturating_add(1);
    let start = opening(seq, &head.head);
    let mut parts = vec![start.as_bytes()];
    parts.extend(pieces.iter().map(|piece| piece.as_bytes()));
    let hash = digest(&parts);
    let field = hash_field(&hash);
    text.reserve(start.len() + field.len() + pieces.iter().map(|piece| piece.len()).sum::<usize>() + 1);
    text.push_str(&start);
    text.push_str(&field);
    pieces.iter().for_each(|piece| text.push_str(piece));
    Anchor { count: seq, head: hash }
}

fn opening(seq: u64, prev: &str) -> String {
    format!("{{\"seq\":{seq},\"prev\":\"{prev}\",")
}

fn hash_field(hash: &str) -> String {
    format!("\"hash\":\"{hash}\",")
}

fn digest(parts: &[&[u8]]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part);
    }
    let mut hex = String::with_capacity(64);
    for byte in sha.finalize() {
        for digit in [byte >> 4, byte & 15] {
            hex.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    hex
}
