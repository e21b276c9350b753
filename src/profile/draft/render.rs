//! A draft as a profile that can be read, checked and filled in.

use super::acts;
use super::column::{Class, DraftColumn};
use super::held::{Held, meaning_of, states};
use super::names::ColumnPart;
use super::page::{FILL_IN, TomlText, sample, samples, toml_string};
use super::rank::Candidate;
use super::registry::RegistryGuess;
use super::sql::{column_sql, literal};
use super::words::{Meaning, Words};
use crate::domain::time::TimeUnit;
use crate::profile::format::Engine;

/// Everything that stands in a draft.
#[derive(Debug)]
pub struct Draft<'a> {
    pub engine: Engine,
    pub claim: Candidate<'a>,
    pub registry: Option<RegistryGuess<'a>>,
    /// The other tables that look like claims.
    pub others: Vec<String>,
    /// The source, as a shell takes it.
    pub source: String,
}

impl Draft<'_> {
    /// The file.
    pub fn render(&self) -> String {
        let mut page = TomlText::default();
        self.head(&mut page);
        self.claim(&mut page);
        self.deadline(&mut page);
        self.session(&mut page);
        self.backlog(&mut page);
        acts::suggest(self, &mut page);
        page.into_text()
    }

    /// What the file with the draft is best called.
    pub fn file(&self) -> String {
        let name: String =
            self.bare_name().chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
        if name.is_empty() { "draft.toml".into() } else { format!("{name}.toml") }
    }

    fn bare_name(&self) -> &str {
        let name = self.claim.table.name.as_str();
        name.rsplit_once('.').map_or(name, |(_, table)| table)
    }

    fn head(&self, page: &mut TomlText) {
        let (file, source) = (self.file(), &self.source);
        page.comment(&format!("A draft by claimtop of the claims in {}.", self.claim.table.name));
        page.comment(&format!(
            "Check every line, answer those marked {FILL_IN}, save it as {file}, and try:"
        ));
        page.comment(&format!("  claimtop profile check {file} {source}"));
        page.comment(&format!("  claimtop check {source} --profile {file}"));
        page.comment("`claimtop profile help` explains every key.");
        if !self.others.is_empty() {
            let others = self.others.join(", ");
            page.comment(&format!(
                "Other tables that may hold claims: {others}; name one after SOURCE for its draft."
            ));
        }
        if self.claim.table.changes.is_empty() {
            page.comment("With --watch 30s, while the workers run, the guesses are better.");
        }
        page.blank();
        page.line("title", &toml_string(self.bare_name()), &format!("{FILL_IN}: what the system is called"));
        page.line("generic", "true", "other systems may have a table of this name: acts ask once");
        page.blank();
    }

    fn claim(&self, page: &mut TomlText) {
        let claim = &self.claim;
        page.heading("[[claim]]", "");
        page.line("name", &toml_string(&self.board()), "");
        page.line("role", &toml_string(self.role()), "task, job or lock");
        page.line("table", &toml_string(&claim.table.name), &format!("score {}", claim.score));
        page.line("detect", &self.detect(), "the table is taken for this system only with these columns");
        self.held(page);
        self.id(page);
        self.holder(page);
        for (key, part) in [("claimed_at", ColumnPart::ClaimedAt), ("beat_at", ColumnPart::Heartbeat)] {
            match (claim.column(part), part) {
                (Some(column), _) => page.line(key, &self.time(column), &self.why(part, column)),
                (None, ColumnPart::ClaimedAt) => {
                    page.off(
                        key,
                        "\"...\"",
                        &format!("{FILL_IN}: no column looks like the time of the claim"),
                    );
                }
                (None, _) => {}
            }
        }
        self.unit(page);
        let fields = [
            ("kind", ColumnPart::Kind),
            ("attempts", ColumnPart::Attempts),
            ("max_attempts", ColumnPart::MaxAttempts),
            ("error", ColumnPart::Error),
            ("priority", ColumnPart::Priority),
        ];
        for (key, part) in fields {
            if let Some(column) = claim.column(part) {
                page.line(key, &toml_string(column.name), &self.why(part, column));
            }
        }
        if self.registry.is_none() {
            for (key, part) in [("pid", ColumnPart::Pid), ("host", ColumnPart::Host)] {
                if let Some(column) = claim.column(part) {
                    page.line(key, &toml_string(column.name), &self.why(part, column));
                }
            }
        }
        let fenced =
            format!("{FILL_IN}: true if a worker finishes a job only while the row still names it as holder");
        page.off("fenced", "false", &fenced);
    }

    fn held(&self, page: &mut TomlText) {
        let claim = &self.claim;
        let seen = |at: &usize| {
            let states = states(claim.table, &claim.columns[*at]);
            let shown = states.iter().map(|(value, count)| match count {
                0 => sample(value),
                count => format!("{} ({count})", sample(value)),
            });
            format!("{} has {}", claim.columns[*at].name, shown.collect::<Vec<_>>().join(", "))
        };
        let comment = match &claim.held {
            Held::Values { column, why, .. } => format!("{why}; {}", seen(column)),
            Held::Flag { column, .. } => seen(column),
            Held::Set { .. } => "NULL in the rows that nobody has".into(),
            Held::Ahead { .. } => "the time is ahead of now while somebody has it".into(),
            Held::Every => String::new(),
            Held::Unseen => format!(
                "{FILL_IN}: no column says that somebody works on a row; if the workers take advisory locks, see \
                 `claimtop profile show que`"
            ),
            Held::Unknown { column } => {
                format!("{FILL_IN}: which of its values mean that somebody works on it; {}", seen(column))
            }
        };
        match claim.held.sql(&claim.columns) {
            Some(sql) => page.line("held", &toml_string(&sql), &comment),
            None => {
                page.off("held", "\"...\"", &format!("{FILL_IN}: unless every row of the table is a claim"));
            }
        }
    }

    fn id(&self, page: &mut TomlText) {
        let table = self.claim.table;
        let (id, why) = match (&table.key[..], table.has_rowid && self.engine == Engine::Sqlite) {
            ([one], _) => (toml_string(one), "the key of the table".into()),
            ([], true) => (toml_string("rowid"), format!("{FILL_IN}: the table has no key")),
            ([], false) => {
                let first = table.columns.first().map_or("id", |column| &column.name);
                (
                    toml_string(first),
                    format!("{FILL_IN}: the table has no key; name columns that tell rows apart"),
                )
            }
            (several, _) => {
                let all: Vec<String> = several.iter().map(|name| toml_string(name)).collect();
                (format!("[{}]", all.join(", ")), "the key of the table".into())
            }
        };
        page.line("id", &id, &why);
    }

    fn holder(&self, page: &mut TomlText) {
        let Some(column) = self.claim.column(ColumnPart::Holder) else {
            let comment = format!("{FILL_IN}: no column looks like the holder; without one a claim has none");
            return page.off("holder", "\"...\"", &comment);
        };
        page.line("holder", &toml_string(&self.holder_sql(column)), &self.why(ColumnPart::Holder, column));
    }

    /// The last element of a list, else the column itself.
    fn holder_sql(&self, column: &DraftColumn<'_>) -> String {
        let name = column_sql("c", column.name);
        match (column.class, self.engine) {
            (Class::List, Engine::Postgres) if column.declared.ends_with("[]") => {
                format!("{name}[array_upper({name}, 1)]")
            }
            (Class::List, Engine::Postgres) if column.declared == "jsonb" || column.declared == "json" => {
                format!("{name} ->> -1")
            }
            (Class::List, Engine::Sqlite) => format!("json_extract({name}, '$[#-1]')"),
            _ => column.name.to_owned(),
        }
    }

    fn deadline(&self, page: &mut TomlText) {
        let claim = &self.claim;
        let with = |column: &str| format!("{{ column = {column} }}");
        let claimed_at = claim.column(ColumnPart::ClaimedAt);
        if let Some(column) = claim.column(ColumnPart::Deadline) {
            return page.line("deadline", &with(&self.time(column)), &self.why(ColumnPart::Deadline, column));
        }
        if let (Some(timeout), Some(claimed_at)) = (claim.column(ColumnPart::Timeout), claimed_at) {
            let name = column_sql("c", timeout.name);
            let value = match timeout.class {
                Class::Interval => {
                    with(&toml_string(&format!("{} + {name}", column_sql("c", claimed_at.name))))
                }
                _ if timeout.words.ends(&["ms", "millis"]) => {
                    format!("{{ claimed_at_plus = {} }}", toml_string(&format!("{name} / 1000.0")))
                }
                _ => format!("{{ claimed_at_plus = {} }}", toml_string(timeout.name)),
            };
            return page.line("deadline", &value, &self.why(ColumnPart::Timeout, timeout));
        }
        let time = claimed_at.or_else(|| claim.column(ColumnPart::Heartbeat));
        if self.registry.is_some() && claim.column(ColumnPart::Heartbeat).is_none() {
            let comment = format!("{FILL_IN}: how long after its last heartbeat a holder counts as gone");
            page.line("deadline", "{ holder = true }", "the heartbeat of the holder plus orphan_after");
            return page.line("orphan_after", "\"10m\"", &comment);
        }
        match time {
            Some(column) => {
                let comment = format!("{FILL_IN}: how long after {} a job counts as stuck", column.name);
                page.line("deadline", "{ otherwise = \"30m\" }", &comment);
            }
            None => {
                let comment = format!("{FILL_IN}: no time was found, so nothing becomes stale");
                page.line("deadline", "{ never = true }", &comment);
            }
        }
    }

    /// The unit of the times that have none of their own.
    pub fn usual(&self) -> Option<TimeUnit> {
        let parts = [ColumnPart::ClaimedAt, ColumnPart::Heartbeat, ColumnPart::Deadline, ColumnPart::RunAt];
        parts.into_iter().find_map(|part| self.claim.column(part)?.unit())
    }

    fn unit(&self, page: &mut TomlText) {
        let Some(unit) = self.usual() else { return };
        let guessed = match self.claim.table.rows.is_empty() && unit.is_number() {
            true => format!("{FILL_IN}: no row was seen; unix_s, unix_ms or unix_ns"),
            false => String::new(),
        };
        page.line("time", &toml_string(unit_name(unit)), &guessed);
        if matches!(unit, TimeUnit::TextUtc | TimeUnit::Timestamp) {
            let comment = "how times without a zone are read; also \"host\", \"server\" or an offset such as \"+02:00\"";
            page.line("zone", "\"utc\"", comment);
        }
    }

    fn time(&self, column: &DraftColumn<'_>) -> String {
        match column.unit() {
            Some(unit) if Some(unit) != self.usual() => {
                let expr = toml_string(&column_sql("c", column.name));
                format!("{{ expr = {expr}, unit = {} }}", toml_string(unit_name(unit)))
            }
            _ => toml_string(column.name),
        }
    }

    fn why(&self, part: ColumnPart, column: &DraftColumn<'_>) -> String {
        let why = self.claim.roles.get(part).map_or_else(String::new, |guess| guess.evidence.join("; "));
        format!("{why}; {}", samples(&column.examples(2)))
    }

    fn session(&self, page: &mut TomlText) {
        let Some(registry) = &self.registry else { return };
        page.blank();
        page.heading("[claim.session]", &registry.evidence);
        page.line("table", &toml_string(&registry.table.name), "");
        page.line("id", &toml_string(&registry.id), "");
        page.line("beat_at", &toml_string(registry.beat_at), "its name");
        let fields = [("started_at", registry.started_at), ("pid", registry.pid), ("host", registry.host)];
        for (key, name) in fields {
            if let Some(name) = name {
                page.line(key, &toml_string(name), "its name");
            }
        }
        page.line("time", &toml_string(unit_name(registry.time)), "");
        let required = "true if every worker registers before it takes a job: then a missing one is gone";
        page.off("required", "true", &format!("{FILL_IN}: {required}"));
    }

    fn backlog(&self, page: &mut TomlText) {
        let claim = &self.claim;
        let Some(status) = claim.column(ColumnPart::Status).filter(|status| status.class != Class::Flag)
        else {
            return;
        };
        let states = states(claim.table, status);
        let of = |wanted: Meaning| {
            let is = |value: &&crate::domain::value::Value| {
                meaning_of(value) == Some(wanted)
                    && !matches!(&claim.held, Held::Values { values, .. } if values.contains(value))
            };
            let values: Vec<String> = states.iter().map(|(value, _)| value).filter(is).map(literal).collect();
            let sql = format!("{} IN ({})", column_sql("c", status.name), values.join(", "));
            (!values.is_empty()).then(|| toml_string(&sql))
        };
        let (queued, dead) = (of(Meaning::Queued), of(Meaning::Dead));
        if queued.is_none() && dead.is_none() {
            return;
        }
        page.blank();
        page.heading("[claim.backlog]", "the jobs that nobody has");
        for (key, sql) in [("queued", &queued), ("dead", &dead)] {
            if let Some(sql) = sql {
                page.line(key, sql, "by the words");
            }
        }
        let oldest = claim.column(ColumnPart::RunAt).filter(|column| column.unit() == self.usual());
        if let (Some(column), Some(_)) = (oldest, &queued) {
            page.line("oldest", &toml_string(column.name), &self.why(ColumnPart::RunAt, column));
        }
    }

    /// The columns by which the table is recognised.
    fn detect(&self) -> String {
        let parts = [ColumnPart::Status, ColumnPart::Holder, ColumnPart::ClaimedAt, ColumnPart::Deadline];
        let mut names: Vec<&str> =
            parts.iter().filter_map(|part| Some(self.claim.column(*part)?.name)).collect();
        if names.is_empty() {
            names.extend(self.claim.columns.first().map(|column| column.name));
        }
        let pair = |name: &str| toml_string(&format!("{}.{name}", self.claim.table.name));
        format!("[{}]", names.into_iter().map(pair).collect::<Vec<_>>().join(", "))
    }

    /// A board is called by one of its rows.
    fn board(&self) -> String {
        let words = Words::of(self.bare_name());
        match words.last() {
            "" => "claim".into(),
            word if word.len() > 3 && !word.ends_with("ss") => word.trim_end_matches('s').to_owned(),
            word => word.to_owned(),
        }
    }

    fn role(&self) -> &'static str {
        let words = Words::of(self.bare_name());
        if words.contains(&["lock", "lease", "leader", "mutex"]) {
            "lock"
        } else if words.contains(&["task", "todo"]) {
            "task"
        } else {
            "job"
        }
    }
}

pub(super) fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::UnixS => "unix_s",
        TimeUnit::UnixMs => "unix_ms",
        TimeUnit::UnixUs => "unix_us",
        TimeUnit::UnixNs => "unix_ns",
        TimeUnit::TextUtc => "text_utc",
        TimeUnit::Timestamptz => "timestamptz",
        TimeUnit::Timestamp => "timestamp",
    }
}
