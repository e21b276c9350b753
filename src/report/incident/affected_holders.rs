//! Whose claims were acted on: by host if the names of the holders contain it, and on what evidence.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::cause::hosts_of_names;
use crate::recovery::trail::Record;

/// How many different holders are counted.
const MOST_HOLDERS: usize = 10_000;

/// Acts by holder.
#[derive(Debug, Default)]
pub(super) struct AffectedHolders {
    by_name: BTreeMap<String, AffectedGroup>,
    pub(super) others: u64,
}

/// Acts that have something in common.
#[derive(Debug, Clone, Default)]
pub(super) struct AffectedGroup {
    pub(super) acts: u64,
    pub(super) holders: BTreeSet<String>,
    /// Why the claims were in trouble, and how many of them.
    pub(super) reasons: BTreeMap<String, u64>,
    pub(super) kinds: BTreeMap<String, u64>,
    /// The explanation of the first.
    pub(super) example: String,
    pub(super) first_at: String,
}

impl AffectedHolders {
    /// Adds an intent; an undo does not affect further holders.
    pub(super) fn add(&mut self, record: &Record) {
        let Some(holder) = record.holder.as_ref().filter(|_| record.refers_to.is_none()) else { return };
        if self.by_name.len() >= MOST_HOLDERS && !self.by_name.contains_key(holder) {
            self.others += 1;
            return;
        }
        let known = self.by_name.entry(holder.clone()).or_default();
        if known.acts == 0 {
            known.first_at.clone_from(&record.at);
            known.holders.insert(holder.clone());
        }
        known.acts += 1;
        let reasons = record.evidence["reasons"].as_array().into_iter().flatten();
        for reason in reasons.filter_map(|reason| reason.as_str()) {
            *known.reasons.entry(reason.to_owned()).or_default() += 1;
        }
        if let Some(kind) = record.evidence["kind"].as_str().filter(|_| known.kinds.len() < 100) {
            *known.kinds.entry(kind.to_owned()).or_default() += 1;
        }
        if let (true, Some(why)) = (known.example.is_empty(), record.evidence["why"].as_str()) {
            known.example = why.to_owned();
        }
    }

    /// The hosts, or the holders if names contain no host; the most frequent first.
    pub(super) fn groups(&self) -> Vec<(String, AffectedGroup)> {
        let names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        let mut hosts = hosts_of_names(&names);
        // The names of one host alone do not show which part is the host; names of several hosts do.
        if hosts.iter().all(Option::is_none) {
            hosts.fill(shared_name(&names));
        }
        let mut groups: BTreeMap<String, AffectedGroup> = BTreeMap::new();
        for ((name, troubled), host) in self.by_name.iter().zip(hosts) {
            groups.entry(host.unwrap_or_else(|| name.clone())).or_default().join(troubled);
        }
        let mut groups: Vec<(String, AffectedGroup)> = groups.into_iter().collect();
        groups.sort_by_key(|(_, troubled)| std::cmp::Reverse(troubled.acts));
        groups
    }
}

/// The common start of several names, up to a separator: "web-3" of "web-3:4300" and "web-3:4301".
fn shared_name(names: &[&str]) -> Option<String> {
    let (first, others) = names.split_first().filter(|(_, others)| !others.is_empty())?;
    let is_shared = |length: &usize| others.iter().all(|other| other.get(..*length) == first.get(..*length));
    let mut ends = first.rmatch_indices([':', '/', '#', '|', '-', '.', '_', '@']).map(|(at, _)| at);
    let length = ends.find(|at| *at > 0 && is_shared(at))?;
    first.get(..length).map(str::to_owned)
}

impl AffectedGroup {
    fn join(&mut self, other: &AffectedGroup) {
        if self.acts == 0 || other.first_at < self.first_at {
            self.first_at.clone_from(&other.first_at);
            self.example.clone_from(&other.example);
        }
        self.acts += other.acts;
        self.holders.extend(other.holders.iter().cloned());
        for (mine, theirs) in [(&mut self.reasons, &other.reasons), (&mut self.kinds, &other.kinds)] {
            for (name, count) in theirs {
                *mine.entry(name.clone()).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shared_name;

    #[test]
    fn names_of_one_host_share_it() {
        assert_eq!(shared_name(&["web-3:4300", "web-3:4301"]).as_deref(), Some("web-3"));
        assert_eq!(shared_name(&["web-3-0", "web-3-1", "web-3-12"]).as_deref(), Some("web-3"));
        assert_eq!(shared_name(&["web-3", "db-1"]), None);
        assert_eq!(shared_name(&["web-3"]), None);
        assert_eq!(shared_name(&[]), None);
    }
}
