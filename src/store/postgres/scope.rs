//! What an act of a profile can reach on a server: through its statements, triggers and foreign keys.

use super::actor::Actor;
use crate::store::StoreError;
use crate::store::scope::{Reach, Scope};
use crate::store::statements::RowEffect;

/// A table and its partitions, as the statements name them.
const PARTS: &str = "
    WITH RECURSIVE parts(oid) AS (
      SELECT ($1::text)::regclass::oid UNION SELECT i.inhrelid FROM parts AS p JOIN pg_inherits AS i ON i.inhparent = p.oid)
    SELECT oid::regclass::text FROM parts";

impl Actor {
    /// What an action on a board may change; nothing if no profile that fits knows it.
    pub(super) fn scope_of(
        &mut self,
        profile: &str,
        board: &str,
        action: &str,
    ) -> Result<Option<Scope>, StoreError> {
        let schema = self.schema().clone();
        let watched = self.reader.watched.iter().find(|watched| watched.profile.name == profile);
        let scope = watched.and_then(|watched| Scope::of(&watched.profile, board, action, &schema));
        let Some(mut scope) = scope else { return Ok(None) };
        let dependencies = self.reader.dependencies.clone();
        scope.close(|scope, name, reach| {
            let columns = schema.table(name).map(|table| table.columns.as_slice()).unwrap_or_default();
            let stamped = columns.iter().filter(|column| dependencies.stamps(name, &column.name));
            let sets = stamped.map(|column| column.name.to_lowercase()).collect();
            // What a trigger writes into other tables is not in the images, and so not undone.
            let own = Reach { sets, sets_any: dependencies.has_triggers(name), ..Reach::default() };
            let mut more = scope.add(name, own);
            let mut lots = vec![RowEffect::Changed(reach.sets.iter().cloned().collect())];
            if reach.sets_any {
                lots.push(RowEffect::Changed(columns.iter().map(|column| column.name.clone()).collect()));
            }
            if reach.deletes {
                lots.push(RowEffect::Deleted);
            }
            for effect in &lots {
                for (key, passed_on) in dependencies.following(name, effect) {
                    let reach = match passed_on {
                        RowEffect::Deleted => Reach::deletes(),
                        RowEffect::Changed(columns) => Reach {
                            sets: columns.iter().map(|column| column.to_lowercase()).collect(),
                            ..Reach::default()
                        },
                    };
                    more |= scope.add(&key.from, reach);
                }
            }
            more
        });
        self.with_partitions(&scope).map(Some)
    }

    /// The same with the partitions of its tables, under whose names their rows are recorded.
    fn with_partitions(&mut self, scope: &Scope) -> Result<Scope, StoreError> {
        let schema = self.schema().clone();
        let mut all = scope.clone();
        for (name, reach) in scope.tables() {
            let Some(table) = schema.table(name) else { continue };
            let parts = self.reader.aside("looking for partitions", |link| {
                let rows = link.query(PARTS, &[Some(&table.sql)])?;
                Ok(rows
                    .iter()
                    .filter_map(|row| row.get(0))
                    .map(|part| part.replace('"', ""))
                    .collect::<Vec<_>>())
            })?;
            for part in parts {
                if let Some(part) = schema.table(&part) {
                    all.add(&part.name, reach.clone());
                }
            }
        }
        Ok(all)
    }
}
