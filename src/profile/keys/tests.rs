use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, Visitor};
use std::fmt;

use super::{KEYS, KeyGroup, Kind};
use crate::profile::format::{Act, Backlog, Board, Deadline, History, Profile, Registry, StatementTable};

/// The keys that a struct of the format reads, as serde knows them.
fn fields_of<T: for<'de> Deserialize<'de>>() -> Vec<&'static str> {
    struct Fields(&'static [&'static str]);

    impl fmt::Debug for Fields {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:?}", self.0)
        }
    }
    impl fmt::Display for Fields {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:?}", self.0)
        }
    }
    impl std::error::Error for Fields {}
    impl de::Error for Fields {
        fn custom<M: fmt::Display>(message: M) -> Fields {
            panic!("{message}")
        }
    }

    struct Asking;

    impl<'de> Deserializer<'de> for Asking {
        type Error = Fields;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fields> {
            panic!("the format is made of structs")
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Fields> {
            Err(Fields(fields))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    match T::deserialize(Asking) {
        Err(Fields(fields)) => fields.to_vec(),
        Ok(_) => panic!("nothing was read"),
    }
}

fn fields(group: KeyGroup) -> Vec<&'static str> {
    match group {
        KeyGroup::Profile => fields_of::<Profile>(),
        KeyGroup::Claim => fields_of::<Board>(),
        KeyGroup::Deadline => fields_of::<Deadline>(),
        KeyGroup::Session => fields_of::<Registry>(),
        KeyGroup::Backlog => fields_of::<Backlog>(),
        KeyGroup::Act => fields_of::<Act>(),
        KeyGroup::Statement => fields_of::<StatementTable>(),
        KeyGroup::History => fields_of::<History>(),
    }
}

#[test]
fn the_table_has_every_key_of_the_format_and_no_other() {
    for group in KeyGroup::ALL {
        let mut known: Vec<&str> = group.keys().map(|key| key.name).collect();
        let mut read = fields(group);
        known.sort_unstable();
        read.sort_unstable();
        assert_eq!(known, read, "keys of {}", group.heading());
    }
}

/// The keys of a group that have to be there, each with its example, without `skip`.
fn required(group: KeyGroup, skip: &str) -> String {
    let needed = |key: &&super::ProfileKey| key.default.is_none() && key.name != skip;
    let line = |key: &super::ProfileKey| match key.kind {
        Kind::Tables(_) => {
            "claim = [{ name = \"a\", table = \"t\", id = \"id\", deadline = { never = true } }]\n".into()
        }
        _ => format!("{}\n", key.example),
    };
    group.keys().filter(needed).map(line).collect()
}

fn read(group: KeyGroup, text: &str) -> Result<(), String> {
    fn parse<T: DeserializeOwned>(text: &str) -> Result<(), String> {
        toml::from_str::<T>(text).map(|_| ()).map_err(|error| error.to_string())
    }
    match group {
        KeyGroup::Profile => parse::<Profile>(text),
        KeyGroup::Claim => parse::<Board>(text),
        KeyGroup::Deadline => parse::<Deadline>(text),
        KeyGroup::Session => parse::<Registry>(text),
        KeyGroup::Backlog => parse::<Backlog>(text),
        KeyGroup::Act => parse::<Act>(text),
        KeyGroup::Statement => parse::<StatementTable>(text),
        KeyGroup::History => parse::<History>(text),
    }
}

#[test]
fn a_key_has_to_be_there_exactly_if_the_table_says_so() {
    for key in KEYS {
        let without = required(key.group, key.name);
        assert_eq!(read(key.group, &without).is_err(), key.default.is_none(), "{}", key.path());
    }
}

#[test]
fn every_example_can_be_read() {
    for key in KEYS.iter().filter(|key| !matches!(key.kind, Kind::Tables(_))) {
        let text = format!("{}{}\n", required(key.group, key.name), key.example);
        read(key.group, &text).unwrap_or_else(|error| panic!("{}: {error}", key.path()));
    }
}
