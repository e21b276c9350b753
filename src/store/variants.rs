//! A profile with variables in the names of its tables, for every place in a database where such tables are.

use super::schema::{Schema, Table};
use crate::profile::format::{Profile, ProfileError};

/// The profile with each of the values that its variable can stand for here: the candidates that it names, and
/// whatever the tables themselves are called. As it is, if there are no such tables.
pub(super) fn variants(profile: Profile, schema: &Schema) -> Result<Vec<Profile>, ProfileError> {
    let Some(template) = profile.template().filter(|template| !profile.is_chosen(template)) else {
        return Ok(vec![profile]);
    };
    let candidates = profile.vars.get(&template.var).map(|variable| variable.candidates.clone());
    let listed = candidates.unwrap_or_default();
    let mut values = listed.clone();
    for table in schema.tables() {
        let full = template.has_schema().then(|| full_name(table)).flatten();
        let names = [Some(table.name.clone()), full];
        let found = names.into_iter().flatten().find_map(|name| Some(template.value_in(&name)?.to_owned()));
        // A server folds names without quotes, and profiles write none.
        values.extend(found.filter(|value| !is_of_server(table) || value.to_lowercase() == *value));
    }
    let is_detected = |value: &String| template.detected(value).all(|pair| schema.has(&pair));
    let (mut known, mut all): (Vec<&str>, Vec<Profile>) = (Vec::new(), Vec::new());
    for value in values.iter().filter(|value| is_detected(value)) {
        let Some(table) = schema.table(&template.filled(value)) else { continue };
        if !known.contains(&table.sql.as_str()) {
            // The first of those that are listed is the usual one here.
            let is_usual = all.is_empty() && listed.contains(value);
            known.push(&table.sql);
            all.push(match is_usual {
                true => profile.with_usual(&template, value)?,
                false => profile.with_value(&template, value)?,
            });
        }
    }
    Ok(if all.is_empty() { vec![profile] } else { all })
}

/// The tables of servers have schemas.
fn is_of_server(table: &Table) -> bool {
    table.sql.contains("\".\"")
}

fn full_name(table: &Table) -> Option<String> {
    is_of_server(table).then(|| table.sql.replace('"', ""))
}
