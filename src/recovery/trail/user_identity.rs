//! Who acts: what the system knows, and what the environment claims.

use rustix::{process::getuid, system::uname, termios::isatty};
use serde::{Deserialize, Serialize};
use std::{env, fs};

use crate::domain::visible::escape;

/// Who acts. The environment can be set to anything, so its values are called claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserIdentity {
    pub uid: u32,
    pub login: Option<String>,
    pub claimed_user: Option<String>,
    pub claimed_sudo_user: Option<String>,
    pub claimed_ssh: Option<String>,
    pub tty: Option<String>,
    pub host: String,
}

impl UserIdentity {
    /// The login, or the user id if there is none.
    pub fn name(&self) -> String {
        self.login.clone().unwrap_or_else(|| format!("uid {}", self.uid))
    }

    /// The user of this process.
    pub fn here() -> UserIdentity {
        let uid = getuid().as_raw();
        UserIdentity {
            uid,
            login: login(uid),
            claimed_user: claim("USER").or_else(|| claim("LOGNAME")),
            claimed_sudo_user: claim("SUDO_USER"),
            claimed_ssh: claim("SSH_CONNECTION"),
            tty: tty(),
            host: escape(&uname().nodename().to_string_lossy()),
        }
    }
}

fn claim(name: &str) -> Option<String> {
    env::var_os(name).filter(|value| !value.is_empty()).map(|value| escape(&value.to_string_lossy()))
}

/// The user's name in /etc/passwd. Logins from elsewhere (LDAP, for example) stay unknown: asking for them needs the C
/// library, and the uid already identifies the user.
fn login(uid: u32) -> Option<String> {
    let bytes = fs::read("/etc/passwd").ok()?;
    String::from_utf8_lossy(&bytes).lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| escape(name))
    })
}

fn tty() -> Option<String> {
    if !isatty(std::io::stdin()) {
        return None;
    }
    fs::read_link("/proc/self/fd/0").ok().map(|path| escape(&path.to_string_lossy()))
}
