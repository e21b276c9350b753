//! MySQL and MariaDB servers: how their addresses are written, and connections to them.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No password is in anything
//! that these print or hand out. Knows neither profiles nor claims.

pub mod error;
pub mod link;
mod option_file;
mod row;
pub mod target;

pub use error::MyError;
pub use link::{Begin, Limits, Link, Purpose};
pub use row::{Cell, Row};
pub use target::Target;
