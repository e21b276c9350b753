//! One binary for all integration tests: the promises, on real files, servers, processes and terminals.
//!
//! What is promised, and where it is tested:
//!
//! | module | promise |
//! | --- | --- |
//! | `verdicts` | every claim gets the verdict of the table of cases, whatever its row contains |
//! | `verdict_sql` | the SQL compiled from a profile gives the same verdict, on random databases of both engines |
//! | `causes` | a cause of trouble is named if there is one, and only then |
//! | `incident` | a dead host is named as the cause on every output, and its claims are recovered |
//! | `polling` | a reader that stays open sees what a new one sees, and blocks nobody |
//! | `mysql_acts` | acts on MySQL and MariaDB do no more than was seen, whatever these servers take for equal |
//! | `mysql_profiles` | popular queues are recognised and judged on MySQL as well |
//! | `mysql_reading` | MySQL and MariaDB are read right, and nothing can be changed through them |
//! | `postgres_reading` | types, names, zones, roles and standbys of a server are read right |
//! | `reference_systems` | the five systems are judged as they describe themselves |
//! | `queue_profiles` | popular queues need a profile and no code |
//! | `custom_profile` | a profile of your own is all it takes for another system |
//! | `schema_changes` | tables may be dropped, renamed or altered while somebody watches them |
//! | `process_liveness` | no live process is called dead, and no dead one alive |
//! | `check_pid` | verdicts of `--check-pid` and `claimtop pid` follow the kernel |
//! | `guarded_acts` | an act does exactly what was requested, to exactly what was seen |
//! | `fencing` | boards whose systems do not fence late workers are named, warned about, and not swept |
//! | `terminate` | `terminate` ends exactly the server session that holds the claim |
//! | `recovery` | acts on the command line: exit codes, records, kills, undo |
//! | `concurrency` | acts on servers: many at once, with few privileges, and through faults |
//! | `sweep` | automatic cleanup takes only what it may, and its brakes hold |
//! | `recording` | a recording shows what was on the screen, survives kills, and a replay writes nowhere |
//! | `backtest` | a backtest of a recording takes what a sweep would have taken, and reports say so |
//! | `audit_trail` | the journal is a chain that shows every change |
//! | `read_only` | a read-only session changes nothing |
//! | `untrusted_text` | no text of a database controls the terminal or looks like another text |
//! | `untrusted_roles` | nothing that another role creates runs with an operator's rights |
//! | `postgres_connection`, `mysql_connection` | every form of address, every refusal, and a timeout for every wait |
//! | `error_messages` | an error is reported in one sentence, and does not hide what works |
//! | `dashboard` | the dashboard in a real terminal: keys in, screen and database out |
//! | `screen` | every pane in every state, text and style |
//! | `check_command` | `check`: thresholds, performance data, exit codes |
//! | `list_command` | `list` and `check` without a source; how an overdue claim is written |
//! | `doctor` | `doctor`: each finding, its fix, and nothing changed |
//! | `events` | the stream of events: the differences between two polls, in order |
//! | `api` | `api`: the task queue over HTTP, for honest workers and hostile clients |
//! | `serve` | `serve`: metrics, readiness, the sweeper inside |
//! | `init`, `init_postgres`, `init_mysql` | `init`: the tables of a system, created once and never altered |
//! | `demo` | `demo`: real processes, a real database, and nothing left behind |
//! | `postgres_commands` | the reading commands, on the reference tables of a server |
//! | `postgres_schema` | the reference tables on PostgreSQL do what they describe |
//! | `draft` | `profile draft`: a profile for a database that no built-in one fits |
//! | `systems` | each built-in profile recognises the tables of its own system, and of no other |
//! | `upgrades` | files of earlier versions still work |
//! | `docs` | every command, link, setting and key in the documentation is right |
//! | `workers` | the worker library of the five systems |
//! | `load` | workers, sweeps, acts and dashboards at once on one file |
//! | `fuzzing` | random input for everything that reads what others wrote |
//! | `architecture` | a layer imports only what it may know, and the maps are true |
//! | `test_servers` | the tests' own servers behave as the tests assume |
//!
//! A promise that holds on both engines has one body: see `support::engine`.

// Test code may fail loudly anywhere, not only inside the test functions.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod api;
mod architecture;
mod audit_trail;
mod backtest;
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
mod fencing;
mod fuzzing;
mod guarded_acts;
mod incident;
mod init;
mod init_mysql;
mod init_postgres;
mod list_command;
mod load;
mod mysql_acts;
mod mysql_connection;
mod mysql_profiles;
mod mysql_reading;
mod polling;
mod postgres_commands;
mod postgres_connection;
mod postgres_reading;
mod postgres_schema;
mod process_liveness;
mod queue_profiles;
mod read_only;
mod recording;
mod recovery;
mod reference_systems;
mod schema_changes;
mod screen;
mod serve;
mod support;
mod sweep;
mod systems;
mod terminate;
mod test_servers;
mod untrusted_roles;
mod untrusted_text;
mod upgrades;
mod verdict_sql;
mod verdicts;
mod workers;
