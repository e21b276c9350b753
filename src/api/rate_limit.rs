//! How often a key may ask: so many requests in a minute, evenly refilled.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct RateLimit {
    /// Requests a minute; `None` for no limit.
    a_minute: Option<u32>,
    keys: Mutex<HashMap<String, Allowance>>,
}

/// The requests that a key may still make.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    requests: f64,
    at: Instant,
}

impl RateLimit {
    pub(crate) fn new(a_minute: Option<u32>) -> RateLimit {
        RateLimit { a_minute, keys: Mutex::default() }
    }

    /// Takes one request of a key; otherwise says when the next one may come.
    pub(super) fn take(&self, key: &str, now: Instant) -> Result<(), Duration> {
        let Some(most) = self.a_minute.map(f64::from) else { return Ok(()) };
        // Nothing in here can fail half-way.
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Only keys of the file get here, so the map stays as small as the file.
        let allowance = keys.entry(key.to_owned()).or_insert(Allowance { requests: most, at: now });
        let passed = now.saturating_duration_since(allowance.at).as_secs_f64();
        allowance.requests = most.min(allowance.requests + passed * most / MINUTE.as_secs_f64());
        allowance.at = now;
        if allowance.requests >= 1.0 {
            allowance.requests -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - allowance.requests) * MINUTE.as_secs_f64() / most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_minute() {
        let limit = RateLimit::new(Some(100));
        let start = Instant::now();
        for _ in 0..100 {
            limit.take("one", start).unwrap();
        }
        let wait = limit.take("one", start).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(1), "{wait:?}");
        limit.take("two", start).unwrap();
        limit.take("one", start + wait).unwrap();
        limit.take("one", start + wait).unwrap_err();
        let later = start + MINUTE * 10;
        assert_eq!((0..200).filter(|_| limit.take("one", later).is_ok()).count(), 100);
    }

    #[test]
    fn no_limit_is_none() {
        let limit = RateLimit::new(None);
        assert!((0..10_000).all(|_| limit.take("one", Instant::now()).is_ok()));
    }
}
