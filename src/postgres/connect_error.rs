//! Why a server gave no connection, host by host.

use std::fmt;

/// Why there is no connection to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectError {
    /// The address, or something that it names, is wrong.
    BadTarget { source_name: String, why: String },
    /// No host answered.
    Unreachable { source_name: String, why: ConnectFailures },
    /// The server answered, and does not let us in.
    Denied { source_name: String, why: ConnectFailures },
}

impl std::error::Error for ConnectError {}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, problem, advice) = match self {
            ConnectError::BadTarget { source_name, why } => return write!(f, "{source_name}: {why}"),
            ConnectError::Unreachable { source_name, why } => (source_name, why.unreachable(), why.advice()),
            ConnectError::Denied { source_name, why } => (source_name, why.denied(), why.advice()),
        };
        write!(f, "{name} {problem}")?;
        advice.map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

/// Why one host gave no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectFailure {
    /// None if it has nothing to do with a host, or if the source has only the one that it is named after.
    pub host: Option<String>,
    pub problem: String,
    pub advice: Option<String>,
}

/// Why no host of a source gave a connection, or why the connection was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectFailures(pub Vec<ConnectFailure>);

impl ConnectFailures {
    /// That no host answered.
    pub fn unreachable(&self) -> String {
        format!("cannot be reached: {}", self.problem())
    }

    /// That a host answered, and does not let us in.
    pub fn denied(&self) -> String {
        format!("does not let us in: {}", self.problem())
    }

    /// What is wrong, and what to do where it is not the same for all hosts.
    fn problem(&self) -> String {
        match &self.0[..] {
            [one] => one.named(),
            all => joined(all.iter().map(ConnectFailure::to_string)),
        }
    }

    pub fn advice(&self) -> Option<String> {
        match &self.0[..] {
            [one] => one.advice.clone(),
            _ => None,
        }
    }

    /// All of it, without the host where there is only one: the source is named after it.
    pub fn brief(&self) -> String {
        match &self.0[..] {
            [one] => ConnectFailure { host: None, ..one.clone() }.to_string(),
            all => joined(all.iter().map(ConnectFailure::to_string)),
        }
    }
}

impl ConnectFailure {
    pub fn of(host: impl fmt::Display, problem: impl Into<String>) -> ConnectFailure {
        ConnectFailure { host: Some(host.to_string()), problem: problem.into(), advice: None }
    }

    pub fn advising(self, advice: impl Into<String>) -> ConnectFailure {
        ConnectFailure { advice: Some(advice.into()), ..self }
    }

    fn named(&self) -> String {
        match &self.host {
            Some(host) => format!("{host}: {}", self.problem),
            None => self.problem.clone(),
        }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named())?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl<T: Into<String>> From<T> for ConnectFailure {
    fn from(problem: T) -> ConnectFailure {
        ConnectFailure { host: None, problem: problem.into(), advice: None }
    }
}

impl<T: Into<ConnectFailure>> From<T> for ConnectFailures {
    fn from(failure: T) -> ConnectFailures {
        ConnectFailures(vec![failure.into()])
    }
}

fn joined(all: impl Iterator<Item = String>) -> String {
    all.collect::<Vec<_>>().join("; ")
}
