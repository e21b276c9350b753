//! `claimtop profile help`: the keys of the profile format.

use super::output::{complain, print};
use crate::domain::similar::did_you_mean;
use crate::exit::Exit;
use crate::profile::keys::{KEYS, KeyGroup, ProfileKey};
use crate::report::table::{TableCell, render};

pub(super) fn run(wanted: Option<&str>) -> Exit {
    let Some(wanted) = wanted else {
        let groups: Vec<String> = KeyGroup::ALL.into_iter().map(overview).collect();
        print(&groups.join("\n"));
        print(
            "\n`claimtop profile help KEY` shows type, default and an example; `claimtop profile draft SOURCE` writes a first profile.\n",
        );
        return Exit::Fine;
    };
    let found: Vec<&ProfileKey> = KEYS.iter().filter(|key| is_meant(key, wanted)).collect();
    let group = KeyGroup::ALL.into_iter().find(|group| group.name() == wanted);
    if found.is_empty() && group.is_none() {
        let names = KEYS.iter().map(|key| key.name).chain(KeyGroup::ALL.map(KeyGroup::name));
        let last = wanted.rsplit('.').next().unwrap_or(wanted);
        return complain(&format!("{wanted:?} is not a key of a profile{}", did_you_mean(last, names)));
    }
    let mut parts: Vec<String> = found.into_iter().map(detail).collect();
    parts.extend(group.map(overview));
    print(&parts.join("\n"));
    Exit::Fine
}

/// Whether a word names a key: by its name, with its table, or with all tables above it.
fn is_meant(key: &ProfileKey, wanted: &str) -> bool {
    wanted == key.name || wanted == key.path() || wanted.ends_with(&format!(".{}", key.path()))
}

fn overview(group: KeyGroup) -> String {
    let row = |key: &ProfileKey| {
        let must = if key.default.is_none() { "required" } else { "" };
        vec![TableCell::text(format!("  {}", key.name)), TableCell::text(must), TableCell::text(key.about)]
    };
    let rows: Vec<Vec<TableCell>> = group.keys().map(row).collect();
    format!("{}\n{}\n{}", group.heading(), group.about(), render(&rows))
}

fn detail(key: &ProfileKey) -> String {
    format!(
        "{}, in {}\n  {}\n  type     {}\n  default  {}\n  example  {}\n",
        key.name,
        key.group.heading(),
        key.about,
        key.kind.describe(),
        key.default.unwrap_or("none: it has to be there"),
        key.example
    )
}
