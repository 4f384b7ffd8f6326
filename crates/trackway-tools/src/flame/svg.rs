//! The picture.

use std::fmt::Write;

use super::frames::Frames;
use crate::markup::escape;

/// Pixels of the picture's width.
const WIDTH: f64 = 1200.0;
/// Pixels of a frame's height.
const HEIGHT: usize = 17;
/// Pixels beside and above the frames.
const MARGIN: usize = 10;
const TOP: usize = 48;
/// Frames narrower than this cannot be seen; they are counted, not drawn.
const NARROWEST: f64 = 0.2;
/// Pixels of a letter.
const LETTER: f64 = 6.6;

/// A frame to draw.
struct Drawn<'a> {
    label: &'a str,
    frame: &'a Frames,
    level: usize,
    /// Instructions to the left of it.
    from: u64,
}

/// The picture as SVG. `title` and all labels are taken as text.
pub fn svg(frames: &Frames, title: &str) -> String {
    let (drawn, narrow) = layout(frames);
    let levels = drawn.iter().map(|drawn| drawn.level + 1).max().unwrap_or(1);
    let height = TOP + levels * HEIGHT + 2 * MARGIN + HEIGHT;
    let width = WIDTH as usize + 2 * MARGIN;
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" class="flame" role="group">
<title>{title}</title>
<style>{STYLE}</style>
<rect class="paper" width="100%" height="100%"/>
<text class="title" x="{middle}" y="22" text-anchor="middle">{title}</text>
<text class="hint" x="{MARGIN}" y="40" id="flame-hint">{total} instructions{left_out}; click a frame to zoom, / to search, Esc to reset, arrows and Enter to go</text>
<text class="hint" x="{right}" y="40" text-anchor="end" id="flame-found"></text>
<text class="hint" x="{MARGIN}" y="{bottom}" id="flame-details"></text>
<g>
"#,
        title = escape(title),
        middle = width / 2,
        total = frames.total,
        left_out = if narrow > 0 { format!(", {narrow} frames too narrow to draw") } else { String::new() },
        right = width - MARGIN,
        bottom = height - MARGIN,
    );
    let scale = WIDTH / frames.total.max(1) as f64;
    for Drawn { label, frame, level, from } in &drawn {
        let (x, w) = (MARGIN as f64 + *from as f64 * scale, frame.total as f64 * scale);
        let y = TOP + (levels - 1 - level) * HEIGHT;
        let letters = ((w - 6.0) / LETTER) as usize;
        let text = if letters < 3 { String::new() } else { shortened(label, letters) };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            r#"<g class="f" tabindex="{tab}" data-x="{from}" data-w="{total}" data-l="{level}"><title>{tip}</title><rect x="{x:.1}" y="{y}" width="{w:.1}" height="{h}" rx="1" fill="{fill}"/><text x="{tx:.1}" y="{ty}">{text}</text></g>"#,
            tab = if *level == 0 { 0 } else { -1 },
            total = frame.total,
            tip = escape(&tip(label, frame, frames)),
            h = HEIGHT - 1,
            fill = colour(label, frame, frames),
            tx = x + 3.0,
            ty = y + 12,
            text = escape(&text),
        );
    }
    let _ = write!(
        out,
        "</g>\n<script><![CDATA[\n{{\nconst WIDTH = {WIDTH}, MARGIN = {MARGIN}, LETTER = {LETTER}, TOTAL = {};\n{SCRIPT}}}\n]]></script>\n</svg>\n",
        frames.total.max(1)
    );
    out
}

/// The frames that can be seen, from the bottom up, and how many cannot.
fn layout(frames: &Frames) -> (Vec<Drawn<'_>>, u64) {
    let smallest = (NARROWEST * frames.total as f64 / WIDTH) as u64;
    let (mut drawn, mut narrow) = (Vec::new(), 0);
    let mut waiting = vec![Drawn { label: "all", frame: frames, level: 0, from: 0 }];
    while let Some(next) = waiting.pop() {
        let mut from = next.from;
        for (label, frame) in &next.frame.above {
            if frame.total > smallest {
                waiting.push(Drawn { label, frame, level: next.level + 1, from });
            } else {
                narrow += u64::from(frame.total > 0);
            }
            from += frame.total;
        }
        drawn.push(next);
    }
    (drawn, narrow)
}

/// The text of a frame that is pointed at.
fn tip(label: &str, frame: &Frames, all: &Frames) -> String {
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let mut tip = format!(
        "{label}: {} instructions, {:.2} %; {} in itself",
        frame.total,
        share(frame.total, all.total),
        frame.own
    );
    if let (Some(before), Some(all_before)) = (frame.before, all.before) {
        let _ = write!(tip, "; {before} before, {:.2} %", share(before, all_before));
    }
    if frame.guesses > 0 {
        let _ = write!(tip, "; reached {} times by a guess", frame.guesses);
    }
    tip
}

