//! Text that fits: cut in the middle, padded, counted in columns of the terminal.

use crate::domain::time::{Moment, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `room` columns; what is too long loses its middle, for ids differ at both
/// ends.
pub(super) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.into();
    }
    match room {
        0 => String::new(),
        1 => "…".into(),
        _ => {
            let tail = (room - 1) / 3;
            let head = room - 1 - tail;
            format!("{}…{}", take(text.chars(), head), take_back(text, tail))
        }
    }
}

/// The text in at most `room` columns, cut at its end: for sentences.
pub(super) fn clip(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.into();
    }
    if room == 0 { String::new() } else { format!("{}…", take(text.chars(), room - 1)) }
}

fn take(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect()
}

fn take_back(text: &str, room: usize) -> String {
    let backwards = take(text.chars().rev(), room);
    backwards.chars().rev().collect()
}

/// Exactly `room` columns.
pub(super) fn fit(text: &str, room: usize, right: bool) -> String {
    let text = cut(text, room);
    let padding = " ".repeat(room.saturating_sub(text.width()));
    if right { padding + &text } else { text + &padding }
}

/// A sentence broken into lines of at most `room` columns.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        loop {
            let Some(line) = lines.last_mut() else { return lines };
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= room {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(&word);
                break;
            }
            if line.is_empty() {
                // A word longer than a line: as much of it as fits, at least one character.
                let head = take(word.chars(), room.max(1));
                let head = if head.is_empty() { word.chars().take(1).collect() } else { head };
                line.push_str(&head);
                word = word.split_off(head.len());
                if word.is_empty() {
                    break;
                }
            }
            lines.push(String::new());
        }
    }
    lines
}

/// `1,234,567`.
pub(super) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(super) fn span(span: Option<Span>) -> String {
    span.map_or_else(|| "–".into(), whole)
}

/// Seconds do for a screen; only what is shorter shows its parts.
pub(super) fn whole(span: Span) -> String {
    let seconds = span.as_micros().div_euclid(1_000_000);
    // Beyond three years nobody counts days.
    if seconds > 1_000 * 86_400 {
        return format!("{}y", seconds / (365 * 86_400));
    }
    Span::seconds(seconds).to_string()
}

/// The time of day.
pub(super) fn clock(at: Moment) -> String {
    at.rfc3339().get(11..19).map(|time| format!("{time}Z")).unwrap_or_default()
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last `room` values as bars, the highest of them a full one.
pub(super) fn sparkline(values: &[u64], room: usize) -> String {
    let last = &values[values.len().saturating_sub(room)..];
    let most = last.iter().copied().max().unwrap_or(0).max(1);
    last.iter().map(|value| bar(*value, most)).collect()
}

/// A bar that is full at `most`.
pub(super) fn bar(value: u64, most: u64) -> char {
    BARS[((value * 7).div_ceil(most.max(1)) as usize).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ids_lose_their_middle_and_wide_characters_count_twice() {
        assert_eq!(cut("task-0123456789", 8), "task-…89");
        assert_eq!(cut("任務任務任務", 7), "任務…務");
        for room in 0..20 {
            assert!(width(&cut("任務-abc-任務-xyz", room)) <= room);
            assert!(width(&clip("任務-abc-任務-xyz", room)) <= room);
            assert_eq!(width(&fit("任務-abc-任務-xyz", room, true)), room);
        }
    }

    #[test]
    fn sentences_wrap_at_words_and_hard_words_break() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij x", 4), ["abcd", "efgh", "ij x"]);
        assert_eq!(wrap("任務任", 1).len(), 3);
    }

    #[test]
    fn numbers_are_grouped_and_sparklines_have_the_right_length() {
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(number(12), "12");
        assert_eq!(sparkline(&[0, 1, 4, 8], 3), "▂▅█");
        assert_eq!(sparkline(&[0, 0], 8), "▁▁");
    }
}
