//! The picture under construction: frames, axes, text.

use std::fmt::Write;

use super::Subject;
use super::scale::{number, ticks};
use crate::markup::escape;
use crate::series::Timeline;

/// Pixels of the picture's width, and of the plots in it.
pub(super) const WIDTH: f64 = 1004.0;
pub(super) const LEFT: f64 = 120.0;
pub(super) const PLOT: f64 = 690.0;

/// A picture that grows downwards.
pub(super) struct Canvas {
    title: String,
    is_titled: bool,
    body: String,
    /// How far it is full.
    pub(super) bottom: f64,
}

/// Where a plot is.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) top: f64,
    pub(super) height: f64,
    /// First instruction, and how many.
    from: f64,
    span: f64,
}

impl Frame {
    /// The place of an instruction.
    pub(super) fn x(&self, instruction: u64) -> f64 {
        LEFT + (instruction as f64 - self.from) / self.span * PLOT
    }

    pub(super) fn low(&self) -> f64 {
        self.top + self.height
    }
}

impl Canvas {
    /// An empty one; `subject` follows the title, which is shown only then.
    pub(super) fn new(heading: &str, subject: Option<&str>) -> Self {
        let title = subject.map_or(heading.to_string(), |subject| format!("{heading}: {subject}"));
        let is_titled = subject.is_some();
        Canvas { title, is_titled, body: String::new(), bottom: if is_titled { 36.0 } else { 0.0 } }
    }

    /// Raw markup; names in it are escaped by the caller.
    pub(super) fn put(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(markup);
        self.body.push('\n');
    }

    /// Text that starts at, ends at or is around a place.
    pub(super) fn text(&mut self, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
        self.put(format_args!(
            r#"<text class="{class}" text-anchor="{anchor}" x="{x:.1}" y="{y:.1}">{}</text>"#,
            escape(text)
        ));
    }

