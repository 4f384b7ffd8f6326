//! Addresses over time: the stronger the colour, the more often. Addresses that nothing touched are left out.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Subject;
use super::canvas::{Canvas, LEFT, PLOT, shortened};
use crate::series::Density;

/// Rows at most, breaks between regions included.
const ROWS: usize = 128;
/// Untouched rows that are drawn between touched ones; longer stretches become a break.
const HOLE: u64 = 2;
/// Shades.
const SHADES: usize = 6;

/// Buckets that follow each other, and those between them.
#[derive(Debug)]
struct Region {
    from: u64,
    to: u64,
}

/// Draws it; false if nothing was touched.
pub(super) fn draw(canvas: &mut Canvas, subject: &Subject<'_>, density: &Density, unit: &str) -> bool {
    if density.is_empty() {
        return false;
    }
    let timeline = subject.timeline;
    let mut density = density.clone();
    let mut regions = regions(&density);
    // A break after each region takes a row.
    let rows = |regions: &[Region]| regions.iter().map(|region| region.to - region.from + 2).sum::<u64>();
    while rows(&regions) > ROWS as u64 && density.shift < 63 {
        density.coarsen();
        regions = self::regions(&density);
    }
    let rows = rows(&regions).saturating_sub(1).max(1);
    let row_height = (340.0 / rows as f64).clamp(2.6, 14.0);
    let bytes = 1u64 << density.shift;
    let heading = format!("Addresses, {bytes} bytes a row; the stronger the colour, the more {unit}");
    let frame = canvas.frame(&heading, subject, row_height * rows as f64);
    let place = Places { regions: &regions, low: frame.low(), row_height };
    let cells = cells(&density);
    let most = cells.values().copied().max().unwrap_or(1).max(1);
    let edge = |column: usize| {
        let interval = timeline.intervals.get(column);
        interval.map_or(LEFT + PLOT, |interval| frame.x(interval.from))
    };
    let mut paths = vec![String::new(); SHADES];
    let mut cells =
        cells.into_iter().map(|((row, column), count)| (row, column, shade(count, most))).peekable();
    while let Some((bucket, column, shade)) = cells.next() {
        let mut end = column + 1;
        while cells.next_if(|next| *next == (bucket, end, shade)).is_some() {
            end += 1;
        }
        let (x, y) = (edge(column), place.top(bucket));
        let wide = (edge(end) - x).max(1.0);
        // Writing to a string cannot fail.
        let _ = write!(paths[shade], "M{x:.1} {y:.1}h{wide:.1}v{row_height:.1}h-{wide:.1}z");
    }
    canvas.put(format_args!(r#"<g class="cells">"#));
    for (n, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let opacity = 0.18 + 0.82 * n as f64 / (SHADES - 1) as f64;
        canvas.put(format_args!(r#"<path fill-opacity="{opacity:.2}" d="{path}"/>"#));
    }
    canvas.put(format_args!("</g>"));
    labels(canvas, subject, &place, &density);
    canvas.close(frame, timeline);
    true
}

/// Addresses on the left, names on the right, a line at each break.
fn labels(canvas: &mut Canvas, subject: &Subject<'_>, place: &Places<'_>, density: &Density) {
    let shift = density.shift;
    let mut free = f64::MAX;
    let mut free_right = f64::MAX;
    for (n, region) in place.regions.iter().enumerate() {
        let bottom = place.top(region.from) + place.row_height;
        if n > 0 {
            let y = bottom + place.row_height / 2.0;
            canvas.put(format_args!(r#"<path class="break" d="M{LEFT} {y:.1}h{PLOT}"/>"#));
        }
        let mut named: Option<String> = None;
        for bucket in region.from..=region.to {
            let y = place.top(bucket) + place.row_height;
            let is_first = bucket == region.from;
            if y <= free - if is_first { 11.0 } else { 40.0 } {
                canvas.text("tick mono", "end", (LEFT - 6.0, y), &format!("{:x}", bucket << shift));
                free = y;
            }
            let Some(address) = density.touched.get(&bucket) else { continue };
            let name = (subject.place)(*address);
            let name = name.map(|name| name.split("+0x").next().unwrap_or_default().to_string());
            if name != named && y <= free_right - 11.0 {
                if let Some(name) = &name {
                    canvas.text("mono", "start", (LEFT + PLOT + 8.0, y), &shortened(name, 26));
                    free_right = y;
                }
                named = name;
            }
        }
    }
}

/// Where rows are: low addresses at the bottom, a row of its own for each break.
struct Places<'a> {
    regions: &'a [Region],
    low: f64,
    row_height: f64,
}

impl Places<'_> {
    /// The upper edge of a bucket.
    fn top(&self, bucket: u64) -> f64 {
        let mut row = 0;
        for region in self.regions {
            if bucket <= region.to {
                row += bucket.saturating_sub(region.from) + 1;
                break;
            }
            row += region.to - region.from + 2;
        }
        self.low - row as f64 * self.row_height
    }
}

fn regions(density: &Density) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for &bucket in density.touched.keys() {
        match regions.last_mut() {
            Some(last) if bucket - last.to <= HOLE + 1 => last.to = bucket,
            _ => regions.push(Region { from: bucket, to: bucket }),
        }
    }
    regions
}

/// Counts by row and column.
fn cells(density: &Density) -> BTreeMap<(u64, usize), u64> {
    let mut cells = BTreeMap::new();
    for (n, column) in density.columns.iter().enumerate() {
        for (bucket, count) in column {
            *cells.entry((*bucket, n)).or_default() += count;
        }
    }
    cells
}

/// By the number of digits: counts differ by powers.
fn shade(count: u64, most: u64) -> usize {
    if most <= 1 {
        return SHADES - 1;
    }
    ((count as f64).ln() / (most as f64).ln() * (SHADES - 1) as f64).round() as usize
}
