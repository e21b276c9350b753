//! Events as JSON, in the form in which they are told everywhere, and back.

use serde_json::{Map, Value as Json};

use crate::domain::board_id::BoardId;
use crate::domain::cause::Dimension;
use crate::domain::time::Moment;
use crate::domain::value::percent;
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::{safe, visible};
use crate::events::{ClaimContext, Event, EventKind, Origin, SourceContext, millis};

/// Who tells what a poll shows.
const LOOK: &str = "look";

/// An event as it is written: its JSON without what the columns of its row say.
pub(super) struct EventParts {
    /// The board that it is about, if it names one.
    pub board: Option<BoardId>,
    /// When it was told, in milliseconds after the frame.
    pub told: i64,
    pub name: String,
    pub task: Option<String>,
    pub holder: Option<String>,
    pub body: String,
    /// The id of its claim as it was shown, if the text does not tell it.
    pub shown: Option<String>,
}

impl EventParts {
    pub(super) fn of(event: &Event, source: &str, at: Moment) -> EventParts {
        let shown = event
            .claim()
            .and_then(|(task_id, _, about)| (about.shown != visible(task_id)).then(|| about.shown.clone()));
        let mut fields = match serde_json::to_value(event) {
            Ok(Json::Object(fields)) => fields,
            Ok(_) | Err(_) => Map::new(),
        };
        let name = take_text(&mut fields, "event", |_| true).unwrap_or_default();
        let told = fields.remove("timestamp").and_then(|told| told.as_i64());
        take_text(&mut fields, "source", |text| text == source);
        take_text(&mut fields, "by", |text| text == LOOK);
        let board = board_of(&fields);
        if let Some(board) = &board {
            let address = fields.get("taskId").and_then(Json::as_str).map(|id| address(board, id));
            take_text(&mut fields, "address", |text| address.as_deref() == Some(text));
            fields.remove("profile");
            fields.remove("board");
        }
        let task = take_text(&mut fields, "taskId", |_| true);
        let holder = take_text(&mut fields, "sessionId", |_| true);
        fields.retain(|_, value| !value.is_null());
        EventParts {
            board,
            task,
            holder,
            told: told.map_or(0, |told| told - millis(at)),
            name,
            body: Json::Object(fields).to_string(),
            shown,
        }
    }

    /// The event again; nothing if this program does not know it.
    pub(super) fn event(&self, source: &str, at: Moment) -> Option<Event> {
        let Json::Object(mut fields) = serde_json::from_str(&self.body).ok()? else { return None };
        let mut add = |name: &str, value: Json| {
            fields.entry(name).or_insert(value);
        };
        add("event", self.name.as_str().into());
        self.task.iter().for_each(|task| add("taskId", task.as_str().into()));
        self.holder.iter().for_each(|holder| add("sessionId", holder.as_str().into()));
        add("timestamp", millis(at).saturating_add(self.told).into());
        add("source", source.into());
        add("by", LOOK.into());
        if let Some(board) = &self.board {
            add("profile", board.profile().into());
            add("board", board.board().into());
            if let Some(task) = &self.task {
                add("address", address(board, task).into());
            }
        }
        read_event(&Json::Object(fields), self.shown.as_deref())
    }
}

/// Takes a text out if it is the one that is expected.
fn take_text(
    fields: &mut Map<String, Json>,
    name: &str,
    is_expected: impl Fn(&str) -> bool,
) -> Option<String> {
    let text = fields.get(name).and_then(Json::as_str).filter(|text| is_expected(text)).map(str::to_owned);
    text.inspect(|_| drop(fields.remove(name)))
}

fn board_of(fields: &Map<String, Json>) -> Option<BoardId> {
    let text = |name: &str| fields.get(name).and_then(Json::as_str);
    Some(BoardId::new(text("profile")?, text("board")?))
}

/// The address of a claim whose key is one text.
fn address(board: &BoardId, id: &str) -> String {
    format!("{}/{}/{}", percent(board.profile()), percent(board.board()), percent(id))
}

