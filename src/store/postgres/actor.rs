//! stub
use super::reader::{Options, Reader};
use crate::domain::recovery::Word;
use crate::store::act::*;
use crate::store::*;
use std::time::Duration;

#[derive(Debug)]
pub struct Actor {}
impl Actor {
    pub fn open(_: Options) -> Result<Actor, StoreError> {
        unimplemented!()
    }
    pub fn reader(&mut self) -> &mut Reader {
        unimplemented!()
    }
    pub fn fingerprint(&self) -> String {
        unimplemented!()
    }
    pub fn create_audit_table(&mut self) -> Result<(), StoreError> {
        unimplemented!()
    }
    pub fn find(&mut self, _: &str, _: Option<&str>) -> Result<Vec<Seen>, StoreError> {
        unimplemented!()
    }
    pub fn select(&mut self, _: &Filter) -> Result<Vec<Seen>, StoreError> {
        unimplemented!()
    }
    pub fn profile_of(&self, _: &Seen) -> (&str, bool) {
        unimplemented!()
    }
    pub fn names(&self, _: &Seen) -> (String, String) {
        unimplemented!()
    }
    pub fn address(&self, _: &Seen) -> String {
        unimplemented!()
    }
    pub fn act(&mut self, _: &Seen, _: &Order<'_>, _: &mut Recorder<'_>) -> Result<Acted, StoreError> {
        unimplemented!()
    }
    pub fn act_batch(
        &mut self,
        _: &[&Seen],
        _: &Order<'_>,
        _: Duration,
        _: &mut Collect<'_>,
        _: &mut Flush<'_>,
    ) -> Result<Batch, StoreError> {
        unimplemented!()
    }
    pub fn held_by(&mut self, _: &str) -> Result<Holding, StoreError> {
        unimplemented!()
    }
    pub fn end_session(
        &mut self,
        _: &Registered,
        _: &Word,
        _: &str,
        _: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        unimplemented!()
    }
    pub fn rehearse_session(
        &mut self,
        _: &Holding,
        _: &Word,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        unimplemented!()
    }
    pub fn undo(&mut self, _: &[Change], _: bool, _: &mut ChangeRecorder<'_>) -> Result<Acted, StoreError> {
        unimplemented!()
    }
    pub fn matches(&mut self, _: &[Change], _: Side) -> Result<bool, StoreError> {
        unimplemented!()
    }
    pub fn became(&mut self, _: &str, _: Option<&str>, _: &[Change]) -> Result<Option<bool>, StoreError> {
        unimplemented!()
    }
}
