//! Frames as one animated SVG. An element that several frames in a row share is in it once.

use ratatui::buffer::Buffer;
use std::collections::BTreeMap;
use std::fmt::Write;

use claimtop::ui::picture;

const BACKGROUND: &str = "#161b22";
/// The line below the screen.
const CAPTION: u64 = 30;

/// What is shown, what is said about it, and for how long.
pub struct Frame {
    pub screen: Buffer,
    pub caption: &'static str,
    pub milliseconds: u64,
}

/// From which frame on, and before which one, an element is shown.
type Span = (usize, usize);

pub struct Animation {
    width: u64,
    height: u64,
    /// When each frame begins, and when the last one ends.
    starts: Vec<u64>,
    groups: BTreeMap<Span, Vec<String>>,
}

impl Animation {
    pub fn of(frames: &[Frame]) -> Animation {
        let mut starts = vec![0];
        let mut groups: BTreeMap<Span, Vec<String>> = BTreeMap::new();
        let (mut width, mut height) = (0, 0);
        let mut shown: BTreeMap<String, usize> = BTreeMap::new();
        for (number, frame) in frames.iter().enumerate() {
            let text = picture::svg(&frame.screen, BACKGROUND);
            (width, height) = size(&text);
            let mut now = elements(&text);
            now.push(caption(frame.caption, height));
            end(&mut shown, &mut groups, number, |element| !now.contains(element));
            for element in now {
                shown.entry(element).or_insert(number);
            }
            starts.push(starts[number] + frame.milliseconds);
        }
        end(&mut shown, &mut groups, frames.len(), |_| true);
        Animation { width, height: height + CAPTION, starts, groups }
    }

    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let total = self.starts.last().copied().unwrap_or(1).max(1);
        let mut style = format!(
            "text{{white-space:pre}}g{{animation:{total}ms step-end infinite;visibility:hidden}}.still{{visibility:visible}}"
        );
        let mut body = String::new();
        for (span @ (first, end), elements) in &self.groups {
            let all = elements.concat();
            if self.is_always(*span) {
                body.push_str(&all);
                continue;
            }
            let at = |frame: usize| self.starts[frame] as f64 * 100.0 / total as f64;
            let name = format!("f{first}-{end}");
            let _ = write!(style, "@keyframes {name}{{");
            if *first > 0 {
                style.push_str("0%{visibility:hidden}");
            }
            let _ = write!(style, "{:.2}%{{visibility:visible}}", at(*first));
            if *end + 1 < self.starts.len() {
                let _ = write!(style, "{:.2}%{{visibility:hidden}}", at(*end));
            }
            let _ = write!(style, "}}.{name}{{animation-name:{name}}}");
            // Where nothing may move, or nothing can, the first frame stays.
            let still = if *first == 0 { " still" } else { "" };
            let _ = write!(body, "<g class=\"{name}{still}\">{all}</g>");
        }
        style.push_str("@media(prefers-reduced-motion:reduce){g{animation:none}}");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-size=\"14\" \
             font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\"><style>{style}</style>\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n{body}</svg>\n"
        )
    }

    fn is_always(&self, (first, end): Span) -> bool {
        first == 0 && end + 1 == self.starts.len()
    }
}

/// Closes the spans of elements that are not shown any more from this frame on.
fn end(
    shown: &mut BTreeMap<String, usize>,
    groups: &mut BTreeMap<Span, Vec<String>>,
    frame: usize,
    is_over: impl Fn(&String) -> bool,
) {
    let over: Vec<String> = shown.keys().filter(|element| is_over(element)).cloned().collect();
    for element in over {
        if let Some(first) = shown.remove(&element) {
            groups.entry((first, frame)).or_default().push(element);
        }
    }
}

/// Width and height, from the picture's own opening.
fn size(svg: &str) -> (u64, u64) {
    let numbers = svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("0 0");
    let mut numbers = numbers.split(' ').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// What is drawn, one element a line; the background is drawn once for all frames.
fn elements(svg: &str) -> Vec<String> {
    let drawn = svg.lines().skip(2).filter(|line| *line != "</svg>");
    // Both are said once for the whole picture.
    drawn
        .map(|line| {
            line.replace(" lengthAdjust=\"spacingAndGlyphs\"", "").replace(" xml:space=\"preserve\"", "")
                + "\n"
        })
        .collect()
}

fn caption(text: &str, below: u64) -> String {
    format!("<text x=\"16\" y=\"{}\" fill=\"#f2c265\" font-weight=\"bold\">{text}</text>\n", below + 14)
}
