//! What was last written about a source, board by board.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rusqlite::{Connection, params};

use super::super::encoding::keyframe;
use super::super::silence::Ending;
use super::super::tracked::{FrameOf, TrackedBoard};
use super::rows::RowWriter;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;

#[derive(Debug)]
pub(super) struct TrackedSource {
    pub id: i64,
    /// What events call it.
    pub label: String,
    pub boards: BTreeMap<BoardId, TrackedBoard>,
    /// The last frame in which it could be read.
    pub last_good: i64,
    pub since_keyframe: Option<u32>,
    pub causes: String,
    pub horizon: Vec<u8>,
    pub fingerprint: Option<String>,
}

impl TrackedSource {
    pub(super) fn new(id: i64, label: &str) -> TrackedSource {
        TrackedSource {
            id,
            label: label.into(),
            boards: BTreeMap::new(),
            last_good: 0,
            since_keyframe: None,
            causes: "[]".into(),
            horizon: Vec::new(),
            fingerprint: None,
        }
    }

    pub(super) fn board(
        &mut self,
        rows: &mut RowWriter<'_>,
        id: &BoardId,
    ) -> rusqlite::Result<&mut TrackedBoard> {
        let source = self.id;
        match self.boards.entry(id.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let number = rows.board(source, id)?;
                Ok(place.insert(TrackedBoard::new(number)))
            }
        }
    }

    /// A board whose table is gone has no counts any more.
    pub(super) fn close_missing_boards(
        &mut self,
        frame: i64,
        snapshots: &[Snapshot],
        rows: &mut RowWriter<'_>,
    ) -> rusqlite::Result<()> {
        let is_here = |id: &BoardId| {
            snapshots.iter().any(|snapshot| {
                snapshot.profile == id.profile()
                    && snapshot.boards.iter().any(|board| board.board == id.board())
            })
        };
        let now = snapshots.iter().map(|snapshot| snapshot.now).max();
        let before = self.last_good;
        for (id, board) in &mut self.boards {
            let (false, true, Some(now)) = (is_here(id), board.poll.is_some(), now) else { continue };
            let reasons = rows.string("[]")?;
            rows.connection.execute(
                "INSERT INTO board_poll VALUES (?1, ?2, 'gone', 0, 0, 0, 0, 0, 0, 0, ?3, NULL, NULL, NULL)",
                params![board.id, frame, reasons],
            )?;
            board.poll = None;
            board.close_unseen(FrameOf { frame, before, now }, rows, &mut |_| Ending::Left)?;
        }
        Ok(())
    }

    pub(super) fn insert_keyframe(&self, connection: &Connection, frame: i64) -> rusqlite::Result<()> {
        let (mut claims, mut sessions) = (BTreeMap::new(), BTreeMap::new());
        self.boards.values().for_each(|board| board.moving(&mut claims, &mut sessions));
        connection.execute(
            "INSERT INTO keyframe VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(id), 0) FROM claim), \
             (SELECT coalesce(max(id), 0) FROM session))",
            params![self.id, frame, keyframe(&claims), keyframe(&sessions)],
        )?;
        Ok(())
    }
}
