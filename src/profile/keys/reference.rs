//! The keys as a page.

use super::{KeyGroup, ProfileKey};

/// The reference of the format in Markdown, for `docs/profiles.md`.
pub fn markdown() -> String {
    KeyGroup::ALL.into_iter().map(section).collect::<Vec<_>>().join("\n")
}

fn section(group: KeyGroup) -> String {
    let mut text = format!("### `{}`\n\n{}\n\n", group.heading(), group.about());
    text.push_str("| key | type | default | example |\n| --- | --- | --- | --- |\n");
    for key in group.keys() {
        text.push_str(&row(key));
    }
    text
}

fn row(key: &ProfileKey) -> String {
    let default = key.default.unwrap_or("**required**");
    let cell = |text: &str| text.replace('|', "\\|");
    format!(
        "| `{}`<br>{} | {} | {} | `{}` |\n",
        key.name,
        cell(key.about),
        cell(key.kind.describe()),
        cell(default),
        cell(key.example)
    )
}
