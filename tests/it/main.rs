//! One binary for all integration tests: the promises, on real files and the real program.

// Test code may fail loudly anywhere, not only inside the test functions.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod acts;
mod agreement;
mod altered;
mod causes;
mod checks;
mod connecting;
mod dashboard;
mod demo;
mod doctor;
mod documents;
mod events;
mod failures;
mod fleet;
mod fuzzing;
mod hostile;
mod hostile_roles;
mod init;
mod init_postgres;
mod invented;
mod layers;
mod liveness;
mod load;
mod postgres_reference;
mod processes;
mod queues;
mod reading;
mod readonly;
mod recovery;
mod screen;
mod server_verbs;
mod servers;
mod serving;
mod support;
mod sweeping;
mod trail;
mod verdicts;
mod watching;
mod workers;
