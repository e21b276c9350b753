//! One binary for all integration tests: the promises, on real files, servers, processes and terminals.
//!
//! What is promised, and where it is tested:
//!
//! | module | promise |
//! | --- | --- |
//! | `verdicts` | every claim gets the verdict of the table, whatever its row says |
//! | `verdict_sql` | the SQL compiled from a profile gives the same verdict, on random databases of both engines |
//! | `causes` | a cause of trouble is named if there is one, and none if there is not |
//! | `polling` | a reader that stays open sees what a fresh one sees, and is in nobody's way |
//! | `postgres_reading` | types, names, zones, roles and standbys of a server are read right |
//! | `reference_systems` | the five systems are judged as they describe themselves |
//! | `queue_profiles` | popular queues need a profile and no code |
//! | `custom_profile` | a profile of your own is all it takes for another system |
//! | `schema_changes` | tables may be dropped, renamed or altered while somebody watches them |
//! | `process_liveness` | nobody who lives is called dead, and nobody dead alive |
//! | `check_pid` | verdicts of `--check-pid` and `claimtop pid` rest on what the kernel says |
//! | `guarded_acts` | an act does exactly what was ordered, to exactly what was seen |
//! | `recovery` | acts on the command line: exit codes, records, kills, undo |
//! | `concurrency` | acts on servers: many at once, by those who may, through whatever breaks |
//! | `sweep` | automatic cleanup takes what it may and has brakes |
//! | `audit_trail` | the journal is a chain that shows every change |
//! | `read_only` | a session that may only look changes nothing |
//! | `untrusted_text` | no text of a database drives the terminal or looks like another |
//! | `untrusted_roles` | nothing that another role creates runs with an operator's rights |
//! | `postgres_connection` | every way to a server, every refusal, and an end to every wait |
//! | `error_messages` | what goes wrong is reported in one sentence, and hides nothing that goes right |
//! | `dashboard` | the dashboard in a real terminal: keys in, screen and database out |
//! | `screen` | every pane in every state, text and style |
//! | `check_command` | `check`: thresholds, performance data, exit codes |
//! | `doctor` | `doctor`: each finding, its fix, and no trace of the visit |
//! | `events` | the stream of events: what two looks reveal, in order |
//! | `serve` | `serve`: metrics, readiness, the sweeper inside |
//! | `init`, `init_postgres` | `init`: the tables of a system, made once and never altered |
//! | `demo` | `demo`: real processes, a real database, and nothing left behind |
//! | `postgres_commands` | the commands that look, on the reference tables of a server |
//! | `postgres_schema` | the reference tables on PostgreSQL do what they describe |
//! | `draft` | `profile draft`: a profile for a database that no built-in one fits |
//! | `systems` | each built-in profile recognises the tables of its own system, and of no other |
//! | `upgrades` | files of earlier versions still work |
//! | `docs` | every command, link, setting and key in the documentation is right |
//! | `workers` | the worker library of the five systems |
//! | `load` | everything at once on one file |
//! | `fuzzing` | random input for everything that reads what others wrote |
//! | `architecture` | a layer imports only what the map in `lib.rs` lets it know |
//! | `test_servers` | the tests' own servers do what the tests take for granted |
//!
//! A promise that holds on both engines has one body: see `support::engine`.

// Test code may fail loudly anywhere, not only inside the test functions.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod architecture;
mod audit_trail;
mod causes;
mod check_command;
mod check_pid;
mod concurrency;
mod custom_profile;
mod dashboard;
mod demo;
mod docs;
mod doctor;
mod draft;
mod error_messages;
mod events;
mod fuzzing;
mod guarded_acts;
mod init;
mod init_postgres;
mod load;
mod polling;
mod postgres_commands;
mod postgres_connection;
mod postgres_reading;
mod postgres_schema;
mod process_liveness;
mod queue_profiles;
mod read_only;
mod recovery;
mod reference_systems;
mod schema_changes;
mod screen;
mod serve;
mod support;
mod sweep;
mod systems;
mod test_servers;
mod untrusted_roles;
mod untrusted_text;
mod upgrades;
mod verdict_sql;
mod verdicts;
mod workers;
