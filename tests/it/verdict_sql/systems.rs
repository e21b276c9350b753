//! The systems: their tables with every column that a verdict may rest on.

use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::Profiles;

use super::agree;
use super::random::Column;
use super::table::Table;
use crate::support::engine::{Engine, on_both_engines};

on_both_engines! {
    on_coordination_databases,
    on_executor_job_databases,
    on_merge_queue_databases,
    on_finalization_databases,
    on_task_queue_databases,
    on_task_queue_databases_without_a_registry,
    on_a_system_that_keeps_nothing_but_heartbeats,
    on_an_invented_system_with_every_kind_of_value,
    on_a_system_that_counts_in_fractions,
}

const METADATA: &[&str] =
    &["{\"pid\": 12, \"hostname\": \"a\"}", "{\"pid\": {}, \"hostname\": []}", "[]", "\"text\"", "{}"];

fn built_in() -> Profiles {
    Profiles::Detect(Library::built_in())
}

fn on_coordination_databases(engine: Engine) {
    agree(
        engine,
        &[
            Table {
                name: "sessions",
                columns: &[
                    ("id", "TEXT PRIMARY KEY", Column::Holder),
                    ("last_heartbeat", "INTEGER", Column::Milliseconds),
                    ("started_at", "INTEGER", Column::Milliseconds),
                    ("pid", "INTEGER", Column::Number),
                ],
                indexes: &["last_heartbeat"],
            },
            Table {
                name: "task_claims",
                columns: &[
                    ("task_id", "TEXT PRIMARY KEY", Column::Key),
                    ("session_id", "TEXT", Column::Holder),
                    ("claimed_at", "INTEGER", Column::Milliseconds),
                    ("expires_at", "INTEGER", Column::Milliseconds),
                    ("last_heartbeat", "INTEGER", Column::Milliseconds),
                ],
                indexes: &["session_id", "expires_at", "last_heartbeat", "claimed_at"],
            },
            Table {
                name: "locks",
                columns: &[
                    ("resource", "TEXT PRIMARY KEY", Column::Key),
                    ("session_id", "TEXT", Column::Holder),
                    ("acquired_at", "INTEGER", Column::Milliseconds),
                    ("expires_at", "INTEGER", Column::Milliseconds),
                ],
                indexes: &["session_id", "expires_at"],
            },
        ],
        &built_in(),
    );
}

fn on_executor_job_databases(engine: Engine) {
    const STATES: &[&str] = &["running", "running", "processing", "queued", "dead", "retry_scheduled"];
    const KINDS: &[&str] =
        &["run_tsa", "protect_document_v2", "build_artifact", "submit_anchor_bitcoin", "other"];
    agree(
        engine,
        &[Table {
            name: "executor_jobs",
            columns: &[
                ("id", "TEXT PRIMARY KEY", Column::Key),
                ("type", "TEXT", Column::One(KINDS)),
                ("status", "TEXT", Column::One(STATES)),
                ("attempts", "INTEGER", Column::Number),
                ("locked_at", "TEXT", Column::Instant),
                ("locked_by", "TEXT", Column::Holder),
                ("heartbeat_at", "TEXT", Column::Instant),
                ("last_error", "TEXT", Column::Holder),
                ("run_at", "TEXT", Column::Instant),
            ],
            indexes: &["status, type, locked_at", "locked_at", "status, run_at"],
        }],
        &built_in(),
    );
}

fn on_merge_queue_databases(engine: Engine) {
    const STATES: &[&str] = &[
        "pending",
        "claimed",
        "claimed",
        "claimed",
        "rebasing",
        "testing",
        "merging",
        "merged",
        "processing",
        "failed_retryable",
        "failed_terminal",
        "cancelled",
    ];
    agree(
        engine,
        &[
            Table {
                name: "merge_queue",
                columns: &[
                    ("id", "INTEGER PRIMARY KEY", Column::Number),
                    ("workspace", "TEXT", Column::Key),
                    ("status", "TEXT", Column::One(STATES)),
                    ("agent_id", "TEXT", Column::Holder),
                    ("added_at", "INTEGER", Column::Seconds),
                    ("started_at", "INTEGER", Column::Seconds),
                    ("attempt_count", "INTEGER", Column::Number),
                ],
                indexes: &["status", "status, started_at", "started_at"],
            },
            Table {
                name: "queue_processing_lock",
                columns: &[
                    ("id", "INTEGER PRIMARY KEY", Column::Number),
                    ("agent_id", "TEXT", Column::Holder),
                    ("acquired_at", "INTEGER", Column::Seconds),
                    ("expires_at", "INTEGER", Column::Seconds),
                ],
                indexes: &["expires_at"],
            },
        ],
        &built_in(),
    );
}

