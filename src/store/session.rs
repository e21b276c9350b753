//! A session as a whole, as an operator saw it: everything it holds, and its own row.

mod acts;

use super::image::Image;
use super::seen::{Place, Seen};
use crate::domain::claim::{Session, Worker};
use crate::domain::recovery::{Action, Authorization, Moved, Refusal, permit, permit_end};
use crate::domain::time::Moment;
use crate::domain::value::{Key, Value};

/// The name that the end of a session has in the trail.
pub const END: &str = "end_session";

/// A session and everything it holds.
#[derive(Debug, Clone)]
pub struct Holding {
    pub session: String,
    /// In the order in which they are released: locks first.
    pub claims: Vec<Seen>,
    /// Its row in each registry that lists it; none if it is gone.
    pub registered: Vec<Registered>,
}

/// A session's own row.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The profile, a board with this registry, and the row in the registry's table.
    pub(in crate::store) place: Place,
    pub profile: String,
    /// The registry's table.
    pub table: String,
    pub id: Value,
    pub row: Image,
    /// As in [`Seen`].
    pub version: Option<String>,
    pub session: Session,
    /// Every board that knows it has given it up.
    pub is_stale: bool,
    pub worker: Worker,
    pub ends: Ends,
    pub now: Moment,
}

/// Whether the profile says how a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Described,
    Undescribed,
}

impl Holding {
    /// Whether everything that was seen may be released and the session ended, by the rules of each.
    pub fn permit(
        &self,
        authorization: &Authorization,
        address: impl Fn(&Seen) -> String,
    ) -> Result<(), Refusal> {
        for session in &self.registered {
            permit_end(&self.session, session.is_stale, &session.worker, authorization)?;
        }
        for seen in &self.claims {
            permit(Action::Release, &seen.judged.claim, &seen.judged.verdict, seen.conclusion, authorization)
                .map_err(|refused| refused.of(address(seen)))?;
        }
        Ok(())
    }
}

impl Registered {
    /// Profile, table of the registry, id.
    pub fn address(&self) -> String {
        format!("{}/{}/{}", self.profile, self.table, Key(vec![self.id.clone()]).address())
    }

    /// What is different in the row as it is now.
    pub(in crate::store) fn moved(&self, fresh: &Registered) -> Moved {
        let session = fresh.id.text();
        match fresh.session.beat_at.at() {
            Some(beat) if fresh.session.beat_at != self.session.beat_at => {
                Moved::SessionBeat { session, ago: fresh.now.since(beat) }
            }
            _ => Moved::SessionChanged { session },
        }
    }
}
