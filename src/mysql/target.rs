//! Which server, and how to prove who we are.
//!
//! Read in the order of MySQL's own clients: the address, `[client]` of `~/.my.cnf`, the `MYSQL_*` variables, the usual.
//! Stricter in one thing: off this machine nothing is sent that is not encrypted to a server that proved its name,
//! unless the address says so.

use mysql_async::{Opts, OptsBuilder, SslOpts};
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::MyError;
use super::option_file::OptionFile;
use crate::domain::visible::safe;
use crate::postgres::target::secret::{PasswordText, from_command};
use crate::postgres::{ConnectError, ConnectFailure, address};

/// A server, a database in it, and a user. What it shows of itself holds no secret.
#[derive(Clone)]
pub struct Target {
    label: String,
    place: ServerPlace,
    user: String,
    database: String,
    mode: Option<Mode>,
    roots: Option<PathBuf>,
    password: Option<PasswordText>,
    password_command: Option<String>,
    /// Why a password that was found was not taken.
    ignored: Option<String>,
    connect_timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ServerPlace {
    Socket(PathBuf),
    Tcp { host: String, port: u16 },
}

/// `ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disabled,
    Required,
    VerifyIdentity,
}

/// Where servers put their socket.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

const PORT: u16 = 3306;
const PATIENCE: Duration = Duration::from_secs(10);
const FORM: &str = "write mysql://USER@HOST/DATABASE, or mysql://USER@localhost/DATABASE?socket=PATH";

const UNENCRYPTED: &str = "ssl-mode DISABLED is for this machine only; write REQUIRED or VERIFY_IDENTITY, or go through \
                           an SSH tunnel to 127.0.0.1";

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("label", &self.label).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Target {
    /// From a URL, `mysql://` or `mariadb://`.
    pub fn parse(text: &str, password_command: Option<&str>) -> Result<Target, ConnectError> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let suffix = std::env::var("MYSQL_GROUP_SUFFIX").ok();
        let file = home.map(|home| OptionFile::read(&home.join(".my.cnf"), suffix.as_deref()));
        let file = file.unwrap_or_default();
        Target::parse_in(text, password_command, &file, &|name| std::env::var(name).ok())
    }

    fn parse_in(
        text: &str,
        password_command: Option<&str>,
        file: &OptionFile,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Target, ConnectError> {
        let label = safe(&address::shown(text).text);
        let bad = |why: String| ConnectError::BadTarget { source_name: label.clone(), why };
        let url = Url::parse(text.trim()).map_err(bad)?;
        let or_file =
            |given: &Option<String>, name: &str| given.clone().or_else(|| file.get(name).map(str::to_owned));
        let user = or_file(&url.user, "user").or_else(|| variable("USER")).or_else(|| variable("LOGNAME"));
        let user = user.ok_or_else(|| bad(format!("no user is known; {FORM}")))?;
        let database = url.database.clone().ok_or_else(|| bad(format!("no database is named; {FORM}")))?;
        let place = url.place(file, variable).map_err(bad)?;
        let mode = or_file(&url.parameter(&["ssl-mode", "sslmode"]), "ssl-mode");
        let mode = mode.map(|mode| Mode::parse(&mode)).transpose().map_err(bad)?;
        let in_variable = || Some(PasswordText::new(variable("MYSQL_PWD")?, "in MYSQL_PWD".into()));
        let in_file = || Some(PasswordText::new(file.get("password")?.to_owned(), "in ~/.my.cnf".into()));
        let in_address = url.password.clone().map(|text| PasswordText::new(text, "in the address".into()));
        Ok(Target {
            roots: or_file(&url.parameter(&["ssl-ca", "sslrootcert"]), "ssl-ca").map(PathBuf::from),
            password: in_address
                .or_else(|| if password_command.is_some() { None } else { in_file().or_else(in_variable) }),
            password_command: password_command.map(str::to_owned),
            ignored: file.ignored.clone(),
            connect_timeout: PATIENCE,
            label,
            place,
            user,
            database,
            mode,
        })
    }

    /// For messages and headers: never a secret.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// The same with less patience.
    pub fn hurried(&self, limit: Duration) -> Target {
        Target { connect_timeout: self.connect_timeout.min(limit), ..self.clone() }
    }

    /// Whether it is a socket of this machine or its loopback address.
    pub fn is_loopback(&self) -> bool {
        match &self.place {
            ServerPlace::Socket(_) => true,
            ServerPlace::Tcp { host, .. } => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|number| number.is_loopback())
            }
        }
    }

    /// Whether both lead to one database, as far as their words tell.
    pub fn is_same_database(&self, other: &Target) -> bool {
        let is_here = self.is_loopback() && other.is_loopback();
        self.database == other.database && (self.place == other.place || is_here)
    }

    /// Whether both may be on the same machine.
    pub fn may_share_a_machine(&self, other: &Target) -> bool {
        let host = |target: &Target| match &target.place {
            ServerPlace::Socket(_) => None,
            ServerPlace::Tcp { host, .. } => Some(host.to_ascii_lowercase()),
        };
        (self.is_loopback() && other.is_loopback()) || host(self) == host(other)
    }

    /// The same for the client, with the password.
    pub(super) fn options(&self) -> Result<Opts, ConnectError> {
        let bad = |why| ConnectError::BadTarget { source_name: self.label.clone(), why };
        let password = match (&self.password, &self.password_command) {
            (Some(secret), _) => Some(secret.clone()),
            (None, Some(command)) => Some(from_command(command).map_err(bad)?),
            (None, None) => None,
        };
        let options = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(password.as_ref().map(PasswordText::reveal))
            .db_name(Some(&self.database))
            // Otherwise a connection over TCP would silently become another account's over the socket.
            .prefer_socket(false)
            // An act that writes what is there already has found its row.
            .client_found_rows(true)
            .connect_attribute("program_name", "claimtop");
        let options = match &self.place {
            ServerPlace::Socket(path) => options.socket(Some(path.to_string_lossy())),
            ServerPlace::Tcp { host, port } => options.ip_or_hostname(host).tcp_port(*port),
        };
        Ok(options.ssl_opts(self.tls().map_err(bad)?).into())
    }

    /// How the connection is protected: off this machine by a certificate that names the server.
    fn tls(&self) -> Result<Option<SslOpts>, String> {
        let (is_socket, near) = (matches!(self.place, ServerPlace::Socket(_)), self.is_loopback());
        let verified = match (self.mode, near) {
            _ if is_socket => return Ok(None),
            (Some(Mode::Disabled) | None, true) => return Ok(None),
            // Without encryption a password could be had by whoever answers in the server's place.
            (Some(Mode::Disabled), false) => return Err(UNENCRYPTED.into()),
            (Some(Mode::Required), _) if self.roots.is_none() => false,
            (Some(Mode::Required | Mode::VerifyIdentity), _) | (None, false) => true,
        };
        if !verified {
            return Ok(Some(SslOpts::default().with_danger_accept_invalid_certs(true)));
        }
        let roots = match &self.roots {
            Some(file) => vec![file.clone().into()],
            None => {
                let system = rustls_native_certs::load_native_certs().certs;
                system.into_iter().map(|certificate| certificate.to_vec().into()).collect()
            }
        };
        Ok(Some(SslOpts::default().with_root_certs(roots).with_disable_built_in_roots(true)))
    }

    /// The sentence for a connection that did not come about.
    pub(super) fn refused(&self, error: &MyError) -> ConnectError {
        let (source_name, host) = (self.label.clone(), self.place.to_string());
        let problem = match error {
            MyError::Lost(why) => safe(why),
            other => other.to_string(),
        };
        let failure = ConnectFailure::of(host, problem);
        let places = "put the password into ~/.my.cnf, MYSQL_PWD, or a `password_command` in the config file";
        match error.code() {
            Some(1044 | 1045 | 1049 | 1698) => {
                let advice = match (&self.ignored, &self.password) {
                    (Some(ignored), _) => ignored.clone(),
                    (None, None) if error.code() != Some(1049) => places.to_owned(),
                    _ => "check the user, the password and the database".to_owned(),
                };
                ConnectError::Denied { source_name, why: failure.advising(advice).into() }
            }
            // The server runs this for everybody but administrators, and ends the session if it fails.
            Some(1184) => {
                let advice = "look at the server's init_connect";
                ConnectError::Denied { source_name, why: failure.advising(advice).into() }
            }
            Some(_) => ConnectError::Denied { source_name, why: failure.into() },
            None => ConnectError::Unreachable { source_name, why: failure.into() },
        }
    }
}