/// The event of all its fields; nothing if this program does not know it.
fn read_event(json: &Json, shown: Option<&str>) -> Option<Event> {
    let fields = Fields(json);
    let kind = kind_of(fields.word("event")?)?;
    if fields.word("event")? == "claims:batch" {
        return Some(Event::Batch {
            what: kind_of(fields.word("type")?)?,
            count: fields.count("count")?,
            first: json["first"].as_array()?.iter().filter_map(Json::as_str).map(safe).collect(),
            by: fields.origin()?,
            of: fields.source_context()?,
        });
    }
    of_claim(kind, &fields, shown).or_else(|| of_source(kind, &fields))
}

/// An event about a single claim.
fn of_claim(kind: EventKind, fields: &Fields<'_>, shown: Option<&str>) -> Option<Event> {
    let (task_id, session_id) = (fields.text("taskId")?, fields.text("sessionId"));
    let about = fields.claim_context(shown, &task_id)?;
    let expires_at = fields.number("expiresAt");
    let reason = || fields.known("reason");
    Some(match kind {
        EventKind::Acquired => Event::Acquired { task_id, session_id, expires_at, about },
        EventKind::Renewed => Event::Extended { task_id, session_id, expires_at, about },
        EventKind::Finished => {
            let held_for_ms = fields.number("heldForMs");
            Event::Released { task_id, session_id, reason: reason()?, held_for_ms, about }
        }
        EventKind::Entered(Set::Stale) => Event::Expired {
            task_id,
            session_id,
            expired_at: fields.number("expiredAt"),
            age_ms: fields.number("ageMs"),
            about,
        },
        EventKind::Entered(Set::Orphaned) => {
            let stale_for_ms = fields.number("staleForMs");
            Event::Orphaned { task_id, session_id, reason: reason()?, stale_for_ms, about }
        }
        EventKind::Entered(Set::Unknown) => Event::Unclear { task_id, session_id, reason: reason()?, about },
        EventKind::Entered(Set::Expiring | Set::Healthy) => {
            Event::Expiring { task_id, session_id, expires_at, about }
        }
        EventKind::ChangedHands => {
            let from_session_id = fields.text("fromSessionId");
            Event::ChangedHands { task_id, session_id, from_session_id, about }
        }
        EventKind::Retried => Event::Retried { task_id, session_id, about },
        EventKind::Left => Event::Left { task_id, session_id, about },
        EventKind::Recovered => Event::Recovered { task_id, session_id, about },
        EventKind::Poison => Event::Poison { task_id, session_id, times: fields.count("times")?, about },
        EventKind::SourceLost
        | EventKind::SourceBack
        | EventKind::SourceChanged
        | EventKind::CauseBegan
        | EventKind::CauseEnded
        | EventKind::SessionLost
        | EventKind::SessionCleanup
        | EventKind::Cleanup => return None,
    })
}

/// An event about a session, a cause or the whole source.
fn of_source(kind: EventKind, fields: &Fields<'_>) -> Option<Event> {
    let source = fields.text("source")?;
    let timestamp = fields.number("timestamp")?;
    let count = || fields.count("count");
    Some(match kind {
        EventKind::SourceLost => Event::SourceLost { why: fields.text("why")?, source, timestamp },
        EventKind::SourceBack => Event::SourceBack { source, timestamp },
        EventKind::SourceChanged => Event::SourceChanged {
            why: fields.text("why")?,
            source,
            profile: fields.text("profile"),
            board: fields.text("board"),
            timestamp,
        },
        EventKind::CauseBegan => Event::CauseBegan {
            by: fields.known("by")?,
            name: fields.text("name")?,
            claims: fields.count("claims")? as u64,
            of: fields.count("of")? as u64,
            sessions: fields.count("sessions")?,
            since: fields.number("since"),
            spread_ms: fields.number("spreadMs"),
            sentence: fields.text("sentence")?,
            source,
            timestamp,
        },
        EventKind::CauseEnded => {
            Event::CauseEnded { by: fields.known("by")?, name: fields.text("name")?, source, timestamp }
        }
        EventKind::SessionLost => Event::SessionLost {
            session_id: fields.text("sessionId")?,
            reason: fields.known("reason")?,
            stale_for_ms: fields.number("staleForMs"),
            count: count()?,
            of: fields.source_context()?,
        },
        EventKind::SessionCleanup => Event::SessionCleanup {
            session_id: fields.text("sessionId")?,
            reason: fields.known("reason")?,
            count: count()?,
            of: fields.source_context()?,
        },
        EventKind::Cleanup => Event::Cleanup {
            kind: fields.known("type")?,
            count: count()?,
            timestamp,
            source,
            dry_run: fields.flag("dryRun") || fields.flag("dry_run"),
        },
        EventKind::Entered(_)
        | EventKind::ChangedHands
        | EventKind::Retried
        | EventKind::Renewed
        | EventKind::Finished
        | EventKind::Left
        | EventKind::Acquired
        | EventKind::Recovered
        | EventKind::Poison => return None,
    })
}

