//! What a server, or the way to it, answers instead of rows.

use std::fmt;
use std::time::Duration;

use crate::domain::visible::safe;

/// A statement that was not done, or of which nobody knows whether it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MyError {
    /// The server refused; the connection goes on.
    Server { code: u16, message: String },
    /// The connection is gone: what was under way may have been done or not.
    Lost(String),
    /// No answer within our own limit: what was under way may still be done.
    TimedOut(Duration),
}

/// After these the server has taken the whole transaction back: what comes next would be committed on its own.
const TRANSACTION_GONE: u16 = 1213;

/// After these the server closes the connection: it shuts down, or somebody has ended our session.
const FINAL: [u16; 4] = [1053, 1080, 1927, 4031];

const ACCESS_DENIED: u16 = 1045;

impl MyError {
    pub fn code(&self) -> Option<u16> {
        match self {
            MyError::Server { code, .. } => Some(*code),
            MyError::Lost(_) | MyError::TimedOut(_) => None,
        }
    }

    /// Whether the connection cannot be used any more, or must not be.
    pub fn ends_the_link(&self) -> bool {
        match self {
            MyError::Server { code, .. } => *code == TRANSACTION_GONE,
            MyError::Lost(_) | MyError::TimedOut(_) => true,
        }
    }

    /// Whether somebody else holds a row or a table that the statement needs, or the transaction had to give way.
    pub fn is_locked(&self) -> bool {
        matches!(self.code(), Some(1020 | 1205 | 1213 | 3572))
    }

    /// Whether the server's own timer ended the statement.
    pub fn is_too_slow(&self) -> bool {
        matches!(self.code(), Some(1969 | 3024))
    }

    /// Whether it objects to the text of the statement: a table, a column or a function is not there.
    pub fn is_not_understood(&self) -> bool {
        matches!(
            self.code(),
            Some(1046 | 1051 | 1052 | 1054 | 1064 | 1066 | 1109 | 1146 | 1247 | 1305 | 1370 | 1630)
        )
    }

    /// Whether a value is none of the type or the character set that it is compared with.
    pub fn is_bad_value(&self) -> bool {
        matches!(self.code(), Some(1267 | 1292 | 1366 | 1411 | 1525 | 3854))
    }

    /// Whether the account may not do it.
    pub fn is_not_allowed(&self) -> bool {
        matches!(self.code(), Some(1044 | 1142 | 1143 | 1227 | 1370))
    }

    /// Whether the server, or the transaction, takes no writes.
    pub fn is_read_only(&self) -> bool {
        matches!(self.code(), Some(1290 | 1792 | 1836))
    }

    /// Whether it may be the fault of one row alone: a constraint, a trigger or a value of it.
    pub fn is_of_a_row(&self) -> bool {
        const OF_ROWS: [u16; 17] = [
            1048, 1062, 1169, 1216, 1217, 1242, 1264, 1265, 1364, 1366, 1406, 1451, 1452, 1644, 1690, 3819,
            4025,
        ];
        self.code().is_some_and(|code| OF_ROWS.contains(&code))
    }
}

impl std::error::Error for MyError {}

impl fmt::Display for MyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MyError::Server { code, message } => write!(f, "{} (code {code})", safe(message)),
            MyError::Lost(why) => write!(f, "the connection was lost: {}", safe(why)),
            MyError::TimedOut(limit) => write!(f, "no answer within {}", humantime::format_duration(*limit)),
        }
    }
}

impl From<mysql_async::Error> for MyError {
    fn from(error: mysql_async::Error) -> MyError {
        match error {
            mysql_async::Error::Server(said) if FINAL.contains(&said.code) => MyError::Lost(said.message),
            mysql_async::Error::Server(said) => MyError::Server { code: said.code, message: said.message },
            mysql_async::Error::Io(mysql_async::IoError::Io(why)) => MyError::Lost(why.to_string()),
            mysql_async::Error::Io(mysql_async::IoError::Tls(why)) => MyError::Lost(why.to_string()),
            // For an account that it does not know MySQL invents a way to log in, so that nobody learns which ones it
            // has: it refuses as it does for a wrong password.
            mysql_async::Error::Driver(mysql_async::DriverError::UnknownAuthPlugin { name }) => {
                let message = format!("Access denied: the server asks for the login method {name}");
                MyError::Server { code: ACCESS_DENIED, message }
            }
            mysql_async::Error::Driver(why) => MyError::Lost(why.to_string()),
            other => MyError::Lost(other.to_string()),
        }
    }
}
