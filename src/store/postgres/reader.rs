//! stub
use super::target::Target;
use crate::domain::close_up::{Examined, Holder, Horizon, Kinds, Page, PageRequest, Whole};
use crate::domain::snapshot::{Mark, Snapshot};
use crate::domain::time::Moment;
use crate::profile::format::Profile;
use crate::profile::rules::Operator;
use crate::store::*;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Options {
    pub target: Target,
    pub profiles: Profiles,
    pub operator: Operator,
    pub effort: Effort,
    pub busy_timeout: Duration,
    pub poll_timeout: Duration,
    pub frozen_at: Option<Moment>,
    pub prober: Option<Prober>,
    pub zone: Option<String>,
}
#[derive(Debug)]
pub struct Reader {}
pub fn fits(_: &Options, _: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    unimplemented!()
}
impl Reader {
    pub fn open(_: Options) -> Result<Reader, StoreError> {
        unimplemented!()
    }
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        unimplemented!()
    }
    pub fn tally(&mut self) -> Result<Vec<Tally>, StoreError> {
        unimplemented!()
    }
    pub fn freeze(&mut self, _: Moment) {}
    pub fn list(&mut self, _: &Filter, _: impl FnMut(Listed) -> bool) -> Result<(), StoreError> {
        unimplemented!()
    }
    pub fn expect_board(&self, _: Option<&str>) -> Result<(), StoreError> {
        unimplemented!()
    }
    pub fn history(&mut self, _: usize) -> Result<Vec<Trace>, StoreError> {
        unimplemented!()
    }
    pub fn holders(&mut self, _: Option<&str>) -> Result<Vec<Holder>, StoreError> {
        unimplemented!()
    }
    pub fn page(&mut self, _: &PageRequest) -> Result<Page, StoreError> {
        unimplemented!()
    }
    pub fn whole(&mut self, _: usize) -> Result<Vec<Whole>, StoreError> {
        unimplemented!()
    }
    pub fn examine(&mut self, _: &str, _: &str, _: &Mark, _: &str) -> Result<Option<Examined>, StoreError> {
        unimplemented!()
    }
    pub fn kinds(&mut self) -> Result<Vec<Kinds>, StoreError> {
        unimplemented!()
    }
    pub fn horizon(&mut self, _: usize) -> Result<Horizon, StoreError> {
        unimplemented!()
    }
}
