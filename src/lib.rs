//! `top` for task claims: which claims on tasks, jobs and locks are stale, expiring or orphaned, and why.
//!
//! The program is the binary `claimtop`; its book is in `docs/`. This library is for programs that work on a queue:
//! [`worker`] is the worker's side of five systems that keep their claims in SQLite or PostgreSQL. A worker claims a
//! task, keeps it alive with heartbeats, and finishes it or gives it back.
//!
//! ```toml
//! [dependencies]
//! claimtop = { version = "0.2", default-features = false, features = ["worker"] }
//! ```
//!
//! # A whole worker
//!
//! ```
//! use claimtop::worker::task_queue::{TaskClaim, NewTask, Retry, TaskQueue, HeartbeatInfo, TaskFilter, WorkerId};
//! use claimtop::worker::{Database, System};
//! use serde_json::{Value, json};
//!
//! fn greet(params: &Value) -> Result<Value, String> {
//!     let name = params["name"].as_str().ok_or("there is nobody to greet")?;
//!     Ok(json!(format!("Hello, {name}!")))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("queue.db");
//! let mut database = Database::open(&path)?;
//! database.create_tables(&[System::TaskQueue])?;
//! let mut queue = TaskQueue::new(database);
//!
//! // Another process may do this.
//! queue.register_type("greeting", "1", None)?;
//! queue.enqueue(&NewTask { params: json!({"name": "Ada"}), ..NewTask::of("greeting") })?;
//!
//! let worker = WorkerId::new(&format!("worker-{}", std::process::id()))?;
//! let mut processed = 0;
//! loop {
//!     queue.heartbeat(&worker, &HeartbeatInfo::here("1.0", processed))?;
//!     let TaskClaim::Task(task) = queue.claim(&worker, &TaskFilter::default())? else { break };
//!     match greet(&task.params) {
//!         Ok(result) => drop(queue.complete(&worker, task.id, &result)?),
//!         Err(error) => drop(queue.fail(&worker, task.id, &error, Retry::Worthwhile)?),
//!     }
//!     processed += 1;
//! }
//! queue.sign_off(&worker)?;
//! # assert_eq!(processed, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Start as many of them as you like on one file: a task is claimed by one of them only. `claimtop queue.db` shows what
//! they do, and frees the claims of those that died.
//!
//! # Which system
//!
//! | module | on | what it is for |
//! | --- | --- | --- |
//! | [`worker::task_queue`] | SQLite, PostgreSQL | typed tasks with attempts; workers report that they are alive |
//! | [`worker::executor_jobs`] | SQLite, PostgreSQL | jobs with a time to live per kind, dependencies and runs |
//! | [`worker::finalization`] | SQLite, PostgreSQL | one follow-up per finished task, with a lease |
//! | [`worker::coordination`] | SQLite | sessions that claim tasks and lock resources, each with a lease |
//! | [`worker::merge_queue`] | SQLite | entries that go through a queue one at a time, under one lock |
//!
//! On SQLite every operation is one `BEGIN IMMEDIATE` transaction. The same systems on PostgreSQL are in
//! `worker::postgres`.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `worker` | yes | [`worker`] on SQLite: the library alone, without a terminal, a command line or HTTP |
//! | `postgres` | yes | `worker::postgres`, and PostgreSQL sources in the program |
//! | `mysql` | no | MySQL and MariaDB sources in the program |
//! | `dashboard` | yes | the program: its command line and its screen |
//! | `serve` | yes | `claimtop serve` and `claimtop api`: metrics and the task queue over HTTP |
//! | `internals` | no | every module is public, for the tests and benchmarks of this crate; no stability |
//!
//! # The map of the code
//!
//! For those who change claimtop: none of the following is visible to users of the library.
//!
//! ```text
//! main        arguments in, an exit code out
//! cli         the command line: one file per verb; setup opens sources
//! runtime     the dashboard's loop: messages in, effects out
//! poller      a pool of threads polls all sources of the dashboard, `check`, `sweep`, `record` and `serve`
//! signals     receives all signals
//! background  the one async runtime
//! terminal    takes the terminal over and restores it
//! job_control Ctrl-Z: the process stops only between transactions
//! ui          the screen, one file per region: drawing decides nothing
//!               header, source_strip, footer   the frame        overview, timeline, fuse   trouble at a glance
//!               claim_list, groups, sessions, jobs, dead, events, audit, source_list   one pane each
//!               activity     below the jobs: what holders did lately
//!               detail, dialog, bulk, palette, help, popup      over the panes
//!               table, text, theme, view, picture               shared drawing
//! app         the dashboard's state: update(Msg) -> Vec<Effect>; pure
//!               model, source, lists, item   what is shown and selected     actions, keymap   what keys do
//!               claim_list, groups, overview, audit, timeline   the state of single panes
//!               query        the filter language            update    one file per group of messages
//! config      the config file: sources by name, thresholds
//! report      output: tables, JSON, CSV, Markdown; every string of a database is made visible
//! serve       HTTP for Prometheus, and a live page for people
//! api         the task queue over HTTP, for workers in any language
//! http_server connections of `serve` and `api` with their limits
//! metrics     Prometheus metrics of every source and of acts; no ids
//! sweep       automatic cleanup and its brakes
//! doctor      a checklist: can a source be read, judged, acted on
//! recovery    acts with their record: intent, act, outcome, undo, the audit trail
//! recording   what every poll saw, in one SQLite file, and the same frames again
//! liveness    whether a holder's process is alive, dead on proof, or unknown
//! events      the difference between two polls, and what a sweep did, as one stream; pure
//! store       databases: a source and its profiles become snapshots, an act becomes changed rows
//!               driver       the traits behind which an engine lives
//!               protocol     the safety protocol of one act, top to bottom
//!               statements   the SQL of an act inside its guard     batch     many acts in a short transaction
//!               undo         every row back as it was               session   all that a session holds, and its end
//!               resolution   a lost answer: proven, inferred, unknown
//!               write_access permission to write: decides what is read-only   backend   the server session of a claim
//!               opening      chooses the engine of a source         reader, actor   one source, read or acted on
//!               look         what reading asks of an engine         seen, seen_reader   a claim with its whole row
//!               rows, listing, claim_list, detail, kinds, holders, history, recoveries, facts   the queries beyond a poll
//!               bind, bound  a profile as SQL of one database       fit       which profiles fit, and why not
//!               variants     a profile for every schema or prefix in which its tables are
//!   sqlite      files
//!               probe, plan, census   which rows are in trouble, by index or in slices
//!               ahead        when the clock alone changes an answer     total     how many claims there are, dated if many
//!               watch        a board from poll to poll              direct    one statement that needs no second look
//!               driver, dialect, change, open, error
//!   server      polls of PostgreSQL, MySQL and MariaDB: what is the same on all of them
//!               candidate_queries     which rows may be in trouble, by index
//!               watch, gather         a board from poll to poll   found       the claims of a filter
//!               sql          what polls ask of one server's SQL   zone_signs  do the rows contradict their zone
//!   postgres    servers
//!               batch        bulk acts beside other sweepers      watch_plan  what indexes can answer
//!               names, trust          what a profile's SQL may use
//!               cascade, dependencies rows that foreign keys and triggers take along
//!               catalog_version       whether the tables have changed since they were read
//!               driver, dialect, server_sql, change, commit_resolution, sentences
//!   mysql       MySQL and MariaDB
//!               keys         where a row is: its primary key        replica   how far behind a server is
//!               change       evaluates, compares, writes values     beside, row_counts   rows that change along
//!               batch        bulk acts: locked, compared and written together
//!               writable_server       whether acts are safe on it
//!               driver, dialect, server_sql, commit_resolution, dependencies, compiler, schema, zone
//! postgres    servers: addresses, targets, connections; the store and the workers connect the same way
//! mysql       the same for MySQL and MariaDB
//! clock       this host's clock
//! profile     where a system keeps its claims, as data; drafts of profiles; the reference of all keys
//! domain      pure types and rules, no I/O, no clock
//!               claim, rules, verdict, evidence   what is true of one claim     snapshot, detail, claim_list   what is read
//!               cause        what claims in trouble have in common, and groups  timeline  past and future on one axis
//!               recovery, fencing, idle   what an act needs, risks, and what happens without one
//!               backtest     what a threshold would have done      beat_intervals  how often claims and sessions usually beat
//!               tally        the preview and the result of a bulk act           filter, audit  which claims, which acts
//!               time, value, visible, token, board_id   the vocabulary
//! worker      the worker's side of the five reference systems: claim, heartbeat, extend, release
//! reference   the tables of these systems, as `init` creates them
//! demo        a fleet of real worker processes
//! exit        exit codes
//! ```
//!
//! No layer knows a layer above it: `domain` knows only itself, `profile` the domain, `store` both; only `cli`
//! and `main` know all. A test fails when a layer imports what it must not know, when an engine is named
//! outside the store, when something writes without permission, and when code inspects a sentence of ours.
//!
//! # The data flows
//!
//! ```text
//! a poll      SQLite ──► probes (rows of every reason) ──► sets ──► counts, worst rows ──► Snapshot
//!             a server ──► candidate queries ──► judge each row ──► counts, worst rows ──► Snapshot
//! an act      Seen ──► begin, lock ──► read, compare, judge again ──► guarded statement ──► intent ──► commit ──► outcome
//! a verdict   row ──► Claim ──► verdict::judge(claim, rules, now) ──► Verdict
//! ```
//!
//! The last defines what is true of one claim. The poll is a fast way to the same answer for a million of
//! them: one read transaction, one clock, no healthy row read that an index can spare. A property test
//! compares the two on random databases of every profile.
//!
//! # Glossary
//!
//! | word | meaning |
//! | --- | --- |
//! | source | one database: a file, or a database on a server |
//! | profile | a TOML file that says where a system keeps its claims and what its recovery does |
//! | board | one table of claims of a profile, known by its `BoardId` |
//! | claim | one row that says: this holder has this task since then |
//! | holder, session | who holds it; a session if the system registers its holders |
//! | kind | what a claim is for, such as a type of job; thresholds can differ by kind |
//! | sign of life | the later of `claimed_at` and the claim's own heartbeat |
//! | verdict, set, reason | what is true of a claim now: the sets it is in, each for a reason |
//! | evidence, conclusion | everything known of a claim, and whether its holder is dead, slow or alive |
//! | cause, group | what claims in trouble have in common: a host, a kind, a version, a source; trouble counted by it |
//! | fact | one holder or claim, reduced to what causes and groups are found in |
//! | poll, snapshot | one read of a source, and its result |
//! | event | a difference between two polls, or an act of a sweep |
//! | seen, token | a claim exactly as somebody saw it; an act on anything else answers *moved* |
//! | act, action | one change of one claim; its kind: reclaim, release, extend, requeue, terminate, undo |
//! | image | a row before or after an act; an undo needs both |
//! | authorization | what the operator adds to an act: force, reason, the holder's name |
//! | scope | the tables and columns that an act of a profile may change |
//! | fenced | a late worker cannot finish a run that somebody else has by then |
//! | idle | what happens to a claim if nobody acts |
//! | backend | a session of a PostgreSQL server; `terminate` ends the one that holds a claim |
//! | trail, journal | the record of all acts; the hash-chained files that keep it |
//! | intent, outcome | the record before an act, and the one after it |
//! | sweep, brake, sighting | automatic cleanup, what stops it, and a claim seen unchanged twice |
//! | poison | a task that was swept too often and is left to a person |
//! | probe, census | SQLite: a reason as an indexed query; what no index answers, read in slices |
//! | candidate query | PostgreSQL: an indexed condition that is wider than a reason |
//! | horizon, timeline | how many deadlines each coming minute has; the same with past signs of life |
//! | fuse | the bar that burns down to a claim's deadline |

