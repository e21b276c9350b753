//! From a target to an open connection, or a sentence that says why there is none.

use std::error::Error as _;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_postgres::config::ChannelBinding;
use tokio_postgres::{Client, Config, Error};

use super::{Wire, background};
use crate::domain::visible::safe;
use crate::postgres::connect_error::{ConnectError, ConnectFailure, ConnectFailures};
use crate::postgres::error::{PgError, chain};
use crate::postgres::target::{Address, Host, Password, Target};
use crate::postgres::tls::{Check, Tls};

/// Tries the hosts in turn. As soon as one of them answers that it does not let us in, the others
/// are left alone: they would say the same, and a wrong password would count there too.
pub(super) fn dial(target: &Target) -> Result<Wire, ConnectError> {
    let mut failures = Vec::new();
    for host in target.hosts() {
        let password = target.password(host)?;
        match dial_host(target, host, &password) {
            Ok(wire) => return Ok(wire),
            Err(Failure::Denied(why)) => {
                return Err(ConnectError::Denied { source_name: target.label().into(), why: why.into() });
            }
            Err(Failure::Unreachable(why)) => failures.push(why),
        }
    }
    Err(ConnectError::Unreachable { source_name: target.label().into(), why: ConnectFailures(failures) })
}

enum Failure {
    /// The server answered, and does not let us in.
    Denied(ConnectFailure),
    /// There is no server, or none that we may talk to.
    Unreachable(ConnectFailure),
}