fn on_finalization_databases(engine: Engine) {
    agree(
        engine,
        &[Table {
            name: "tasker_tasks",
            columns: &[
                ("task_uuid", "TEXT PRIMARY KEY", Column::Key),
                ("complete", "INTEGER", Column::Flag),
                ("claimed_by", "TEXT", Column::Holder),
                ("claimed_at", "TEXT", Column::Naive),
                ("claim_timeout_seconds", "INTEGER", Column::Timeout),
                ("created_at", "TEXT", Column::Naive),
            ],
            indexes: &["claimed_at, claimed_by", "claimed_by"],
        }],
        &built_in(),
    );
}

const TASKS: Table = Table {
    name: "tasks",
    columns: &[
        ("id", "INTEGER PRIMARY KEY", Column::Number),
        ("task_type_id", "INTEGER", Column::Number),
        ("status", "TEXT", Column::One(&["pending", "claimed", "claimed", "completed", "failed"])),
        ("worker_id", "TEXT", Column::Holder),
        ("claimed_at", "TEXT", Column::Instant),
        ("attempts", "INTEGER", Column::Number),
        ("created_at", "TEXT", Column::Instant),
    ],
    indexes: &["status, task_type_id", "worker_id", "status"],
};

fn on_task_queue_databases(engine: Engine) {
    agree(
        engine,
        &[
            Table {
                name: "worker_heartbeats",
                columns: &[
                    ("worker_id", "TEXT PRIMARY KEY", Column::Holder),
                    ("last_seen_at", "TEXT", Column::Instant),
                    ("metadata", "TEXT", Column::Json(METADATA)),
                ],
                indexes: &["last_seen_at"],
            },
            TASKS,
            Table {
                name: "workers",
                columns: &[
                    ("worker_id", "TEXT PRIMARY KEY", Column::Holder),
                    ("heartbeat_utc", "TEXT", Column::Instant),
                ],
                indexes: &[],
            },
            Table {
                name: "task_queue",
                columns: &[
                    ("id", "INTEGER PRIMARY KEY", Column::Number),
                    ("type", "TEXT", Column::One(&["a", "b"])),
                    ("status", "TEXT", Column::One(&["queued", "leased", "processing", "completed"])),
                    ("locked_by", "TEXT", Column::Holder),
                    ("reserved_at_utc", "TEXT", Column::Instant),
                    ("lease_until_utc", "TEXT", Column::Instant),
                ],
                indexes: &["status", "locked_by"],
            },
        ],
        &built_in(),
    );
}

fn on_task_queue_databases_without_a_registry(engine: Engine) {
    agree(engine, &[TASKS], &built_in());
}

fn on_a_system_that_keeps_nothing_but_heartbeats(engine: Engine) {
    let profile = "title = 'Beats'\n[[claim]]\nname = 'job'\ntable = 'beats'\nid = 'id'\nkind = 'kind'\nbeat_at = 'beat'\n\
                   time = 'unix_ms'\ndeadline = { ttl = { a = '5m' }, otherwise = '30m' }\n";
    let profile = Profile::parse("beats", profile).expect("the profile");
    agree(
        engine,
        &[Table {
            name: "beats",
            columns: &[
                ("id", "TEXT PRIMARY KEY", Column::Key),
                ("kind", "TEXT", Column::One(&["a", "b"])),
                ("beat", "INTEGER", Column::Milliseconds),
            ],
            indexes: &["beat", "kind, beat"],
        }],
        &Profiles::Named(vec![profile]),
    );
}