impl fmt::Display for ServerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerPlace::Socket(path) => f.write_str(&safe(&path.to_string_lossy())),
            ServerPlace::Tcp { host, port } => write!(f, "{}:{port}", safe(host)),
        }
    }
}

impl Mode {
    fn parse(text: &str) -> Result<Mode, String> {
        Ok(match text.to_ascii_uppercase().replace('-', "_").as_str() {
            "DISABLED" | "DISABLE" => Mode::Disabled,
            "REQUIRED" | "REQUIRE" | "PREFERRED" | "PREFER" => Mode::Required,
            "VERIFY_IDENTITY" | "VERIFY_FULL" => Mode::VerifyIdentity,
            "VERIFY_CA" => {
                return Err(
                    "ssl-mode VERIFY_CA is not supported; write VERIFY_IDENTITY, with ssl-ca if needed"
                        .into(),
                );
            }
            _ => return Err("ssl-mode is none of VERIFY_IDENTITY, REQUIRED, DISABLED".into()),
        })
    }
}

/// The parts of an address.
#[derive(Debug)]
struct Url {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    database: Option<String>,
    parameters: BTreeMap<String, String>,
}

/// What an address may say after its question mark.
pub const PARAMETERS: [&str; 5] = ["socket", "ssl-mode", "sslmode", "ssl-ca", "sslrootcert"];