/// Warm colours by label; in a comparison red for a larger share than before, blue for a smaller one.
fn colour(label: &str, frame: &Frames, all: &Frames) -> String {
    if let (Some(before), Some(all_before)) = (frame.before, all.before) {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let change = share(frame.total, all.total) - share(before, all_before);
        let pale = 235.0 - (change.abs() * 8.0).min(1.0) * 150.0;
        return match change {
            _ if change.abs() < 1e-4 => "rgb(235,235,235)".into(),
            _ if change > 0.0 => format!("rgb(245,{pale:.0},{pale:.0})"),
            _ => format!("rgb({pale:.0},{pale:.0},245)"),
        };
    }
    let hash =
        label.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("hsl({},{}%,{}%)", 8 + hash % 44, 62 + hash / 44 % 24, 58 + hash / 1056 % 14)
}

fn shortened(label: &str, letters: usize) -> String {
    if label.chars().count() <= letters {
        return label.to_string();
    }
    label.chars().take(letters.saturating_sub(2)).chain("..".chars()).collect()
}

const STYLE: &str = "\
.flame .paper{fill:#fff}.flame text{font:11px ui-monospace,monospace;fill:#111}\
.flame .title{font:600 16px system-ui,sans-serif}.flame .hint{font:12px system-ui,sans-serif;fill:#555}\
.flame .f{cursor:pointer;outline:none}.flame .f text{pointer-events:none}\
.flame .f:hover rect{stroke:#000}.flame .f:focus-visible rect{stroke:#1d4ed8;stroke-width:2.5}\
.flame .f.hit rect{fill:#c4b5fd}.flame .f.gone{display:none}.flame .f.under rect{opacity:.55}\
@media (prefers-color-scheme:dark){.flame .paper{fill:#181818}.flame .title,.flame .hint{fill:#ddd}\
.flame .f:hover rect{stroke:#fff}.flame .f:focus-visible rect{stroke:#fff}}";

const SCRIPT: &str = r#"
const root = document.currentScript.closest('svg');
const all = [...root.querySelectorAll('.f')];
const of = f => ({ x: +f.dataset.x, w: +f.dataset.w, l: +f.dataset.l });
const text = f => f.querySelector('title').textContent;
const name = f => text(f).split(': ').slice(0, -1).join(': ');
const byId = id => root.querySelector('#flame-' + id);
function zoom(to) {
  const z = of(to), scale = WIDTH / z.w;
  for (const f of all) {
    const { x, w, l } = of(f), rect = f.querySelector('rect'), label = f.querySelector('text');
    const under = l < z.l && x <= z.x && x + w >= z.x + z.w;
    const over = l >= z.l && x >= z.x && x + w <= z.x + z.w;
    f.classList.toggle('gone', !under && !over);
    f.classList.toggle('under', under);
    const from = MARGIN + (under ? 0 : (x - z.x) * scale), wide = under ? WIDTH : w * scale;
    rect.setAttribute('x', from);
    rect.setAttribute('width', wide);
    label.setAttribute('x', from + 3);
    const letters = Math.floor((wide - 6) / LETTER), whole = name(f);
    label.textContent = letters < 3 ? '' : whole.length <= letters ? whole : whole.slice(0, letters - 2) + '..';
  }
}
function search(word) {
  let sum = 0, end = -1;
  const hits = all.filter(f => {
    const hit = word !== '' && name(f).toLowerCase().includes(word.toLowerCase());
    f.classList.toggle('hit', hit);
    return hit;
  });
  for (const { x, w } of hits.map(of).sort((a, b) => a.x - b.x || b.w - a.w)) {
    if (x >= end) { sum += w; end = x + w; }
  }
  byId('found').textContent = word === '' ? '' : hits.length + ' frames, ' + (100 * sum / TOTAL).toFixed(2) + ' %';
}
function go(to) { if (to) { to.focus(); byId('details').textContent = text(to); } }
function near(f, key) {
  const { x, w, l } = of(f), seen = all.filter(g => !g.classList.contains('gone'));
  const at = level => seen.filter(g => of(g).l === level).sort((a, b) => of(a).x - of(b).x);
  if (key === 'ArrowUp') return at(l + 1).find(g => of(g).x >= x && of(g).x < x + w);
  if (key === 'ArrowDown') return at(l - 1).find(g => of(g).x <= x && of(g).x + of(g).w >= x + w);
  const row = at(l);
  return row[row.indexOf(f) + (key === 'ArrowRight' ? 1 : -1)];
}
for (const f of all) {
  f.addEventListener('click', () => { zoom(f); go(f); });
  f.addEventListener('mouseover', () => { byId('details').textContent = text(f); });
}
// Inside of a page only keys for the picture count.
(document.documentElement === root ? document : root).addEventListener('keydown', event => {
  const f = document.activeElement && document.activeElement.closest ? document.activeElement.closest('.f') : null;
  if (event.key === '/') { event.preventDefault(); search(prompt('Search for a name') || ''); }
  else if (event.key === 'Escape') { zoom(all[0]); search(''); }
  else if (event.key === 'Enter' && f) zoom(f);
  else if (event.key.startsWith('Arrow')) { event.preventDefault(); go(f ? near(f, event.key) : all[0]); }
});
"#;