fn on_an_invented_system_with_every_kind_of_value(engine: Engine) {
    let profile =
        Profile::parse("invented", include_str!("../custom_profile/profile.toml")).expect("the profile");
    let profiles = Profiles::Named(vec![profile]);
    const PEOPLE: &[&str] = &["{\"by\": {\"who\": \"holder-1\"}}", "{\"by\": {\"who\": \"holder-4\"}}", "{}"];
    agree(
        engine,
        &[
            Table {
                name: "crew",
                columns: &[
                    ("badge", "TEXT PRIMARY KEY", Column::Holder),
                    ("seen_ns", "INTEGER", Column::Nanoseconds),
                    ("patience_s", "INTEGER", Column::Timeout),
                ],
                indexes: &["badge", "seen_ns"],
            },
            Table {
                name: "\"work orders\"",
                columns: &[
                    ("yard", "TEXT", Column::One(&["north", "south"])),
                    ("number", "INTEGER", Column::Number),
                    ("state", "TEXT", Column::One(&["open", "taken", "taken", "done"])),
                    ("ticket", "TEXT", Column::Json(PEOPLE)),
                    ("trade", "TEXT", Column::One(&["weld", "paint", "inspect"])),
                    ("taken_ns", "INTEGER", Column::Nanoseconds),
                    ("touched_ns", "INTEGER", Column::Nanoseconds),
                ],
                indexes: &["state, taken_ns", "taken_ns", "touched_ns"],
            },
        ],
        &profiles,
    );
}

fn on_a_system_that_counts_in_fractions(engine: Engine) {
    let profile = "title = 'Fractions'\n[[claim]]\nname = 'job'\ntable = 'fractions'\nid = 'id'\nclaimed_at = 'since'\n\
                   beat_at = 'beat'\ntime = 'unix_s'\ndeadline = { column = 'until' }\n";
    let profile = Profile::parse("fractions", profile).expect("the profile");
    let until = if engine == Engine::Postgres { Column::Digits } else { Column::Fractions };
    let columns: &'static [_] = Box::leak(Box::new([
        ("id", "TEXT PRIMARY KEY", Column::Key),
        ("since", "REAL", Column::Fractions),
        ("beat", "REAL", Column::Fractions),
        ("until", "REAL", until),
    ]));
    agree(
        engine,
        &[Table { name: "fractions", columns, indexes: &["until", "beat", "since"] }],
        &Profiles::Named(vec![profile]),
    );
}

/// Types that SQLite has no words for: intervals, lists of words, times without a zone.
#[test]
fn on_a_system_that_uses_the_types_of_postgres() {
    let profile = "title = 'Types'\n[[claim]]\nname = 'job'\ntable = 'typed'\nheld = \"state = 'held'\"\nid = 'id'\n\
                   holder = 'who'\nclaimed_at = 'since'\nbeat_at = 'beat'\ntime = 'timestamptz'\n\
                   deadline = { claimed_at_plus = 'may_take' }\n\
                   [[claim]]\nname = 'lease'\ntable = 'typed'\nid = 'id'\nholder = 'who'\nclaimed_at = 'since'\n\
                   beat_at = 'beat'\ntime = 'timestamptz'\ndeadline = { column = 'until' }\n\
                   [session]\ntable = 'people'\nid = 'name'\nbeat_at = 'seen'\nstarted_at = 'born'\ntime = 'timestamp'\n";
    let profile = Profile::parse("types", profile).expect("the profile");
    agree(
        Engine::Postgres,
        &[
            Table {
                name: "people",
                columns: &[
                    ("name", "TEXT PRIMARY KEY", Column::Holder),
                    ("seen", "", Column::Naive),
                    ("born", "", Column::Instant),
                ],
                indexes: &["seen"],
            },
            Table {
                name: "typed",
                columns: &[
                    ("id", "TEXT PRIMARY KEY", Column::Key),
                    ("state", "", Column::Enumerated(&["held", "held", "free"])),
                    ("who", "", Column::Holder),
                    ("since", "", Column::Naive),
                    ("beat", "", Column::Instant),
                    ("may_take", "", Column::Interval),
                    ("until", "", Column::Instant),
                ],
                indexes: &["who", "state, since", "until", "beat"],
            },
        ],
        &Profiles::Named(vec![profile]),
    );
}
