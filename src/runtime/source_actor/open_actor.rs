//! An actor that stays open from act to act, so that a key does not wait for a connection.

use crate::recovery::AuditedActor;
use crate::recovery::trail::Trail;
use crate::runtime::WriteOpener;
use crate::store::Prober;

pub(super) struct OpenActor {
    label: String,
    open: WriteOpener,
    prober: Prober,
    kept: Option<AuditedActor>,
}

impl OpenActor {
    pub(super) fn new(label: &str, open: WriteOpener, prober: Prober) -> OpenActor {
        OpenActor { label: label.to_owned(), open, prober, kept: None }
    }

    /// The actor for the next act: the kept one if it still sees the same database, or a new one. The journal is
    /// reopened, and processes are looked up again.
    pub(super) fn take(&mut self) -> Result<AuditedActor, String> {
        let folder = Trail::default_folder()
            .ok_or("no act without its record, and no folder for it is known; set XDG_STATE_HOME")?;
        self.prober.forget();
        if let Some(mut actor) = self.kept.take()
            && actor.renew(&folder).map_err(|error| error.to_string())?
        {
            return Ok(actor);
        }
        let access = (self.open)()?.probing_with(self.prober.clone());
        AuditedActor::open(access, &self.label, &folder).map_err(|error| error.to_string())
    }

    /// Keeps an actor for the next act, unless its act failed.
    pub(super) fn keep(&mut self, actor: AuditedActor) {
        self.kept = Some(actor);
    }

    pub(super) fn close(&mut self) {
        self.kept = None;
    }
}
