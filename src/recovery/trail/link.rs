//! A line of the journal: a link of the chain.
//!
//! ```text
//! {"seq":7,"prev":"…","hash":"…","record":{…}}                     a record
//! {"seq":8,"prev":"…","hash":"…","batch":{"of":{…},"rows":[…]}}    many acts at once
//! {"seq":9,"prev":"…","hash":"…","torn":{"bytes":91,"sha256":"…"}}  a seal: what stands above was torn
//! ```
//!
//! The hash is the SHA-256 of the line without its `"hash":"…",`. It is taken of the text as it
//! stands, so a reader needs no second rendering that could differ in the last digit of a number.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::anchor::Anchor;
use super::batch::{Batch, Intended, whole};
use super::canonical::canonical;
use super::record::{Entry, Record, Stage};

#[derive(Debug)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: String,
    pub(super) hash: String,
    pub(super) body: Body,
    /// The hash fits the text.
    pub(super) holds: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Body {
    Record(Box<Record>),
    #[serde(skip_serializing)]
    Batch(Batch),
    Torn(Torn),
}

/// A line as JSON.
#[derive(Deserialize)]
struct Fields {
    seq: u64,
    prev: String,
    hash: String,
    record: Option<Box<Record>>,
    batch: Option<Batch>,
    torn: Option<Torn>,
}

/// What a crash left between two lines of the chain, without the newline that the seal added.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Torn {
    bytes: usize,
    sha256: String,
}

impl Torn {
    pub(super) fn of(scrap: &[u8]) -> Torn {
        Torn { bytes: scrap.len(), sha256: digest(&[scrap]) }
    }
}

impl Link {
    /// Reads a line, given without its newline; nothing if it is none of ours.
    pub(super) fn read(line: &[u8]) -> Option<Link> {
        Link::parse(str::from_utf8(line).ok()?).ok()
    }

    /// The same of a text, with the reason if it is none of ours.
    pub(super) fn parse(text: &str) -> serde_json::Result<Link> {
        let Fields { seq, prev, hash, record, batch, torn } = serde_json::from_str(text)?;
        let body = match (record, batch, torn) {
            (Some(record), None, None) => Body::Record(record),
            (None, Some(batch), None) => Body::Batch(batch),
            (None, None, Some(torn)) => Body::Torn(torn),
            _ => return Err(serde::de::Error::custom("no record, batch or seal")),
        };
        let holds = fits(text, seq, &prev, &hash);
        Ok(Link { seq, prev, hash, body, holds })
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor { count: self.seq, head: self.hash.clone() }
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(self.body, Body::Batch(_))
    }

    /// The batch whose outcome it tells.
    pub(super) fn outcome_of_batch(&self) -> Option<&str> {
        match &self.body {
            Body::Batch(batch) if batch.of.stage == Stage::Outcome => Some(&batch.of.action_id),
            _ => None,
        }
    }

    /// Where the chain stands after a line that holds, found without reading what the line tells.
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

    /// The records that the line carries; a seal has none.
    pub(super) fn entries(self, intended: &mut Intended) -> Vec<Entry> {
        let Link { seq, prev, hash, body, .. } = self;
        let entry = |record| Entry { seq, prev: prev.clone(), hash: hash.clone(), record };
        match body {
            Body::Record(mut record) => {
                record.after = whole(&record.before, record.after);
                vec![entry(*record)]
            }
            Body::Batch(batch) => intended.records(batch).into_iter().map(entry).collect(),
            Body::Torn(_) => Vec::new(),
        }
    }
}

fn fits(text: &str, seq: u64, prev: &str, hash: &str) -> bool {
    let start = opening(seq, prev);
    text.strip_prefix(&start)
        .and_then(|rest| rest.strip_prefix(&hash_field(hash)))
        .is_some_and(|rest| digest(&[start.as_bytes(), rest.as_bytes()]) == hash)
}

/// The text of the line that follows `head`, without its newline, and where the chain then stands.
pub(super) fn write(head: &Anchor, body: &Body) -> serde_json::Result<(String, Anchor)> {
    let body = canonical(body)?;
    let mut text = String::new();
    let head = chain(&mut text, head, &[body.strip_prefix('{').unwrap_or(&body)]);
    Ok((text, head))
}

/// Appends the line that follows `head` to a text: its body, without the opening brace, is in pieces.
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
