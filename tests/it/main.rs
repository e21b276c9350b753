//! One binary for all integration tests: the promises, on real files and the real program.

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
mod test_servers;
mod untrusted_roles;
mod untrusted_text;
mod upgrades;
mod verdict_sql;
mod verdicts;
mod workers;
