//! The table itself.

use super::{KeyGroup, Kind, ProfileKey};
use KeyGroup::{Act, Backlog, Claim, Deadline, History, Profile, Session, Statement};

/// A key that has to be there.
const fn must(
    group: KeyGroup,
    name: &'static str,
    kind: Kind,
    example: &'static str,
    about: &'static str,
) -> ProfileKey {
    ProfileKey { group, name, kind, default: None, example, about }
}

/// A key that nothing replaces if it is missing.
const fn may(
    group: KeyGroup,
    name: &'static str,
    kind: Kind,
    example: &'static str,
    about: &'static str,
) -> ProfileKey {
    ProfileKey { group, name, kind, default: Some("none"), example, about }
}

impl ProfileKey {
    const fn or(self, default: &'static str) -> ProfileKey {
        ProfileKey { default: Some(default), ..self }
    }
}

#[rustfmt::skip]
pub const KEYS: &[ProfileKey] = &[
    must(Profile, "title", Kind::Text, "title = \"My queue\"", "What the system is called on screen."),
    may(Profile, "about", Kind::Text, "about = \"Jobs of the shop\"", "One line about the system, for those who read the profile.").or("\"\""),
    may(Profile, "versions", Kind::Text, "versions = \"10.4 to 12.35\"", "The versions of the system that the profile was tried with.").or("\"\""),
    may(Profile, "generic", Kind::Flag, "generic = true", "The names of its tables could be anybody's: an act asks once whether the profile is the right one.").or("false"),
    may(Profile, "vars", Kind::Variables, "vars = { schema = [\"pgboss\", \"jobs\"] }", "Values for `{name}` anywhere in the file, such as a schema or a prefix of tables; the first of a list that is there is the usual one. The variable in the first claim's `table` is also read off the tables that are there: a profile found by another value is called after it, as in `pg-boss@jobs`, and can be named like that."),
    may(Profile, "zone", Kind::Zone, "zone = \"utc\"", "The zone of times that have none, for every claim, session and history without its own.").or("\"utc\""),
    may(Profile, "detect", Kind::Texts, "detect = [\"jobs.locked_by\"]", "Columns, as `table.column`, that must all exist before the profile is tried; with a `!` in front, that must not exist.").or("[]"),
    may(Profile, "optional", Kind::Texts, "optional = [\"jobs.heartbeat_at\", \"job_logs\"]", "Columns, as `table.column`, and tables that only some versions of the system have: what uses them is left out where they are missing. Anything else that is missing is an error.").or("[]"),
    must(Profile, "claim", Kind::Tables(Claim), "[[claim]]", "One table of claims; there may be several."),
    may(Profile, "session", Kind::Table(Session), "session = { table = \"workers\", id = \"id\", beat_at = \"seen_at\" }", "The registry of every claim without its own."),
    may(Profile, "backlog", Kind::Table(Backlog), "backlog = { queued = \"status = 'queued'\" }", "The backlog of the first claim."),
    may(Profile, "history", Kind::Tables(History), "[[history]]", "Traces of earlier recoveries."),

    must(Claim, "name", Kind::Text, "name = \"job\"", "The name of the board: how the command line and the screen call it."),
    may(Claim, "role", Kind::Role, "role = \"job\"", "What the claims are for; locks warn later before their deadline.").or("\"task\""),
    must(Claim, "table", Kind::Text, "table = \"jobs\"", "The table, with its schema where the search path does not have it."),
    may(Claim, "from", Kind::Text, "from = \"JOIN queues q ON q.id = c.queue_id\"", "Joins after the table, which is called `c`."),
    may(Claim, "detect", Kind::Texts, "detect = [\"jobs.locked_by\"]", "Columns, as `table.column`, that must all exist for this claim; with a `!` in front, that must not exist.").or("[]"),
    may(Claim, "held", Kind::Condition, "held = \"c.status = 'running'\"", "The condition that makes a row a claim: somebody works on it now.").or("every row is a claim"),
    must(Claim, "id", Kind::Values, "id = \"id\"", "What tells the claims apart: one column, or a list of several."),
    may(Claim, "kind", Kind::Value, "kind = \"job_type\"", "The type or queue of the job; a time to live may depend on it."),
    may(Claim, "holder", Kind::Value, "holder = \"locked_by\"", "Who has it: a worker, a session, a process."),
    may(Claim, "pid", Kind::Value, "pid = \"worker_pid\"", "The process of the holder, where the claim itself names it and no registry does."),
    may(Claim, "host", Kind::Value, "host = \"worker_host\"", "The host of that process."),
    may(Claim, "version", Kind::Value, "version = \"app_version\"", "The version of the software that works on it. If claims of one version hang, that version is named as their cause. Used where the registry names none."),
    may(Claim, "backend", Kind::Value, "backend = \"(SELECT k.pid FROM pg_locks k WHERE k.objid = c.id)\"", "On PostgreSQL: the process number of the server session that holds the claim, where ending that session frees it (`claimtop terminate`)."),
    may(Claim, "claimed_at", Kind::Time, "claimed_at = \"locked_at\"", "When the holder took it."),
    may(Claim, "beat_at", Kind::Time, "beat_at = \"heartbeat_at\"", "The last heartbeat that the holder wrote into the claim."),
    may(Claim, "attempts", Kind::Value, "attempts = \"attempts\"", "How often the job was tried."),
    may(Claim, "max_attempts", Kind::ColumnOrNumber, "max_attempts = { column = \"max_attempts\", otherwise = 10 }", "How often it may be tried; the number is for rows without one."),
    may(Claim, "error", Kind::Value, "error = \"last_error\"", "The last error."),
    may(Claim, "priority", Kind::Value, "priority = \"priority\"", "Claims with the lowest value go first when many are acted on."),
    may(Claim, "stamped_by", Kind::StampedBy, "stamped_by = \"database\"", "Whose clock writes the times: each holder's own, or the database's.").or("\"holder\""),
    may(Claim, "time", Kind::Unit, "time = \"unix_s\"", "How the times are written.").or("\"unix_ms\""),
    may(Claim, "zone", Kind::Zone, "zone = \"host\"", "The zone of times that have none.").or("the profile's"),
    must(Claim, "deadline", Kind::Table(Deadline), "deadline = { otherwise = \"30m\" }", "When a claim is over."),
    may(Claim, "orphaned_when", Kind::Condition, "orphaned_when = \"c.worker_id IS NULL\"", "A condition of the system's own: nobody can be working on this claim."),
    may(Claim, "alive_when", Kind::Condition, "alive_when = \"EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.pid = c.backend)\"", "A condition of the system's own: its holder is at work, whatever the registry says. The claim is no orphan then, and taking it needs force. Where the holder's heartbeat is the deadline, it is healthy."),
    may(Claim, "refuse_when", Kind::Condition, "refuse_when = \"c.requests_recovery\"", "A condition that refuses every act on the claim; `blocked_by` of an act refuses that one."),
    may(Claim, "orphan_after", Kind::Duration, "orphan_after = \"60s\"", "A holder without a heartbeat for this long counts as gone.").or("\"10m\", or the config's"),
    may(Claim, "silent_after", Kind::Duration, "silent_after = \"2m\"", "A claim without a heartbeat of its own for this long is stale although its lease still runs.").or("\"5m\", or the config's"),
    may(Claim, "warn_before", Kind::Duration, "warn_before = \"1m\"", "How long before its deadline a claim is expiring.").or("a fifth of the lease or time to live, at most \"5m\"; \"15s\" for locks"),
    may(Claim, "session", Kind::Table(Session), "session = { table = \"workers\", id = \"id\", beat_at = \"seen_at\" }", "The registry of its holders.").or("the profile's"),
    may(Claim, "backlog", Kind::Table(Backlog), "backlog = { queued = \"c.status = 'queued'\" }", "The jobs that nobody holds.").or("the profile's, for the first claim"),
    may(Claim, "reclaim", Kind::Table(Act), "reclaim = { set = { status = \"'queued'\", locked_by = \"NULL\" } }", "Takes the claim from a holder that is gone, as the system's own recovery would.").or("cannot be reclaimed"),
    may(Claim, "release", Kind::Table(Act), "release = { set = { status = \"'queued'\", locked_by = \"NULL\" } }", "Hands the claim back as its holder would: no attempt is counted.").or("cannot be released"),
    may(Claim, "extend", Kind::Table(Act), "extend = { set = { expires_at = \":until\" } }", "Gives a slow holder more time.").or("cannot be extended"),
    may(Claim, "requeue", Kind::Table(Act), "requeue = { set = { status = \"'queued'\", attempts = \"0\" } }", "Queues a job again that is dead by `backlog.dead`.").or("cannot be requeued"),
    may(Claim, "fenced", Kind::Flag, "fenced = true", "A holder that finishes late cannot settle somebody else's run."),
    may(Claim, "self_heals_after", Kind::Duration, "self_heals_after = \"1h\"", "After this long the system frees the claim without help.").or("never"),
    may(Claim, "recovered_by", Kind::Texts, "recovered_by = [\"reclaim_stale_jobs\"]", "Functions of the system in the database that recover claims; `claimtop doctor` compares them with these rules.").or("[]"),
    may(Claim, "on", Kind::Engines(Claim), "on = { postgres = { time = \"timestamptz\" } }", "Keys of this claim that differ on one engine."),

    may(Deadline, "column", Kind::Time, "column = \"expires_at\"", "The time is in the row."),
    may(Deadline, "claimed_at_plus", Kind::Value, "claimed_at_plus = \"timeout_s\"", "`claimed_at` plus this many seconds."),
    may(Deadline, "ttl", Kind::DurationMap, "ttl = { mail = \"5m\", report = \"2h\" }", "The last sign of life plus a time to live by `kind`; a kind that is missing here and has no `otherwise` is unknown."),
    may(Deadline, "otherwise", Kind::Duration, "otherwise = \"30m\"", "The time to live of all kinds that `ttl` does not list; alone, of all claims. Beside `column`, for rows in which that is NULL: the last sign of life plus this long."),
    may(Deadline, "holder", Kind::Flag, "holder = true", "The holder's heartbeat plus `orphan_after`.").or("false"),
    may(Deadline, "never", Kind::Never, "never = \"healthy\"", "The system has no deadline. With `true` a claim is unknown until a threshold of the operator makes it stale; with \"healthy\" only its holder can make it an orphan.").or("false"),
    may(Deadline, "lease", Kind::Duration, "lease = \"30m\"", "The usual length of a lease: what an overrun is measured in.").or("\"30m\", or the config's"),

    must(Session, "table", Kind::Text, "table = \"workers\"", "The table of the holders, which is called `s`."),
    must(Session, "id", Kind::Value, "id = \"id\"", "What `holder` of a claim is equal to."),
    may(Session, "beat_at", Kind::Value, "beat_at = \"last_seen\"", "The last heartbeat of the holder. A registry may have none, or only an expiry (`stale_at`).").or("no heartbeat"),
    may(Session, "started_at", Kind::Value, "started_at = \"started_at\"", "When the holder began; a PID that was given to another process since is then not mistaken for it."),
    may(Session, "stale_at", Kind::Value, "stale_at = \"expires_at\"", "When the system gives a holder up.").or("the heartbeat plus `orphan_after`"),
    may(Session, "pid", Kind::Value, "pid = \"pid\"", "The process of the holder."),
    may(Session, "host", Kind::Value, "host = \"hostname\"", "The host of that process."),
    may(Session, "version", Kind::Value, "version = \"app_version\"", "The version of the holder's software. If holders of one version fail, that version is named as the cause."),
    may(Session, "time", Kind::Unit, "time = \"unix_s\"", "How the times are written.").or("\"unix_ms\""),
    may(Session, "zone", Kind::Zone, "zone = \"utc\"", "The zone of times that have none.").or("the claim's"),
    may(Session, "required", Kind::Flag, "required = true", "Every holder is registered: one that is not there is gone. Otherwise a missing row proves nothing.").or("false"),
    may(Session, "ends_after", Kind::Duration, "ends_after = \"5m\"", "After this long without a heartbeat the system itself ends the session.").or("never"),
    may(Session, "end", Kind::Table(Act), "end = { delete = true }", "How the system ends a session that holds nothing any more: an act on the row `s`.").or("the row stays"),

    may(Backlog, "table", Kind::Text, "table = \"queue\"", "The table of the jobs.").or("the claim's"),
    may(Backlog, "oldest", Kind::Value, "oldest = \"run_at\"", "Since when a queued job could have run, in the unit of the claim's times."),
    may(Backlog, "count", Kind::TextMap, "count = { retrying = \"c.status = 'retry'\" }", "Conditions by name, each counted."),
    may(Backlog, "queued", Kind::Condition, "queued = \"c.status = 'queued'\"", "The condition of a job that waits."),
    may(Backlog, "dead", Kind::Condition, "dead = \"c.status = 'failed'\"", "The condition of a job that nobody will try again."),

    may(Act, "delete", Kind::Flag, "delete = true", "Deletes the row.").or("false"),
    may(Act, "set", Kind::TextMap, "set = { status = \"'queued'\", locked_by = \"NULL\" }", "Columns and their new values, as SQL: a text has quotes of its own."),
    may(Act, "before", Kind::Statements(Statement), "before = [\"SELECT 1 FROM locks WHERE id = 1\"]", "Statements that run first in the transaction.").or("[]"),
    may(Act, "also", Kind::Statements(Statement), "also = [\"DELETE FROM job_locks WHERE job_id = :id\"]", "Statements that run after the act, or before it where they say so.").or("[]"),
    may(Act, "blocked_by", Kind::Condition, "blocked_by = \"c.abort_requested\"", "A condition that refuses the act."),

    must(Statement, "sql", Kind::Text, "sql = \"INSERT INTO ready (job_id) VALUES (:old.job_id)\"", "The statement: it may only change rows."),
    may(Statement, "rows", Kind::Count, "rows = 1", "So many rows it has to change, or to select; otherwise the act is refused and all of it taken back.").or("any number"),
    may(Statement, "when", Kind::When, "when = \"before\"", "Whether it runs before the act or after it.").or("\"after\"; in `before` always before"),

    must(History, "name", Kind::Text, "name = \"reclaimed\"", "What it is called."),
    must(History, "table", Kind::Text, "table = \"jobs\"", "The table of the traces."),
    may(History, "where", Kind::Condition, "where = \"last_error LIKE 'RECLAIMED:%'\"", "Which rows are traces.").or("all of them"),
    must(History, "id", Kind::Value, "id = \"id\"", "The job that was recovered."),
    may(History, "kind", Kind::Value, "kind = \"job_type\"", "Its kind."),
    may(History, "holder", Kind::Value, "holder = \"locked_by\"", "Who had it."),
    must(History, "at", Kind::Value, "at = \"updated_at\"", "When it was recovered."),
    must(History, "what", Kind::Value, "what = \"last_error\"", "What the system says about it."),
    may(History, "state", Kind::Value, "state = \"status\"", "The state it was left in. With it, recoveries within an hour are counted by kind and state."),
    may(History, "time", Kind::Unit, "time = \"timestamptz\"", "How the times are written.").or("\"unix_ms\""),
    may(History, "zone", Kind::Zone, "zone = \"utc\"", "The zone of times that have none.").or("the profile's"),
];
