//! A program in a terminal: keys go in, the screen comes out.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::error::Error;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    /// Closing it ends the terminal.
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
}

impl Terminal {
    pub fn start(
        program: &str,
        arguments: &[&str],
        (columns, lines): (u16, u16),
        state: &Path,
    ) -> Result<Terminal, Box<dyn Error>> {
        let size = PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(std::path::absolute(program)?);
        command.args(arguments);
        for (name, value) in
            [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("XDG_CONFIG_HOME", "/nonexistent")]
        {
            command.env(name, value);
        }
        command.env("XDG_STATE_HOME", state);
        command.cwd(state);
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 8_192];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let cells = |count| NonZeroU16::new(count).ok_or("a screen needs room");
        let parser = vt100::Parser::new(cells(lines)?, cells(columns)?, 0);
        Ok(Terminal { child, writer: pair.master.take_writer()?, _master: pair.master, output, parser })
    }

    pub fn press(&mut self, key: &str) -> std::io::Result<()> {
        self.writer.write_all(key.as_bytes())?;
        self.writer.flush()
    }

    /// Takes what the program writes during this time.
    pub fn run(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while self.take(end) {}
    }

    pub fn wait_for(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + PATIENCE;
        while !self.parser.screen().contents().contains(text) {
            if !self.take(end) {
                return Err(format!("{text} does not appear").into());
            }
        }
        Ok(())
    }

    /// Waits until the program has ended, and everything that it started.
    pub fn end(&mut self) -> std::io::Result<()> {
        while self.take(Instant::now() + PATIENCE) {}
        self.child.wait().map(drop)
    }

    /// Whether something came before the end.
    fn take(&mut self, end: Instant) -> bool {
        match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(bytes) => {
                self.parser.process(&bytes);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }

    /// The screen as the program itself would export it.
    pub fn screen(&self) -> Buffer {
        let screen = self.parser.screen();
        let (lines, columns) = screen.size();
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns.into(), lines.into()));
        for (row, column) in
            (0..lines.into()).flat_map(|row| (0..columns.into()).map(move |column| (row, column)))
        {
            let Some(cell) = screen.cell(row, column) else { continue };
            let shown = if cell.has_contents() { cell.contents() } else { " " };
            let mut style = Style::default().fg(colour(cell.fgcolor())).bg(colour(cell.bgcolor()));
            for (is_so, modifier) in [
                (cell.bold(), Modifier::BOLD),
                (cell.dim(), Modifier::DIM),
                (cell.inverse(), Modifier::REVERSED),
            ] {
                if is_so {
                    style = style.add_modifier(modifier);
                }
            }
            buffer[(column, row)].set_symbol(shown).set_style(style);
        }
        buffer
    }
}

/// The first sixteen in the order in which terminals number them.
const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

fn colour(colour: vt100::Color) -> Color {
    match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(number) => {
            NAMED.get(usize::from(number)).copied().unwrap_or(Color::Indexed(number))
        }
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}
