//! The files of a journal, read as one.
//!
//! ```text
//! journal.000001.jsonl   sealed: full, never written again
//! journal.000002.jsonl
//! journal.jsonl          the last one: lines are appended to it, until it is full and gets the next number
//! ```
//!
//! The chain continues from the last line of a file to the first line of the next.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::TrailError;
use super::ownership;

/// The file that lines are appended to.
pub(super) const LAST: &str = "journal.jsonl";

/// Where a line begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LinePlace {
    /// Counts from 1.
    pub(super) segment: u32,
    pub(super) offset: u64,
}

/// One file of the journal, up to the length that it had when it was opened.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    pub(super) end: u64,
    /// The last file is kept open: it may be renamed meanwhile.
    pub(super) file: Option<File>,
}

impl Segment {
    pub(super) fn sealed(folder: &Path, number: u32) -> Result<Segment, TrailError> {
        let path = folder.join(sealed_name(number));
        let metadata = fs::metadata(&path).map_err(|error| TrailError::io(&path, error))?;
        ownership::check(&path, &metadata)?;
        Ok(Segment { number, path, end: metadata.len(), file: None })
    }

    pub(super) fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub(super) fn open(&self) -> io::Result<File> {
        match &self.file {
            Some(file) => file.try_clone(),
            None => OpenOptions::new().read(true).open(&self.path),
        }
    }

    pub(super) fn each_line(
        &self,
        from: u64,
        take: &mut dyn FnMut(LinePlace, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        if from >= self.end {
            return Ok(ControlFlow::Continue(()));
        }
        let mut file = self.open()?;
        file.seek(SeekFrom::Start(from))?;
        let mut lines = BufReader::with_capacity(1 << 16, file).take(self.end - from);
        let (mut line, mut offset) = (Vec::new(), from);
        while lines.read_until(b'\n', &mut line)? > 0 {
            if take(LinePlace { segment: self.number, offset }, &line).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            offset += line.len() as u64;
            line.clear();
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The same in reverse, beginning with the line that ends before `to`.
    fn each_line_back(
        &self,
        to: u64,
        take: &mut dyn FnMut(LinePlace, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let file = self.open()?;
        let (mut start, mut chunk) = (to.min(self.end), 1_u64 << 16);
        // The part of the line that begins before `start`.
        let mut rest: Vec<u8> = Vec::new();
        while start > 0 {
            let size = chunk.min(start);
            let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, start - size)?;
            start -= size;
            bytes.append(&mut rest);
            let mut end = bytes.len();
            while end > 0 {
                let body = &bytes[..end - 1];
                let Some(begin) = body.iter().rposition(|byte| *byte == b'\n').map(|newline| newline + 1)
                else {
                    break;
                };
                let place = LinePlace { segment: self.number, offset: start + begin as u64 };
                if take(place, &bytes[begin..end]).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                end = begin;
            }
            chunk = if end == bytes.len() { chunk.saturating_mul(2) } else { 1 << 16 };
            bytes.truncate(end);
            rest = bytes;
        }
        if rest.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(take(LinePlace { segment: self.number, offset: 0 }, &rest))
    }
}

/// The whole journal at one moment while nobody appended. Its contents never change.
#[derive(Debug, Default)]
pub(super) struct Segments(pub(super) Vec<Segment>);

impl Segments {
    pub(super) fn get(&self, number: u32) -> Option<&Segment> {
        self.0.iter().find(|segment| segment.number == number)
    }

    /// The place after the last line.
    pub(super) fn end(&self) -> LinePlace {
        self.0
            .last()
            .map_or_else(LinePlace::default, |last| LinePlace { segment: last.number, offset: last.end })
    }

    /// How many bytes follow a place.
    pub(super) fn bytes_after(&self, place: LinePlace) -> u64 {
        let later = self.0.iter().filter(|segment| segment.number >= place.segment);
        later
            .map(|segment| match segment.number == place.segment {
                true => segment.end.saturating_sub(place.offset),
                false => segment.end,
            })
            .sum()
    }

    /// Every line from a place on, with its newline if it has one.
    pub(super) fn each_line(
        &self,
        from: LinePlace,
        mut take: impl FnMut(LinePlace, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for segment in self.0.iter().filter(|segment| segment.number >= from.segment) {
            let start = if segment.number == from.segment { from.offset } else { 0 };
            if segment.each_line(start, &mut take)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Every line before a place, the last one first.
    pub(super) fn each_line_back(
        &self,
        to: LinePlace,
        mut take: impl FnMut(LinePlace, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for segment in self.0.iter().rev().filter(|segment| segment.number <= to.segment) {
            let end = if segment.number == to.segment { to.offset } else { segment.end };
            if segment.each_line_back(end, &mut take)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The line that begins at a place, without its newline; `None` if there is none.
    pub(super) fn line_at(&self, place: LinePlace) -> io::Result<Option<Vec<u8>>> {
        let Some(segment) = self.get(place.segment) else { return Ok(None) };
        let mut found = None;
        let _ = segment.each_line(place.offset, &mut |_, line| {
            found = line.strip_suffix(b"\n").map(<[u8]>::to_vec);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }
}

pub(super) fn sealed_name(number: u32) -> String {
    format!("journal.{number:06}.jsonl")
}

/// The numbers of the sealed files in a folder, in order.
pub(super) fn sealed_numbers(folder: &Path) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("journal.")?.strip_suffix(".jsonl"));
        numbers
            .extend(number.filter(|digits| digits.len() >= 6).and_then(|digits| digits.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
