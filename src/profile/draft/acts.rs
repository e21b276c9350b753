//! The acts that a draft suggests, all commented out: only a person knows what the workers expect.

use super::column::DraftColumn;
use super::held::{Held, meaning_of, states};
use super::names::ColumnPart;
use super::page::{FILL_IN, TomlText, toml_key, toml_string};
use super::render::Draft;
use super::sql::literal;
use super::words::Meaning;

pub(super) fn suggest(draft: &Draft<'_>, page: &mut TomlText) {
    page.blank();
    page.comment("Acts. Nothing can be changed until you remove the # in front of one. Compare each with what your own");
    page.comment("workers do; `claimtop reclaim ... --dry-run` shows what an act would change.");
    if matches!(draft.claim.held, Held::Every) {
        page.off("reclaim", "{ delete = true }", "frees a claim whose holder is gone");
        page.off("release", "{ delete = true }", "hands a claim back for a holder that is alive");
    } else if !matches!(draft.claim.held, Held::Unseen) {
        let set = freeing(draft);
        page.comment("");
        page.comment("[claim.reclaim.set]  # frees a claim whose holder is gone");
        for (key, value, comment) in &set {
            page.off(key, value, comment);
        }
        if let Some(attempts) = draft.claim.column(ColumnPart::Attempts) {
            let value = toml_string(&format!("{} + 1", attempts.name));
            let comment = format!("{FILL_IN}: leave it out if workers count an attempt when they take a job");
            page.off(&toml_key(attempts.name), &value, &comment);
        }
        page.comment("");
        page.comment(
            "[claim.release.set]  # hands a claim back for a holder that is alive: no attempt is counted",
        );
        for (key, value, comment) in &set {
            page.off(key, value, comment);
        }
    }
    let extend = draft.claim.column(ColumnPart::Deadline).map(|column| (column, ":until"));
    let extend = extend.or_else(|| draft.claim.column(ColumnPart::Heartbeat).map(|column| (column, ":now")));
    if let Some((column, value)) = extend {
        page.comment("");
        page.comment("[claim.extend.set]  # gives a slow holder more time");
        page.off(&toml_key(column.name), &toml_string(value), "");
    }
}

/// The columns that say "nobody has it", each with its value.
fn freeing(draft: &Draft<'_>) -> Vec<(String, String, String)> {
    let claim = &draft.claim;
    let mut set = Vec::new();
    let mut add = |column: &DraftColumn<'_>, sql: &str, comment: String| {
        set.push((toml_key(column.name), toml_string(sql), comment));
    };
    match &claim.held {
        Held::Values { column, .. } | Held::Unknown { column } => {
            let status = &claim.columns[*column];
            let states = states(claim.table, status);
            let queued = states.iter().find(|(value, _)| meaning_of(value) == Some(Meaning::Queued));
            match queued {
                Some((value, _)) => add(status, &literal(value), "the state of a job that waits".into()),
                None => add(status, "'...'", format!("{FILL_IN}: the state of a job that waits")),
            }
        }
        Held::Flag { column, when } => {
            let status = &claim.columns[*column];
            let free = !*when;
            let value = if status.is_number() { i32::from(free).to_string() } else { free.to_string() };
            add(status, &value, String::new());
        }
        Held::Ahead { column, .. } => add(&claim.columns[*column], ":now", "the claim ends now".into()),
        Held::Set { .. } | Held::Every | Held::Unseen => {}
    }
    for part in [ColumnPart::Holder, ColumnPart::ClaimedAt, ColumnPart::Heartbeat, ColumnPart::Deadline] {
        let Some(column) = claim.column(part) else { continue };
        let is_told = Some(column.at) == claim.held.column() && !matches!(claim.held, Held::Set { .. });
        let is_weak = claim.roles.score(part) < 8;
        if is_told || is_weak {
            continue;
        }
        let is_empty_elsewhere = claim.table.rows.iter().any(|row| !column.is_set(row));
        let comment = match is_empty_elsewhere {
            true => "NULL in rows that nobody has".to_owned(),
            false => format!("{FILL_IN}: NULL was not seen in it; leave it out if workers never clear it"),
        };
        add(column, "NULL", comment);
    }
    set
}
