//! What the system's own recovery in the database does otherwise than these rules.
//!
//! The specifications and the running systems differ, and so may any installation. The source of a function
//! is read for what matters here: how long each kind may take, and when a job is dead.

use std::collections::BTreeMap;

use crate::domain::rules::Rules;
use crate::domain::time::Span;
use crate::profile::format::Board;

/// One point in which they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub said: String,
    /// What would make these rules the same.
    pub fix: String,
}

/// Where the function differs from the rules of a board.
pub fn differences(function: &str, source: &str, board: &Board, rules: &Rules) -> Vec<Difference> {
    let mut found = Vec::new();
    for (kind, theirs) in times(source, rules) {
        let ours = rules.for_kind(Some(&kind)).ttl;
        if ours != Some(theirs) {
            let here = ours.map_or_else(|| "no time to live is known".into(), |ours| ours.to_string());
            found.push(Difference {
                said: format!("{kind} may take {theirs} by {function}(), here {here}"),
                fix: format!("board.{}.kind.{}.ttl = \"{theirs}\"", board.name, key(&kind)),
            });
        }
    }
    let set = board.reclaim.as_ref().map(|act| &act.set);
    let ours = set.into_iter().flat_map(|set| set.values()).find_map(|sql| dies_early(sql));
    if let (Some(theirs), Some(ours)) = (dies_early(source), ours)
        && theirs != ours
    {
        let when = |early: bool| if early { "attempts + 1 >= maximum" } else { "attempts >= maximum" };
        found.push(Difference {
            said: format!("a job is dead when {} by {function}(), here when {}", when(theirs), when(ours)),
            fix: format!(
                "copy the profile (`claimtop profile show`), write `{}` in its reclaim, and name the file",
                when(theirs).replace("maximum", ":max_attempts")
            ),
        });
    }
    found
}

/// A kind as a key of TOML.
fn key(kind: &str) -> String {
    let is_bare = kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_bare { kind.into() } else { format!("{kind:?}") }
}

/// Whether the last attempt is counted before it is compared; nothing, if the source does not compare.
fn dies_early(source: &str) -> Option<bool> {
    let mut plain = source.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    for sign in [":=", ">=", "+"] {
        for spaced in [format!(" {sign}"), format!("{sign} ")] {
            plain = plain.replace(&spaced, sign);
        }
    }
    let early = plain.contains("attempts+1>=") || plain.contains("attempts+1)>=") || names_the_next(&plain);
    let late = plain.contains("attempts>=");
    (early || late).then_some(early)
}

/// `next := attempts + 1` and, later, `next >= max`.
fn names_the_next(plain: &str) -> bool {
    plain.match_indices(":=").any(|(at, _)| {
        let value = plain[at..].split(';').next().unwrap_or_default();
        let start =
            plain[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let name = &plain[start..at];
        let is_next = value.contains("attempts") && value.ends_with("+1");
        is_next && !name.is_empty() && plain.contains(&format!("{name}>="))
    })
}

/// How long each kind may take, as far as the source says it in a way that can be read: a kind in quotes,
/// or several, and then a number of minutes or an interval.
fn times(source: &str, rules: &Rules) -> BTreeMap<String, Span> {
    let mut times = BTreeMap::new();
    let mut waiting: Vec<String> = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['\'', '"', ';']) {
        let (before, after) = rest.split_at(at);
        take(&mut waiting, minutes(before), &mut times);
        if let Some(after) = after.strip_prefix(';') {
            waiting.clear();
            rest = after;
            continue;
        }
        let quote = &after[..1];
        let Some((text, after)) = after[1..].split_once(quote) else { break };
        match (Span::parse(text), quote) {
            (Ok(span), "'") if text.contains(char::is_alphabetic) => {
                take(&mut waiting, Some(span), &mut times);
            }
            _ if rules.kinds.contains_key(text) => waiting.push(text.to_owned()),
            // JSON has its own quotes inside.
            _ if quote == "'" && text.contains('"') => times.extend(self::times(text, rules)),
            _ => waiting.clear(),
        }
        rest = after;
    }
    take(&mut waiting, minutes(rest), &mut times);
    times
}

