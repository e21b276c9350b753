//! The name of a table with a variable in it: a schema, or a prefix that every installation chooses for itself.

use std::collections::BTreeMap;

use super::format::{Profile, ProfileError, Variable};

/// The first table of a profile, as it is written: what stands before its variable, the variable, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    before: String,
    pub var: String,
    after: String,
    /// What `detect` says of it.
    detect: Vec<String>,
}

impl Template {
    fn parse(written: &str) -> Option<Template> {
        let (before, rest) = written.split_once('{')?;
        let (var, after) = rest.split_once('}')?;
        Some(Template { before: before.into(), var: var.into(), after: after.into(), detect: Vec::new() })
    }

    pub fn filled(&self, value: &str) -> String {
        format!("{}{value}{}", self.before, self.after)
    }

    /// The columns by which the table is detected if the variable stands for this.
    pub fn detected(&self, value: &str) -> impl Iterator<Item = String> {
        let variable = format!("{{{}}}", self.var);
        self.detect.iter().map(move |pair| pair.replace(&variable, value))
    }

    /// Whether its tables are written with their schemas.
    pub fn has_schema(&self) -> bool {
        self.after.contains('.') || self.before.contains('.')
    }

    /// What the variable stands for if this is the table. Only plain names: what a database calls its tables never
    /// becomes SQL of its own.
    pub fn value_in<'a>(&self, table: &'a str) -> Option<&'a str> {
        let end = table.len().checked_sub(self.after.len())?;
        let start = self.before.len();
        let (before, value, after) = (table.get(..start)?, table.get(start..end)?, table.get(end..)?);
        let is_it = before.eq_ignore_ascii_case(&self.before) && after.eq_ignore_ascii_case(&self.after);
        (is_it && is_plain(value)).then_some(value)
    }
}

/// Names, letters and digits; a schema may stand before the rest, with its dot.
fn is_plain(value: &str) -> bool {
    let is_name = |part: &str| {
        !part.starts_with(|c: char| c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    value.matches('.').count() <= 1 && !value.starts_with('.') && value.split('.').all(is_name)
}

impl Profile {
    /// Its first table, if that has a variable in its name.
    pub fn template(&self) -> Option<Template> {
        let file: toml::Table = self.text.parse().ok()?;
        let claim = file.get("claim")?.get(0)?;
        let template = Template::parse(claim.get("table")?.as_str()?)?;
        let lists = [file.get("detect"), claim.get("detect")].into_iter().flatten();
        let pairs = lists.filter_map(toml::Value::as_array).flatten().filter_map(toml::Value::as_str);
        let detect = pairs.map(str::to_owned).collect();
        self.vars.contains_key(&template.var).then_some(Template { detect, ..template })
    }

    /// The same where the variable of its first table stands for one of the values that the profile lists.
    pub fn with_usual(&self, template: &Template, value: &str) -> Result<Profile, ProfileError> {
        self.with(template, value, &self.name)
    }

    /// The same where it stands for something else. It is called after that, as in `pg-boss@jobs`.
    pub fn with_value(&self, template: &Template, value: &str) -> Result<Profile, ProfileError> {
        self.with(template, value, &format!("{}@{}", self.name, value.trim_end_matches('.')))
    }

    fn with(&self, template: &Template, value: &str, name: &str) -> Result<Profile, ProfileError> {
        Profile::parse_with(name, &self.text, &BTreeMap::from([(template.var.clone(), value.to_owned())]))
    }

    /// Whether somebody has said what the variable of its first table stands for.
    pub fn is_chosen(&self, template: &Template) -> bool {
        let usual = self.vars.get(&template.var).map(Variable::usual);
        self.values.get(&template.var).map(String::as_str) != usual
    }

    /// The one that is called after a value, as [`Profile::with_value`] calls it.
    pub fn called_after(&self, value: &str) -> Result<Profile, ProfileError> {
        let invalid = |problem: String| ProfileError::Invalid { name: self.name.clone(), problem };
        let Some(template) = self.template() else {
            return Err(invalid(format!("it has no variable that could be {value:?}")));
        };
        if !is_plain(value) {
            return Err(invalid(format!("{value:?} is no name of a schema or a prefix")));
        }
        // A variable that is empty as a rule stands for a schema with its dot, or for a prefix that ends in _.
        let is_empty = self.vars.get(&template.var).is_some_and(|variable| variable.usual().is_empty());
        let is_schema = is_empty && !template.has_schema() && !value.ends_with('_');
        let value = if is_schema { format!("{value}.") } else { value.to_owned() };
        self.with_value(&template, &value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_read_off_the_name_of_a_table() {
        for (written, table, value) in [
            ("{schema}.job", "jobs.job", Some("jobs")),
            ("{prefix}fired_triggers", "MY_FIRED_TRIGGERS", Some("MY_")),
            ("{prefix}oban_jobs", "private.oban_jobs", Some("private.")),
            ("{prefix}oban_jobs", "oban_jobs", Some("")),
            ("ack_queue_{queue}", "ack_queue_mail", Some("mail")),
            ("{schema}.job", "jobs.jobs", None),
            ("{schema}.job", "a.b.job", Some("a.b")),
            ("{schema}.job", "x; DROP TABLE y --.job", None),
            ("{schema}.job", "ü.job", None),
        ] {
            let template = Template::parse(written).unwrap();
            assert_eq!(template.value_in(table), value, "{written} {table}");
            assert_eq!(template.filled("x"), written.replace(&format!("{{{}}}", template.var), "x"));
        }
    }
}
