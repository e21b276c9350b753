//! Passwords: where they come from, and that they go nowhere else.

use std::fmt;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A password that shows itself to nobody who does not ask for it by name.
#[derive(Clone)]
pub(in crate::postgres) struct PasswordText {
    text: String,
    /// Where it was found, for a message: `in PGPASSWORD`.
    origin: String,
}

impl PasswordText {
    pub(super) fn new(text: String, origin: String) -> PasswordText {
        PasswordText { text, origin }
    }

    pub(in crate::postgres) fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for PasswordText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "*** {}", self.origin)
    }
}

/// What is known when a server asks.
#[derive(Debug, Clone)]
pub(in crate::postgres) enum Password {
    Known(PasswordText),
    /// None, and why a file that may have held one was not used.
    None {
        ignored: Option<String>,
    },
}

impl Password {
    /// Where a wrong password is to be put right.
    pub(in crate::postgres) fn origin(&self) -> String {
        match self {
            Password::Known(secret) => secret.origin.clone(),
            Password::None { .. } => "of the user".into(),
        }
    }

    /// The rest of a sentence about a server that asks for a password.
    pub(in crate::postgres) fn absence(&self) -> String {
        match self {
            Password::None { ignored: Some(why) } => format!("and {why}"),
            _ => format!("and none is known; {PLACES}"),
        }
    }
}

/// Where a password belongs.
const PLACES: &str = "put it into ~/.pgpass, PGPASSWORD, or a `password_command` in the config file";

/// How long a command may take to tell a password.
const PATIENCE: Duration = Duration::from_secs(30);

/// More than this is no password.
const LONGEST: u64 = 64 * 1024;

/// The first line that a command prints. Of a failure nothing is told but that it was one: what
/// the command printed may be the secret.
pub(super) fn from_command(command: &str) -> Result<PasswordText, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("password_command cannot be started: {error}"))?;
    let printed = read_within(&mut child, PATIENCE);
    if printed.is_none() {
        // It may have ended by itself just now.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| format!("password_command was lost: {error}"))?;
    let printed = printed.ok_or_else(|| {
        format!("password_command told no password within {} s; run it by hand", PATIENCE.as_secs())
    })?;
    if !status.success() {
        return Err(format!("password_command failed ({status}); run it by hand to see why"));
    }
    let line = printed.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    if line.is_empty() {
        return Err("password_command printed no password in its first line; run it by hand".into());
    }
    Ok(PasswordText::new(line.into(), "that password_command prints".into()))
}

/// What a child prints until it closes its output, if it does so in time.
fn read_within(child: &mut Child, limit: Duration) -> Option<String> {
    let output = child.stdout.take()?;
    let (give, take) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(LONGEST).read_to_end(&mut bytes);
        // Nobody waits any more: then it is too late.
        let _ = give.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    });
    take.recv_timeout(limit).ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_tells_its_first_line_and_a_failure_tells_nothing_of_it() {
        assert_eq!(from_command("printf 'pw \\nrest\\n'").unwrap().reveal(), "pw ");
        for failing in ["echo canary; exit 3", "echo; echo canary", "canary-command-that-is-not-there"] {
            let why = from_command(failing).unwrap_err();
            assert!(why.contains("password_command") && !why.contains("canary"), "{why}");
        }
        assert!(!format!("{:?}", from_command("echo canary").unwrap()).contains("canary"));
    }
}
