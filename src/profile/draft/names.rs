//! How well the name and the type of a column suit each part.

use super::column::{Class, DraftColumn};
use super::words::{HOLDERS, TAKING, Words};

/// A part that a column can play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnPart {
    Status,
    Holder,
    ClaimedAt,
    Heartbeat,
    Deadline,
    Timeout,
    Kind,
    Attempts,
    MaxAttempts,
    Error,
    Priority,
    Pid,
    Host,
    /// Since when a queued job could have run.
    RunAt,
    /// When the job ended; NULL as long as it has not.
    EndedAt,
}

pub(super) const PARTS: [ColumnPart; 15] = [
    ColumnPart::Status,
    ColumnPart::Holder,
    ColumnPart::ClaimedAt,
    ColumnPart::Heartbeat,
    ColumnPart::Deadline,
    ColumnPart::Timeout,
    ColumnPart::Kind,
    ColumnPart::Attempts,
    ColumnPart::MaxAttempts,
    ColumnPart::Error,
    ColumnPart::Priority,
    ColumnPart::Pid,
    ColumnPart::Host,
    ColumnPart::RunAt,
    ColumnPart::EndedAt,
];

/// How a name is compared with words.
#[derive(Debug, Clone, Copy)]
enum NameTest {
    /// The whole name, without gaps.
    Is,
    /// One of its words.
    Has,
    Starts,
    Contains,
}

use NameTest::{Contains, Has, Is, Starts};

/// A test, its words, and what a name that passes is worth; less than nothing rules the part out.
type Rule = (i32, NameTest, &'static [&'static str]);

/// The score of a column for a part by its name and type; negative if they rule it out.
pub(super) fn score(part: ColumnPart, column: &DraftColumn<'_>) -> i32 {
    if !suits(part, column) {
        return NO;
    }
    if part == ColumnPart::Holder {
        return holder(&column.words);
    }
    let rules = match (part, column.class) {
        (ColumnPart::Status, Class::Flag) => FLAG,
        (part, _) => part.rules(),
    };
    let passes = |(_, test, words): &&Rule| match test {
        Is => column.words.is(words),
        Has => column.words.has(words),
        Starts => column.words.starts(words),
        Contains => column.words.contains(words),
    };
    rules.iter().find(passes).map_or(0, |(score, _, _)| *score)
}

const NO: i32 = -1;

fn suits(part: ColumnPart, column: &DraftColumn<'_>) -> bool {
    let class = column.class;
    match part {
        ColumnPart::ClaimedAt
        | ColumnPart::Heartbeat
        | ColumnPart::Deadline
        | ColumnPart::RunAt
        | ColumnPart::EndedAt => column.is_time(),
        ColumnPart::Status => matches!(class, Class::Text | Class::Number | Class::Flag),
        ColumnPart::Holder => matches!(class, Class::Text | Class::Number | Class::List),
        ColumnPart::Timeout => matches!(class, Class::Number | Class::Interval),
        ColumnPart::Attempts | ColumnPart::MaxAttempts | ColumnPart::Priority => class == Class::Number,
        ColumnPart::Pid => matches!(class, Class::Text | Class::Number),
        ColumnPart::Kind | ColumnPart::Error | ColumnPart::Host => class == Class::Text,
    }
}

/// `locked_by`, `worker_id`, `owner`: a word for taking with "by", or a holder with its name or number.
fn holder(words: &Words) -> i32 {
    let takes = words.starts(&TAKING) || words.has(&TAKING);
    let is_id = words.ends(&["id", "ids", "name", "uuid", "key"]);
    let is_holder = words.has(&HOLDERS) || words.ends(&["agentid", "workerid", "sessionid", "processid"]);
    if takes && (words.ends(&["by", "byid"]) || words.has(&["by"])) {
        10
    } else if words.has(&["holder", "lessee"]) {
        9
    } else if is_holder && (is_id || HOLDERS.contains(&words.last())) {
        8
    } else if words.is(&["workers", "assignee", "assignedto"]) {
        7
    } else if words.is(&["hostname", "host"]) {
        4
    } else {
        0
    }
}

/// Flags that say "somebody has it", or, the last one, that nobody has.
const FLAG: &[Rule] = &[
    (7, Is, &["locked", "picked", "claimed", "taken", "running", "reserved", "inprogress", "processing"]),
    (
        7,
        Is,
        &["active", "acquired", "leased", "ispicked", "islocked", "isrunning", "isprocessing", "visible"],
    ),
    (NO, Contains, &[""]),
];