impl Url {
    fn parse(text: &str) -> Result<Url, String> {
        let rest = text.split_once("://").map(|(_, rest)| rest).ok_or(FORM)?;
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let some = |text: &str| (!text.is_empty()).then(|| decoded(text));
        let (before, parameters) = match rest.rsplit_once('?') {
            Some((before, parameters)) if !parameters.contains('@') => (before, parameters),
            _ => (rest, ""),
        };
        let (login, place) = before.rsplit_once('@').unwrap_or(("", before));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (some(user), some(password)),
            None => (some(login), None),
        };
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((number, port)) => (number, port.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = port.filter(|port| !port.is_empty()).map(|port| port.parse::<u16>());
        let port = port.transpose().map_err(|_| "the port is none".to_owned())?;
        let mut known = BTreeMap::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let name = decoded(name).to_ascii_lowercase().replace('_', "-");
            if !PARAMETERS.contains(&name.as_str()) {
                return Err(format!("an address may have the parameters {}", PARAMETERS.join(", ")));
            }
            known.insert(name, decoded(value));
        }
        Ok(Url { user, password, host: some(host), port, database: some(database), parameters: known })
    }

    fn parameter(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.parameters.get(*name).cloned())
    }

    /// `localhost` without a port means the socket, as it does for MySQL's own clients.
    fn place(
        &self,
        file: &OptionFile,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ServerPlace, String> {
        if let Some(path) = self.parameters.get("socket") {
            return Ok(ServerPlace::Socket(path.into()));
        }
        let host = self
            .host
            .clone()
            .or_else(|| file.get("host").map(str::to_owned))
            .or_else(|| variable("MYSQL_HOST"));
        let port =
            match (self.port, file.get("port").map(str::to_owned).or_else(|| variable("MYSQL_TCP_PORT"))) {
                (Some(port), _) => Some(port),
                (None, Some(port)) => {
                    Some(port.parse().map_err(|_| format!("the port {} is none", safe(&port)))?)
                }
                (None, None) => None,
            };
        let host = host.unwrap_or_else(|| "localhost".into());
        if host != "localhost" || self.port.is_some() {
            return Ok(ServerPlace::Tcp { host, port: port.unwrap_or(PORT) });
        }
        let named = file.get("socket").map(str::to_owned).or_else(|| variable("MYSQL_UNIX_PORT"));
        let usual = || SOCKETS.iter().find(|path| Path::new(path).exists()).map(|path| (*path).to_owned());
        Ok(match named.or_else(usual) {
            Some(path) => ServerPlace::Socket(path.into()),
            None => ServerPlace::Tcp { host: "127.0.0.1".into(), port: port.unwrap_or(PORT) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, ConnectError> {
        let variable = |name: &str| (name == "USER").then(|| "me".to_owned());
        Target::parse_in(text, None, &OptionFile::default(), &variable)
    }

    #[test]
    fn an_address_is_taken_apart_and_its_password_is_shown_to_nobody() {
        let found = target("mysql://ann:s%40cret@db.example:3307/app?ssl-mode=REQUIRED").unwrap();
        assert_eq!(found.place, ServerPlace::Tcp { host: "db.example".into(), port: 3307 });
        assert_eq!((found.user.as_str(), found.database.as_str()), ("ann", "app"));
        assert_eq!(found.password.as_ref().unwrap().reveal(), "s@cret");
        assert!(!format!("{found:?} {}", found.label()).contains("cret"), "{found:?}");
        let here = target("mariadb://localhost/app?socket=/run/x/s").unwrap();
        assert_eq!(here.place, ServerPlace::Socket("/run/x/s".into()));
        assert_eq!(here.user, "me");
        assert!(here.is_loopback() && here.tls().unwrap().is_none());
    }

    #[test]
    fn off_this_machine_a_certificate_is_asked_for_unless_the_address_says_otherwise() {
        for (address, is_encrypted, is_verified) in [
            ("mysql://db.example/app", true, true),
            ("mysql://db.example/app?ssl-mode=VERIFY_IDENTITY", true, true),
            ("mysql://db.example/app?ssl-mode=REQUIRED", true, false),
            ("mysql://127.0.0.1/app?ssl-mode=DISABLED", false, false),
            ("mysql://127.0.0.1/app", false, false),
            ("mysql://[::1]:3306/app", false, false),
            ("mysql://127.0.0.1/app?ssl-mode=verify-full", true, true),
        ] {
            let tls = target(address).unwrap().tls().unwrap();
            assert_eq!(tls.is_some(), is_encrypted, "{address}");
            assert_eq!(tls.is_some_and(|tls| !tls.accept_invalid_certs()), is_verified, "{address}");
        }
    }

    #[test]
    fn nothing_leaves_this_machine_unencrypted() {
        let why = target("mysql://db.example/app?ssl-mode=DISABLED").unwrap().tls().unwrap_err();
        assert!(why.contains("for this machine only"), "{why}");
    }

    #[test]
    fn what_an_address_cannot_say_is_an_error_without_its_text() {
        for address in [
            "mysql://db",
            "mysql://u:canary@h/d?canary=1",
            "mysql://h:canary/d",
            "mysql://h/d?ssl-mode=VERIFY_CA",
        ] {
            let error = target(address).unwrap_err().to_string();
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
