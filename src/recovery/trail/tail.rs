//! The end of the journal, found from behind: where the chain stands, and what must be mended
//! before it can go on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::anchor::Anchor;
use super::link::Link;
use super::scrap::seal;

/// What is read at first; a line is seldom longer.
const CHUNK: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct Tail {
    /// Where the chain stands; nothing if no line of the file tells.
    pub(super) head: Option<Anchor>,
    mend: Mend,
}

/// What the file lacks at its end.
#[derive(Debug)]
enum Mend {
    Nothing,
    /// The last line is whole but for its newline.
    Newline,
    /// Bytes that are no part of the chain, and must be told apart from it.
    Seal(Vec<u8>),
}

impl Tail {
    /// Reads no more of the file than it takes to find the last line that holds.
    pub(super) fn read(file: &File, length: u64) -> io::Result<Tail> {
        let mut size = CHUNK;
        loop {
            let start = length.saturating_sub(size);
            let mut bytes = vec![0; usize::try_from(length - start).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, start)?;
            if let Some(tail) = Tail::find(&bytes) {
                return Ok(tail);
            }
            if start == 0 {
                let mend = if bytes.is_empty() { Mend::Nothing } else { Mend::Seal(bytes) };
                return Ok(Tail { head: None, mend });
            }
            size = size.saturating_mul(4);
        }
    }

    /// The first piece may have lost its beginning; then it is no link and the search goes on.
    fn find(bytes: &[u8]) -> Option<Tail> {
        let mut end = bytes.len();
        loop {
            let piece = bytes[..end].strip_suffix(b"\n").unwrap_or(&bytes[..end]);
            let start = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            if let Some(head) = Link::head(&piece[start..]) {
                let mend = match &bytes[end..] {
                    [] if piece.len() == end => Mend::Newline,
                    [] => Mend::Nothing,
                    scrap => Mend::Seal(scrap.to_vec()),
                };
                return Some(Tail { head: Some(head), mend });
            }
            if start == 0 {
                return None;
            }
            end = start;
        }
    }

    /// Whether the next line can be written as it is.
    pub(super) fn is_clean(&self) -> bool {
        matches!(self.mend, Mend::Nothing)
    }

    /// The text that must be written before the next line, and where the chain then stands.
    pub(super) fn mended(self) -> serde_json::Result<(String, Anchor)> {
        let head = self.head.unwrap_or_else(Anchor::start);
        match self.mend {
            Mend::Nothing => Ok((String::new(), head)),
            Mend::Newline => Ok(("\n".into(), head)),
            Mend::Seal(scrap) => {
                // What was cut gets its newline from us; the seal speaks of the bytes before it.
                let newline = if scrap.ends_with(b"\n") { "" } else { "\n" };
                let (seal, head) = seal(&head, &scrap)?;
                Ok((format!("{newline}{seal}\n"), head))
            }
        }
    }
}
