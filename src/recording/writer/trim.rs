//! The ring buffer: frames older than `keep` are deleted. SQLite reuses their pages, so the file stops growing.

use rusqlite::{OptionalExtension, params};

use super::RecordingWriter;
use super::rows::Strings;
use crate::domain::time::{Moment, Span};

/// How often old frames are looked for.
const EVERY: Span = Span::minutes(1);
/// After so many times, the texts are looked through as well.
const TEXTS: u32 = 60;

impl RecordingWriter {
    pub(super) fn trim_if_due(&mut self, at: Moment) -> rusqlite::Result<()> {
        let Some(keep) = self.options.keep else { return Ok(()) };
        if self.trimmed_at.is_some_and(|last| at.since(last) < EVERY.min(keep)) {
            return Ok(());
        }
        self.trimmed_at = Some(at);
        self.trim(at.minus(keep))
    }

    /// Deletes what ended before the last keyframe at or before `until`: from a keyframe on, every frame can be shown.
    fn trim(&mut self, until: Moment) -> rusqlite::Result<()> {
        let sources: Vec<i64> = self.sources.iter().map(|source| source.id).collect();
        let transaction = self.connection.transaction()?;
        for source in sources {
            let cut: Option<i64> = transaction
                .query_row(
                    "SELECT max(keyframe.frame) FROM keyframe JOIN frame ON frame.id = keyframe.frame \
                     WHERE keyframe.source = ?1 AND frame.at <= ?2",
                    params![source, until.micros()],
                    |row| row.get(0),
                )
                .optional()?
                .flatten();
            let Some(cut) = cut else { continue };
            // What holds from an earlier frame on now holds from the cut on.
            for (table, owner, mine) in [
                ("board_poll", "board", "board IN (SELECT id FROM board WHERE source = ?1)"),
                ("nature", "board", "board IN (SELECT id FROM board WHERE source = ?1)"),
                ("cause", "source", "source = ?1"),
            ] {
                let old = format!("{mine} AND frame < ?2");
                let newest = format!(
                    "(SELECT {owner}, max(frame) FROM {table} WHERE {mine} AND frame <= ?2 GROUP BY {owner})"
                );
                for sql in [
                    format!("DELETE FROM {table} WHERE {old} AND ({owner}, frame) NOT IN {newest}"),
                    format!("UPDATE {table} SET frame = ?2 WHERE {old}"),
                ] {
                    transaction.execute(&sql, params![source, cut])?;
                }
            }
            // The horizon of the cut is that of the last frame that read it.
            transaction.execute(
                "UPDATE frame SET horizon = (SELECT horizon FROM frame WHERE +source = ?1 AND id <= ?2 \
                 AND horizon IS NOT NULL ORDER BY id DESC LIMIT 1) WHERE id = ?2 AND horizon IS NULL",
                params![source, cut],
            )?;
            let mine = "board IN (SELECT id FROM board WHERE source = ?1)";
            for sql in [
                "DELETE FROM keyframe WHERE source = ?1 AND frame < ?2".to_owned(),
                "DELETE FROM event WHERE source = ?1 AND id < ?2 << 16".to_owned(),
                "DELETE FROM snapshot WHERE frame IN (SELECT id FROM frame WHERE source = ?1 AND id < ?2)"
                    .to_owned(),
                "DELETE FROM frame WHERE source = ?1 AND id < ?2".to_owned(),
                format!("DELETE FROM claim WHERE {mine} AND last < ?2"),
                format!("DELETE FROM session WHERE {mine} AND last < ?2"),
                format!("DELETE FROM silence WHERE {mine} AND last < ?2"),
            ] {
                transaction.execute(&sql, params![source, cut])?;
            }
        }
        transaction.commit()?;
        self.trims += 1;
        if self.trims.is_multiple_of(TEXTS) { self.forget_texts() } else { Ok(()) }
    }

    /// Deletes the texts that nothing refers to any more.
    fn forget_texts(&mut self) -> rusqlite::Result<()> {
        self.connection.execute(
            "DELETE FROM string WHERE id NOT IN (SELECT profile FROM snapshot UNION SELECT notes FROM snapshot \
             WHERE notes IS NOT NULL UNION SELECT reasons FROM board_poll UNION SELECT name FROM event \
             UNION SELECT holder FROM event WHERE holder IS NOT NULL UNION SELECT body FROM claim UNION SELECT body FROM session \
             UNION SELECT holder FROM claim WHERE holder IS NOT NULL UNION SELECT kind FROM claim WHERE kind IS NOT NULL \
             UNION SELECT holder FROM session WHERE holder IS NOT NULL \
             UNION SELECT holder FROM silence WHERE holder IS NOT NULL \
             UNION SELECT kind FROM silence WHERE kind IS NOT NULL)",
            [],
        )?;
        self.strings = Strings::default();
        Ok(())
    }
}
