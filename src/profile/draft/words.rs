//! What names of columns, tables and states usually mean in job queues.

/// A name, taken apart.
#[derive(Debug, Clone)]
pub struct Words {
    words: Vec<String>,
    /// All of them without a gap, in lower case: many systems write `lockedby`.
    flat: String,
}

impl Words {
    /// Takes `lockedBy`, `locked_by` and `LOCKED-BY` apart alike.
    pub fn of(name: &str) -> Words {
        let mut words = vec![String::new()];
        let mut before = '_';
        for c in name.chars() {
            let starts = c.is_uppercase() && before.is_lowercase();
            if starts || !c.is_alphanumeric() {
                words.push(String::new());
            }
            if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
                last.extend(c.to_lowercase());
            }
            before = c;
        }
        words.retain(|word| !word.is_empty());
        let flat = words.concat();
        Words { words, flat }
    }

    pub fn has(&self, any: &[&str]) -> bool {
        self.words.iter().any(|word| any.contains(&word.as_str()))
    }

    pub fn is(&self, any: &[&str]) -> bool {
        any.contains(&self.flat.as_str())
    }

    pub fn contains(&self, any: &[&str]) -> bool {
        any.iter().any(|part| self.flat.contains(part))
    }

    pub fn starts(&self, any: &[&str]) -> bool {
        any.iter().any(|part| self.flat.starts_with(part))
    }

    pub fn ends(&self, any: &[&str]) -> bool {
        any.iter().any(|part| self.flat.ends_with(part))
    }

    pub fn first(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub fn last(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }
}

/// How the words begin that say "somebody has it".
pub(super) const TAKING: [&str; 21] = [
    "lock",
    "claim",
    "take",
    "taking",
    "pick",
    "acquir",
    "reserv",
    "attempt",
    "lease",
    "own",
    "hold",
    "assign",
    "process",
    "execut",
    "fetch",
    "consum",
    "dequeue",
    "grab",
    "checkedout",
    "handle",
    "perform",
];

/// The holders of job queues.
pub(super) const HOLDERS: [&str; 18] = [
    "worker",
    "executor",
    "runner",
    "consumer",
    "processor",
    "agent",
    "session",
    "process",
    "instance",
    "leader",
    "node",
    "server",
    "manager",
    "holder",
    "owner",
    "lessee",
    "scheduler",
    "daemon",
];

/// What a state means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Held,
    Queued,
    Done,
    Dead,
}

/// What a state of this name usually means.
pub(super) fn meaning(state: &str) -> Option<Meaning> {
    let words = Words::of(state);
    let all: [(Meaning, &[&str]); 4] = [
        (
            Meaning::Held,
            &[
                "running",
                "processing",
                "active",
                "executing",
                "doing",
                "inprogress",
                "started",
                "claimed",
                "locked",
                "picked",
                "working",
                "busy",
                "leased",
                "acquired",
                "reserved",
                "consumed",
                "assigned",
                "taken",
                "inwork",
                "inflight",
                "held",
                "working",
                "restarting",
                "wip",
                "delivered",
                "unacked",
                "unack",
                "dispatched",
                "progress",
            ],
        ),
        (
            Meaning::Queued,
            &[
                "queued",
                "pending",
                "ready",
                "available",
                "todo",
                "new",
                "waiting",
                "scheduled",
                "created",
                "enqueued",
                "inactive",
                "idle",
                "retry",
                "retrying",
                "retryable",
                "retryscheduled",
                "open",
                "upforretry",
                "unlocked",
                "submitted",
                "planned",
                "delayed",
                "free",
                "released",
            ],
        ),
        (
            Meaning::Done,
            &[
                "done",
                "completed",
                "complete",
                "succeeded",
                "success",
                "successful",
                "finished",
                "ok",
                "processed",
                "acked",
                "closed",
                "merged",
                "skipped",
                "archived",
            ],
        ),
        (
            Meaning::Dead,
            &[
                "dead",
                "failed",
                "failure",
                "error",
                "errored",
                "discarded",
                "killed",
                "rejected",
                "cancelled",
                "canceled",
                "aborted",
                "exhausted",
                "deadletter",
                "fatal",
                "expired",
                "revoked",
            ],
        ),
    ];
    all.into_iter().find(|(_, names)| words.is(names)).map(|(meaning, _)| meaning)
}