fn dial_host(target: &Target, host: &Host, password: &Password) -> Result<Wire, Failure> {
    let addresses = match &host.address {
        Address::Socket(_) => vec![None],
        Address::Number(_, ip) => vec![Some(SocketAddr::new(*ip, host.port))],
        Address::Name(name) => {
            let found = look_up(name, host.port, target.connect_timeout());
            found.map_err(Failure::Unreachable)?.into_iter().map(Some).collect()
        }
    };
    let mut last =
        Failure::Unreachable(ConnectFailure::of(host, "has no address").advising("check its name"));
    for address in addresses {
        let tls = target.tls(host, address.map(|address| address.ip()));
        match dial_address(target, host, address, &tls, password) {
            Ok(wire) => return Ok(wire),
            Err(denied @ Failure::Denied(_)) => return Err(denied),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

fn look_up(name: &str, port: u16, limit: Duration) -> Result<Vec<SocketAddr>, ConnectFailure> {
    let asked = (name.to_owned(), port);
    let found = background::finish(async move {
        let answer = tokio::time::timeout(limit, tokio::net::lookup_host(asked)).await;
        answer.map(|found| found.map(Iterator::collect))
    });
    let name = safe(name);
    match found {
        Some(Ok(Ok(addresses))) => Ok(addresses),
        Some(Ok(Err(error))) => {
            Err(ConnectFailure::of(name, format!("no address is known ({error})")).advising("check the name"))
        }
        Some(Err(_)) => {
            Err(ConnectFailure::of(name, format!("no name server told its address within {limit:?}")))
        }
        None => Err(NO_THREADS.into()),
    }
}

const NO_THREADS: &str = "this system has no room for the threads that speak with servers";

fn dial_address(
    target: &Target,
    host: &Host,
    address: Option<SocketAddr>,
    tls: &Tls,
    password: &Password,
) -> Result<Wire, Failure> {
    let limit = target.connect_timeout();
    let connector = tls.connector().map_err(|why| Failure::Unreachable(why.into()))?;
    let config = config(target, host, address, tls, password);
    let ended: Arc<Mutex<Option<String>>> = Arc::default();
    let (keep, connect) = (Arc::clone(&ended), connector.clone());
    let connecting = async move {
        let (client, connection) = config.connect(connect).await?;
        let driver = tokio::spawn(async move {
            let why = match connection.await {
                Ok(()) => "the server closed it".to_owned(),
                Err(error) => match PgError::from(&error) {
                    PgError::Server { message, .. } | PgError::Lost(message) => message,
                    timed_out @ PgError::TimedOut(_) => timed_out.to_string(),
                },
            };
            if let Ok(mut ended) = keep.lock() {
                *ended = Some(why);
            }
        });
        Ok::<(Client, _), Error>((client, driver))
    };
    match background::finish(async move { tokio::time::timeout(limit, connecting).await }) {
        Some(Ok(Ok((client, driver)))) => Ok(Wire { client: Arc::new(client), driver, ended, connector }),
        Some(Ok(Err(error))) => Err(explain(&error, target, host, tls, password)),
        Some(Err(_)) => {
            let problem = format!("does not answer within {}", humantime::format_duration(limit));
            let advice = "check host, port and firewall, or raise connect_timeout";
            Err(Failure::Unreachable(ConnectFailure::of(host, problem).advising(advice)))
        }
        None => Err(Failure::Unreachable(NO_THREADS.into())),
    }
}

fn config(
    target: &Target,
    host: &Host,
    address: Option<SocketAddr>,
    tls: &Tls,
    password: &Password,
) -> Config {
    let mut config = Config::new();
    match &host.address {
        Address::Socket(folder) => config.host_path(folder),
        Address::Name(name) | Address::Number(name, _) => config.host(name.as_str()),
    };
    if let Some(address) = address {
        config.hostaddr(address.ip());
    }
    config
        .port(host.port)
        .user(target.user())
        .dbname(target.database())
        .application_name(target.application_name())
        .target_session_attrs(target.session())
        .ssl_mode(tls.wish())
        .connect_timeout(target.connect_timeout())
        .tcp_user_timeout(target.tcp_user_timeout())
        .keepalives_idle(Duration::from_secs(10))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3);
    if let Some(options) = target.options() {
        config.options(options);
    }
    if target.needs_channel_binding() {
        config.channel_binding(ChannelBinding::Require);
    }
    if let Password::Known(secret) = password {
        config.password(secret.reveal());
    }
    config
}

/// A sentence and a way out for every way to fail.
fn explain(error: &Error, target: &Target, host: &Host, tls: &Tls, password: &Password) -> Failure {
    if let Some(said) = error.as_db_error() {
        let message = safe(said.message());
        let hint = match said.code().code() {
            "28P01" => format!("check the password {}", password.origin()),
            "28000" => "check the user, and what pg_hba.conf of the server allows".into(),
            "3D000" => format!("name another database than {}", safe(target.database())),
            "53300" => "wait, or end other connections".into(),
            "57P03" => "wait until it has started".into(),
            _ => "ask whoever runs the server".into(),
        };
        let problem = format!("{message} (code {})", safe(said.code().code()));
        let failure = ConnectFailure::of(host, problem).advising(hint);
        let is_refusal = ["28", "3D"].iter().any(|class| said.code().code().starts_with(class));
        return if is_refusal { Failure::Denied(failure) } else { Failure::Unreachable(failure) };
    }
    let message = safe(&chain(error));
    if message.contains("password missing") {
        let problem = format!("asks for a password, {}", password.absence());
        return Failure::Denied(ConnectFailure::of(host, problem));
    }
    if message.contains("does not support TLS") {
        let advice = "turn it on there, or say sslmode=disable if the way to it is safe";
        return Failure::Unreachable(ConnectFailure::of(host, "the server has no TLS").advising(advice));
    }
    if message.contains("TLS handshake") {
        let way_out = match tls.check {
            Check::Nothing => "check that this is the right server",
            Check::Chain => "name the file of its certificate authority in sslrootcert",
            Check::ChainAndName => {
                "name the file of its certificate authority in sslrootcert, and the host as its certificate does"
            }
        };
        return Failure::Unreachable(ConnectFailure::of(host, message).advising(way_out));
    }
    if message.contains("authentication error") || message.contains("invalid configuration") {
        return Failure::Denied(ConnectFailure::of(host, message).advising("ask whoever runs the server"));
    }
    // What comes first is read first, and where there is little room nothing else is.
    let nobody = matches!(io_kind(error), Some(ErrorKind::NotFound | ErrorKind::ConnectionRefused));
    let message = message.trim_start_matches("error connecting to server: ");
    let message = if nobody { format!("nobody listens there: {message}") } else { message.to_owned() };
    Failure::Unreachable(ConnectFailure::of(host, message).advising("check that the server runs there"))
}

/// What the system said, if it was the system.
fn io_kind(error: &Error) -> Option<ErrorKind> {
    let mut cause = error.source();
    while let Some(deeper) = cause {
        if let Some(said) = deeper.downcast_ref::<std::io::Error>() {
            return Some(said.kind());
        }
        cause = deeper.source();
    }
    None
}
