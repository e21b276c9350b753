//! The two engines that every promise holds on.

use std::cell::Cell;

use super::spares;

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

thread_local! {
    static ENGINE: Cell<Engine> = const { Cell::new(Engine::Sqlite) };
}

/// Where this thread makes its databases: in files, unless [`on_both`] says otherwise.
pub fn engine() -> Engine {
    ENGINE.get()
}

/// One body for both engines: what holds for files holds on servers.
pub fn on_both(body: impl Fn()) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        eprintln!("on {engine:?}:");
        ENGINE.set(engine);
        body();
    }
    spares::drop_all();
    ENGINE.set(Engine::Sqlite);
}

/// One body for one engine, for tests that take long.
pub fn on(engine: Engine, body: impl Fn()) {
    ENGINE.set(engine);
    body();
    spares::drop_all();
    ENGINE.set(Engine::Sqlite);
}

/// Runs each of these functions of an [`Engine`] as one test on SQLite and one on PostgreSQL.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(crate::support::engine::Engine::Sqlite); })+
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(crate::support::engine::Engine::Postgres); })+
        }
    };
}
pub(crate) use on_both_engines;
