//! Nothing that a database holds acts on a terminal, and no two different texts are shown as one.

use super::fuzz;
use claimtop::domain::value::{Value, percent};
use claimtop::domain::visible::{escape, safe, visible};
use claimtop::report::json::line;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// By the list of Unicode, not by our own: controls, what has no width, what changes the direction.
#[track_caller]
fn assert_harmless(shown: &str, text: &str) {
    let harms = |c: &char| {
        matches!(u32::from(*c),
            0..0x20 | 0x7f..=0x9f | 0xad | 0x300..=0x36f | 0x61c | 0x115f | 0x1160 | 0x180e | 0x200b..=0x200f
            | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff9..=0xfffb
            | 0xe0000..=0xe0fff)
    };
    assert_eq!(shown.chars().find(harms), None, "{text:?} is shown as {shown:?}");
}

#[test]
fn what_is_shown_of_a_database() {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    // What stands for a text: its plain letters alone, because others may look like them.
    let plain = |shown: &str| shown.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect::<String>();
    let mut seen: HashMap<u64, u64> = HashMap::new();
    fuzz(
        "a text of a database shows no control, bidi or zero-width character, and no other text looks like it",
        1,
        |random| {
            let text = random.text();
            for text in [random.changed(&text), text] {
                let shown = visible(&text);
                assert_harmless(&shown, &text);
                assert!(shown.chars().count() < 120, "{shown}");
                let before = seen.insert(hasher.hash_one(plain(&shown)), hasher.hash_one(&text));
                assert!(
                    before.is_none_or(|before| before == hasher.hash_one(&text)),
                    "another text is shown as {shown:?} too"
                );
            }
        },
    );
}

#[test]
fn what_is_written_of_a_database() {
    fuzz(
        "a text of a database is the same text after JSON, and harmless in JSON, messages and addresses",
        10,
        |random| {
            let text = random.text();
            for shown in [
                escape(&text),
                safe(&text),
                percent(&text).into_owned(),
                Value::Text(text.clone()).describe(),
            ] {
                assert_harmless(&shown, &text);
            }
            let json = line(&text);
            assert_harmless(&json, &text);
            assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
            let back = percent_encoding::percent_decode_str(&percent(&text))
                .decode_utf8()
                .expect("UTF-8")
                .into_owned();
            assert_eq!(back, text);
        },
    );
}
