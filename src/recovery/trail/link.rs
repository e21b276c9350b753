//! A line of the journal: a link of the chain.
//!
//! ```text
//! {"seq":7,"prev":"…","hash":"…","record":{…}}                     a record
//! {"seq":8,"prev":"…","hash":"…","torn":{"bytes":91,"sha256":"…"}}  a seal: what stands above was torn
//! ```
//!
//! The hash is the SHA-256 of the line without its `"hash":"…",`. It is taken of the text as it
//! stands, so a reader needs no second rendering that could differ in the last digit of a number.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::anchor::Anchor;
use super::canonical::canonical;
use super::record::{Entry, Record};

#[derive(Debug, Deserialize)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: String,
    pub(super) hash: String,
    #[serde(flatten)]
    pub(super) body: Body,
    /// The hash fits the text.
    #[serde(skip)]
    pub(super) holds: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Body {
    Record(Box<Record>),
    Torn(Torn),
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
        let text = str::from_utf8(line).ok()?;
        let mut link: Link = serde_json::from_str(text).ok()?;
        link.holds = link.fits(text);
        Some(link)
    }

    fn fits(&self, text: &str) -> bool {
        let start = opening(self.seq, &self.prev);
        text.strip_prefix(&start)
            .and_then(|rest| rest.strip_prefix(&hash_field(&self.hash)))
            .is_some_and(|rest| digest(&[start.as_bytes(), rest.as_bytes()]) == self.hash)
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor { count: self.seq, head: self.hash.clone() }
    }

    /// The record that the line carries, unless it is a seal.
    pub(super) fn entry(self) -> Option<Entry> {
        let Link { seq, prev, hash, body, .. } = self;
        match body {
            Body::Record(record) => Some(Entry { seq, prev, hash, record: *record }),
            Body::Torn(_) => None,
        }
    }
}

/// The text of the line that follows `head`, without its newline, and where the chain then stands.
pub(super) fn write(head: &Anchor, body: &Body) -> serde_json::Result<(String, Anchor)> {
    let seq = head.count.saturating_add(1);
    let start = opening(seq, &head.head);
    let body = canonical(body)?;
    let rest = body.strip_prefix('{').unwrap_or(&body);
    let hash = digest(&[start.as_bytes(), rest.as_bytes()]);
    let text = format!("{start}{}{rest}", hash_field(&hash));
    Ok((text, Anchor { count: seq, head: hash }))
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
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
