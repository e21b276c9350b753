//! What a terminal is told, taken apart: only what is on the list is let through.

use claimtop::domain::visible::is_deceptive;
use std::fmt::Write as _;

/// One thing that the terminal is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(char),
    /// A style by its numbers.
    Style(Vec<u16>),
    /// The cursor goes somewhere, or something is cleared.
    Move,
    /// A private mode, switched on or off.
    Mode(u16, bool),
    /// Into the clipboard, in base64.
    Copy(String),
    Bell,
}

/// The modes that are ours: the other screen, the cursor, pastes in brackets, the mouse, and frames
/// in one go.
const MODES: [u16; 9] = [25, 1000, 1002, 1003, 1006, 1015, 1049, 2004, 2026];

/// Takes a stream apart, or says where something is not on the list.
pub fn pieces(bytes: &[u8]) -> Result<Vec<Piece>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        format!("no UTF-8 at {at}: {}", around(bytes, at))
    })?;
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = bytes.len() - rest.len();
        let wrong = |why: &str| format!("{why} at {at}: {}", around(bytes, at));
        let after = &rest[first.len_utf8()..];
        let (piece, left) = match first {
            '\x1b' => sequence(after).ok_or_else(|| wrong("a sequence that is not ours"))?,
            '\x07' => (Piece::Bell, after),
            // The shell's own screen begins a new line.
            c if is_deceptive(c) => return Err(wrong("a character that nobody sees")),
            c => (Piece::Text(c), after),
        };
        all.push(piece);
        rest = left;
    }
    Ok(all)
}

/// What follows an escape character.
fn sequence(text: &str) -> Option<(Piece, &str)> {
    match text.as_bytes().first()? {
        b'[' => control(&text[1..]),
        b']' => {
            // Set the clipboard: nothing else, and only in base64.
            let rest = text.strip_prefix("]52;c;")?;
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)))?;
            let after = rest[end..].strip_prefix("\x1b\\").or_else(|| rest[end..].strip_prefix('\x07'))?;
            Some((Piece::Copy(rest[..end].into()), after))
        }
        _ => None,
    }
}

fn control(text: &str) -> Option<(Piece, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || ";?:".contains(c)))?;
    let (parameters, last) = (&text[..end], text[end..].chars().next()?);
    let after = &text[end + last.len_utf8()..];
    let numbers = |text: &str| -> Option<Vec<u16>> {
        let number = |part: &str| if part.is_empty() { Some(0) } else { part.parse().ok() };
        text.split([';', ':']).map(number).collect()
    };
    let piece = match last {
        'm' => Piece::Style(numbers(parameters)?),
        // Places, and what is cleared.
        'A' | 'B' | 'C' | 'D' | 'G' | 'H' | 'd' | 'J' | 'K' => {
            numbers(parameters)?;
            Piece::Move
        }
        'h' | 'l' => {
            let mode = parameters.strip_prefix('?')?.parse().ok()?;
            MODES.contains(&mode).then_some(Piece::Mode(mode, last == 'h'))?
        }
        _ => return None,
    };
    Some((piece, after))
}

/// The neighbourhood of a byte, for people.
fn around(bytes: &[u8], at: usize) -> String {
    let near = &bytes[at.saturating_sub(40)..bytes.len().min(at + 40)];
    let mut out = String::new();
    for byte in near {
        match byte {
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out
}

#[test]
fn the_list_lets_ours_through_and_nothing_else() {
    let ours = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[1;1H\x1b[38;2;1;2;3m\x1b[0mtask 任務\x07\x1b]52;c;aGk=\x1b\\\x1b[?1049l";
    pieces(ours.as_bytes()).expect("ours");
    for hostile in [
        "\x1b]0;title\x07",
        "\x1b]52;c;?\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b[6n",
        "\x1b[5i",
        "\x1bc",
        "\x1b[?47h",
        "\x1b[4h",
        "\x1b[2;1t",
        "\x1bP1$r\x1b\\",
        "\x1b_x\x1b\\",
        "a\u{9b}2J",
        "\u{202e}",
        "\u{200b}",
        "\u{feff}",
        "\u{301}",
        "\u{e0041}",
        "\t",
        "\r",
        "\n",
        "\x08",
        "\x7f",
        "\x00",
        "\x0e",
        "\x1b(0",
        "\x1b",
        "\u{2028}",
    ] {
        pieces(hostile.as_bytes()).expect_err(hostile);
    }
    pieces(b"\x9b2J").expect_err("no UTF-8");
}
