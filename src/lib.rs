//! `top` for task claims: which claims on tasks, jobs and locks are stale, expiring or orphaned,
//! and why.
//!
//! # The map
//!
//! ```text
//! main      arguments in, an exit code out
//! cli       the command line: one file per verb
//! runtime   the dashboard's loop: messages in, effects out; a thread per source that reads, one that acts
//! poller    the polling loop of the dashboard, `check --watch`, `sweep` and `serve`: one thread per source
//! background   the one tokio runtime: servers, signals, HTTP
//! signals   the one listener for signals
//! terminal  taken over, and given back sane
//! job_control  Ctrl-Z without a screen: stopped only between transactions
//! ui        the screen, one file per region: drawing decides nothing
//! app       the dashboard's state: update(Msg) -> Vec<Effect>; pure
//! config    the config file: sources by name, thresholds
//! report    what goes out: tables, JSON, CSV; every string of a database made visible
//! store     databases: a source and its profiles become snapshots, an act becomes changed rows
//!               reader, actor  whichever engine it is     seen, image    a claim and its rows before an act
//!               bind, bound    a profile laid onto tables fit            which profiles do, and why not
//!               resolution     a lost outcome: proven, inferred, unknown  side_effects  what triggers did to claims
//!   sqlite    files; a thread owns each connection
//!               open      read-only, and why not       functions what SQLite is taught
//!               probe     a reason as a predicate      plan     from which side, by which index
//!               watch     a board from poll to poll    census   what no index answers, in slices
//!               rows      single claims, cell by cell  stream   all of them: slow, obviously right
//!               look      a claim before an act        actor    changes exactly what was seen
//!               act       statements with their guard  batch    many in a short transaction
//!               direct    one statement decides alone  session  all that one holds, and its end
//!               undo      puts rows back               touched  which rows an act reaches
//!               keys      tables without rowids        file_state whether somebody has overwritten the file
//!   postgres  servers; a background thread speaks with all of them
//!               target    which server, who we are     tls      how far its certificate is checked
//!               link      every wait has an end        words    a profile's values as parameters
//!               arms      ways into trouble, as SQL    watch    a board from poll to poll (gather: its rows)
//!               names     what a profile's SQL uses    trust    whether it may, and each table by its schema
//!               path      what triggers see of the search path
//!               indexes   those that a board lacks     ties     foreign keys and triggers between tables
//!               wake      what an act sets off in other tables, and what of that an undo brings back
//!               fate      what became of an act whose answer was lost
//!               rows, look, actor, act, batch, session, undo, touched: as above, with row locks
//! serve     HTTP for Prometheus, and the threads that find out what it is told
//! metrics   figures of every source, counted acts; no ids
//! sweep     automatic cleanup and its brakes
//! doctor    a checklist: can it be read, judged, acted on
//! recovery  the desk where acts are done: intent, act, outcome; the trail they leave
//! liveness  what the kernel says of a process: alive, dead on proof, or unknown
//! profile   where a system keeps its claims, as data; from a profile to rules
//! events    what two looks reveal and what a sweep did, as one stream; pure
//! domain    claim, rules, verdict, evidence, snapshot, tally, time and its zones: pure, no I/O, no clock
//! worker    the worker's side of the five systems: claim, heartbeat, extend, release
//! reference the tables of the five systems, as `init` makes them
//! demo      a fleet of real worker processes on an embedded database, or on a server
//! exit      exit codes
//! ```
//!
//! Nobody looks up: `domain` knows only itself, `profile` the domain, `store` both, `report` what
//! a store hands out; only `cli` and `main` know all. A test fails when a layer imports what it
//! must not know.
//!
//! # The data flows
//!
//! ```text
//! a poll      SQLite ──► probes (rowids of every reason) ──► sets ──► counts, worst rows ──► Snapshot
//!             PostgreSQL ──► arms (rows that may be in trouble) ──► judge each ──► counts, worst ──► Snapshot
//! an act      Seen ──► BEGIN IMMEDIATE ──► compare, judge again ──► guarded statement ──► intent ──► COMMIT ──► outcome
//! a verdict   row ──► rows::read (cell by cell) ──► Claim ──► verdict::judge(claim, rules, now) ──► Verdict
//! ```
//!
//! The last defines what is true of one claim. The poll is a fast way to the same answer for a
//! million of them: one read transaction, one clock, no healthy row read that an index can spare.
//! A property test holds the poll to the verdict on random databases of every profile.

pub mod app;
mod background;
pub mod cli;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod domain;
pub mod events;
pub mod exit;
mod job_control;
pub mod liveness;
pub mod metrics;
pub mod poller;
pub mod profile;
pub mod recovery;
pub mod reference;
pub mod report;
pub mod runtime;
pub mod serve;
pub mod signals;
pub mod store;
pub mod sweep;
pub mod terminal;
pub mod ui;
pub mod worker;
