//! The samples of one scrape, and their text.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;

use super::catalog::{ALL, Metric, MetricKind};
use crate::domain::visible::{escape, is_deceptive};

/// The value of a sample.
#[derive(Debug, Clone)]
enum SampleValue {
    Number(f64),
    Count(u64),
    Times(Histogram),
}

/// Samples by metric and label values, so that each exists once.
#[derive(Debug, Default)]
pub(super) struct MetricSamples(BTreeMap<&'static str, BTreeMap<Vec<String>, SampleValue>>);

impl MetricSamples {
    pub(super) fn set(&mut self, metric: &Metric, labels: &[&str], value: f64) {
        self.put(metric, labels, SampleValue::Number(value));
    }

    /// Adds to the sample, which starts at zero.
    pub(super) fn count(&mut self, metric: &Metric, labels: &[&str], more: u64) {
        let before = match self.of(metric).get(&owned(labels)) {
            Some(SampleValue::Count(before)) => *before,
            Some(SampleValue::Number(_) | SampleValue::Times(_)) | None => 0,
        };
        self.put(metric, labels, SampleValue::Count(before + more));
    }

    pub(super) fn times(&mut self, metric: &Metric, labels: &[&str], times: &Histogram) {
        self.put(metric, labels, SampleValue::Times(times.clone()));
    }

    fn put(&mut self, metric: &Metric, labels: &[&str], value: SampleValue) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        self.of(metric).insert(owned(labels), value);
    }

    fn of(&mut self, metric: &Metric) -> &mut BTreeMap<Vec<String>, SampleValue> {
        self.0.entry(metric.name).or_default()
    }

    /// All samples as text. A metric without samples still has its HELP and TYPE lines.
    pub(super) fn text(self, format: ExpositionFormat) -> Result<String, fmt::Error> {
        let text = self.openmetrics()?;
        Ok(match format {
            ExpositionFormat::OpenMetrics => text,
            ExpositionFormat::Prometheus => prometheus(&text),
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

/// A label value without control or invisible characters. Different texts stay different: backslashes are escaped as
/// well.
fn shown(text: &str) -> String {
    if text.chars().any(|c| c == '\\' || is_deceptive(c)) { escape(text) } else { text.to_owned() }
}

/// The two text formats that scrapers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpositionFormat {
    OpenMetrics,
    /// The classic text format, version 0.0.4.
    Prometheus,
}

/// The same samples in the classic format: it has no units, no info type and no EOF line, and a metric family has the
/// same name as its samples.
fn prometheus(openmetrics: &str) -> String {
    let kind_of = |name: &str| {
        let same = |metric: &&&Metric| {
            metric.name == name || metric.kind.in_seconds() && name == format!("{}_seconds", metric.name)
        };
        ALL.iter().find(same).map(|metric| metric.kind)
    };
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        let comment = (words.next(), words.next(), words.next(), words.next());
        match comment {
            (Some("#"), Some("UNIT"), _, _) | (Some("#"), Some("EOF"), _, _) => continue,
            (Some("#"), Some(word @ ("HELP" | "TYPE")), Some(name), Some(rest)) => {
                let (ending, kind) = match kind_of(name) {
                    Some(MetricKind::Counter) => ("_total", "counter"),
                    Some(MetricKind::Info) => ("_info", "gauge"),
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
            let unit = metric.kind.in_seconds().then_some(Unit::Seconds);
            let kind = metric.kind.encoded();
            let mut family = encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
            for (values, value) in self.0.get(metric.name).into_iter().flatten() {
                let labels: Vec<(&str, &str)> =
                    metric.labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
                let labels = labels.as_slice();
                match (metric.kind, value) {
                    (MetricKind::Info, _) => family.encode_info(&labels)?,
                    // Empty braces are allowed, but look wrong.
                    (_, SampleValue::Number(number)) if labels.is_empty() => family.encode_gauge(number)?,
                    (_, SampleValue::Number(number)) => {
                        family.encode_family(&labels)?.encode_gauge(number)?;
                    }
                    (_, SampleValue::Count(count)) => {
                        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(count, None)?;
                    }
                    (_, SampleValue::Times(times)) => times.encode(family.encode_family(&labels)?)?,
                }
            }
        }
        Ok(())
    }
}
