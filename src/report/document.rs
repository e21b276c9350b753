//! A page as data, written as Markdown or as one HTML file.

use std::fmt::Write as _;

use super::html::{STYLE, escaped};
use super::markdown;
use crate::domain::visible::{safe, visible};

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// A sentence of ours, or one that names strings of a database.
    Plain(String),
    /// A string of a database: an id, a holder.
    Code(String),
    /// Several pieces, one after the other.
    Parts(Vec<Text>),
}

impl Text {
    pub fn plain(text: impl Into<String>) -> Text {
        Text::Plain(text.into())
    }

    pub fn code(text: impl Into<String>) -> Text {
        Text::Code(text.into())
    }

    pub(super) fn markdown(&self) -> String {
        match self {
            Text::Plain(text) => markdown::text(text),
            Text::Code(text) => markdown::code(text),
            Text::Parts(parts) => parts.iter().map(Text::markdown).collect(),
        }
    }

    fn html(&self) -> String {
        match self {
            Text::Plain(text) => escaped(&safe(text)),
            Text::Code(text) => format!("<code>{}</code>", escaped(&visible(text))),
            Text::Parts(parts) => parts.iter().map(Text::html).collect(),
        }
    }
}

/// A part of a page.
#[derive(Debug, Clone)]
pub enum Block {
    Heading(&'static str),
    Paragraph(String),
    List(Vec<Vec<Text>>),
    Table {
        headings: Vec<&'static str>,
        rows: Vec<Vec<Text>>,
    },
    /// Lines of characters, such as a plot.
    Lines(String),
    /// A picture, which Markdown shows as lines of characters.
    Picture {
        svg: String,
        lines: String,
    },
}

/// The page as Markdown.
pub fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {}\n", markdown::text(title));
    for block in blocks {
        out.push('\n');
        match block {
            Block::Heading(heading) => _ = writeln!(out, "## {heading}"),
            Block::Paragraph(text) => _ = writeln!(out, "{}", markdown::text(text)),
            Block::List(items) => {
                for item in items {
                    let parts: Vec<String> = item.iter().map(Text::markdown).collect();
                    _ = writeln!(out, "- {}", parts.join(" "));
                }
            }
            Block::Table { headings, rows } => {
                out.push_str(&markdown::heading(headings));
                rows.iter().for_each(|row| out.push_str(&markdown::row(row.iter().map(Text::markdown))));
            }
            Block::Lines(lines) | Block::Picture { lines, .. } => {
                // Indented code: no fence that a string could close.
                lines.lines().for_each(|line| _ = writeln!(out, "    {}", safe(line)));
            }
        }
    }
    out
}

/// The page as one HTML file that needs nothing else.
pub fn html(title: &str, blocks: &[Block]) -> String {
    let title = escaped(&safe(title));
    let mut out = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <style>{STYLE}</style></head><body><h1>{title}</h1>\n"
    );
    for block in blocks {
        match block {
            Block::Heading(heading) => _ = writeln!(out, "<h2>{heading}</h2>"),
            Block::Paragraph(text) => _ = writeln!(out, "<p>{}</p>", escaped(&safe(text))),
            Block::List(items) => {
                out.push_str("<ul>");
                items.iter().for_each(|item| _ = write!(out, "<li>{}</li>", joined(item)));
                out.push_str("</ul>\n");
            }
            Block::Table { headings, rows } => {
                let cells: String = headings.iter().map(|one| format!("<th>{one}</th>")).collect();
                _ = write!(out, "<table><tr class=\"head\">{cells}</tr>");
                for row in rows {
                    let cells: String = row.iter().map(|cell| format!("<td>{}</td>", cell.html())).collect();
                    _ = write!(out, "<tr>{cells}</tr>");
                }
                out.push_str("</table>\n");
            }
            Block::Lines(lines) => {
                let lines: Vec<String> = lines.lines().map(|line| escaped(&safe(line))).collect();
                _ = writeln!(out, "<pre>{}</pre>", lines.join("\n"));
            }
            Block::Picture { svg, .. } => _ = writeln!(out, "{svg}"),
        }
    }
    out.push_str("</body></html>\n");
    out
}

fn joined(parts: &[Text]) -> String {
    parts.iter().map(Text::html).collect::<Vec<_>>().join(" ")
}

/// "1 claim", "2 claims".
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