// Some items are there for the tests, and some for a feature that may be off.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports))]
#![cfg_attr(not(feature = "postgres"), allow(unused_variables))]
// Users can name every type that they meet.
#![cfg_attr(not(feature = "internals"), warn(unnameable_types))]
// Only with every module public can it be judged what nobody reaches.
#![cfg_attr(feature = "internals", warn(unreachable_pub))]

pub mod worker;

/// The program, for its own `main`.
#[cfg(feature = "dashboard")]
#[doc(hidden)]
pub fn run_program(arguments: impl Iterator<Item = std::ffi::OsString>) -> impl std::process::Termination {
    cli::run(arguments)
}

#[cfg(feature = "serve")]
mod api;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod app;
#[cfg(any(feature = "dashboard", feature = "postgres"))]
mod background;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod cli;
mod clock;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod config;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod demo;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod doctor;
#[cfg(not(feature = "internals"))]
mod domain;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod events;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod exit;
#[cfg(feature = "serve")]
mod http_server;
#[cfg(feature = "dashboard")]
mod job_control;
#[cfg(not(feature = "internals"))]
mod liveness;
#[cfg(all(feature = "serve", not(feature = "internals")))]
mod metrics;
#[cfg(all(feature = "mysql", not(feature = "internals")))]
mod mysql;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod poller;
#[cfg(all(any(feature = "dashboard", feature = "postgres"), not(feature = "internals")))]
mod postgres;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod profile;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod recording;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod recovery;
#[cfg(not(feature = "internals"))]
mod reference;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod report;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod runtime;
#[cfg(all(feature = "serve", not(feature = "internals")))]
mod serve;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod signals;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod store;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod sweep;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod terminal;
#[cfg(all(feature = "dashboard", not(feature = "internals")))]
mod ui;