/// The fields of one event. Texts come from a file that anybody may have written: they are made safe.
struct Fields<'a>(&'a Json);

impl Fields<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.word(name).map(str::to_owned)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.0.get(name)?.as_i64()
    }

    fn count(&self, name: &str) -> Option<usize> {
        self.number(name).and_then(|number| usize::try_from(number).ok())
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Json::as_bool).unwrap_or(false)
    }

    /// One of the words that events use for a reason, a type or a dimension.
    fn known(&self, name: &str) -> Option<&'static str> {
        const OTHERS: [&str; 4] = ["finished_or_released", "expired", "orphaned", "session_ended"];
        let dimensions =
            [Dimension::Everything, Dimension::Source, Dimension::Version, Dimension::Host, Dimension::Kind];
        let word = self.word(name)?;
        let reasons = Reason::ALL.into_iter().map(Reason::as_str);
        let all = reasons.chain(dimensions.into_iter().map(Dimension::as_str)).chain(OTHERS);
        // A word that a later version may use: shown as unknown rather than dropped.
        Some(all.into_iter().find(|known| *known == word).unwrap_or("unknown"))
    }

    fn origin(&self) -> Option<Origin> {
        Some(match self.word("by")? {
            "sweep" => Origin::Sweep,
            "operator" => Origin::Operator,
            _ => Origin::Look,
        })
    }

    fn claim_context(&self, shown: Option<&str>, task_id: &str) -> Option<ClaimContext> {
        Some(ClaimContext {
            source: self.text("source")?,
            profile: self.text("profile")?,
            board: self.text("board")?,
            address: self.text("address")?,
            why: safe(self.word("why")?),
            by: self.origin()?,
            action_id: self.text("actionId"),
            timestamp: self.number("timestamp")?,
            dry_run: self.flag("dryRun"),
            shown: shown.map_or_else(|| visible(task_id), safe),
        })
    }

    fn source_context(&self) -> Option<SourceContext> {
        Some(SourceContext {
            source: self.text("source")?,
            profile: self.text("profile")?,
            timestamp: self.number("timestamp")?,
        })
    }
}

fn kind_of(name: &str) -> Option<EventKind> {
    const ALL: [EventKind; 20] = [
        EventKind::SourceLost,
        EventKind::SourceBack,
        EventKind::SourceChanged,
        EventKind::CauseBegan,
        EventKind::CauseEnded,
        EventKind::SessionLost,
        EventKind::Entered(Set::Orphaned),
        EventKind::Entered(Set::Stale),
        EventKind::Entered(Set::Unknown),
        EventKind::Entered(Set::Expiring),
        EventKind::ChangedHands,
        EventKind::Retried,
        EventKind::Renewed,
        EventKind::Finished,
        EventKind::SessionCleanup,
        EventKind::Left,
        EventKind::Acquired,
        EventKind::Recovered,
        EventKind::Poison,
        EventKind::Cleanup,
    ];
    // The name of a batch is not the name of its kind.
    if name == "claims:batch" {
        return Some(EventKind::Acquired);
    }
    ALL.into_iter().find(|kind| kind.name() == name)
}
