//! The types of columns, as far as it matters how their values are read and compared.

use mysql_async::Column;
use mysql_async::consts::ColumnType;

/// What a column can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeKind {
    /// `TIMESTAMP`: an instant. Our sessions are in UTC, so it is shown in UTC.
    Instant,
    /// `DATETIME`: what a clock of whoever wrote it showed.
    Naive,
    Text,
    Whole,
    Number,
    /// Bytes without a character set.
    Bytes,
    Other,
}

/// The kind of a type as `information_schema` writes it, such as `bigint(20) unsigned`.
pub(super) fn kind(declared: &str) -> TypeKind {
    let plain = declared.split(['(', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    match plain.as_str() {
        "timestamp" => TypeKind::Instant,
        "datetime" | "date" => TypeKind::Naive,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" | "uuid"
        | "inet4" | "inet6" | "json" => TypeKind::Text,
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "year" | "bit" => {
            TypeKind::Whole
        }
        "decimal" | "numeric" | "float" | "double" => TypeKind::Number,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => TypeKind::Bytes,
        _ => TypeKind::Other,
    }
}

/// The type of an expression, by what the server says of its values.
pub(super) fn declared(column: &Column) -> &'static str {
    use ColumnType::*;
    const BINARY: u16 = 63;
    match column.column_type() {
        MYSQL_TYPE_TINY | MYSQL_TYPE_SHORT | MYSQL_TYPE_LONG | MYSQL_TYPE_INT24 | MYSQL_TYPE_LONGLONG
        | MYSQL_TYPE_YEAR | MYSQL_TYPE_BIT => "bigint",
        MYSQL_TYPE_DECIMAL | MYSQL_TYPE_NEWDECIMAL => "decimal",
        MYSQL_TYPE_FLOAT | MYSQL_TYPE_DOUBLE => "double",
        MYSQL_TYPE_TIMESTAMP | MYSQL_TYPE_TIMESTAMP2 => "timestamp",
        MYSQL_TYPE_DATETIME | MYSQL_TYPE_DATETIME2 | MYSQL_TYPE_DATE | MYSQL_TYPE_NEWDATE => "datetime",
        MYSQL_TYPE_JSON => "json",
        MYSQL_TYPE_VARCHAR
        | MYSQL_TYPE_VAR_STRING
        | MYSQL_TYPE_STRING
        | MYSQL_TYPE_ENUM
        | MYSQL_TYPE_SET
        | MYSQL_TYPE_TINY_BLOB
        | MYSQL_TYPE_BLOB
        | MYSQL_TYPE_MEDIUM_BLOB
        | MYSQL_TYPE_LONG_BLOB => {
            if column.character_set() == BINARY {
                "varbinary"
            } else {
                "varchar"
            }
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_signs_do_not_matter() {
        for (declared, expected) in [
            ("bigint(20) unsigned", TypeKind::Whole),
            ("tinyint(1)", TypeKind::Whole),
            ("datetime(6)", TypeKind::Naive),
            ("timestamp", TypeKind::Instant),
            ("varchar(128)", TypeKind::Text),
            ("enum('a','b')", TypeKind::Text),
            ("decimal(10,2)", TypeKind::Number),
            ("binary(16)", TypeKind::Bytes),
            ("geometry", TypeKind::Other),
        ] {
            assert_eq!(kind(declared), expected, "{declared}");
        }
    }
}
