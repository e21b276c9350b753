//! One row put back as it was, if it is still as the act left it.

use std::collections::BTreeMap;

use crate::domain::value::Value;
use crate::store::image::Image;
use crate::store::postgres::cell::{is_true, sent};
use crate::store::postgres::error::PgError;
use crate::store::postgres::image;
use crate::store::postgres::link::Link;
use crate::store::postgres::named_params::NamedParams;
use crate::store::postgres::reader::Watched;
use crate::store::postgres::schema::quoted;
use crate::store::postgres::watch::query;
use crate::store::schema::Table;

/// What came of one row.
pub enum Back {
    /// It is as the image has it, or gone.
    As(Option<Image>),
    /// It stays as it is: a log that this role may only add to.
    Left,
    /// It is not what the act left behind.
    Moved,
}

/// The columns of a table that the profiles' acts set.
pub fn acted_on(watched: &[Watched], table: &Table) -> Vec<String> {
    let boards = watched.iter().flat_map(|watched| {
        let named = |name: &str| watched.profile.boards.iter().find(|written| written.name == name);
        watched.boards.iter().filter_map(move |watch| Some((watch, named(&watch.board.name)?)))
    });
    let of_table = boards.filter(|(watch, _)| watch.table.name == table.name);
    let acts = of_table.flat_map(|(_, board)| {
        [&board.reclaim, &board.release, &board.extend, &board.requeue].into_iter().flatten()
    });
    acts.flat_map(|act| act.set.keys().cloned()).collect()
}

/// The columns that only the database's own triggers write: this role may not, and no act does.
pub fn stamped(link: &mut Link, table: &Table, acted_on: &[String]) -> Result<Vec<String>, PgError> {
    let sql = "SELECT attname::text FROM pg_attribute WHERE attrelid = ($1::text)::regclass AND attnum > 0
                 AND NOT attisdropped AND NOT has_column_privilege(attrelid, attnum, 'UPDATE')";
    let rows = link.query(sql, &[Some(&table.sql)])?;
    let names = rows.iter().filter_map(|row| row.get(0)).map(str::to_owned);
    Ok(names.filter(|name| !acted_on.contains(name)).collect())
}

/// Only the columns that the act changed go back; all of them are compared.
pub fn reset(
    link: &mut Link,
    table: &Table,
    key: &Image,
    (before, after): (&Image, &Image),
    stamped: &[String],
) -> Result<Back, PgError> {
    let mut params = NamedParams::default();
    let at = image::at(table, key, "c", &mut params);
    let guard = image::guard(table, after, "c", "left", &mut params);
    let (was, is) = (by_column(before), by_column(after));
    let mut set = Vec::new();
    for (name, value) in &was {
        if is.get(name) != Some(value) && !stamped.iter().any(|stamped| stamped == name) {
            let place = format!("was{}", set.len());
            let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
            params.add(&place, kind, sent(value));
            set.push(format!("{} = :{place}", quoted(name)));
        }
    }
    if set.is_empty() {
        return Ok(Back::Left);
    }
    let sql = format!(
        "UPDATE {} AS c SET {} WHERE {at} AND {guard} RETURNING {}",
        table.sql,
        set.join(", "),
        image::columns(table, "c").join(", ")
    );
    let rows = query(link, &params, &sql)?;
    Ok(match &rows[..] {
        [row] => Back::As(Some(image::read(table, row, 0))),
        _ => Back::Moved,
    })
}

/// The row as it is then: a trigger may have had its say.
pub fn insert(link: &mut Link, table: &Table, before: &Image) -> Result<Option<Image>, PgError> {
    let mut params = NamedParams::default();
    let (mut names, mut places) = (Vec::new(), Vec::new());
    for (at, (name, value)) in before.iter().enumerate() {
        let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
        params.add(&format!("was{at}"), kind, sent(value));
        names.push(quoted(name));
        places.push(format!(":was{at}"));
    }
    let sql = format!(
        "INSERT INTO {} AS c ({}) OVERRIDING SYSTEM VALUE VALUES ({}) RETURNING {}",
        table.sql,
        names.join(", "),
        places.join(", "),
        image::columns(table, "c").join(", ")
    );
    Ok(query(link, &params, &sql)?.first().map(|row| image::read(table, row, 0)))
}

pub fn delete(link: &mut Link, table: &Table, key: &Image, after: &Image) -> Result<Back, PgError> {
    let may =
        link.query("SELECT has_table_privilege(($1::text)::regclass, 'DELETE')::text", &[Some(&table.sql)])?;
    if !may.first().is_some_and(|row| is_true(row, 0)) {
        return Ok(Back::Left);
    }
    let mut params = NamedParams::default();
    let at = image::at(table, key, "c", &mut params);
    let guard = image::guard(table, after, "c", "left", &mut params);
    // Rows that nothing tells apart are all the same: one of them goes.
    let one = if key.is_empty() { " LIMIT 1" } else { "" };
    let sql = format!(
        "DELETE FROM {0} WHERE (tableoid, ctid) IN
           (SELECT c.tableoid, c.ctid FROM {0} AS c WHERE {at} AND {guard}{one})",
        table.sql
    );
    let put = params.put_into(&sql);
    Ok(if link.execute(&put.sql, &put.values())? == 1 { Back::As(None) } else { Back::Moved })
}

pub fn by_column(image: &Image) -> BTreeMap<&str, &Value> {
    image.iter().collect()
}
