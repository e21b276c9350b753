//! What the role that we log in as may see and do, as far as the operator should know.

use super::named_params::array;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::driver::Row as _;
use crate::store::schema::Table;
use crate::store::server::WatchedProfile;

/// What the operator should know of the role.
#[derive(Debug, Default)]
pub(super) struct Rights {
    /// A sentence for every table whose rows are hidden from us by its policies.
    pub veiled: Vec<String>,
    /// What a superuser is told.
    pub warning: Option<&'static str>,
}

const RIGHTS: &str = "
    SELECT current_user::text, coalesce((SELECT rolsuper FROM pg_roles WHERE rolname = current_user), false)::text,
      row_security_active(t.sql::regclass)::text
    FROM unnest(($1::text)::text[]) WITH ORDINALITY AS t(sql, n) ORDER BY t.n";

const SUPERUSER: &str = "connected as a superuser: triggers and policies of any table owner run with all rights; log in \
                         as a role of assets/schema/postgres/roles.sql instead";

impl Rights {
    /// Asks what there is to know of the tables of some profiles.
    pub(super) fn read(link: &mut Link, watched: &[WatchedProfile]) -> Result<Rights, PgError> {
        let boards = watched.iter().flat_map(|watched| &watched.boards);
        let tables: Vec<&Table> =
            boards.flat_map(|watch| std::iter::once(&watch.table).chain(watch.registry.as_ref())).collect();
        let rows = link.query(RIGHTS, &[Some(&array(tables.iter().map(|table| Some(&table.sql))))])?;
        let mut rights = Rights::default();
        for (table, row) in tables.iter().zip(&rows) {
            rights.warning = row.is_true(1).then_some(SUPERUSER);
            let sentence = format!(
                "row-level security is active on {} for the role {}: rows may be hidden; use a role with BYPASSRLS, \
                 or a policy that lets it see all",
                table.name,
                row.get(0).unwrap_or_default()
            );
            if row.is_true(2) && !rights.veiled.contains(&sentence) {
                rights.veiled.push(sentence);
            }
        }
        Ok(rights)
    }
}
