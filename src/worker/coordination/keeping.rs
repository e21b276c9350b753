//! Refreshes and releases a claim.

use super::claim::{delete, held, prolong};
use super::{Coordination, RefreshOutcome, ReleaseOutcome, end_of, expiry, millis, resume};
use crate::domain::time::Span;
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

impl Coordination {
    /// Extends a claim to `extend_by` from now (not from its old end). An expired claim is lost: its session must
    /// claim again, and so learns whether another session was faster.
    pub fn refresh_claim(
        &mut self,
        task: &str,
        session: &str,
        extend_by: Option<Span>,
    ) -> Result<RefreshOutcome, WorkerError> {
        let ttl = extend_by.unwrap_or(self.settings.default_ttl);
        self.database.change(|transaction, now, events| {
            let expires_at = end_of(ttl, now)?;
            let Some(claim) = held(transaction, task, now)? else { return Ok(RefreshOutcome::NotFound) };
            if claim.has_expired(now) {
                delete(transaction, task)?;
                events.push(expiry::event(&claim, now));
                return Ok(RefreshOutcome::Expired { expired_at: claim.expires_at });
            }
            if claim.session_id != session {
                return Ok(RefreshOutcome::NotOwner { actual_owner: claim.session_id });
            }
            prolong(transaction, task, expires_at, now)?;
            events.push(Event::ClaimRefreshed {
                task_id: claim.task_id,
                session_id: claim.session_id,
                expires_at: Some(expires_at),
            });
            Ok(RefreshOutcome::Refreshed { expires_at })
        })
    }

    /// Releases a task. The reason is only in the event: the row is deleted together with its `release_reason`.
    pub fn release_claim(
        &mut self,
        task: &str,
        session: &str,
        reason: &str,
    ) -> Result<ReleaseOutcome, WorkerError> {
        self.database.change(|transaction, now, events| {
            // Even if somebody has cleaned the claim up: its session is done with the task.
            resume::forget(transaction, task, session)?;
            let Some(claim) = held(transaction, task, now)? else { return Ok(ReleaseOutcome::NotFound) };
            if claim.has_expired(now) {
                delete(transaction, task)?;
                events.push(expiry::event(&claim, now));
                return Ok(ReleaseOutcome::WasExpired { expired_at: claim.expires_at });
            }
            if claim.session_id != session {
                return Ok(ReleaseOutcome::NotOwner { actual_owner: claim.session_id });
            }
            delete(transaction, task)?;
            let held_for_ms = millis(now).saturating_sub(claim.claimed_at);
            events.push(Event::ClaimReleased {
                task_id: claim.task_id,
                session_id: claim.session_id,
                reason: reason.into(),
                held_for_ms,
            });
            Ok(ReleaseOutcome::Released { held_for_ms })
        })
    }
}
