//! The page as HTML. Every string of a database is made visible as on the screen, and then escaped.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::{PageData, SourceState, timeline};
use crate::domain::cause::{GroupBy, TroubleGroup, groups};
use crate::domain::evidence::why;
use crate::domain::snapshot::{BoardSnapshot, Counts, Judged, Snapshot};
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};
use crate::report::html::{STYLE, escaped};

/// Claims of one set that are listed.
const MOST_CLAIMS: usize = 50;
/// Groups that are listed.
const MOST_GROUPS: usize = 30;

/// When, for whom and how often.
pub(super) struct Frame<'a> {
    pub(super) now: Instant,
    pub(super) clock: Moment,
    pub(super) nonce: &'a str,
    pub(super) every: Duration,
}

pub(super) fn page(sources: &[&SourceState], frame: &Frame<'_>) -> String {
    let refresh = frame.every.as_secs().clamp(2, 60);
    let clock = frame.clock.rfc3339();
    let clock = clock.get(11..19).unwrap_or_default();
    let mut out = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>claimtop</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"refresh\" content=\"{refresh}\"><style nonce=\"{}\">{STYLE}</style></head><body>\
         <h1>claimtop</h1><p class=\"dim\">Drawn at {clock}Z; reloads every {refresh} s. Read-only.</p>",
        frame.nonce
    );
    causes(&mut out, sources);
    out.push_str("<h2>Sources</h2><div class=\"cards\">");
    for source in sources {
        card(&mut out, source, frame.now);
    }
    out.push_str("</div>");
    if sources.iter().any(|source| source.look.is_some()) {
        let _ = write!(out, "<h2>Timeline</h2>{}", timeline::svg(sources, frame.clock));
        group_table(&mut out, sources);
        for set in [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring] {
            claims(&mut out, sources, set);
        }
    }
    out.push_str("</body></html>\n");
    out
}

fn causes(out: &mut String, sources: &[&SourceState]) {
    let all = sources.iter().filter_map(|source| Some((source, source.look.as_ref()?)));
    let said: Vec<String> = all
        .flat_map(|(source, look)| {
            look.causes.iter().map(move |cause| named(source, sources, &cause.to_string()))
        })
        .collect();
    if said.is_empty() {
        return;
    }
    out.push_str("<h2>Causes</h2><ul class=\"causes\">");
    for sentence in said {
        let _ = write!(out, "<li>⚠ {}</li>", escaped(&sentence));
    }
    out.push_str("</ul>");
}

/// A sentence, with the name of its source where there are several.
fn named(source: &SourceState, sources: &[&SourceState], said: &str) -> String {
    if sources.len() > 1 { format!("{}: {}", safe(&source.label), safe(said)) } else { safe(said) }
}

fn card(out: &mut String, source: &SourceState, now: Instant) {
    let class = if source.down.is_some() { "card down" } else { "card" };
    let _ = write!(out, "<section class=\"{class}\"><h3>{}</h3>", escaped(&safe(&source.label)));
    if let Some((since, why)) = &source.down {
        let _ = write!(
            out,
            "<p class=\"stale\">✗ down for {}: {}</p>",
            seconds(now.saturating_duration_since(*since)),
            escaped(&safe(why))
        );
    }
    match &source.look {
        Some(look) => {
            counts(out, look);
            let age = seconds(now.saturating_duration_since(look.at));
            let _ = write!(out, "<p class=\"dim\">polled {age} ago</p>");
        }
        None if source.down.is_none() => out.push_str("<p class=\"dim\">waiting for the first poll</p>"),
        None => {}
    }
    out.push_str("</section>");
}

fn counts(out: &mut String, look: &PageData) {
    let mut all = Counts::default();
    look.snapshots.iter().for_each(|snapshot| all += snapshot.counts());
    out.push_str("<p class=\"counts\">");
    for set in Set::ALL {
        let _ = write!(out, "<span class=\"{set}\">{} {} {set}</span>", set.sign(), all.of(set));
    }
    let _ = write!(out, "<span class=\"dim\">of {}</span></p>", all.total);
}

fn group_table(out: &mut String, sources: &[&SourceState]) {
    let mut rows: Vec<(&SourceState, TroubleGroup)> = Vec::new();
    for source in sources {
        let facts = source.look.as_ref().and_then(|look| look.facts.as_deref());
        let found = facts.map(|facts| groups(facts, GroupBy::Host)).unwrap_or_default();
        rows.extend(found.into_iter().map(|group| (*source, group)));
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|(_, group)| std::cmp::Reverse(group.in_trouble));
    out.push_str(
        "<h2>Groups by host</h2><table><tr class=\"head\"><th>Host</th><th>In trouble</th><th>Silent</th>\
         <th>Since</th><th>How</th><th>A reclaim would</th></tr>",
    );
    for (source, group) in rows.iter().take(MOST_GROUPS) {
        let since = group.since.map(|at| at.rfc3339()).unwrap_or_default();
        let about = if group.is_estimate { "about " } else { "" };
        let _ = write!(
            out,
            "<tr><td class=\"id\">{}</td><td class=\"{}\">{about}{} of {} claims</td><td>{} of {} holders</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&named(source, sources, &group.shown_name())),
            group.worst.map_or("dim", Set::as_str),
            group.in_trouble,
            group.of,
            group.silent,
            group.holders,
            escaped(&since.get(..19).unwrap_or_default().replace('T', " ")),
            group.how(),
            group.prospects.sentence()
        );
    }
    out.push_str("</table>");
    more(out, rows.len(), MOST_GROUPS);
}

/// The worst claims of a set; each is listed in its worst set alone.
fn claims(out: &mut String, sources: &[&SourceState], set: Set) {
    let mut rows: Vec<(&SourceState, &Snapshot, &BoardSnapshot, &Judged)> = Vec::new();
    let mut total = 0;
    for source in sources {
        for snapshot in source.look.iter().flat_map(|look| &look.snapshots) {
            total += snapshot.counts().of(set);
            for board in &snapshot.boards {
                let here = board.worst.iter().filter(|judged| judged.verdict.headline() == set);
                rows.extend(here.map(|judged| (*source, snapshot, board, judged)));
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|(.., judged)| judged.verdict.deadline.map_or(i64::MAX, Moment::micros));
    let _ = write!(
        out,
        "<h2 class=\"{set}\">{} {set}: {total}</h2><table><tr class=\"head\"><th>Claim</th><th>Board</th>\
         <th>Holder</th><th>Why</th></tr>",
        set.sign()
    );
    for (source, snapshot, board, judged) in rows.iter().take(MOST_CLAIMS) {
        let claim = &judged.claim;
        let said = why(claim, &judged.verdict, &board.nature.rules, snapshot.now);
        let _ = write!(
            out,
            "<tr><td class=\"id\">{}</td><td>{}</td><td class=\"id\">{}</td><td>{}</td></tr>",
            escaped(&claim.key.visible()),
            escaped(&named(source, sources, &visible(&board.board))),
            escaped(&claim.holder.as_deref().map_or_else(|| "–".into(), visible)),
            escaped(&safe(&said))
        );
    }
    out.push_str("</table>");
    more(out, usize::try_from(total).unwrap_or(usize::MAX).max(rows.len()), rows.len().min(MOST_CLAIMS));
}

fn more(out: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = write!(out, "<p class=\"dim\">and {} more</p>", all - shown);
    }
}

fn seconds(age: Duration) -> String {
    format!("{} s", age.as_secs())
}
