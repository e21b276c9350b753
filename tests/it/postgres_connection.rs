//! Connections to PostgreSQL: every way in, every way to be kept out, and an end to every wait.

mod address_forms;
mod pooler;
mod refused;
mod secrets;
mod server;
mod timeouts;
mod tls;
mod tls_downgrade;

use claimtop::store::StoreError;
use claimtop::store::postgres::{Limits, Link, Purpose, Target};
use server::CANARY;
use std::time::Duration;

/// Long enough for a busy machine.
const LIMITS: Limits = Limits {
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(30),
    answer: Duration::from_secs(60),
};

fn open(text: &str) -> Result<Link, StoreError> {
    Ok(Link::open(&Target::parse(text, None)?, Purpose::Acts, LIMITS)?)
}

/// The one cell of a statement's one row.
fn cell(link: &mut Link, sql: &str) -> String {
    link.query(sql, &[]).expect(sql)[0].get(0).expect("a cell").to_owned()
}

/// The sentence of a connection that must fail; neither it nor its parts hold a password.
fn refusal(text: &str) -> String {
    let error = open(text).err().unwrap_or_else(|| panic!("{text} got in"));
    let (said, inside) = (error.to_string(), format!("{error:?}"));
    assert!(!said.contains(CANARY) && !inside.contains(CANARY), "{said} {inside}");
    assert!(!said.contains('\n'), "{said}");
    said
}