impl ColumnPart {
    /// The first rule that a name passes counts.
    fn rules(self) -> &'static [Rule] {
        match self {
            ColumnPart::Status => &[
                (10, Is, &["status", "state"]),
                (8, Is, &["jobstatus", "jobstate", "taskstatus", "taskstate", "triggerstate", "phase"]),
                (6, Has, &["status", "state"]),
            ],
            // By words that combine: see `holder`.
            ColumnPart::Holder => &[],
            ColumnPart::ClaimedAt => &[
                (NO, Contains, &["until", "expire", "after", "next", "schedul", "deadline", "expiry"]),
                (11, Is, &["lockedat", "claimedat", "startedat", "started", "acquiredat", "lockedsince"]),
                (0, Is, &["lock", "processedat", "processed", "executiontime"]),
                (10, Starts, &TAKING),
                (10, Starts, &["start", "began", "begin", "deliver", "fire", "elect", "taken", "dispatch"]),
                (6, Is, &["performedat", "joblastrun", "lastrun", "lastrunat", "lastattemptat"]),
                (4, Is, &["updatedat", "updated", "modified", "modifiedat", "mtime", "changedat"]),
            ],
            ColumnPart::Heartbeat => &[
                (10, Contains, &["heartbeat", "lastbeat", "lastping", "pingat", "keepalive", "lastseen"]),
                (10, Contains, &["seenat", "checkin", "aliveat", "lastalive", "renewedat"]),
                (10, Is, &["beatat", "beat", "pulse", "refreshedat"]),
            ],
            ColumnPart::Deadline => &[
                (NO, Has, &["keep", "retain", "retention", "archive", "delete", "cache", "token", "run"]),
                (NO, Contains, &["expired", "repeat", "delay", "retry"]),
                (11, Contains, &["leaseexpir", "lockexpir", "leaseend", "timeoutat", "leaseuntil"]),
                (10, Contains, &["until"]),
                (9, Contains, &["expire", "expiry", "expiration", "deadline"]),
                (8, Is, &["vt", "visibleat", "visibleafter", "lock", "lease"]),
            ],
            ColumnPart::Timeout => &[
                (9, Is, &["timeout", "timeoutseconds", "timeouts", "ttl", "ttlseconds", "leaseseconds"]),
                (9, Is, &["timeoutms", "ttlms", "leasems", "timeoutsecs", "expireseconds", "expirein"]),
                (9, Contains, &["maxruntime", "leaseduration", "visibilitytimeout", "timeoutsec"]),
            ],
            ColumnPart::Kind => &[
                (9, Is, &["kind", "jobtype", "tasktype", "taskname", "jobname", "jobclass", "entrypoint"]),
                (8, Is, &["type", "func", "function", "taskpath", "task", "class", "classname"]),
                (7, Is, &["queue", "queuename", "topic", "channel", "name", "taskid"]),
            ],
            ColumnPart::Attempts => &[
                (NO, Has, &["max", "limit"]),
                (9, Is, &["attempts", "attempt", "tries", "retries", "retrycount", "trynumber"]),
                (9, Is, &["executionscount", "attemptcount", "errorcount", "attemptnumber"]),
                (8, Is, &["recoveryattempts", "consecutivefailures", "failures", "numattempts"]),
            ],
            ColumnPart::MaxAttempts => {
                &[(9, Is, &["maxattempts", "maxretries", "maxtries", "retrylimit", "attemptslimit"])]
            }
            ColumnPart::Error => &[
                (9, Is, &["lasterror", "lasterrormessage", "errormessage", "error", "traceback"]),
                (7, Is, &["errors", "exception", "failurereason", "failure", "lastresult"]),
            ],
            ColumnPart::Priority => &[(9, Is, &["priority", "prio"])],
            ColumnPart::Pid => &[(9, Is, &["pid", "processpid", "workerpid", "ospid"])],
            ColumnPart::Host => &[(9, Is, &["host", "hostname", "workerhost"])],
            ColumnPart::RunAt => &[
                (9, Is, &["runat", "runafter", "scheduledat", "availableat", "executeafter"]),
                (9, Is, &["executiontime", "scheduledfor", "startafter", "notbefore", "nextruntime"]),
                (6, Is, &["enqueuedat", "queuedat", "createdat", "created", "createdon", "intime"]),
            ],
            ColumnPart::EndedAt => &[
                (
                    9,
                    Starts,
                    &["finish", "complet", "failed", "ended", "done", "finaliz", "stopped", "processedat"],
                ),
                (9, Has, &["done"]),
            ],
        }
    }
}
