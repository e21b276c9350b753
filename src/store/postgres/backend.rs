//! The session of a server that holds a claim: how it is looked up, ended, and looked for afterwards.

use crate::store::backend::BackendSql;

/// A server keeps its list of sessions as it was first read until the transaction ends.
const REFRESH: &str = "SELECT pg_stat_clear_snapshot()";

const STILL_THERE: &str = "SELECT 'x' FROM pg_sleep(0.05) AS pause, pg_stat_activity AS a \
                           WHERE a.pid = :pid AND a.backend_start = :started";

/// Whether our role may signal the session: what the server itself asks.
const MAY_SIGNAL: &str = "(us.rolsuper OR NOT coalesce(they.rolsuper, true) AND \
     (pg_has_role(a.usesysid, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE')))";

/// The statements for the session `backend` of the claim for which `is_it` holds.
pub(super) fn sql(from: &str, backend: &str, is_it: &str) -> BackendSql {
    let held = format!("a.pid = ({backend})::bigint AND a.pid <> pg_backend_pid() AND {is_it}");
    let select = format!(
        "SELECT a.pid::text, a.backend_start::text, a.usename::text, a.application_name, \
         coalesce(a.client_hostname, host(a.client_addr)), a.state, {MAY_SIGNAL}::text, current_user::text \
         FROM {from} CROSS JOIN pg_stat_activity AS a JOIN pg_roles AS us ON us.rolname = current_user \
         LEFT JOIN pg_roles AS they ON they.oid = a.usesysid WHERE {held}"
    );
    let end = format!(
        "SELECT pg_terminate_backend(a.pid)::text FROM {from} CROSS JOIN pg_stat_activity AS a \
         WHERE {held} AND a.pid = :pid AND a.backend_start = :started"
    );
    BackendSql { refresh: REFRESH, select, end, still_there: STILL_THERE }
}
