//! The two engines that every promise of reading holds on.

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
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
