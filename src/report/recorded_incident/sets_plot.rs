//! How many claims were orphaned and stale over time: as SVG, and as lines of characters.

use std::fmt::Write as _;

use crate::domain::snapshot::Counts;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;
use crate::recording::Gap;
use crate::report::html::escaped;

const SETS: [Set; 2] = [Set::Orphaned, Set::Stale];
const COLUMNS: usize = 72;
const WIDTH: usize = 720;
const HEIGHT: usize = 150;
/// The line below the curves, and the line above which nothing but names of causes stands.
const FLOOR: usize = 128;
const CEILING: usize = 20;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) struct SetsPlot<'a> {
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) counts: &'a [(Moment, Counts)],
    pub(super) gaps: &'a [Gap],
    pub(super) causes: Vec<(Moment, String)>,
}

impl SetsPlot<'_> {
    fn most(&self) -> u64 {
        let all = self.counts.iter().flat_map(|(_, counts)| SETS.map(|set| counts.of(set)));
        all.max().unwrap_or(0)
    }

    /// Where a moment is, from 0 to `width`.
    fn x(&self, at: Moment, width: usize) -> usize {
        let whole = self.to.since(self.from).as_micros().max(1) as f64;
        let share = at.since(self.from).as_micros() as f64 / whole;
        (share.clamp(0.0, 1.0) * width as f64) as usize
    }

    pub(super) fn svg(&self) -> String {
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"orphaned and stale claims over time\">"
        );
        for gap in self.gaps {
            let (from, to) = (self.x(gap.from, WIDTH), self.x(gap.to, WIDTH));
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "<rect class=\"far\" opacity=\"0.3\" x=\"{from}\" y=\"{CEILING}\" width=\"{}\" height=\"{}\"><title>gap</title></rect>",
                (to - from.min(to)).max(1),
                FLOOR - CEILING
            );
        }
        let most = self.most().max(1);
        for set in SETS {
            let _ = write!(
                out,
                "<path class=\"{set}\" fill-opacity=\"0.35\" d=\"{}\"><title>{set}</title></path>",
                self.path(set, most)
            );
        }
        let mut free = 0;
        for (at, name) in &self.causes {
            let x = self.x(*at, WIDTH);
            let _ =
                write!(out, "<line class=\"now\" x1=\"{x}\" y1=\"{CEILING}\" x2=\"{x}\" y2=\"{FLOOR}\"/>");
            let name: String = safe(name).chars().take(24).collect();
            if x >= free {
                let _ = write!(out, "<text class=\"cause\" x=\"{x}\" y=\"12\">▾ {}</text>", escaped(&name));
                free = x + (name.chars().count() + 3) * 7;
            }
        }
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"0\" y1=\"{FLOOR}\" x2=\"{WIDTH}\" y2=\"{FLOOR}\"/>\
             <text x=\"2\" y=\"{}\">{most}</text><text x=\"0\" y=\"144\">{}</text>\
             <text x=\"{WIDTH}\" y=\"144\" text-anchor=\"end\">{}</text></svg>\
             <p class=\"dim\"><span class=\"orphaned\">■ orphaned</span> <span class=\"stale\">■ stale</span></p>",
            CEILING + 10,
            super::second(self.from),
            super::second(self.to)
        );
        out
    }

    /// A step for every change, down to the floor at both ends.
    fn path(&self, set: Set, most: u64) -> String {
        let y = |count: u64| FLOOR - usize::try_from(count * (FLOOR - CEILING) as u64 / most).unwrap_or(0);
        let mut path = String::new();
        let mut height = FLOOR;
        for (at, counts) in self.counts {
            let (x, next) = (self.x(*at, WIDTH), y(counts.of(set)));
            match path.is_empty() {
                true => _ = write!(path, "M{x} {FLOOR}V{next}"),
                false if next != height => _ = write!(path, "H{x}V{next}"),
                false => {}
            }
            height = next;
        }
        if !path.is_empty() {
            let _ = write!(path, "H{WIDTH}V{FLOOR}Z");
        }
        path
    }

    pub(super) fn lines(&self) -> String {
        let mut out = String::new();
        for set in SETS {
            let bars = self.columns(set);
            let most = bars.iter().copied().max().unwrap_or(0);
            let cell =
                |count: &u64| EIGHTHS[usize::try_from((count * 8).div_ceil(most.max(1))).unwrap_or(8).min(8)];
            let cells: String = bars.iter().map(cell).collect();
            let _ = writeln!(out, "{} {set:<8} {most:>6} {cells}", set.sign());
        }
        let mut marks = vec![' '; COLUMNS];
        for gap in self.gaps {
            let (from, to) = (self.x(gap.from, COLUMNS - 1), self.x(gap.to, COLUMNS - 1));
            marks[from..=to.max(from)].fill('·');
        }
        self.causes.iter().for_each(|(at, _)| marks[self.x(*at, COLUMNS - 1)] = '▲');
        let marks: String = marks.into_iter().collect();
        if !marks.trim().is_empty() {
            let _ = writeln!(out, "{:18}{}  (▲ cause, · gap)", "", marks.trim_end());
        }
        let (from, to) = (super::second(self.from), super::second(self.to));
        let _ = writeln!(out, "{:18}{from}{:>room$}", "", to, room = COLUMNS - from.len());
        out
    }

    /// The most claims of a set in each column of time.
    fn columns(&self, set: Set) -> Vec<u64> {
        let mut bars = vec![0; COLUMNS];
        let mut before: Option<(usize, u64)> = None;
        for (at, counts) in self.counts {
            let (x, count) = (self.x(*at, COLUMNS - 1), counts.of(set));
            if let Some((from, held)) = before {
                bars[from..=x].iter_mut().for_each(|bar: &mut u64| *bar = (*bar).max(held));
            }
            bars[x] = bars[x].max(count);
            before = Some((x, count));
        }
        if let Some((from, held)) = before {
            bars[from..].iter_mut().for_each(|bar| *bar = (*bar).max(held));
        }
        bars
    }
}
