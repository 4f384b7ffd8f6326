//! The page about the schema, as Markdown.

use crate::schema::{SCHEMA, Table};

/// The tables and their columns, for `docs/data.md`.
pub fn schema_page() -> String {
    let mut page = format!("Schema version {SCHEMA}.\n");
    for table in Table::ALL {
        page += &format!("\n### `{}`\n\n{}\n\n", table.name, sentence(table.about));
        page += "| column | type | null | meaning |\n|---|---|---|---|\n";
        for column in table.columns {
            let null = if column.nullable { "yes" } else { "" };
            let about = sentence(column.about);
            let about = about.trim_end_matches('.');
            page += &format!("| `{}` | {} | {null} | {about} |\n", column.name, column.kind.arrow());
        }
    }
    page
}

/// The lines of a comment as one.
fn sentence(about: &str) -> &str {
    about.trim()
}
