//! The two engines that every promise holds on.

use std::cell::Cell;

use super::spares;

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// How SQLite keeps the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Rowids,
    /// By primary key: `WITHOUT ROWID`, wherever a table can be made so.
    Keys,
}

thread_local! {
    static ENGINE: Cell<Engine> = const { Cell::new(Engine::Sqlite) };
    static LAYOUT: Cell<Layout> = const { Cell::new(Layout::Rowids) };
}

/// Where this thread makes its databases: in files, unless [`on_both`] says otherwise.
pub fn engine() -> Engine {
    ENGINE.get()
}

/// How this thread's files keep their rows.
pub fn layout() -> Layout {
    LAYOUT.get()
}

/// One body for tables with and without rowids, in files.
pub fn on_both_layouts(body: impl Fn()) {
    for layout in [Layout::Rowids, Layout::Keys] {
        eprintln!("on tables by {layout:?}:");
        LAYOUT.set(layout);
        body();
    }
    LAYOUT.set(Layout::Rowids);
}

/// Whether this is `./tests/run fast`, which has neither servers nor terminals.
pub fn is_fast() -> bool {
    std::env::var_os("CLAIMTOP_FAST").is_some()
}

/// Fails a test that `./tests/run fast` should have skipped.
#[track_caller]
pub fn not_in_fast(what: &str) {
    assert!(!is_fast(), "this test needs {what}: tests/run has to skip it, or its module, in the fast form");
}

/// The engines of this run.
pub fn engines() -> &'static [Engine] {
    if is_fast() { &[Engine::Sqlite] } else { &[Engine::Sqlite, Engine::Postgres] }
}

/// One body for both engines: what holds for files, with rowids and without, holds on servers.
pub fn on_both(body: impl Fn()) {
    on_both_layouts(&body);
    if !engines().contains(&Engine::Postgres) {
        return;
    }
    eprintln!("on {:?}:", Engine::Postgres);
    let _spares = spares::DropAll;
    ENGINE.set(Engine::Postgres);
    body();
    ENGINE.set(Engine::Sqlite);
}

/// One body for one engine, for tests that take long.
pub fn on(engine: Engine, body: impl Fn()) {
    let _spares = spares::DropAll;
    ENGINE.set(engine);
    body();
    ENGINE.set(Engine::Sqlite);
}

/// Runs each of these functions of an [`Engine`] as one test on SQLite and one on PostgreSQL; on SQLite
/// with and without rowids.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            use crate::support::engine::{Engine, on_both_layouts};
            $(#[test] fn $name() { on_both_layouts(|| super::$name(Engine::Sqlite)); })+
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(crate::support::engine::Engine::Postgres); })+
        }
    };
}
pub(crate) use on_both_engines;
