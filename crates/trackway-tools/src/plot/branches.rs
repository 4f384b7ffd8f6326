//! The branches that were executed most: how often each was taken.

use super::Subject;
use super::canvas::{Canvas, LEFT, PLOT, WIDTH, shortened};
use super::scale::number;
use crate::stats::Branch;

/// Branches that are drawn.
const SHOWN: usize = 20;
const HEIGHT: f64 = 17.0;
/// Pixels for the names of branches.
const NAMES: f64 = 300.0;

/// Draws them, where the code of any is known.
pub(super) fn draw(canvas: &mut Canvas, subject: &Subject<'_>) {
    let mut branches = subject.timeline.branches().to_vec();
    if branches.is_empty() {
        return;
    }
    branches.sort_by_key(|(pc, outcomes)| (std::cmp::Reverse(outcomes.iter().sum::<u64>()), *pc));
    let hidden = branches.len().saturating_sub(SHOWN);
    branches.truncate(SHOWN);
    let mut heading = "The branches executed most".to_string();
    if let Some(source) = subject.source {
        heading = format!("{source}: {heading}");
    }
    if hidden > 0 {
        heading += &format!(" ({hidden} more are not shown)");
    }
    canvas.text("heading", "start", (LEFT, canvas.bottom + 18.0), &heading);
    let mut y = canvas.bottom + 26.0;
    let (bar, wide) = (NAMES + 8.0, LEFT + PLOT - NAMES - 8.0);
    for (n, (class, name)) in [("c0", "taken"), ("c1", "not taken"), ("c9", "unknown")].iter().enumerate() {
        let x = bar + 110.0 * n as f64;
        canvas.put(format_args!(r#"<rect class="{class}" x="{x}" y="{y:.1}" width="13" height="13"/>"#));
        canvas.text("label", "start", (x + 19.0, y + 11.0), name);
    }
    y += 22.0;
    for (pc, outcomes) in branches {
        let all: u64 = outcomes.iter().sum();
        let name = (subject.place)(pc).map_or(format!("{pc:#x}"), |place| format!("{pc:#x} {place}"));
        canvas.text("mono", "end", (NAMES, y + 12.0), &shortened(&name, 42));
        let mut x = bar;
        for (class, count) in ["c0", "c1", "c9"].iter().zip(outcomes) {
            let part = wide * count as f64 / all.max(1) as f64;
            if count > 0 {
                canvas.put(format_args!(
                    r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{part:.1}" height="{:.1}"/>"#,
                    HEIGHT - 4.0
                ));
            }
            x += part;
        }
        let bias = Branch { outcomes }.bias().map_or(String::new(), |bias| format!(", bias {bias:.3}"));
        let text = format!("{} executed{bias}", number(all as f64));
        canvas.text("tick", "start", (bar + wide + 8.0, y + 11.0), &text);
        y += HEIGHT;
    }
    debug_assert!(bar + wide < WIDTH);
    canvas.bottom = y + 10.0;
}
