//! Databases on the server that a test has done with, for those it makes next: making one takes longer
//! than most of what is done to it.

use std::cell::RefCell;

use super::postgres::PgDatabase;

thread_local! {
    static SPARES: RefCell<Vec<PgDatabase>> = const { RefCell::new(Vec::new()) };
}

/// An empty database that this thread has had, or a new one.
pub fn take() -> PgDatabase {
    SPARES.with_borrow_mut(Vec::pop).unwrap_or_else(|| PgDatabase::new(""))
}

/// Empties it and keeps it, if nobody else is still at work there.
pub fn keep(database: PgDatabase) {
    let empty =
        "ROLLBACK; RESET ALL; SET lock_timeout = '2s'; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
                 GRANT USAGE ON SCHEMA public TO PUBLIC; RESET lock_timeout";
    if database.attempt(empty).is_ok() {
        SPARES.with_borrow_mut(|spares| spares.push(database));
    }
}

/// Lets go of all of them when a test ends, however it does.
pub struct DropAll;

impl Drop for DropAll {
    fn drop(&mut self) {
        let all = SPARES.with_borrow_mut(std::mem::take);
        drop(all);
    }
}
