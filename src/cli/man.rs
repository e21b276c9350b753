//! `claimtop man`: one manual page, with a section for every verb.

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fmt::Write as _;
use std::io;

use super::Cli;
use super::completions::visible;
use super::help::{self, EXAMPLES, EXIT_CODES};
use super::output::{complain, print};
use crate::exit::Exit;

const ENVIRONMENT: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", "The folder of the config; ~/.config if it is not set."),
    ("XDG_STATE_HOME", "The folder of the journal and the sightings; ~/.local/state if it is not set."),
    ("PGHOST, PGUSER, PGPASSWORD, PGSERVICE, ...", "As for psql."),
    ("NO_COLOR", "No colours."),
];

const FILES: [(&str, &str); 4] = [
    ("~/.config/claimtop/config.toml", "The config: names, thresholds, protection of sources."),
    ("~/.config/claimtop/profiles/", "Profiles of your own; they are detected like the built-in ones."),
    ("~/.local/state/claimtop/audit/", "The journal of all acts."),
    ("~/.local/state/claimtop/sightings/", "What the last sweep saw. It can be deleted."),
];

pub(super) fn run() -> Exit {
    let mut page = Vec::new();
    let mut command = visible(&Cli::command());
    // Build the command as a whole: verbs refer to options that they inherit.
    command.build();
    match write(&command, &mut page) {
        Ok(()) => {
            print(&String::from_utf8_lossy(&page));
            Exit::Fine
        }
        Err(error) => complain(&format!("the page cannot be written: {error}")),
    }
}

fn write(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    for verb in command.get_subcommands() {
        section(verb, &[verb.get_name()], page)?;
    }
    let codes: Vec<(String, &str)> =
        EXIT_CODES.iter().map(|(code, meaning)| (code.to_string(), *meaning)).collect();
    page.extend(list("EXIT STATUS", codes.iter().map(|(code, meaning)| (code.as_str(), *meaning))).bytes());
    page.extend(list("ENVIRONMENT", ENVIRONMENT.into_iter()).bytes());
    page.extend(list("FILES", FILES.into_iter()).bytes());
    page.extend(examples(EXAMPLES, "SH").bytes());
    Ok(())
}

/// A verb, followed by its nested verbs.
fn section(verb: &Command, path: &[&str], page: &mut Vec<u8>) -> io::Result<()> {
    let help = help::of(path);
    // Common options are described once, at the top.
    let own = verb.clone().mut_args(|argument| {
        let is_shared = argument.is_global_set() || argument.get_id() == "help";
        let means_nothing = help.is_some_and(|help| help.hides.contains(&argument.get_id().as_str()));
        argument.hide(is_shared || means_nothing)
    });
    let has_options = own.get_arguments().any(|argument| !argument.is_hide_set());
    let man = Man::new(own);
    let mut parts = Vec::new();
    man.render_description_section(&mut parts)?;
    man.render_synopsis_section(&mut parts)?;
    if has_options {
        man.render_options_section(&mut parts)?;
    }
    // They are rendered for separate pages; here they are sections of one.
    let parts = String::from_utf8_lossy(&parts).replace("\n.SH ", "\n.SS ");
    let (_, parts) = parts.split_once(".SH DESCRIPTION\n").unwrap_or(("", &parts));
    page.extend(format!(".SH \"CLAIMTOP {}\"\n{parts}", path.join(" ").to_uppercase()).bytes());
    page.extend(examples(help.map(|help| help.examples).unwrap_or_default(), "SS").bytes());
    for below in verb.get_subcommands() {
        section(below, &[path, &[below.get_name()]].concat(), page)?;
    }
    Ok(())
}

/// A section with a list of terms.
fn list<'a>(title: &str, words: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    words.fold(format!(".SH \"{title}\"\n"), |mut section, (word, meaning)| {
        let _ = write!(section, ".TP\n\\fB{}\\fR\n{}\n", escaped(word), escaped(meaning));
        section
    })
}

/// The examples of a verb, or of the command itself.
fn examples(lines: &[&str], level: &str) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
    format!(".{level} EXAMPLES\n.nf\n{}\n.fi\n", lines.join("\n"))
}

/// A text with the special characters of roff escaped.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