    /// A plot of that height with a heading, the axis of instructions and the gaps.
    pub(super) fn frame(&mut self, heading: &str, subject: &Subject<'_>, height: f64) -> Frame {
        let timeline = subject.timeline;
        let heading = match subject.source {
            Some(source) => format!("{source}: {heading}"),
            None => heading.to_string(),
        };
        self.text("heading", "start", (LEFT, self.bottom + 18.0), &shortened(&heading, 110));
        let top = self.bottom + 28.0;
        let (from, span) = (timeline.start() as f64, timeline.instructions().max(1) as f64);
        let frame = Frame { top, height, from, span };
        let first = from + subject.first as f64;
        for tick in ticks(first, first + span, 8, 1.0) {
            let x = LEFT + (tick - first) / span * PLOT;
            self.put(format_args!(r#"<path class="grid" d="M{x:.1} {top:.1}V{:.1}"/>"#, frame.low()));
            self.text("tick", "middle", (x, frame.low() + 15.0), &number(tick));
        }
        let interval = format!("instructions, {} per interval", timeline.width);
        self.text("tick", "middle", (LEFT + PLOT / 2.0, frame.low() + 31.0), &interval);
        self.bottom = frame.low() + 42.0;
        frame
    }

    /// The border of a plot and the gaps in it, over its contents.
    pub(super) fn close(&mut self, frame: Frame, timeline: &Timeline) {
        let Frame { top, height, .. } = frame;
        self.put(format_args!(
            r#"<rect class="border" x="{LEFT}" y="{top:.1}" width="{PLOT}" height="{height:.1}"/>"#
        ));
        let broken = || timeline.intervals.iter().filter(|interval| interval.gaps > 0);
        let gaps: u64 = broken().map(|interval| interval.gaps).sum();
        if gaps == 0 {
            return;
        }
        // Where gaps are everywhere, lines would hide all else.
        let long = if broken().count() > 40 { 8.0 } else { height };
        let mut path = String::new();
        for interval in broken() {
            // Writing to a string cannot fail.
            let _ = write!(path, "M{:.1} {top:.1}v{long:.1}", frame.x(interval.from + interval.instructions));
        }
        self.put(format_args!(r#"<path class="gap" d="{path}"><title>{gaps} gaps</title></path>"#));
        let text = if gaps == 1 { "1 gap (dashed)".into() } else { format!("{gaps} gaps (dashed)") };
        self.text("gaps", "end", (LEFT + PLOT, frame.low() + 31.0), &text);
    }

    /// Round numbers beside a plot whose upper edge is `highest`, at least `least` apart.
    pub(super) fn rows(&mut self, frame: Frame, highest: f64, least: f64) {
        for tick in ticks(0.0, highest, 5, least) {
            let y = frame.low() - tick / highest * frame.height;
            self.put(format_args!(r#"<path class="grid" d="M{LEFT} {y:.1}h{PLOT}"/>"#));
            self.text("tick", "end", (LEFT - 7.0, y + 4.0), &number(tick));
        }
    }

    /// An entry of the legend: its row, its colour and its name.
    pub(super) fn legend(&mut self, frame: Frame, row: usize, class: &str, name: &str) {
        let (x, y) = (LEFT + PLOT + 14.0, frame.top + 2.0 + 19.0 * row as f64);
        self.put(format_args!(r#"<rect class="{class}" x="{x}" y="{y:.1}" width="13" height="13"/>"#));
        self.text("label", "start", (x + 20.0, y + 11.0), &shortened(name, 24));
    }

    pub(super) fn finish(self) -> String {
        let (title, height) = (escape(&self.title), self.bottom + 8.0);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" role="img">
<title>{title}</title>
<style>{STYLE}</style>
<rect class="paper" width="100%" height="100%"/>
{shown}{body}</svg>
"#,
            shown = match self.is_titled {
                true => format!(
                    "<text class=\"title\" x=\"{LEFT}\" y=\"26\">{}</text>\n",
                    escape(&shortened(&self.title, 90))
                ),
                false => String::new(),
            },
            body = self.body,
        )
    }
}

/// The text with at most that many letters.
pub(super) fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_string();
    }
    text.chars().take(letters.saturating_sub(1)).chain("…".chars()).collect()
}

/// Colours of curves and areas.
pub(super) const COLOURS: usize = 10;

const STYLE: &str = "\
.plot{--ink:#1b1b1b;--soft:#5a5a5a;--line:#dcdcdc;--paper:#fff;--hot:#8a2be2}\
@media (prefers-color-scheme:dark){.plot{--ink:#ececec;--soft:#b4b4b4;--line:#3c3c3c;--paper:#181818;--hot:#d9a8ff}}\
.plot text{font:12px system-ui,sans-serif;fill:var(--ink)}.plot .title{font-size:16px;font-weight:600}\
.plot .heading{font-size:13px;font-weight:600}.plot .tick,.plot .gaps{fill:var(--soft)}.plot .tick{font-size:11px}\
.plot .mono{font:11px ui-monospace,monospace}.plot .paper{fill:var(--paper)}.plot .grid{stroke:var(--line);fill:none}\
.plot .border{stroke:var(--soft);fill:none}.plot .gap{stroke:#d62728;stroke-dasharray:4 3;fill:none}\
.plot .break{stroke:var(--soft);stroke-dasharray:1 3;fill:none}.plot .cells path{fill:var(--hot)}\
.plot .cells{shape-rendering:crispEdges}\
.plot .curve{fill:none;stroke-width:1.6;stroke-linejoin:round}\
.c0{fill:#3b7dd8;stroke:#3b7dd8}.c1{fill:#e8803a;stroke:#e8803a}.c2{fill:#3aa657;stroke:#3aa657}\
.c3{fill:#d65a76;stroke:#d65a76}.c4{fill:#9673c9;stroke:#9673c9}.c5{fill:#c9ac2e;stroke:#c9ac2e}\
.c6{fill:#35aab8;stroke:#35aab8}.c7{fill:#b07a55;stroke:#b07a55}.c8{fill:#8fbf3f;stroke:#8fbf3f}\
.c9{fill:#989898;stroke:#989898}.plot .area,.plot rect{stroke:none}.plot .border{stroke:var(--soft)}";
