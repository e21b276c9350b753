//! One recording that the threads of several sources write to.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::events::Event;
use crate::recording::{PollSeen, RecordingError, RecordingOptions, RecordingWriter, SourceIdentity};
use crate::store::clock;

/// A recording under way. Where it fails, it stops and says so once; watching goes on.
#[derive(Debug, Clone)]
pub struct SharedRecording {
    writer: Arc<Mutex<Option<RecordingWriter>>>,
}

/// The same for one source.
#[derive(Debug, Clone)]
pub struct Recorder {
    recording: SharedRecording,
    source: usize,
}

impl SharedRecording {
    pub fn begin(
        path: &Path,
        sources: &[SourceIdentity],
        options: RecordingOptions,
    ) -> Result<SharedRecording, RecordingError> {
        let writer = RecordingWriter::create(path, sources, options, clock())?;
        Ok(SharedRecording { writer: Arc::new(Mutex::new(Some(writer))) })
    }

    /// For the source with this number.
    pub fn recorder(&self, source: usize) -> Recorder {
        Recorder { recording: self.clone(), source }
    }

    /// Ends the recording; an error is the reason why its end could not be written.
    pub fn finish(&self) -> Result<(), RecordingError> {
        let writer = self.writer.lock().ok().and_then(|mut writer| writer.take());
        writer.map_or(Ok(()), |writer| writer.finish(clock()))
    }

    /// Whether it has not stopped.
    pub fn is_running(&self) -> bool {
        self.writer.lock().is_ok_and(|writer| writer.is_some())
    }

    /// Writes something; stops at the first error, and returns it.
    fn write(
        &self,
        write: impl FnOnce(&mut RecordingWriter) -> Result<(), RecordingError>,
    ) -> Option<String> {
        let mut writer = self.writer.lock().ok()?;
        let error = write(writer.as_mut()?).err()?;
        // What was written so far can be read.
        *writer = None;
        Some(match error {
            full @ RecordingError::Full { .. } => full.to_string(),
            other => format!("recording stopped: {other}; watching continues"),
        })
    }
}

impl Recorder {
    pub fn poll(&self, poll: &PollSeen<'_>) -> Option<String> {
        self.recording.write(|writer| writer.record_poll(self.source, clock(), poll))
    }

    pub fn failure(&self, why: &str, is_unreachable: bool, events: &[Event]) -> Option<String> {
        let source = self.source;
        self.recording.write(|writer| writer.record_failure(source, clock(), why, is_unreachable, events))
    }
}
