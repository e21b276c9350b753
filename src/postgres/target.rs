//! Which server, and how to prove who we are.
//!
//! Reads what `psql` reads, in the same order of strength: the text, the service file, the `PG*`
//! variables, the usual. Stricter in one thing: off this machine nothing is sent that is not
//! encrypted to a server that proved its name, unless the text says so.

mod environment;
mod host;
mod pgpass;
mod secret;
mod service;
mod settings;
mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::config::TargetSessionAttrs;

use super::keyword::Mode;
use super::tls::{Check, Encryption, Tls};
use crate::domain::visible::safe;
use crate::postgres::{ConnectError, address};
use environment::Environment;
pub(super) use host::{Address, Host};
pub(super) use secret::Password;
use secret::PasswordText;
use settings::TargetSettings;

/// A server, a database in it, and a user. What it shows of itself holds no secret.
#[derive(Clone)]
pub struct Target {
    label: String,
    hosts: Vec<Host>,
    user: String,
    database: String,
    application_name: String,
    options: Option<String>,
    connect_timeout: Duration,
    tcp_user_timeout: Duration,
    session: TargetSessionAttrs,
    needs_channel_binding: bool,
    mode: Option<Mode>,
    roots: Option<PathBuf>,
    password: Option<PasswordText>,
    password_command: Option<String>,
    passfile: Option<PathBuf>,
    warnings: Vec<String>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("label", &self.label).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Target {
    /// From a URL (`postgres://`, `postgresql://`) or a `key=value` text.
    pub fn parse(text: &str, password_command: Option<&str>) -> Result<Target, ConnectError> {
        Target::parse_in(text, password_command, &Environment::here())
    }

    fn parse_in(
        text: &str,
        password_command: Option<&str>,
        here: &Environment,
    ) -> Result<Target, ConnectError> {
        let bad = |why| ConnectError::BadTarget { source_name: safe(&address::shown(text).text), why };
        let text = text.trim();
        let settings = TargetSettings::gather(text, here).map_err(bad)?;
        settings.target(password_command, here).map_err(bad)
    }

    /// For messages and headers: never a secret.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether every host is a socket of this machine or its loopback address.
    pub fn is_loopback(&self) -> bool {
        self.hosts.iter().all(Host::is_loopback)
    }

    /// Whether both lead to one database, however it is written and as whichever user.
    pub fn is_same_database(&self, other: &Target) -> bool {
        let is_known = |host: &Host| other.hosts.iter().any(|one| one.is_same(host));
        self.database == other.database && self.hosts.iter().any(is_known)
    }

    /// Whether a port of one of their hosts may lead to the same machine: a pooler, a tunnel, another name.
    pub fn may_share_a_machine(&self, other: &Target) -> bool {
        let (one, two) = (self.machines(), other.machines());
        // A name that leads nowhere now may lead anywhere later.
        one.is_none() || two.is_none() || one.zip(two).is_some_and(|(one, two)| !one.is_disjoint(&two))
    }

    /// The addresses of all hosts; nothing if one of them is not known.
    fn machines(&self) -> Option<BTreeSet<IpAddr>> {
        let mut all = BTreeSet::new();
        for host in &self.hosts {
            all.extend(host.addresses()?);
        }
        Some(all)
    }

    /// The same with less patience.
    pub fn hurried(&self, limit: Duration) -> Target {
        Target { connect_timeout: self.connect_timeout.min(limit), ..self.clone() }
    }

    /// What the user should know of how the text was taken.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    pub(super) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    pub(super) fn application_name(&self) -> &str {
        &self.application_name
    }

    pub(super) fn options(&self) -> Option<&str> {
        self.options.as_deref()
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    pub(super) fn tcp_user_timeout(&self) -> Duration {
        self.tcp_user_timeout
    }

    pub(super) fn session(&self) -> TargetSessionAttrs {
        self.session
    }

    pub(super) fn needs_channel_binding(&self) -> bool {
        self.needs_channel_binding
    }

    /// The password for one host. The command is asked every time: some hand out passwords that
    /// soon expire.
    pub(super) fn password(&self, host: &Host) -> Result<Password, ConnectError> {
        if let Some(secret) = &self.password {
            return Ok(Password::Known(secret.clone()));
        }
        if let Some(command) = &self.password_command {
            let bad = |why| ConnectError::BadTarget { source_name: self.label.clone(), why };
            return secret::from_command(command).map(Password::Known).map_err(bad);
        }
        let Some(file) = &self.passfile else { return Ok(Password::None { ignored: None }) };
        Ok(pgpass::find(file, host, &self.database, &self.user))
    }

    /// How the connection to one address of a host is protected.
    pub(super) fn tls(&self, host: &Host, address: Option<IpAddr>) -> Tls {
        let Some(address) = address else { return Tls::OFF };
        // A name that should stay on this machine but leads off it is off it.
        let near = host.is_loopback() && address.is_loopback();
        let roots = self.roots.clone();
        let needed = |check| Tls { wish: Encryption::Needed, check, roots: roots.clone() };
        // With somebody named who may vouch, libpq has even `require` ask them.
        let require = if roots.is_some() { Check::Chain } else { Check::Nothing };
        match (self.mode, near) {
            (None, false) | (Some(Mode::VerifyFull), _) => needed(Check::ChainAndName),
            (Some(Mode::VerifyCa), _) => needed(Check::Chain),
            (Some(Mode::Require), _) | (Some(Mode::Prefer | Mode::Allow), false) => needed(require),
            (Some(Mode::Disable), _) => Tls::OFF,
            (None | Some(Mode::Prefer | Mode::Allow), true) => {
                Tls { wish: Encryption::Welcome, check: Check::Nothing, roots: None }
            }
        }
    }
}

#[cfg(test)]
mod tests;
