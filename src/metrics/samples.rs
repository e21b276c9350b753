//! The samples of one scrape, and their text.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;

use super::catalog::{ALL, Metric, Nature};
use crate::domain::visible::{escape, is_deceptive};

/// What a sample says.
#[derive(Debug, Clone)]
enum Value {
    Number(f64),
    Count(u64),
    Times(Histogram),
}

/// Samples by metric and by the values of its labels, so that none is there twice.
#[derive(Debug, Default)]
pub struct MetricSamples(BTreeMap<&'static str, BTreeMap<Vec<String>, Value>>);

impl MetricSamples {
    pub fn set(&mut self, metric: &Metric, labels: &[&str], value: f64) {
        self.put(metric, labels, Value::Number(value));
    }

    /// Counts on, if there is a sample already.
    pub fn count(&mut self, metric: &Metric, labels: &[&str], more: u64) {
        let before = match self.of(metric).get(&owned(labels)) {
            Some(Value::Count(before)) => *before,
            Some(Value::Number(_) | Value::Times(_)) | None => 0,
        };
        self.put(metric, labels, Value::Count(before + more));
    }

    pub fn times(&mut self, metric: &Metric, labels: &[&str], times: &Histogram) {
        self.put(metric, labels, Value::Times(times.clone()));
    }

    fn put(&mut self, metric: &Metric, labels: &[&str], value: Value) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        self.of(metric).insert(owned(labels), value);
    }

    fn of(&mut self, metric: &Metric) -> &mut BTreeMap<Vec<String>, Value> {
        self.0.entry(metric.name).or_default()
    }

    /// As text, to its end. A metric without samples is named all the same.
    pub fn text(self, format: Format) -> Result<String, fmt::Error> {
        let text = self.openmetrics()?;
        Ok(match format {
            Format::OpenMetrics => text,
            Format::Prometheus => prometheus(&text),
        })
    }

    fn openmetrics(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

fn owned(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|label| shown(label)).collect()
}

/// A label's value without anything that acts on a terminal or cannot be seen. Two different texts stay
/// different: one with a backslash is escaped as well.
fn shown(text: &str) -> String {
    if text.chars().any(|c| c == '\\' || is_deceptive(c)) { escape(text) } else { text.to_owned() }
}

/// The two formats that scrapers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// The older text format, version 0.0.4.
    Prometheus,
}

/// The same in the older format: it has no units, no type for information and no mark at the end, and a family
/// is called what its samples are called.
fn prometheus(openmetrics: &str) -> String {
    let nature = |name: &str| {
        let same = |metric: &&&Metric| {
            metric.name == name || metric.nature.in_seconds() && name == format!("{}_seconds", metric.name)
        };
        ALL.iter().find(same).map(|metric| metric.nature)
    };
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        let comment = (words.next(), words.next(), words.next(), words.next());
        match comment {
            (Some("#"), Some("UNIT"), _, _) | (Some("#"), Some("EOF"), _, _) => continue,
            (Some("#"), Some(word @ ("HELP" | "TYPE")), Some(name), Some(rest)) => {
                let (ending, kind) = match nature(name) {
                    Some(Nature::Counter) => ("_total", "counter"),
                    Some(Nature::Info) => ("_info", "gauge"),
                    _ => ("", rest),
                };
                let rest = if word == "TYPE" { kind } else { rest };
                text += &format!("# {word} {name}{ending} {rest}");
            }
            _ => text += line,
        }
        text.push('\n');
    }
    text
}

impl Collector for MetricSamples {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for metric in ALL {
            let unit = metric.nature.in_seconds().then_some(Unit::Seconds);
            let nature = metric.nature.encoded();
            let mut family = encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), nature)?;
            for (values, value) in self.0.get(metric.name).into_iter().flatten() {
                let labels: Vec<(&str, &str)> =
                    metric.labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
                let labels = labels.as_slice();
                match (metric.nature, value) {
                    (Nature::Info, _) => family.encode_info(&labels)?,
                    // An empty pair of braces is allowed, and looks wrong.
                    (_, Value::Number(number)) if labels.is_empty() => family.encode_gauge(number)?,
                    (_, Value::Number(number)) => family.encode_family(&labels)?.encode_gauge(number)?,
                    (_, Value::Count(count)) => {
                        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(count, None)?;
                    }
                    (_, Value::Times(times)) => times.encode(family.encode_family(&labels)?)?,
                }
            }
        }
        Ok(())
    }
}
