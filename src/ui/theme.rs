//! Colours, and modifiers where there are none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::app::model::Tone;
use crate::domain::claim::Process;
use crate::domain::source_label::LabelColour;
use crate::domain::verdict::Set;

/// Which theme the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Palette {
    #[default]
    Dark,
    Light,
    /// For people who cannot tell red from green.
    ColourBlind,
}

impl Palette {
    /// The theme with a name as the config has it.
    pub fn named(name: &str) -> Option<Palette> {
        match name {
            "dark" => Some(Palette::Dark),
            "light" => Some(Palette::Light),
            "colour-blind" => Some(Palette::ColourBlind),
            _ => None,
        }
    }
}

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    None,
    Sixteen,
    True,
}

impl Depth {
    /// As the environment says it: `NO_COLOR`, then `COLORTERM`.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>) -> Depth {
        match (no_color, colorterm) {
            (Some(value), _) if !value.is_empty() => Depth::None,
            (_, Some("truecolor" | "24bit")) => Depth::True,
            _ => Depth::Sixteen,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Theme {
    pub text: Style,
    pub dim: Style,
    pub strong: Style,
    pub accent: Style,
    pub border: Style,
    pub focus: Style,
    selected: Style,
    pub title: Style,
    orphaned: Style,
    stale: Style,
    unknown: Style,
    expiring: Style,
    healthy: Style,
    /// Of a picture; terminals have their own.
    pub background: &'static str,
    depth: Depth,
}

/// A colour for terminals of either kind.
type Two = (u32, Color);

struct Colours {
    text: Two,
    dim: Two,
    accent: Two,
    border: Two,
    selected: Two,
    orphaned: Two,
    stale: Two,
    unknown: Two,
    expiring: Two,
    healthy: Two,
}

const DARK: Colours = Colours {
    text: (0xd8dee9, Color::Reset),
    dim: (0x7b8494, Color::DarkGray),
    accent: (0x88c0d0, Color::Cyan),
    border: (0x434c5e, Color::DarkGray),
    selected: (0x2e3748, Color::DarkGray),
    orphaned: (0xd08cf0, Color::Magenta),
    stale: (0xf07178, Color::LightRed),
    unknown: (0x9aa5b8, Color::Gray),
    expiring: (0xf2c265, Color::Yellow),
    healthy: (0x8fca7f, Color::Green),
};

const LIGHT: Colours = Colours {
    text: (0x2e3440, Color::Black),
    dim: (0x7a828f, Color::DarkGray),
    accent: (0x0b6e8a, Color::Blue),
    border: (0xb8c0cc, Color::Gray),
    selected: (0xdde5f0, Color::Gray),
    orphaned: (0x8b2fb5, Color::Magenta),
    stale: (0xb8232f, Color::Red),
    unknown: (0x5d6675, Color::DarkGray),
    expiring: (0x8a5d00, Color::Yellow),
    healthy: (0x2f7a33, Color::Green),
};

// The palette of Okabe and Ito: blue and orange carry the meaning, brightness the rest.
const COLOUR_BLIND: Colours = Colours {
    text: (0xe0e0e0, Color::Reset),
    dim: (0x8a8a8a, Color::DarkGray),
    accent: (0x56b4e9, Color::LightBlue),
    border: (0x505050, Color::DarkGray),
    selected: (0x303a46, Color::DarkGray),
    orphaned: (0xcc79a7, Color::Magenta),
    stale: (0xe69f00, Color::LightYellow),
    unknown: (0x999999, Color::Gray),
    expiring: (0xf0e442, Color::Yellow),
    healthy: (0x0072b2, Color::Blue),
};

impl Theme {
    pub fn new(palette: Palette, depth: Depth) -> Theme {
        let colours = match palette {
            Palette::Dark => DARK,
            Palette::Light => LIGHT,
            Palette::ColourBlind => COLOUR_BLIND,
        };
        let colour = |(rgb, named): Two| match depth {
            Depth::True => Color::from_u32(rgb),
            Depth::Sixteen => named,
            Depth::None => Color::Reset,
        };
        let plain = Style::default();
        let ink = |two: Two| if depth == Depth::None { plain } else { plain.fg(colour(two)) };
        // Every cell of a selected row must be readable, whatever colour it had. Where colours are few, the row has
        // one colour for all; where there are none, it is reversed.
        let selected = match depth {
            Depth::None => plain.add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM),
            Depth::Sixteen => plain.fg(Color::White).bg(Color::Blue).add_modifier(Modifier::BOLD),
            Depth::True => plain.bg(colour(colours.selected)),
        };
        let dim = if depth == Depth::None { plain.add_modifier(Modifier::DIM) } else { ink(colours.dim) };
        Theme {
            text: ink(colours.text),
            dim,
            strong: ink(colours.text).add_modifier(Modifier::BOLD),
            accent: ink(colours.accent),
            border: ink(colours.border),
            focus: ink(colours.accent),
            selected,
            title: ink(colours.accent).add_modifier(Modifier::BOLD),
            orphaned: ink(colours.orphaned).add_modifier(Modifier::BOLD),
            stale: ink(colours.stale).add_modifier(Modifier::BOLD),
            unknown: ink(colours.unknown),
            expiring: ink(colours.expiring),
            healthy: ink(colours.healthy),
            background: if palette == Palette::Light { "#fafafa" } else { "#161b22" },
            depth,
        }
    }

    /// The same terminal in other colours.
    pub(crate) fn in_palette(&self, palette: Palette) -> Theme {
        Theme::new(palette, self.depth)
    }

    /// Marks a line, or two, as the selected row.
    pub fn select(&self, place: Rect, buffer: &mut Buffer) {
        let place = place.intersection(buffer.area);
        for at in place.positions() {
            let cell = &mut buffer[at];
            // What is dim elsewhere would be hard to read here.
            if self.dim.fg == Some(cell.fg) {
                cell.set_style(self.text);
            }
            cell.set_style(self.selected);
        }
        buffer.set_stringn(place.x, place.y, "▸", 1, self.accent.patch(self.selected));
    }

    pub fn set(&self, set: Set) -> Style {
        match set {
            Set::Orphaned => self.orphaned,
            Set::Stale => self.stale,
            Set::Unknown => self.unknown,
            Set::Expiring => self.expiring,
            Set::Healthy => self.healthy,
        }
    }

    /// A cause of trouble.
    pub fn cause(&self) -> Style {
        self.stale
    }

    /// The user's own colour for a source.
    pub fn badge(&self, colour: LabelColour) -> Style {
        let colour = match colour {
            LabelColour::Red => Color::Red,
            LabelColour::Yellow => Color::Yellow,
            LabelColour::Green => Color::Green,
            LabelColour::Blue => Color::Blue,
            LabelColour::Magenta => Color::Magenta,
            LabelColour::Cyan => Color::Cyan,
        };
        let plain = Style::default().add_modifier(Modifier::BOLD | Modifier::REVERSED);
        if self.depth == Depth::None { plain } else { plain.fg(colour) }
    }

    pub fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Done => self.healthy,
            Tone::Info => self.accent,
            Tone::Moved => self.expiring,
            Tone::Refused => self.stale,
            Tone::Unknown => self.orphaned,
        }
    }

    pub fn process(&self, process: Process) -> Style {
        match process {
            Process::Alive => self.healthy,
            Process::Dead => self.stale,
            Process::Unknown => self.dim,
        }
    }
}

/// A mark beside every colour.
pub fn mark(set: Set) -> &'static str {
    set.sign()
}
