//! Wrong takes against the threshold, as bars of characters.

use std::fmt::Write as _;

use crate::domain::backtest::Tested;

/// The lines of a bar.
const HEIGHT: u64 = 6;
/// A terminal has room for so many bars.
const MOST_BARS: usize = 60;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar for each threshold; `░` where the recording cannot judge it.
pub fn plot(tested: &[Tested]) -> String {
    let step = tested.len().div_ceil(MOST_BARS).max(1);
    let shown: Vec<&Tested> = tested.iter().step_by(step).collect();
    let wide = if shown.len() <= 30 { 2 } else { 1 };
    let most = shown.iter().map(|one| one.wrongly_at_most()).max().unwrap_or(0);
    let label = short(most);
    let margin = label.len().max(1);
    let mut out = String::from("wrongly taken\n");
    for line in (0..HEIGHT).rev() {
        let left = match line {
            5 => label.as_str(),
            0 => "0",
            _ => "",
        };
        let tick = if left.is_empty() { '│' } else { '┤' };
        let mut cells = String::new();
        for one in &shown {
            cells.push(cell(one, most, line));
            cells.extend(std::iter::repeat_n(' ', wide - 1));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{left:>margin$} {tick}{}", cells.trim_end());
    }
    let _ = writeln!(out, "{:>margin$} └{}", "", axis(&shown, wide));
    out
}

fn cell(one: &Tested, most: u64, line: u64) -> char {
    let height = match one.wrongly_at_most() {
        0 => 0,
        // The smallest bar can still be seen.
        count => (count * HEIGHT * 8).div_ceil(most.max(1)).max(1),
    };
    let eighths = height.saturating_sub(line * 8).min(8);
    match (one.is_sound(), eighths, line) {
        (false, _, 0) => '░',
        (false, ..) => ' ',
        (true, eighths, _) => EIGHTHS[eighths as usize],
    }
}

/// The thresholds below the bars, as many as fit.
fn axis(shown: &[&Tested], wide: usize) -> String {
    let mut line = String::new();
    let mut width = 0;
    for (at, one) in shown.iter().enumerate() {
        let label = one.threshold.to_string();
        if at * wide >= width {
            line.push_str(&" ".repeat(at * wide - width));
            line.push_str(&label);
            width = at * wide + label.len();
            line.push_str("  ");
            width += 2;
        }
    }
    line.trim_end().to_owned()
}

/// "31k".
fn short(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}