// The same for the tests and benchmarks of this crate, which are crates of their own.
#[cfg(feature = "internals")]
pub mod app;
#[cfg(feature = "internals")]
pub mod cli;
#[cfg(feature = "internals")]
pub mod config;
#[cfg(feature = "internals")]
pub mod demo;
#[cfg(feature = "internals")]
pub mod doctor;
#[cfg(feature = "internals")]
pub mod domain;
#[cfg(feature = "internals")]
pub mod events;
#[cfg(feature = "internals")]
pub mod exit;
#[cfg(feature = "internals")]
pub mod liveness;
#[cfg(feature = "internals")]
pub mod metrics;
#[cfg(feature = "internals")]
pub mod mysql;
#[cfg(feature = "internals")]
pub mod poller;
#[cfg(feature = "internals")]
pub mod postgres;
#[cfg(feature = "internals")]
pub mod profile;
#[cfg(feature = "internals")]
pub mod recording;
#[cfg(feature = "internals")]
pub mod recovery;
#[cfg(feature = "internals")]
pub mod reference;
#[cfg(feature = "internals")]
pub mod report;
#[cfg(feature = "internals")]
pub mod runtime;
#[cfg(feature = "internals")]
pub mod serve;
#[cfg(feature = "internals")]
pub mod signals;
#[cfg(feature = "internals")]
pub mod store;
#[cfg(feature = "internals")]
pub mod sweep;
#[cfg(feature = "internals")]
pub mod terminal;
#[cfg(feature = "internals")]
pub mod ui;
