//! Cobertura's XML.

use std::fmt::Write;

use super::files::Cover;
use crate::markup::escape;

/// Coverage as Cobertura's XML: a class for each source file.
pub fn cobertura(cover: &Cover) -> String {
    let lines = cover.files.values().flat_map(|file| file.lines.values());
    let (valid, covered) = (lines.clone().count(), lines.filter(|count| **count > 0).count());
    let branches = cover.files.values().flat_map(|file| file.branches.values());
    let ways = branches.clone().count() * 2;
    let taken: usize =
        branches.map(|branch| usize::from(branch.taken > 0) + usize::from(branch.not_taken > 0)).sum();
    let rate = |part: usize, whole: usize| if whole > 0 { part as f64 / whole as f64 } else { 1.0 };
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n\
         <coverage line-rate=\"{:.4}\" branch-rate=\"{:.4}\" lines-covered=\"{covered}\" lines-valid=\"{valid}\" \
         branches-covered=\"{taken}\" branches-valid=\"{ways}\" complexity=\"0\" version=\"trackway {}\" timestamp=\"0\">\n\
         <sources><source>.</source></sources>\n<packages>\n\
         <package name=\"trace\" line-rate=\"{:.4}\" branch-rate=\"{:.4}\" complexity=\"0\">\n<classes>\n",
        rate(covered, valid),
        rate(taken, ways),
        env!("CARGO_PKG_VERSION"),
        rate(covered, valid),
        rate(taken, ways),
    );
    // Writing to a string cannot fail.
    for (name, file) in &cover.files {
        let hit = file.lines.values().filter(|count| **count > 0).count();
        let _ = write!(
            out,
            "<class name=\"{0}\" filename=\"{0}\" line-rate=\"{1:.4}\" branch-rate=\"{2:.4}\" complexity=\"0\">\n<methods>\n",
            escape(name),
            rate(hit, file.lines.len()),
            rate(
                file.branches.values().map(|b| usize::from(b.taken > 0) + usize::from(b.not_taken > 0)).sum(),
                2 * file.branches.len()
            ),
        );
        for (function, of) in &file.functions {
            let _ = writeln!(
                out,
                "<method name=\"{}\" signature=\"\" line-rate=\"{}\" branch-rate=\"0\" complexity=\"0\"><lines><line number=\"{}\" hits=\"{}\" branch=\"false\"/></lines></method>",
                escape(function),
                u8::from(of.entries > 0),
                of.line,
                of.entries
            );
        }
        out.push_str("</methods>\n<lines>\n");
        for (line, count) in &file.lines {
            let branches: Vec<_> =
                file.branches.range((*line, 0)..=(*line, u64::MAX)).map(|(_, b)| b).collect();
            if branches.is_empty() {
                let _ = writeln!(out, "<line number=\"{line}\" hits=\"{count}\" branch=\"false\"/>");
                continue;
            }
            let ways = 2 * branches.len();
            let taken: usize =
                branches.iter().map(|b| usize::from(b.taken > 0) + usize::from(b.not_taken > 0)).sum();
            let _ = writeln!(
                out,
                "<line number=\"{line}\" hits=\"{count}\" branch=\"true\" condition-coverage=\"{}% ({taken}/{ways})\"/>",
                100 * taken / ways
            );
        }
        out.push_str("</lines>\n</class>\n");
    }
    out.push_str("</classes>\n</package>\n</packages>\n</coverage>\n");
    out
}
