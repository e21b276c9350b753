//! One row of an answer in the binary protocol: every cell with the type that it has in the database.

use mysql_async::consts::ColumnType;
use std::sync::Arc;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    /// Of an unsigned column, too large for the other.
    Large(u64),
    Real(f64),
    /// Text, and everything that is written as text: decimals, dates, JSON.
    Text(String),
    /// Bytes without a character set, or a text that is none.
    Bytes(Vec<u8>),
    BadText(Vec<u8>),
}

/// A row, taken out of the connection.
#[derive(Debug, Clone)]
pub struct Row(Vec<Cell>);

impl Row {
    pub(super) fn new(row: mysql_async::Row) -> Row {
        let columns = row.columns();
        Row(row.unwrap().into_iter().enumerate().map(|(at, value)| cell(value, &columns, at)).collect())
    }

    pub fn cell(&self, at: usize) -> &Cell {
        self.0.get(at).unwrap_or(&Cell::Null)
    }

    /// The cell as text; nothing for NULL.
    pub fn text(&self, at: usize) -> Option<String> {
        Some(match self.cell(at) {
            Cell::Null => return None,
            Cell::Int(number) => number.to_string(),
            Cell::Large(number) => number.to_string(),
            Cell::Real(number) => number.to_string(),
            Cell::Text(text) => text.clone(),
            Cell::Bytes(bytes) | Cell::BadText(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        })
    }

    pub fn is_true(&self, at: usize) -> bool {
        match self.cell(at) {
            Cell::Int(number) => *number != 0,
            Cell::Text(text) => text == "1" || text.eq_ignore_ascii_case("YES"),
            _ => false,
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The character set of values that have none.
const BINARY: u16 = 63;

fn cell(value: mysql_async::Value, columns: &Arc<[mysql_async::Column]>, at: usize) -> Cell {
    use mysql_async::Value;
    let column = columns.get(at);
    let kind = column.map(mysql_async::Column::column_type);
    match value {
        Value::NULL => Cell::Null,
        Value::Int(number) => Cell::Int(number),
        Value::UInt(number) => i64::try_from(number).map_or(Cell::Large(number), Cell::Int),
        Value::Float(number) => Cell::Real(number.into()),
        Value::Double(number) => Cell::Real(number),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            // A DATE has no time at all; without its fraction a time is written as it is declared.
            Cell::Text(match kind {
                Some(ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE) => date,
                _ if micros == 0 => format!("{date} {hour:02}:{minute:02}:{second:02}"),
                _ => format!("{date} {hour:02}:{minute:02}:{second:02}.{micros:06}"),
            })
        }
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let (sign, hours) = (if is_negative { "-" } else { "" }, days * 24 + u32::from(hours));
            let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
            Cell::Text(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"))
        }
        Value::Bytes(bytes) => match kind {
            Some(ColumnType::MYSQL_TYPE_BIT) => bit(bytes),
            _ if is_binary(column) => Cell::Bytes(bytes),
            _ => String::from_utf8(bytes).map_or_else(|bad| Cell::BadText(bad.into_bytes()), Cell::Text),
        },
    }
}

/// A number of up to 63 bits is one; more bits stay bytes.
fn bit(bytes: Vec<u8>) -> Cell {
    let number = bytes.iter().try_fold(0_i64, |number, byte| {
        number.checked_mul(256).and_then(|number| number.checked_add(i64::from(*byte)))
    });
    number.map_or(Cell::Bytes(bytes), Cell::Int)
}

/// Whether a cell has no character set although it is no number, decimal or JSON, which are written as text.
fn is_binary(column: Option<&mysql_async::Column>) -> bool {
    use ColumnType::*;
    column.is_some_and(|column| {
        let is_text = matches!(
            column.column_type(),
            MYSQL_TYPE_DECIMAL | MYSQL_TYPE_NEWDECIMAL | MYSQL_TYPE_JSON | MYSQL_TYPE_NULL
        );
        column.character_set() == BINARY && !is_text
    })
}
