//! `claimtop completions`: completion scripts for shells.

use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::aot;

use super::Cli;
use super::output::print;
use crate::exit::Exit;

/// The supported shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(shell: Shell) -> Exit {
    let shell = match shell {
        Shell::Bash => aot::Shell::Bash,
        Shell::Zsh => aot::Shell::Zsh,
        Shell::Fish => aot::Shell::Fish,
    };
    let mut script = Vec::new();
    aot::generate(shell, &mut visible(&Cli::command()), "claimtop", &mut script);
    print(&String::from_utf8_lossy(&script));
    Exit::Fine
}

/// The command without hidden verbs: the generators would offer those as well, and clap cannot remove a verb from a
/// command.
pub(super) fn visible(command: &Command) -> Command {
    // Names in clap live as long as the program, which ends after this.
    let name: &'static str = String::leak(command.get_name().to_owned());
    let mut copy = Command::new(name)
        .args(command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(visible))
        .disable_help_subcommand(true);
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if command.get_version().is_some() {
        copy = copy.version(env!("CARGO_PKG_VERSION"));
    }
    if let Some(more) = command.get_after_help() {
        copy = copy.after_help(more.clone());
    }
    copy
}
