//! The causes of one source from poll to poll: which began and which ended.

use std::collections::BTreeMap;

use super::event::{Event, millis};
use crate::domain::cause::{Cause, Dimension};
use crate::domain::time::Moment;

/// A cause ends after this many polls in a row without it: a single poll may see one claim too few.
const MISSED: u8 = 2;

/// The causes of a source that are known so far.
#[derive(Debug, Default)]
pub struct CauseLog {
    /// By dimension and name: how many polls in a row have not shown it.
    known: BTreeMap<(Dimension, String), u8>,
    /// Whether there was a poll before: the causes of the first poll are not events.
    has_seen: bool,
}

impl CauseLog {
    /// Takes the causes of one poll and returns the events that follow from them.
    pub fn observe(&mut self, causes: &[Cause], source: &str, at: Moment) -> Vec<Event> {
        let mut events = Vec::new();
        self.known.values_mut().for_each(|missed| *missed += 1);
        for cause in causes {
            let mut is_new = false;
            for name in names(cause) {
                is_new |= self.known.insert((cause.by, name), 0).is_none();
            }
            if is_new && self.has_seen {
                events.push(began(cause, source, at));
            }
        }
        self.has_seen = true;
        self.known.retain(|(by, name), missed| {
            let is_over = *missed >= MISSED;
            if is_over {
                events.push(Event::CauseEnded {
                    by: by.as_str(),
                    name: name.clone(),
                    source: source.into(),
                    timestamp: millis(at),
                });
            }
            !is_over
        });
        events
    }
}

/// The names of a cause. A cause without names is called by its dimension.
fn names(cause: &Cause) -> Vec<String> {
    if cause.names.is_empty() { vec![cause.by.as_str().into()] } else { cause.names.clone() }
}

fn began(cause: &Cause, source: &str, at: Moment) -> Event {
    Event::CauseBegan {
        by: cause.by.as_str(),
        name: names(cause).join(", "),
        claims: cause.count,
        of: cause.of,
        sessions: cause.holders,
        since: cause.since.map(millis),
        spread_ms: cause.spread.map(|spread| spread.as_millis()),
        sentence: cause.to_string(),
        source: source.into(),
        timestamp: millis(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cause::{ClaimFact, Facts, HolderFact, Prospect, find};
    use crate::domain::time::Span;
    use crate::domain::verdict::Reason;

    /// Ten hosts of three sessions, with two claims each; one host is silent.
    fn one_dead_host(now: Moment) -> Vec<Cause> {
        let mut facts = Facts::default();
        for at in 0..30 {
            let host = at / 3;
            let is_dead = host == 3;
            let sign = now.minus(Span::seconds(if is_dead { 900 } else { 3 }));
            facts.holders.push(HolderFact {
                source: "tasks.db".into(),
                name: format!("web-{host}-{at}"),
                host: Some(format!("web-{host}")),
                version: None,
                seen_at: now,
                last_sign: Some(sign),
                started_at: None,
                given_up: is_dead,
                is_session: true,
            });
            for _ in 0..2 {
                facts.claims.push(ClaimFact {
                    holder: at,
                    board: "task".into(),
                    kind: None,
                    lock: None,
                    trouble: is_dead.then_some(Reason::SessionStale),
                    since: None,
                    claimed_at: None,
                    is_due: false,
                    prospect: Prospect::Free,
                    count: 1,
                });
            }
        }
        find(&facts)
    }

    #[test]
    fn a_cause_begins_once_and_ends_when_two_looks_do_not_show_it() {
        let now = Moment::parse("2026-11-15T03:24:41Z").expect("an instant");
        let (mut log, causes) = (CauseLog::default(), one_dead_host(now));
        let observe = |log: &mut CauseLog, causes: &[Cause]| -> Vec<&'static str> {
            log.observe(causes, "tasks.db", now).iter().map(|event| event.kind().name()).collect()
        };
        assert_eq!(observe(&mut log, &[]), Vec::<&str>::new());
        assert_eq!(observe(&mut log, &causes), ["cause:began"]);
        assert_eq!(observe(&mut log, &causes), Vec::<&str>::new());
        assert_eq!(observe(&mut log, &[]), Vec::<&str>::new());
        assert_eq!(observe(&mut log, &causes), Vec::<&str>::new(), "one look saw a claim too few");
        assert_eq!(observe(&mut log, &[]), Vec::<&str>::new());
        assert_eq!(observe(&mut log, &[]), ["cause:ended"]);
        assert_eq!(observe(&mut log, &causes), ["cause:began"]);
    }
}
