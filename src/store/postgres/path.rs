//! What triggers see of the search path while an act runs.
//!
//! A trigger of the application may name its tables without a schema, and finds them by the search path of
//! whoever writes. So a transaction that may set one off gets the schemas of the session's own path back, but
//! only those that cannot change what our own SQL means: nobody but their owners can create anything there, and
//! no function or operator in them could be taken for a built-in one.

use super::named_params::array;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::postgres::search_path;

/// Owners that are trusted: of the database, of the claims' tables, superusers, and ourselves. What an extension
/// brings along is chosen by whoever may install it.
const WIDEN: &str = "
    WITH trusted AS MATERIALIZED (
      SELECT oid FROM pg_roles WHERE rolsuper OR rolname IN (current_user, 'pg_database_owner')
      UNION SELECT datdba FROM pg_database WHERE datname = current_database()
      UNION SELECT c.relowner FROM unnest(($2::text)::text[]) AS t(name) JOIN pg_class AS c ON c.oid = t.name::regclass),
    path AS MATERIALIZED (
      SELECT n.oid, n.nspname, n.nspowner, n.nspacl, p.place
      FROM unnest(($1::text)::text[]) WITH ORDINALITY AS p(name, place) JOIN pg_namespace AS n ON n.nspname = p.name
      WHERE n.nspname <> 'pg_catalog'),
    safe AS MATERIALIZED (
      SELECT p.nspname, p.place FROM path AS p
      WHERE p.nspowner IN (SELECT oid FROM trusted)
        AND NOT EXISTS (SELECT FROM aclexplode(coalesce(p.nspacl, acldefault('n', p.nspowner))) AS a
                        WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (SELECT oid FROM trusted))
        AND NOT EXISTS (SELECT FROM pg_proc AS f WHERE f.pronamespace = p.oid
              AND EXISTS (SELECT FROM pg_proc AS b WHERE b.proname = f.proname
                          AND b.pronamespace = 'pg_catalog'::regnamespace)
              AND NOT EXISTS (SELECT FROM unnest(f.proargtypes::oid[]) AS a(type) JOIN pg_type AS t ON t.oid = a.type
                              WHERE t.typnamespace <> 'pg_catalog'::regnamespace)
              AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass
                              AND d.objid = f.oid AND d.deptype = 'e'))
        AND NOT EXISTS (SELECT FROM pg_operator AS o WHERE o.oprnamespace = p.oid
              AND NOT EXISTS (SELECT FROM pg_type AS t WHERE t.oid IN (o.oprleft, o.oprright)
                              AND t.typnamespace <> 'pg_catalog'::regnamespace)
              AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_operator'::regclass
                              AND d.objid = o.oid AND d.deptype = 'e')))
    SELECT set_config('search_path', concat_ws(', ', 'pg_catalog',
             (SELECT string_agg(quote_ident(nspname), ', ' ORDER BY place) FROM safe), 'pg_temp'), true),
      (SELECT string_agg(p.nspname, ', ' ORDER BY p.place) FROM path AS p
       WHERE p.place NOT IN (SELECT place FROM safe))";

/// Gives a transaction the schemas that triggers may need, and says which of the path are kept out. The tables
/// are those of the claims, as SQL.
pub(super) fn widen<'a>(
    link: &mut Link,
    claims: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, PgError> {
    let path = search_path(link)?;
    let rows = link.query(WIDEN, &[Some(&path), Some(&array(claims.map(Some)))])?;
    Ok(rows.first().and_then(|row| row.get(1)).map(str::to_owned))
}