fn take(waiting: &mut Vec<String>, span: Option<Span>, times: &mut BTreeMap<String, Span>) {
    if let Some(span) = span {
        times.extend(waiting.drain(..).map(|kind| (kind, span)));
    }
}

/// The first number in a stretch of source that is no part of a name.
fn minutes(source: &str) -> Option<Span> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = source.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    let number = words.find_map(|word| word.parse::<i64>().ok())?;
    Some(Span::minutes(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rules::{DeadlineRule, Thresholds};
    use crate::profile::library::Library;

    fn rules() -> Rules {
        let ttl = |minutes| Thresholds { ttl: Some(Span::minutes(minutes)), ..Thresholds::default() };
        let kinds = [("run_tsa", 30), ("document.protected", 5), ("build_artifact", 15)];
        let kinds = kinds.map(|(kind, minutes)| (kind.to_owned(), ttl(minutes)));
        Rules { kinds: kinds.into(), ..Rules::new(DeadlineRule::Ttl) }
    }

    #[test]
    fn the_time_of_each_kind_is_found_however_it_is_written() {
        let minutes = |source: &str| -> Vec<(String, i64)> {
            let found = times(source, &rules());
            found.into_iter().map(|(kind, span)| (kind, span.as_millis() / 60_000)).collect()
        };
        let expected = vec![("document.protected".to_owned(), 5), ("run_tsa".to_owned(), 60)];
        for source in [
            "SELECT * FROM (VALUES ('run_tsa', 60), ('document.protected', 5), ('other', 9)) AS t",
            "CASE type WHEN 'run_tsa' THEN 60 WHEN 'document.protected' THEN 5 ELSE NULL END",
            "CASE j.type WHEN 'run_tsa' THEN interval '60 minutes' WHEN 'document.protected' THEN interval '5 min' END",
            "ttl := '{\"run_tsa\": 60, \"document.protected\": 5}'::jsonb;",
            "IF t = 'run_tsa' THEN v := 60; ELSIF t = 'document.protected' THEN v := 5; END IF;",
        ] {
            assert_eq!(minutes(source), expected, "{source}");
        }
        let both =
            "WHERE type IN ('run_tsa', 'document.protected') AND locked_at < now() - interval '20 minutes'";
        assert_eq!(minutes(both), [("document.protected".to_owned(), 20), ("run_tsa".to_owned(), 20)]);
        assert_eq!(minutes("status = 'running' AND attempts + 1 >= max_attempts"), []);
    }

    #[test]
    fn when_a_job_is_dead_is_found() {
        for (source, early) in [
            ("CASE WHEN attempts >= max_attempts THEN 'dead' END", Some(false)),
            ("IF job.attempts + 1 >= job.max_attempts THEN", Some(true)),
            ("v_next := job.attempts + 1; IF v_next >= job.max_attempts THEN", Some(true)),
            ("v_next := COALESCE(job.attempts, 0) + 1; IF v_next >= 10 THEN", Some(true)),
            ("SELECT 1", None),
        ] {
            assert_eq!(dies_early(source), early, "{source}");
        }
    }

    #[test]
    fn what_differs_is_said_with_the_setting_that_would_match() {
        let profile = Library::built_in().find("executor-jobs").unwrap();
        let source = "VALUES ('run_tsa', 60), ('build_artifact', 15); IF attempts + 1 >= max_attempts THEN";
        let found = differences("reclaim_stale_jobs", source, &profile.boards[0], &rules());
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].fix, "board.job.kind.run_tsa.ttl = \"1h\"");
        assert!(found[1].said.contains("attempts + 1 >= maximum"), "{found:?}");
    }
}
