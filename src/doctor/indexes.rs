//! Whether the claims of a server's tables are found by an index, or only by reading all that ever was.

use super::Check;
use super::server::Server;
use crate::store::{Fit, FitBoard};

const NAME: &str = "indexes";

pub fn look(server: &mut Server, found: &[Fit]) -> Vec<Check> {
    let boards = found.iter().flat_map(|fit| &fit.boards);
    let checks: Vec<Check> = boards.filter_map(|board| missing(server, board)).collect();
    if checks.is_empty() {
        return vec![Check::ok(NAME, "the claims of every board are found by one")];
    }
    checks
}

fn missing(server: &mut Server, board: &FitBoard) -> Option<Check> {
    let field = |name: &str| board.columns.iter().find(|(field, _)| *field == name)?.1.clone();
    let (from, held) = (field("from")?, field("held").filter(|held| held != "every row")?);
    // What cannot be explained, a profile's own words with values in them, is no finding.
    let plan = server.plan(&format!("SELECT 1 FROM {from} WHERE {held}")).ok()?;
    let table = from.split(" AS ").next()?;
    let bare = table.replace('"', "");
    let name = bare.rsplit('.').next()?;
    if !plan.contains(&format!("Seq Scan on {name} ")) {
        return None;
    }
    let own = |sql: String| sql.replace("c.\"", "\"").replace('\n', " ");
    let by = field("deadline.column").or_else(|| field("claimed_at")).or_else(|| field("id"))?;
    Some(Check::warning(
        NAME,
        format!("{}: none finds its claims: every look reads the whole of {bare}", board.name),
        format!("CREATE INDEX CONCURRENTLY ON {table} ({}) WHERE {};", own(by), own(held).trim()),
    ))
}
