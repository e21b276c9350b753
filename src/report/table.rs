//! Tables with aligned columns.

use unicode_width::UnicodeWidthStr;

/// A cell: its text, and the same with colour.
#[derive(Debug, Clone)]
pub struct TableCell {
    plain: String,
    painted: String,
    right: bool,
}

impl TableCell {
    pub fn text(text: impl Into<String>) -> TableCell {
        let plain = text.into();
        TableCell { painted: plain.clone(), plain, right: false }
    }

    pub fn painted(plain: impl Into<String>, painted: String) -> TableCell {
        TableCell { plain: plain.into(), painted, right: false }
    }

    pub fn right(text: impl Into<String>) -> TableCell {
        TableCell { right: true, ..TableCell::text(text) }
    }
}

fn widths(rows: &[Vec<TableCell>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.plain.width()).max().unwrap_or(0)
    };
    (0..columns).map(width_of).collect()
}

/// The width of the rows on a terminal.
pub fn width_of(rows: &[Vec<TableCell>]) -> usize {
    let widths = widths(rows);
    widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * 2
}

/// The rows below one another, two spaces between columns, the last column unpadded.
pub fn render(rows: &[Vec<TableCell>]) -> String {
    render_below(rows, &mut Vec::new())
}

/// The same with minimum column widths; columns become wider if needed.
pub fn render_below(rows: &[Vec<TableCell>], widths: &mut Vec<usize>) -> String {
    let own = self::widths(rows);
    widths.resize(widths.len().max(own.len()), 0);
    for (width, own) in widths.iter_mut().zip(own) {
        *width = own.max(*width);
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[at].saturating_sub(cell.plain.width()));
            let last = at + 1 == row.len();
            match (cell.right, last) {
                (true, _) => line.extend([padding.as_str(), &cell.painted]),
                (false, true) => line.push_str(&cell.painted),
                (false, false) => line.extend([cell.painted.as_str(), &padding]),
            }
            if !last {
                line.push_str("  ");
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_their_width() {
        let rows = vec![
            vec![TableCell::text("ID"), TableCell::right("AGE"), TableCell::text("WHY")],
            vec![TableCell::text("任務"), TableCell::right("4m12s"), TableCell::text("x")],
        ];
        assert_eq!(render(&rows), "ID      AGE  WHY\n任務  4m12s  x\n");
    }
}
