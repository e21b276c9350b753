//! Makes the animated picture of the README: runs `claimtop demo` in a terminal, types keys, and keeps what a
//! person would see.
//!
//! ```sh
//! cargo build && cargo run --example demo_picture -- target/debug/claimtop assets/demo.svg
//! ```
//!
//! Every frame is drawn by the program's own SVG export. What stays the same from frame to frame is in the
//! file once.

#[path = "demo_picture/animation.rs"]
mod animation;
#[path = "demo_picture/terminal.rs"]
mod terminal;

use std::error::Error;
use std::time::Duration;

use animation::{Animation, Frame};
use terminal::Terminal;

/// Columns and lines.
const SIZE: (u16, u16) = (112, 30);

/// One step of the recording.
enum Step {
    /// Wait until the screen shows this text.
    Wait(&'static str),
    /// Press a key.
    Press(&'static str),
    /// Let the program run for so many milliseconds.
    Run(u64),
    /// Keep the screen, shown for so many milliseconds, with a caption below it.
    Keep(u64, &'static str),
}

use Step::{Keep, Press, Run, Wait};

const LATER: &str = "claimtop demo: a live fleet; some workers hang or crash";
const WHY: &str = "Enter: why is this claim red?";
const TAKE: &str = "r: reclaim it; u would undo that";
const SESSIONS: &str = "4: who holds claims, and is the process alive?";
const EVENTS: &str = "7: what happened, as it happens";
const AUDIT: &str = "8: every act is on record";

const RECORDING: &[Step] = &[
    Wait("fleet"),
    Run(14_000),
    Keep(1_200, LATER),
    Run(2_000),
    Keep(1_200, LATER),
    Run(2_000),
    Keep(1_200, LATER),
    Press("j"),
    Run(700),
    Press("\r"),
    Run(900),
    Keep(4_500, WHY),
    Press("\x1b[27u"),
    Run(700),
    Press("r"),
    Run(600),
    // Where a late worker could finish the job a second time, it asks once.
    Press("y"),
    Run(1_200),
    Keep(3_000, TAKE),
    Press("4"),
    Run(1_200),
    Keep(2_500, SESSIONS),
    Press("7"),
    Run(1_200),
    Keep(2_500, EVENTS),
    Press("8"),
    Run(1_200),
    Keep(3_000, AUDIT),
    Press("q"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(program), Some(picture)) = (arguments.next(), arguments.next()) else {
        return Err("usage: demo_picture PROGRAM PICTURE.svg".into());
    };
    let state = tempfile::tempdir()?;
    let mut terminal = Terminal::start(&program, &["demo"], SIZE, state.path())?;
    let mut frames = Vec::new();
    for step in RECORDING {
        match step {
            Wait(text) => terminal.wait_for(text)?,
            Press(key) => terminal.press(key)?,
            Run(time) => terminal.run(Duration::from_millis(*time)),
            Keep(time, caption) => {
                frames.push(Frame { screen: terminal.screen(), caption, milliseconds: *time });
            }
        }
    }
    terminal.end()?;
    let text = Animation::of(&frames).svg();
    std::fs::write(&picture, &text)?;
    // The place of this program is the command line; nothing else reads its output.
    #[allow(clippy::print_stdout)]
    {
        println!("{picture}: {} frames, {} KB", frames.len(), text.len() / 1_000);
    }
    Ok(())
}
