//! The result as JUnit XML.

use std::fmt::Write;

use super::report::{Difference, Report};
use crate::verify::escape;

impl Report {
    /// The result as a test suite: one case for each difference that was kept, or one for the whole.
    pub fn junit(&self, name: &str) -> String {
        let name = escape(name);
        let total: u64 = self.counts.iter().sum();
        let failures = total.max(u64::from(!self.is_equal()));
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        // Writing to a String cannot fail.
        let _ =
            writeln!(out, "<testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\">", total.max(1));
        for difference in &self.differences {
            let Difference { kind, a, b, fields, .. } = difference;
            let place = format!("{} A {}..{} B {}..{}", kind.as_str(), a.from, a.to, b.from, b.to);
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
            let lines: Vec<String> = fields
                .iter()
                .map(|field| format!("{}: {} | {}", field.name, value(&field.a), value(&field.b)))
                .collect();
            let _ = writeln!(
                out,
                "  <testcase classname=\"{name}\" name=\"{place}\"><failure type=\"{}\" message=\"{}\">{}</failure></testcase>",
                kind.as_str(),
                escape(&place),
                escape(&lines.join("\n")),
            );
        }
        if self.differences.is_empty() {
            let failure = "><failure type=\"nothing\" message=\"nothing was compared\"/></testcase>";
            let failure = if self.is_equal() { "/>" } else { failure };
            let _ = writeln!(out, "  <testcase classname=\"{name}\" name=\"traces\"{failure}");
        }
        out.push_str("</testsuite>\n");
        out
    }
}
