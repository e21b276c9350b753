//! A cause as a sentence.

use std::fmt;

use super::{Cause, Dimension, Trouble};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Reason;
use crate::domain::visible::visible;

/// So many locks are named; of more only the number is given.
const NAMED_LOCKS: usize = 2;

impl Cause {
    /// "web-3", "hosts web-3, web-4", "everything".
    pub fn name(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| visible(name)).collect();
        match (self.by, names.as_slice()) {
            (Dimension::Everything, _) => "everything".into(),
            (Dimension::Host, [one]) => one.clone(),
            (by, [one]) => format!("{} {one}", by.as_str()),
            (by, several) => format!("{}s {}", by.as_str(), several.join(", ")),
        }
    }

    /// "66 claims, 1 lock (deploy/production)": the locks are among the claims.
    fn claims_and_locks(&self) -> String {
        let mut said = format!("{}{}", self.about(), plural(self.count, "claim"));
        let locks = &self.touched.locks;
        if !locks.is_empty() {
            said += &format!(", {}", plural(locks.len() as u64, "lock"));
        }
        if (1..=NAMED_LOCKS).contains(&locks.len()) {
            said += &format!(" ({})", locks.join(", "));
        }
        said
    }

    fn about(&self) -> &'static str {
        if self.is_estimate { "about " } else { "" }
    }

    /// "all 5 sessions within 6 s", "4 of 5 holders".
    fn who(&self) -> String {
        let noun = if self.touched.are_sessions { "session" } else { "holder" };
        let (silent, all) = (self.holders as u64, self.of_holders as u64);
        let mut said = match silent == all {
            true if all > 1 => format!("all {}", plural(all, noun)),
            true => plural(all, noun),
            false => format!("{silent} of {}", plural(all, noun)),
        };
        if let Some(spread) = self.spread.filter(|_| silent > 1) {
            said += &format!(" within {}", roughly(spread));
        }
        said
    }

    fn hangs(&self) -> &'static str {
        match self.touched.reason {
            Some(Reason::TtlExceeded) => "over its TTL",
            Some(Reason::LeaseExpired) => "over its lease",
            _ => "stuck",
        }
    }

    /// "on every host", "on 3 hosts": where claims of a kind or a version hang.
    fn where_it_hangs(&self) -> String {
        match (self.by, self.touched.hosts) {
            (Dimension::Host, _) | (_, 0 | 1) => String::new(),
            _ if self.touched.all_hosts => " on every host".into(),
            (_, hosts) => format!(" on {hosts} hosts"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self.trouble {
            Trouble::Silent => {
                let since = self.since.map_or_else(String::new, |at| format!(" since {}", clock(at, 8)));
                write!(f, "{name} silent{since}, {}: {}", self.who(), self.claims_and_locks())
            }
            Trouble::Hanging => {
                let since = self.since.map_or_else(String::new, |at| format!(" since {}", clock(at, 5)));
                let (hangs, place) = (self.hangs(), self.where_it_hangs());
                let (about, count, of) = (self.about(), self.count, plural(self.of, "claim"));
                write!(f, "{name} {hangs}{since}{place}: {about}{count} of {of}, holders alive")
            }
        }
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The time of the day, as many characters of it.
fn clock(at: Moment, length: usize) -> String {
    at.rfc3339().get(11..11 + length).unwrap_or_default().to_owned()
}

/// Whole seconds below two minutes: what is beside the second tells nobody anything.
fn roughly(span: Span) -> String {
    let seconds = (span.as_millis() + 999) / 1_000;
    if seconds < 120 { format!("{} s", seconds.max(1)) } else { span.to_string() }
}
