//! Where the holders' processes run, and whether they can be judged from here.

use rustix::system::uname;
use std::collections::BTreeMap;

use super::{DoctorCheck, DoctorTarget, count};
use crate::domain::claim::{HoldersOn, Process};
use crate::domain::detail::Holder;
use crate::domain::value::Value;
use crate::store::Reader;

const NAME: &str = "holders";

pub(super) fn check(target: &DoctorTarget) -> Option<DoctorCheck> {
    let holders = Reader::open(target.options.clone()).and_then(|mut reader| reader.holders(None));
    match holders {
        Ok(holders) if holders.is_empty() => None,
        Ok(holders) => Some(describe(&holders, target.holders_on)),
        Err(error) => Some(DoctorCheck::error(NAME, &error)),
    }
}

fn describe(holders: &[Holder], holders_on: Option<HoldersOn>) -> DoctorCheck {
    let named: Vec<&Holder> = holders.iter().filter(|holder| holder.worker.pid != Value::Null).collect();
    if named.is_empty() {
        return DoctorCheck::ok(NAME, "their rows name no process: none is ever called dead");
    }
    let unknown: Vec<&&Holder> =
        named.iter().filter(|holder| holder.worker.process == Process::Unknown).collect();
    let all = format!("{} with a process", count(named.len() as u64, "holder"));
    match holders_on {
        Some(HoldersOn::Elsewhere) => {
            DoctorCheck::ok(NAME, "holders_on says that they run elsewhere: no process is asked for")
        }
        _ if unknown.is_empty() => DoctorCheck::ok(NAME, format!("{all}, each of which this host can judge")),
        // The operator said so: holders on other hosts are judged by other signs.
        Some(HoldersOn::HostColumn) => DoctorCheck::ok(
            NAME,
            format!("{} of {all} cannot be judged from here: {}", unknown.len(), why(&unknown)),
        ),
        Some(HoldersOn::ThisHost) => DoctorCheck::warning(
            NAME,
            format!(
                "{} of {all} cannot be judged although holders_on is this-host: {}",
                unknown.len(),
                why(&unknown)
            ),
            "set holders_on = \"host-column\", or run claimtop where the holders run",
        ),
        None => DoctorCheck::warning(
            NAME,
            format!("{} of {all} cannot be judged: {}", unknown.len(), why(&unknown)),
            "set holders_on = \"this-host\", \"host-column\" or \"elsewhere\" for this source in the config",
        ),
    }
}

/// The hosts that are named, or the most common reason.
fn why(unknown: &[&&Holder]) -> String {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for host in unknown.iter().filter_map(|holder| holder.worker.host.as_deref()) {
        *hosts.entry(host).or_default() += 1;
    }
    if hosts.is_empty() {
        let evidence = unknown.iter().find_map(|holder| holder.worker.evidence.clone());
        return evidence.unwrap_or_else(|| "nobody could be asked".into());
    }
    let named: Vec<String> =
        hosts.iter().take(5).map(|(host, holders)| format!("{host} ({holders})")).collect();
    let ours = uname().nodename().to_string_lossy().into_owned();
    format!("their rows name the host {}, and this is {ours}", named.join(", "))
}
