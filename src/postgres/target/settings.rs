//! The parameters of a target from all places, the strongest first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::config::TargetSessionAttrs;

use super::environment::Environment;
use super::host::{Address, Host, PORT};
use super::secret::PasswordText;
use super::{Target, service, text};
use crate::domain::visible::safe;
use crate::postgres::address;
use crate::postgres::keyword::{KNOWN, Mode};

/// Long enough for a far server, short enough to wait for.
const CONNECTING: Duration = Duration::from_secs(5);

/// How long sent data may stay unacknowledged before the connection counts as lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);

/// A value, and where it was said.
struct Setting {
    value: String,
    origin: String,
}

pub(super) struct TargetSettings(BTreeMap<String, Setting>);

impl TargetSettings {
    /// From the text, then the service that it or a variable names, then the variables.
    pub(super) fn gather(text: &str, here: &Environment) -> Result<TargetSettings, String> {
        let mut settings = TargetSettings(BTreeMap::new());
        let mut told = text::pairs(text)?;
        // Of a word said twice the last one counts, as in libpq.
        told.reverse();
        settings.add(told, "in the connection text");
        let of_variable = |word: &str| {
            let variable = KNOWN.iter().find(|(known, _)| *known == word)?.1?;
            here.get(variable).map(|value| (value.to_owned(), variable))
        };
        let named = |word: &str| settings.get(word).map(str::to_owned).or_else(|| Some(of_variable(word)?.0));
        let (service, file) = (named("service"), named("servicefile"));
        if let Some(name) = service {
            let of_service = service::find(&name, file.as_deref(), here)?;
            settings.add(of_service, &format!("of the service {}", safe(&name)));
        }
        // A host in the text must not be joined with an address of the surroundings.
        let placed = settings.0.contains_key("host") || settings.0.contains_key("hostaddr");
        for (word, _) in KNOWN.iter().filter(|(word, _)| !placed || !["host", "hostaddr"].contains(word)) {
            if let Some((value, variable)) = of_variable(word) {
                settings.add(vec![((*word).to_owned(), value)], &format!("in {variable}"));
            }
        }
        Ok(settings)
    }

    /// What is said already stays.
    fn add(&mut self, pairs: Vec<(String, String)>, origin: &str) {
        for (key, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            self.0.entry(key).or_insert_with(|| Setting { value, origin: origin.into() });
        }
    }

    fn get(&self, word: &str) -> Option<&str> {
        self.0.get(word).map(|setting| setting.value.as_str())
    }

    /// The target that these settings lead to, or what is wrong with them.
    pub(super) fn target(&self, command: Option<&str>, here: &Environment) -> Result<Target, String> {
        let hosts = Host::list(self.get("host"), self.get("hostaddr"), self.get("port"))?;
        let known_as = here.user();
        let user = self.get("user").map(str::to_owned).or_else(|| known_as.clone());
        let user = user.ok_or(
            "no user is named, and this system does not say who runs this; add user=NAME".to_owned(),
        )?;
        let database = self.get("dbname").unwrap_or(&user).to_owned();
        let mode = self.get("sslmode").map(Mode::parse).transpose()?;
        let roots = self.get("sslrootcert").filter(|file| *file != "system").map(PathBuf::from);
        let usual_name = || format!("claimtop/{}", known_as.as_deref().unwrap_or("unknown"));
        let name = self.get("application_name").or_else(|| self.get("fallback_application_name"));
        Ok(Target {
            label: label(&user, &hosts, &database),
            warnings: warnings(mode, &hosts),
            hosts,
            application_name: name.map_or_else(usual_name, str::to_owned),
            options: self.get("options").map(str::to_owned),
            connect_timeout: self.connect_timeout()?,
            tcp_user_timeout: self.tcp_user_timeout()?,
            session: self.session()?,
            needs_channel_binding: self.needs_channel_binding()?,
            mode,
            roots,
            password: self.password(command),
            password_command: command.map(str::to_owned),
            passfile: self.get("passfile").map(PathBuf::from).or_else(|| here.in_home(".pgpass")),
            user,
            database,
        })
    }

    /// A password of the text or the service; one of the surroundings only if no command is set.
    fn password(&self, command: Option<&str>) -> Option<PasswordText> {
        let setting = self.0.get("password")?;
        if command.is_some() && setting.origin == "in PGPASSWORD" {
            return None;
        }
        Some(PasswordText::new(setting.value.clone(), setting.origin.clone()))
    }

    fn connect_timeout(&self) -> Result<Duration, String> {
        match self.number("connect_timeout")? {
            // To libpq zero means for ever, which is never wanted here.
            None | Some(0) => Ok(CONNECTING),
            Some(seconds) => Ok(Duration::from_secs(seconds)),
        }
    }

    fn tcp_user_timeout(&self) -> Result<Duration, String> {
        match self.number("tcp_user_timeout")? {
            None | Some(0) => Ok(UNACKNOWLEDGED),
            Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        }
    }

    fn number(&self, word: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.get(word) else { return Ok(None) };
        match text.trim().parse::<u32>() {
            Ok(number) => Ok(Some(number.into())),
            Err(_) => Err(format!("{word} is not a whole number")),
        }
    }

    fn session(&self) -> Result<TargetSessionAttrs, String> {
        match self.get("target_session_attrs") {
            None | Some("any") => Ok(TargetSessionAttrs::Any),
            Some("read-write") => Ok(TargetSessionAttrs::ReadWrite),
            Some("read-only") => Ok(TargetSessionAttrs::ReadOnly),
            Some(_) => Err("target_session_attrs is none of any, read-write or read-only".into()),
        }
    }

    fn needs_channel_binding(&self) -> Result<bool, String> {
        match self.get("channel_binding") {
            None | Some("prefer" | "disable") => Ok(false),
            Some("require") => Ok(true),
            Some(_) => Err("channel_binding is none of require, prefer or disable".into()),
        }
    }
}

/// The target as a URL without its secret.
fn label(user: &str, hosts: &[Host], database: &str) -> String {
    let (mut named, mut socket) = (Vec::new(), None);
    for host in hosts {
        match &host.address {
            Address::Socket(folder) => socket = Some((folder.display().to_string(), host.port)),
            address if host.port == PORT => named.push(address.shown()),
            _ => named.push(host.to_string()),
        }
    }
    let place = match socket {
        Some((folder, PORT)) => format!("?host={folder}"),
        Some((folder, port)) => format!("?host={folder}&port={port}"),
        None => String::new(),
    };
    // A colon in a name may be that of a login that was taken for it.
    safe(&address::shown(&format!("postgres://{user}@{}/{database}{place}", named.join(","))).text)
}

fn warnings(mode: Option<Mode>, hosts: &[Host]) -> Vec<String> {
    let far = hosts.iter().find(|host| !host.is_loopback());
    match (mode, far) {
        (Some(Mode::Prefer | Mode::Allow), Some(host)) => vec![format!(
            "{host}: sslmode prefer and allow would fall back to plain text, and are taken as require"
        )],
        _ => Vec::new(),
    }
}
