//! A cause as programs read it.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{Cause, Dimension};

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = match self.by {
            Dimension::Everything => self.by.as_str().to_owned(),
            _ => self.names.join(", "),
        };
        let mut object = serializer.serialize_struct("Cause", 10)?;
        object.serialize_field("by", self.by.as_str())?;
        object.serialize_field("name", &name)?;
        object.serialize_field("claims", &self.count)?;
        object.serialize_field("of", &self.of)?;
        object.serialize_field("sessions", &self.holders)?;
        object.serialize_field("since", &self.since)?;
        object.serialize_field("spread_ms", &self.spread.map(|spread| spread.as_millis()))?;
        object.serialize_field("boards", &self.touched.boards)?;
        object.serialize_field("sources", &self.touched.sources)?;
        object.serialize_field("sentence", &self.to_string())?;
        object.end()
    }
}
