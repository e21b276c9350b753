//! Who acts: what the system says is kept apart from what the environment claims.

use super::child_process::{Again, HERE};
use super::*;
use std::process::Command;

fn who(user: Option<&str>, logname: Option<&str>) -> UserIdentity {
    let again = Again::new(HERE, "who", Path::new("/nonexistent"))
        .env("USER", user)
        .env("LOGNAME", logname)
        .env("SUDO_USER", Some("ada\u{1b}[2J\n"))
        .env("SSH_CONNECTION", Some(""));
    serde_json::from_str(&again.answer().expect("an answer")).expect("who")
}

fn says(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output().expect("a program");
    String::from_utf8(output.stdout).expect("UTF-8").trim().into()
}

#[test]
fn the_system_is_believed_and_the_environment_quoted() {
    let who = who(Some("somebody\u{202e}"), Some("else"));
    assert_eq!(who.uid.to_string(), says("id", "-ru"));
    assert_eq!(who.login, Some(says("id", "-un")));
    assert_eq!(who.host, says("uname", "-n"));
    assert_eq!(who.claimed_user.as_deref(), Some("somebody\\u{202e}"));
    assert_eq!(who.claimed_sudo_user.as_deref(), Some("ada\\u{1b}[2J\\n"));
    assert_eq!(who.claimed_ssh, None, "what is empty says nothing");
    assert_eq!(who.tty, None, "its input is a pipe");
}

#[test]
fn the_other_name_for_the_user_is_asked_second() {
    assert_eq!(who(None, Some("else")).claimed_user.as_deref(), Some("else"));
    assert_eq!(who(None, None).claimed_user, None);
}
