//! Keeping a claim, and giving it up.

use super::claim::{delete, held, prolong};
use super::{Coordination, Refreshed, Released, end_of, expiry, millis};
use crate::domain::time::Span;
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

impl Coordination {
    /// Lets a claim end `extend_by` from now (not from its old end). One that has expired is lost:
    /// its session must claim again, and so learns whether somebody else was faster.
    pub fn refresh_claim(
        &mut self,
        task: &str,
        session: &str,
        extend_by: Option<Span>,
    ) -> Result<Refreshed, WorkerError> {
        let ttl = extend_by.unwrap_or(self.settings.default_ttl);
        self.database.change(|transaction, now, events| {
            let expires_at = end_of(ttl, now)?;
            let Some(claim) = held(transaction, task, now)? else { return Ok(Refreshed::NotFound) };
            if claim.has_expired(now) {
                delete(transaction, task)?;
                events.push(expiry::event(&claim, now));
                return Ok(Refreshed::Expired { expired_at: claim.expires_at });
            }
            if claim.session_id != session {
                return Ok(Refreshed::NotOwner { actual_owner: claim.session_id });
            }
            prolong(transaction, task, expires_at, now)?;
            events.push(Event::ClaimRefreshed {
                task_id: claim.task_id,
                session_id: claim.session_id,
                expires_at: Some(expires_at),
            });
            Ok(Refreshed::Refreshed { expires_at })
        })
    }

    /// Gives a task back. The reason is only told: the row is deleted, with its `release_reason`.
    pub fn release_claim(
        &mut self,
        task: &str,
        session: &str,
        reason: &str,
    ) -> Result<Released, WorkerError> {
        self.database.change(|transaction, now, events| {
            let Some(claim) = held(transaction, task, now)? else { return Ok(Released::NotFound) };
            if claim.has_expired(now) {
                delete(transaction, task)?;
                events.push(expiry::event(&claim, now));
                return Ok(Released::WasExpired { expired_at: claim.expires_at });
            }
            if claim.session_id != session {
                return Ok(Released::NotOwner { actual_owner: claim.session_id });
            }
            delete(transaction, task)?;
            let held_for_ms = millis(now).saturating_sub(claim.claimed_at);
            events.push(Event::ClaimReleased {
                task_id: claim.task_id,
                session_id: claim.session_id,
                reason: reason.into(),
                held_for_ms,
            });
            Ok(Released::Released { held_for_ms })
        })
    }
}
