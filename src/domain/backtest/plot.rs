//! Wrong takes against the threshold, as bars of characters. The threshold is the time that the claims of dead holders
//! wait, so the plot shows what a shorter wait costs.

use std::fmt::Write as _;

use super::tested::Tested;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A bar with its gap takes at most so many columns.
const WIDEST: usize = 4;

/// One bar for each threshold; `░` where the recording cannot judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarPlot {
    pub bars: Vec<Tested>,
    /// The columns from one bar to the next.
    pub step: usize,
    /// From the top to the bottom.
    pub lines: Vec<PlotLine>,
    /// The width of the labels on the left.
    pub margin: usize,
}

/// One line of the bars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotLine {
    /// The number that this height stands for; empty between the ends.
    pub label: String,
    /// The part of each bar at this height.
    pub cells: Vec<char>,
}

impl BarPlot {
    /// The bars that fit into so many columns, so many lines high.
    pub fn new(tested: &[Tested], columns: usize, height: usize) -> BarPlot {
        let most = tested.iter().map(Tested::wrongly_at_most).max().unwrap_or(0);
        let top = short(most);
        let margin = top.len().max(1);
        let room = columns.saturating_sub(margin + 2).max(1);
        let bars: Vec<Tested> = tested.iter().step_by(tested.len().div_ceil(room).max(1)).copied().collect();
        let step = (room / bars.len().max(1)).clamp(1, WIDEST);
        let lines = (0..height).rev().map(|line| PlotLine {
            label: match line {
                0 => "0".into(),
                line if line + 1 == height => top.clone(),
                _ => String::new(),
            },
            cells: bars.iter().map(|one| cell(one, most, (line, height))).collect(),
        });
        BarPlot { lines: lines.collect(), bars, step, margin }
    }

    /// How many columns a bar takes without the gap to the next.
    pub fn bar_width(&self) -> usize {
        self.step.saturating_sub(1).max(1)
    }

    /// The thresholds below the bars, as many as fit.
    pub fn axis(&self) -> String {
        let mut line = String::new();
        for (at, one) in self.bars.iter().enumerate() {
            let place = at * self.step;
            // Two spaces between two labels.
            if line.is_empty() || line.len() + 2 <= place {
                line.push_str(&" ".repeat(place - line.len()));
                line.push_str(&one.threshold.to_string());
            }
        }
        line
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        let margin = self.margin;
        let mut out = String::from("wrongly taken\n");
        for PlotLine { label, cells } in &self.lines {
            let tick = if label.is_empty() { '│' } else { '┤' };
            let mut drawn = String::new();
            for cell in cells {
                drawn.extend(std::iter::repeat_n(*cell, self.bar_width()));
                drawn.extend(std::iter::repeat_n(' ', self.step - self.bar_width()));
            }
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{label:>margin$} {tick}{}", drawn.trim_end());
        }
        let _ = writeln!(out, "{:>margin$} └{}", "", self.axis());
        out
    }
}

/// The part of a bar in a line, which is counted from the bottom.
fn cell(one: &Tested, most: u64, (line, height): (usize, usize)) -> char {
    let (line, height) = (line as u64, height as u64);
    let full = match one.wrongly_at_most() {
        0 => 0,
        // The smallest bar can still be seen.
        count => (count * height * 8).div_ceil(most.max(1)).max(1),
    };
    let eighths = full.saturating_sub(line * 8).min(8);
    match (one.is_sound(), eighths, line) {
        (false, _, 0) => '░',
        (false, ..) => ' ',
        (true, eighths, _) => EIGHTHS[eighths as usize],
    }
}

/// "31k".
fn short(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tested::Judgement;
    use super::*;
    use crate::domain::time::Span;

    fn tested(minutes: i64, wrongly: u64) -> Tested {
        Tested { wrongly, ..Tested::of(Span::minutes(minutes), Judgement::Sound) }
    }

    #[test]
    fn the_highest_bar_is_full_and_the_smallest_can_be_seen() {
        let all = [tested(1, 31_203), tested(2, 1), tested(3, 0)];
        let plot = BarPlot::new(&all, 20, 4);
        assert_eq!(
            plot.lines.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(),
            ["31k", "", "", "0"]
        );
        assert_eq!(plot.lines[0].cells, ['█', ' ', ' ']);
        assert_eq!(plot.lines[3].cells, ['█', '▁', ' ']);
        assert_eq!(plot.axis(), "1m  2m  3m");
    }

    #[test]
    fn a_narrow_plot_leaves_bars_out_and_labels_that_would_touch() {
        let all: Vec<Tested> = (1..=60).map(|minutes| tested(minutes, 60 - minutes.unsigned_abs())).collect();
        let plot = BarPlot::new(&all, 34, 3);
        assert_eq!((plot.bars.len(), plot.step), (30, 1));
        assert_eq!(plot.axis(), "1m  9m  17m  27m  37m  47m  57m");
        let unsound = Tested { judgement: Judgement::BelowFloor(Span::minutes(2)), ..tested(1, 5) };
        assert_eq!(BarPlot::new(&[unsound], 20, 2).lines[1].cells, ['░']);
    }
}
