//! Reads what the merge queue's own recovery would do now.

use super::listed::Listed;
use super::{Filter, Reader, StoreError};
use crate::domain::filter::{Pattern, Test};
use crate::domain::recovery_preview::RecoveryPreview;

/// The profile of the merge queue; in another schema it is `merge-queue@name`.
const PROFILE: &str = "merge-queue";
/// Entries that are looked at.
const MOST: usize = 1_000;

impl Reader {
    /// The preview for each profile of a merge queue.
    pub fn recovery_previews(&mut self) -> Result<Vec<(String, RecoveryPreview)>, StoreError> {
        let (now, profiles) = self.look("previewing the recovery", |look| {
            let names = look.profiles().into_iter().map(|profile| profile.name.clone());
            Ok((look.now, names.filter(|name| is_merge_queue(name)).collect::<Vec<_>>()))
        })?;
        let mut previews: Vec<_> =
            profiles.into_iter().map(|profile| (profile, RecoveryPreview::at(now))).collect();
        if previews.is_empty() {
            return Ok(previews);
        }
        let claimed = Filter {
            board: Some("entry".into()),
            conditions: vec![Test::Kind(vec![Pattern::typed("claimed")]).into()],
            limit: Some(MOST),
            ..Filter::default()
        };
        let lock = Filter { board: Some("lock".into()), limit: Some(MOST), ..Filter::default() };
        let mut add = |listed: Listed, add: &dyn Fn(&mut RecoveryPreview, &Listed)| {
            let own = previews.iter_mut().find(|(profile, _)| *profile == listed.profile);
            if let Some((_, preview)) = own {
                add(preview, &listed);
            }
            true
        };
        self.list(&claimed, |listed| {
            add(listed, &|preview, listed| preview.add_entry(&listed.judged, &listed.why, listed.now))
        })?;
        self.list(&lock, |listed| {
            add(listed, &|preview, listed| preview.add_lock(&listed.judged, listed.now))
        })?;
        Ok(previews)
    }
}

fn is_merge_queue(profile: &str) -> bool {
    profile.split('@').next() == Some(PROFILE)
}
