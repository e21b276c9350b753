//! The screen as something to keep: text, text with colours, a picture.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use std::fmt::Write as _;

use super::text::width;

/// The lines of the screen, without colours.
pub fn plain(buffer: &Buffer) -> String {
    let mut out = String::new();
    for line in lines(buffer) {
        let said: String = line.iter().map(|(said, _)| said.as_str()).collect();
        out.push_str(said.trim_end());
        out.push('\n');
    }
    out
}

/// The lines with the sequences that colour them.
pub fn ansi(buffer: &Buffer) -> String {
    let mut out = String::new();
    for line in lines(buffer) {
        for (said, style) in line {
            let codes = sgr(style);
            if codes.is_empty() {
                out.push_str(&said);
            } else {
                let _ = write!(out, "\u{1b}[{}m{said}\u{1b}[0m", codes.join(";"));
            }
        }
        out.push('\n');
    }
    out
}

/// A picture that any browser shows.
pub fn svg(buffer: &Buffer, background: &str) -> String {
    const WIDE: f64 = 8.4;
    const TALL: f64 = 17.0;
    let area = buffer.area;
    let (wide, tall) = (f64::from(area.width) * WIDE + 16.0, f64::from(area.height) * TALL + 16.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {tall:.0}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{background}\"/>\n"
    );
    for (row, line) in lines(buffer).into_iter().enumerate() {
        let mut column = 0;
        for (said, style) in line {
            let cells = width(&said);
            let x = 8.0 + column as f64 * WIDE;
            let y = 8.0 + row as f64 * TALL;
            column += cells;
            let (ink, ground) = colours(style, background);
            if let Some(ground) = ground {
                let wide = cells as f64 * WIDE;
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{TALL}\" fill=\"{ground}\"/>"
                );
            }
            if said.trim().is_empty() {
                continue;
            }
            let weight =
                if style.add_modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
                 xml:space=\"preserve\" fill=\"{ink}\"{weight}>{}</text>",
                y + 13.0,
                cells as f64 * WIDE,
                escaped(&said)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Each line as stretches of one style.
fn lines(buffer: &Buffer) -> Vec<Vec<(String, Style)>> {
    let area = buffer.area;
    (area.top()..area.bottom())
        .map(|y| {
            let mut line: Vec<(String, Style)> = Vec::new();
            let mut x = area.left();
            while x < area.right() {
                let cell = &buffer[(x, y)];
                let (symbol, style) = (cell.symbol(), cell.style());
                match line.last_mut() {
                    Some((said, last)) if *last == style => said.push_str(symbol),
                    _ => line.push((symbol.to_owned(), style)),
                }
                // A wide character takes the place of its neighbour.
                x += u16::try_from(width(symbol)).unwrap_or(1).max(1);
            }
            line
        })
        .collect()
}

fn sgr(style: Style) -> Vec<String> {
    let mut codes = Vec::new();
    for (modifier, code) in [(Modifier::BOLD, "1"), (Modifier::DIM, "2"), (Modifier::REVERSED, "7")] {
        if style.add_modifier.contains(modifier) {
            codes.push(code.to_owned());
        }
    }
    for (colour, base) in [(style.fg, 30), (style.bg, 40)] {
        match colour {
            Some(Color::Rgb(red, green, blue)) => codes.push(format!("{};2;{red};{green};{blue}", base + 8)),
            Some(colour) => codes.extend(named(colour).map(|(code, _)| (base + code).to_string())),
            None => {}
        }
    }
    codes
}

/// The number of one of the sixteen colours, counted from the base of its kind, and how it looks.
fn named(colour: Color) -> Option<(u32, &'static str)> {
    Some(match colour {
        Color::Black => (0, "#1c1c1c"),
        Color::Red => (1, "#c0392b"),
        Color::Green => (2, "#5fa659"),
        Color::Yellow => (3, "#d4a72c"),
        Color::Blue => (4, "#3b78c4"),
        Color::Magenta => (5, "#b56bd1"),
        Color::Cyan => (6, "#4aa8b8"),
        Color::Gray => (7, "#b0b0b0"),
        Color::DarkGray => (60, "#6b6b6b"),
        Color::LightRed => (61, "#f07178"),
        Color::LightGreen => (62, "#8fca7f"),
        Color::LightYellow => (63, "#f2c265"),
        Color::LightBlue => (64, "#7aa6f0"),
        Color::LightMagenta => (65, "#d08cf0"),
        Color::LightCyan => (66, "#88c0d0"),
        Color::White => (67, "#f0f0f0"),
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    })
}

fn colours(style: Style, background: &str) -> (String, Option<String>) {
    let paint = |colour: Option<Color>| match colour {
        Some(Color::Rgb(red, green, blue)) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Some(colour) => named(colour).map(|(_, look)| look.to_owned()),
        None => None,
    };
    let ink = paint(style.fg).unwrap_or_else(|| "#d8dee9".into());
    let ground = paint(style.bg);
    if style.add_modifier.contains(Modifier::REVERSED) {
        return (ground.unwrap_or_else(|| background.into()), Some(ink));
    }
    (ink, ground)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
