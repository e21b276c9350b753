//! The types of columns, as far as it matters how their values are read and compared.

/// What a column can hold, as far as it matters for times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeKind {
    Zoned,
    Naive,
    Text,
    Whole,
    Number,
    Other,
}

pub(super) fn kind(declared: &str) -> TypeKind {
    let plain = declared.split('(').next().unwrap_or_default().trim_end();
    match plain {
        // It is of an extension, and so in the schema that was chosen for that.
        _ if plain.ends_with(".citext") => TypeKind::Text,
        "timestamptz" => TypeKind::Zoned,
        "timestamp" if declared.ends_with("with time zone") => TypeKind::Zoned,
        "timestamp with time zone" => TypeKind::Zoned,
        "timestamp" | "timestamp without time zone" | "date" => TypeKind::Naive,
        "text" | "character varying" | "varchar" | "character" | "bpchar" | "unknown" => TypeKind::Text,
        "smallint" | "integer" | "bigint" | "int2" | "int4" | "int8" => TypeKind::Whole,
        "numeric" | "double precision" | "real" | "float4" | "float8" => TypeKind::Number,
        _ => TypeKind::Other,
    }
}

/// Whether values of this type are times with a zone (`true`), or without one; nothing, if they are no times.
pub(super) fn names_zone(declared: &str) -> Option<bool> {
    match kind(declared) {
        TypeKind::Zoned => Some(true),
        TypeKind::Naive => Some(false),
        TypeKind::Text | TypeKind::Whole | TypeKind::Number | TypeKind::Other => None,
    }
}

/// Whether values of this type are whole numbers.
pub(super) fn is_whole(declared: &str) -> bool {
    kind(declared) == TypeKind::Whole
}

/// Whether values of this type are numbers.
pub(super) fn is_number(declared: &str) -> bool {
    matches!(kind(declared), TypeKind::Whole | TypeKind::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_both_of_their_names() {
        for (declared, expected) in [
            ("timestamp with time zone", TypeKind::Zoned),
            ("timestamp(6) with time zone", TypeKind::Zoned),
            ("timestamp(6) without time zone", TypeKind::Naive),
            ("timestamptz", TypeKind::Zoned),
            ("character varying(128)", TypeKind::Text),
            ("numeric(10,2)", TypeKind::Number),
            ("uuid", TypeKind::Other),
        ] {
            assert_eq!(kind(declared), expected, "{declared}");
        }
    }
}
