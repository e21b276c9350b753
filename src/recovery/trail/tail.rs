//! The end of the journal, read from behind: the head of the chain, and what must be repaired before the next append.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::anchor::Anchor;
use super::chain_line::ChainLine;
use super::torn_line::seal;

/// How much is read at first; lines are rarely longer.
const CHUNK: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct Tail {
    /// The head of the chain; `None` if the file has no valid line.
    pub(super) head: Option<Anchor>,
    mend: Repair,
}

/// What the end of the file needs.
#[derive(Debug)]
enum Repair {
    Nothing,
    /// The last line is complete except for its newline.
    Newline,
    /// Bytes that are not part of the chain and must be sealed.
    Seal(Vec<u8>),
}

impl Tail {
    /// Reads only as much of the file as is needed to find the last valid line.
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
                let mend = if bytes.is_empty() { Repair::Nothing } else { Repair::Seal(bytes) };
                return Ok(Tail { head: None, mend });
            }
            size = size.saturating_mul(4);
        }
    }

    /// The first piece may lack its beginning; then it is not a valid line and the search continues.
    fn find(bytes: &[u8]) -> Option<Tail> {
        let mut end = bytes.len();
        loop {
            let piece = bytes[..end].strip_suffix(b"\n").unwrap_or(&bytes[..end]);
            let start = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            if let Some(head) = ChainLine::head(&piece[start..]) {
                let mend = match &bytes[end..] {
                    [] if piece.len() == end => Repair::Newline,
                    [] => Repair::Nothing,
                    scrap => Repair::Seal(scrap.to_vec()),
                };
                return Some(Tail { head: Some(head), mend });
            }
            if start == 0 {
                return None;
            }
            end = start;
        }
    }

    /// Whether the next line can be appended as it is.
    pub(super) fn is_clean(&self) -> bool {
        matches!(self.mend, Repair::Nothing)
    }

    /// The text that must be written before the next line, and the head after it.
    pub(super) fn mended(self) -> serde_json::Result<(String, Anchor)> {
        let head = self.head.unwrap_or_else(Anchor::start);
        match self.mend {
            Repair::Nothing => Ok((String::new(), head)),
            Repair::Newline => Ok(("\n".into(), head)),
            Repair::Seal(scrap) => {
                // The torn bytes get a newline from us; the seal covers the bytes before it.
                let newline = if scrap.ends_with(b"\n") { "" } else { "\n" };
                let (seal, head) = seal(&head, &scrap)?;
                Ok((format!("{newline}{seal}\n"), head))
            }
        }
    }
}
