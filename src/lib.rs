//! `top` for task claims: which claims on tasks, jobs and locks are stale, expiring or orphaned, and why.
//!
//! Programs that work on a queue use [`worker`]: claim a task, keep it, finish it or give it back. Everything
//! else is the program `claimtop` itself.
//!
//! # The map
//!
//! ```text
//! main        arguments in, an exit code out
//! cli         the command line: one file per verb
//! runtime     the dashboard's loop: messages in, effects out; one thread that reads and one that acts per source
//! poller      the polling loop that the dashboard, `check --watch`, `sweep` and `serve` share
//! signals     the one place that listens for signals
//! background  the one async runtime
//! terminal    the terminal, taken over and given back
//! job_control Ctrl-Z without a screen: the process stops only between transactions
//! ui          the screen, one file per region: drawing decides nothing
//! app         the dashboard's state: update(Msg) -> Vec<Effect>; pure
//! config      the config file: sources by name, thresholds
//! report      tables, JSON, CSV; every string of a database is made visible
//! serve       HTTP for Prometheus
//! metrics     figures of every source and of acts; no ids
//! sweep       automatic cleanup and its brakes
//! doctor      a checklist: can a source be read, judged, acted on
//! recovery    acts with their record: intent, act, outcome, undo, the audit trail
//! liveness    what the kernel says of a process: alive, dead on proof, or unknown
//! events      what two polls reveal and what a sweep did, as one stream; pure
//! store       databases: a source and its profiles become snapshots, an act becomes changed rows
//!               driver       the traits behind which an engine lives
//!               protocol     the safety protocol of one act, top to bottom
//!               statements   the SQL of an act inside its guard     batch     many acts in a short transaction
//!               undo         every row back as it was               session   all that a session holds, and its end
//!               resolution   a lost answer: proven, inferred, unknown
//!               write_access permission to write: decides what is read-only
//!               reader, actor  one source, read or acted on         rows, listing, detail, kinds, holders, history
//!               bind, bound  a profile as SQL of one database       fit       which profiles fit, and why not
//!   sqlite      files
//!               probe, plan, census   which rows are in trouble, by index or in slices
//!               watch        a board from poll to poll              direct    one statement that needs no second look
//!               driver, dialect, change, open, error
//!   postgres    servers
//!               candidate_queries     which rows may be in trouble, by index
//!               watch        a board from poll to poll              batch     bulk acts beside other sweepers
//!               link, target, tls     connecting                    names, trust   what a profile's SQL may use
//!               cascade, dependencies rows that foreign keys and triggers take along
//!               driver, dialect, change, commit_resolution, error
//! profile     where a system keeps its claims, as data; drafts of profiles; the reference of all keys
//! domain      claim, rules, verdict, evidence, cause, snapshot, tally, time: pure, no I/O, no clock
//! worker      the worker's side of the five reference systems: claim, heartbeat, extend, release
//! reference   the tables of these systems, as `init` makes them
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
//!             PostgreSQL ──► candidate queries ──► judge each row ──► counts, worst rows ──► Snapshot
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
//! | holder, session | who has it; a session if the system registers its holders |
//! | sign of life | the later of `claimed_at` and the claim's own heartbeat |
//! | verdict, set, reason | what is true of a claim now: the sets it is in, each for a reason |
//! | evidence, conclusion | everything known of a claim, and whether its holder is dead, slow or alive |
//! | cause | what claims in trouble have in common: a host, a kind, a version, a source |
//! | seen, token | a claim exactly as somebody saw it; an act on anything else answers *moved* |
//! | image | a row before or after an act; an undo needs both |
//! | authorization | what the operator adds to an act: force, reason, the holder's name |
//! | scope | the tables and columns that an act of a profile may change |
//! | trail, journal | the record of all acts: hash-chained files |
//! | sweep, brake, sighting | automatic cleanup, what stops it, and a claim seen unchanged twice |
//! | probe, census | SQLite: a reason as an indexed question; what no index answers, read in slices |
//! | candidate query | PostgreSQL: an indexed condition that is wider than a reason |
//! | fuse | the bar that burns down to a claim's deadline |

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
