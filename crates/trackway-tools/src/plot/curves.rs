//! Curves and stacked areas over time, in steps: an interval has one value.

use std::fmt::Write;

use super::Subject;
use super::canvas::{COLOURS, Canvas, Frame};
use crate::series::Timeline;

/// A plot with one or more curves.
pub(super) struct Panel {
    pub(super) heading: String,
    pub(super) curves: Vec<Curve>,
    /// Areas on top of each other instead of lines.
    pub(super) is_stacked: bool,
    /// The value at the upper edge; `None` if the data decide.
    pub(super) highest: Option<f64>,
    pub(super) height: f64,
    /// Between numbers of the axis: 1 for counts.
    pub(super) least_step: f64,
}

impl Default for Panel {
    fn default() -> Self {
        Panel {
            heading: String::new(),
            curves: Vec::new(),
            is_stacked: false,
            highest: None,
            height: 220.0,
            least_step: 0.0,
        }
    }
}

/// One value for each interval, where there is one.
pub(super) struct Curve {
    name: String,
    values: Vec<Option<f64>>,
}

impl Curve {
    pub(super) fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Self {
        Curve { name: name.into(), values }
    }
}

/// Draws the panels; false if there are none.
pub(super) fn draw(canvas: &mut Canvas, subject: &Subject<'_>, panels: Vec<Panel>) -> bool {
    let timeline = subject.timeline;
    for panel in &panels {
        let frame = canvas.frame(&panel.heading, subject, panel.height);
        let values = panel.curves.iter().flat_map(|curve| curve.values.iter().flatten());
        let highest = panel.highest.unwrap_or_else(|| 1.05 * values.fold(0.0, |a: f64, b| a.max(*b)));
        let highest = if highest > 0.0 { highest } else { 1.0 };
        canvas.rows(frame, highest, panel.least_step);
        let scale = frame.height / highest;
        let mut below = vec![0.0; timeline.intervals.len()];
        for (n, curve) in panel.curves.iter().enumerate() {
            let colour = format!("c{}", n.min(COLOURS - 1));
            if panel.is_stacked {
                let path = area(frame, timeline, &curve.values, &mut below, scale);
                canvas.put(format_args!(r#"<path class="area {colour}" d="{path}"/>"#));
            } else {
                let path = line(frame, timeline, &curve.values, scale);
                canvas.put(format_args!(r#"<path class="curve {colour}" style="fill:none" d="{path}"/>"#));
            }
            // Areas are listed as they lie: the first is the lowest.
            let row = if panel.is_stacked { panel.curves.len() - 1 - n } else { n };
            canvas.legend(frame, row, &colour, &curve.name);
        }
        canvas.close(frame, timeline);
    }
    !panels.is_empty()
}

/// A line in steps, with breaks where values are missing and at gaps.
fn line(frame: Frame, timeline: &Timeline, values: &[Option<f64>], scale: f64) -> String {
    let mut path = String::new();
    let mut is_joined = false;
    for (interval, value) in timeline.intervals.iter().zip(values) {
        let Some(value) = value else {
            is_joined = false;
            continue;
        };
        let (x, end) = (frame.x(interval.from), frame.x(interval.from + interval.instructions));
        let y = frame.low() - value * scale;
        // Writing to a string cannot fail.
        let _ = match is_joined {
            true => write!(path, "V{y:.1}H{end:.1}"),
            false => write!(path, "M{x:.1} {y:.1}H{end:.1}"),
        };
        is_joined = interval.gaps == 0;
    }
    path
}

/// An area on top of those below it.
fn area(frame: Frame, timeline: &Timeline, values: &[Option<f64>], below: &mut [f64], scale: f64) -> String {
    let mut path = String::new();
    let mut from = 0;
    let y = |value: f64| frame.low() - value * scale;
    for n in 0..timeline.intervals.len() {
        let is_last = n + 1 == timeline.intervals.len();
        if !is_last && timeline.intervals[n].gaps == 0 {
            continue;
        }
        let part = from..n + 1;
        from = n + 1;
        let edges = |n: usize| {
            let interval = &timeline.intervals[n];
            (frame.x(interval.from), frame.x(interval.from + interval.instructions))
        };
        // Writing to a string cannot fail.
        let _ = write!(path, "M{:.1} {:.1}", edges(part.start).0, y(below[part.start]));
        for n in part.clone() {
            let upper = below[n] + values[n].unwrap_or(0.0);
            let _ = write!(path, "V{:.1}H{:.1}", y(upper), edges(n).1);
        }
        for n in part.rev() {
            let _ = write!(path, "V{:.1}H{:.1}", y(below[n]), edges(n).0);
            below[n] += values[n].unwrap_or(0.0);
        }
        path.push('Z');
    }
    path
}
