//! One of the hosts that a target names.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use crate::domain::visible::safe;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Host {
    pub address: Address,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) enum Address {
    /// The folder of a unix socket.
    Socket(PathBuf),
    /// A name to be looked up.
    Name(String),
    /// A number, and the name that a certificate must bear.
    Number(String, IpAddr),
}

/// Where servers put their socket.
const FOLDERS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

pub(super) const PORT: u16 = 5432;

impl Host {
    /// The lists of hosts, of their addresses and of their ports, side by side.
    pub(super) fn list(
        names: Option<&str>,
        numbers: Option<&str>,
        ports: Option<&str>,
    ) -> Result<Vec<Host>, String> {
        let names: Vec<&str> = names.map(|names| names.split(',').collect()).unwrap_or_default();
        let numbers: Vec<&str> = numbers.map(|numbers| numbers.split(',').collect()).unwrap_or_default();
        let ports: Vec<&str> = ports.map(|ports| ports.split(',').collect()).unwrap_or_default();
        let many = names.len().max(numbers.len()).max(1);
        if !names.is_empty() && !numbers.is_empty() && names.len() != numbers.len() {
            return Err(format!("there are {} hosts but {} values of hostaddr", names.len(), numbers.len()));
        }
        if ports.len() > 1 && ports.len() != many {
            return Err(format!(
                "there are {many} hosts but {} ports; name one port, or one for each",
                ports.len()
            ));
        }
        (0..many)
            .map(|at| {
                let port = port(ports.get(at).or(ports.first()).copied().unwrap_or_default())?;
                let named = |list: &[&str]| {
                    list.get(at).map(|one| one.trim().to_owned()).filter(|one| !one.is_empty())
                };
                let address = Address::of(named(&names), named(&numbers), port)?;
                Ok(Host { address, port })
            })
            .collect()
    }

    pub(super) fn is_loopback(&self) -> bool {
        match &self.address {
            Address::Socket(_) => true,
            Address::Number(_, ip) => ip.is_loopback(),
            Address::Name(name) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Whether both lead to one server, as far as their text tells. Two ways to a port of this machine
    /// are taken for one.
    pub(super) fn is_same(&self, other: &Host) -> bool {
        let same = match (&self.address, &other.address) {
            (Address::Name(one), Address::Name(two)) => one.eq_ignore_ascii_case(two),
            (Address::Number(_, one), Address::Number(_, two)) => canonical(*one) == canonical(*two),
            (one, two) => one == two,
        };
        self.port == other.port && (same || self.is_here() && other.is_here())
    }

    /// Whether it is a way to this machine, as far as its text tells.
    fn is_here(&self) -> bool {
        match &self.address {
            Address::Number(_, ip) => canonical(*ip).is_loopback(),
            Address::Socket(_) | Address::Name(_) => self.is_loopback(),
        }
    }

    /// The addresses that it leads to; all ways to this machine are one. Nothing if the name is not known.
    pub(super) fn addresses(&self) -> Option<Vec<IpAddr>> {
        match &self.address {
            Address::Socket(_) => Some(vec![HERE]),
            Address::Number(_, ip) => Some(vec![canonical(*ip)]),
            Address::Name(name) => {
                let found = (name.as_str(), self.port).to_socket_addrs().ok()?;
                Some(found.map(|address| canonical(address.ip())).collect())
            }
        }
    }

    /// Whether a password file means this host by a name; a socket goes by `localhost` too.
    pub(super) fn is_called(&self, called: &str) -> bool {
        match &self.address {
            Address::Socket(folder) => called == "localhost" || folder == Path::new(called),
            Address::Name(name) | Address::Number(name, _) => name == called,
        }
    }
}

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// One address for all that mean the same: `0.0.0.0`, `::`, `::1` and `::ffff:127.0.0.1` are this machine.
fn canonical(ip: IpAddr) -> IpAddr {
    let ip = ip.to_canonical();
    if ip.is_unspecified() || ip.is_loopback() { HERE } else { ip }
}

impl Address {
    fn of(name: Option<String>, number: Option<String>, port: u16) -> Result<Address, String> {
        let parsed = |text: &str| text.parse::<IpAddr>().ok();
        Ok(match (name, number) {
            (name, Some(number)) => {
                let ip = parsed(&number)
                    .ok_or("hostaddr is not an address in numbers; name a host by `host`".to_owned())?;
                Address::Number(name.unwrap_or(number), ip)
            }
            (None, None) => Address::Socket(usual_folder(port)),
            (Some(name), None) if name.starts_with('/') => Address::Socket(name.into()),
            (Some(name), None) if name.starts_with('@') => {
                return Err("abstract unix sockets are not supported; name the folder of a socket".into());
            }
            (Some(name), None) => match parsed(&name) {
                Some(ip) => Address::Number(name, ip),
                // Not quoted: it may be half a password.
                None if name.contains([':', '@', '?', '=']) => {
                    return Err(
                        "the name of a host holds a ':', '@', '?' or '='; write special characters of a \
                                URL as %xx"
                            .into(),
                    );
                }
                None => Address::Name(name),
            },
        })
    }
}

/// The first folder with a socket for this port, or else where most look.
fn usual_folder(port: u16) -> PathBuf {
    let there = |folder: &&&str| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists();
    PathBuf::from(FOLDERS.iter().find(there).unwrap_or(&FOLDERS[0]))
}

fn port(text: &str) -> Result<u16, String> {
    match text.trim() {
        "" => Ok(PORT),
        text => match text.parse() {
            Ok(port) if port > 0 => Ok(port),
            // The text itself stays unsaid: of a URL gone wrong it may be half a password.
            _ => {
                Err("the port is not a number from 1 to 65535; write special characters of a URL as %xx"
                    .into())
            }
        },
    }
}

impl Address {
    /// As a URL writes it, without the port.
    pub(super) fn shown(&self) -> String {
        match self {
            Address::Socket(folder) => safe(&folder.display().to_string()),
            Address::Number(name, _) if name.contains(':') => format!("[{}]", safe(name)),
            Address::Name(name) | Address::Number(name, _) => safe(name),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Socket(folder) => {
                write!(f, "socket {}/.s.PGSQL.{}", safe(&folder.display().to_string()), self.port)
            }
            Address::Name(_) | Address::Number(..) => write!(f, "{}:{}", self.address.shown(), self.port),
        }
    }
}
