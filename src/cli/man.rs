//! `claimtop man`: one manual page, with a section for every verb.

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io;

use super::Cli;
use super::completions::visible;
use super::output::{complain, print};
use crate::exit::Exit;

pub fn run() -> Exit {
    let mut page = Vec::new();
    let mut command = visible(&Cli::command());
    // Only as a whole: verbs refer to options that they inherit.
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
        section(verb, "claimtop", page)?;
    }
    man.render_extra_section(page)
}

/// A verb, and below it the verbs that it has itself.
fn section(verb: &Command, parent: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let name = format!("{parent} {}", verb.get_name());
    // What all verbs share is said once, at the top.
    let own = verb.clone().mut_args(|argument| {
        let shared = argument.is_global_set() || argument.get_id() == "help";
        argument.hide(shared)
    });
    let has_options = own.get_arguments().any(|argument| !argument.is_hide_set());
    let man = Man::new(own);
    let mut parts = Vec::new();
    man.render_description_section(&mut parts)?;
    man.render_synopsis_section(&mut parts)?;
    if has_options {
        man.render_options_section(&mut parts)?;
    }
    // They are written for a page of their own; here they are parts of one.
    let parts = String::from_utf8_lossy(&parts).replace("\n.SH ", "\n.SS ");
    let (_, parts) = parts.split_once(".SH DESCRIPTION\n").unwrap_or(("", &parts));
    page.extend(format!(".SH \"{}\"\n{parts}", name.to_uppercase()).bytes());
    for below in verb.get_subcommands() {
        section(below, &name, page)?;
    }
    Ok(())
}
