//! OpenMetrics text, read strictly: what does not belong there is a failure.

use std::collections::{BTreeMap, BTreeSet};

/// Labels in the order of their names.
pub type Labels = BTreeMap<String, String>;

/// What a scrape told.
#[derive(Debug, Default)]
pub struct Exposition {
    pub families: BTreeMap<String, Family>,
    samples: BTreeMap<(String, Labels), f64>,
}

#[derive(Debug, Default)]
pub struct Family {
    pub help: String,
    kind: Option<String>,
    unit: Option<String>,
}

impl Exposition {
    pub fn parse(text: &str) -> Exposition {
        let body = text.strip_suffix("# EOF\n").expect("the end is marked");
        let mut told = Exposition::default();
        let mut current = String::new();
        for line in body.split_terminator('\n') {
            match line.strip_prefix("# ") {
                Some(comment) => told.comment(comment, &mut current),
                None => told.sample(line, &current),
            }
        }
        told.check_histograms();
        told
    }

    fn comment(&mut self, comment: &str, current: &mut String) {
        let parts: Vec<&str> = comment.splitn(3, ' ').collect();
        let [word, name, rest] = parts[..] else { panic!("what is {comment:?}?") };
        if name != current {
            assert!(word == "HELP" && is_name(name), "{comment}");
            assert!(!self.families.contains_key(name), "{name} is there twice");
            *current = name.to_owned();
        }
        let family = self.families.entry(name.into()).or_default();
        match word {
            "HELP" => family.help = rest.into(),
            "TYPE" => assert_eq!(family.kind.replace(rest.into()), None, "{name} has two types"),
            "UNIT" => {
                assert!(name.ends_with(&format!("_{rest}")), "{name} does not end in {rest}");
                assert_eq!(family.unit.replace(rest.into()), None, "{name} has two units");
            }
            _ => panic!("what is {comment:?}?"),
        }
    }

    fn sample(&mut self, line: &str, current: &str) {
        let family = &self.families[current];
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value in {line:?}"));
        let (name, labels) = match series.split_once('{') {
            None => (series, Labels::new()),
            Some((name, rest)) => (name, labels(rest)),
        };
        let endings: &[&str] = match family.kind.as_deref() {
            Some("gauge") => &[""],
            Some("counter") => &["_total"],
            Some("histogram") => &["_bucket", "_sum", "_count"],
            Some("info") => &["_info"],
            kind => panic!("{current} is of type {kind:?}"),
        };
        let ending = name.strip_prefix(current).unwrap_or_else(|| panic!("{line} stands below {current}"));
        assert!(endings.contains(&ending), "{line} does not fit its type");
        assert_eq!(labels.contains_key("le"), ending == "_bucket", "{line}");
        let value: f64 = value.parse().unwrap_or_else(|error| panic!("{error} in {line}"));
        assert!(value.is_finite() && (family.kind.as_deref() == Some("gauge") || value >= 0.0), "{line}");
        let before = self.samples.insert((name.into(), labels), value);
        assert_eq!(before, None, "{line} is there twice");
    }

    fn check_histograms(&self) {
        let mut series: BTreeMap<(String, Labels), Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), count) in &self.samples {
            let Some(name) = name.strip_suffix("_bucket") else { continue };
            let mut labels = labels.clone();
            let bound = match labels.remove("le").expect("a bound").as_str() {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().expect("a number"),
            };
            series.entry((name.into(), labels)).or_default().push((bound, *count));
        }
        for ((name, labels), mut buckets) in series {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{name} {labels:?} {buckets:?}");
            let (bound, all) = *buckets.last().expect("a bucket");
            assert_eq!(bound, f64::INFINITY, "{name} has no last bucket");
            assert_eq!(self.samples[&(format!("{name}_count"), labels)], all, "{name}");
        }
    }

    /// Every sample whose name begins so, as Prometheus writes its series.
    pub fn series(&self, prefix: &str) -> Vec<(String, f64)> {
        let ours = self.samples.iter().filter(|((name, _), _)| name.starts_with(prefix));
        let written = ours.map(|((name, labels), value)| {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect();
            (format!("{name}{{{}}}", labels.join(", ")), *value)
        });
        written.collect()
    }

    /// The one sample with these labels among its own.
    #[track_caller]
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let found = self.among(name, labels);
        assert!(found.len() <= 1, "{name} {labels:?} is {found:?}");
        found.first().map(|(_, value)| *value)
    }

    /// All of them added up; nothing if there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.among(name, labels).into_iter().map(|(_, value)| value).reduce(|one, other| one + other)
    }

    pub fn all(&self, name: &str) -> Vec<(&Labels, f64)> {
        self.among(name, &[])
    }

    fn among(&self, name: &str, labels: &[(&str, &str)]) -> Vec<(&Labels, f64)> {
        let fits =
            |own: &Labels| labels.iter().all(|(key, value)| own.get(*key).is_some_and(|own| own == value));
        let named = self.samples.iter().filter(|((own, labels), _)| own == name && fits(labels));
        named.map(|((_, labels), value)| (labels, *value)).collect()
    }

    /// The names of all samples.
    pub fn names(&self) -> BTreeSet<&str> {
        self.samples.keys().map(|(name, _)| name.as_str()).collect()
    }

    /// Every value of every label.
    pub fn label_values(&self) -> BTreeSet<&str> {
        self.samples.keys().flat_map(|(_, labels)| labels.values().map(String::as_str)).collect()
    }
}

fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c == '_';
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// `key="value",...}` with the three escapes that there are.
fn labels(mut rest: &str) -> Labels {
    let mut all = Labels::new();
    loop {
        let (key, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("no label in {rest:?}"));
        assert!(is_name(key), "{key}");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().expect("the end of a value") {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().expect("an escape").1 {
                    'n' => '\n',
                    escaped @ ('"' | '\\') => escaped,
                    other => panic!("\\{other} is no escape"),
                }),
                (_, plain) => value.push(plain),
            }
        };
        assert_eq!(all.insert(key.into(), value), None, "{key} is there twice");
        rest = match &after[end + 1..] {
            "}" => return all,
            more => more.strip_prefix(',').unwrap_or_else(|| panic!("what is {more:?}?")),
        };
    }
}
