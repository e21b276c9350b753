//! How long a chain was: the little that must be kept elsewhere to notice a truncation.

use serde::Serialize;
use std::{fmt, str::FromStr};

use crate::domain::visible::visible;

/// The number of lines in a chain and the hash of the last one.
///
/// A truncated chain looks like a shorter chain. Only somebody who noted its length can tell, so an anchor is useful
/// only outside the reach of whoever can write the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anchor {
    pub count: u64,
    pub head: String,
}

impl Anchor {
    /// The start of every chain.
    pub fn start() -> Anchor {
        Anchor { count: 0, head: "0".repeat(64) }
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.count, self.head)
    }
}

/// A text that is not an anchor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is no anchor; write COUNT:HASH as `audit verify` prints it", visible(.0))]
pub struct BadAnchor(String);

impl FromStr for Anchor {
    type Err = BadAnchor;

    fn from_str(text: &str) -> Result<Anchor, BadAnchor> {
        let bad = || BadAnchor(text.to_owned());
        let (count, head) = text.trim().split_once(':').ok_or_else(bad)?;
        if head.len() != 64 || !head.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        Ok(Anchor { count: count.parse().map_err(|_| bad())?, head: head.to_ascii_lowercase() })
    }
}
