// The timeline: from the whole run to single instructions.

import { type Timeline as Answer, exported, type Status } from "./api";
import { fromAxis, has, setClock, toAxis } from "./clock";
import { el, fit, group, plural, short } from "./dom";
import { colour, fill } from "./theme";
import { type Axis, show, view } from "./view";
import { after, type Row, type Track, type Window, Windows } from "./windows";

const GUTTER = 116;
const MAP = 30;
const RULER = 22;
const TRACK = 18;
const ROW = 18;
const NAMED = 34;

type Box = { x: number; y: number; w: number; h: number; title: () => string; n: number; end: number };
type Mark = { n: number; kind: string };

export class TimelineView {
  readonly element: HTMLElement;
  private canvas = document.createElement("canvas");
  private tip = el("div", { class: "tip", hidden: true });
  private windows = new Windows(() => this.draw());
  /** The window that is drawn, and where its functions are. */
  private now: Window | null = null;
  private placed: { y: number; track: Track }[] = [];
  private boxes: Box[] = [];
  private overview: { canvas: HTMLCanvasElement; key: string } | null = null;
  private total = 0;
  private scroll = 0;
  private height = 0;
  private drag: { x: number; from: number; to: number; mode: "select" | "pan" | "map" } | null = null;
  private frame = 0;
  /** The axis at the left end, and pixels for each unit of it. */
  private origin = 0;
  private scale = 1;
  private end = 0;
  private status: Status | null = null;
  /** Differences to another trace, in this trace's numbers. */
  marks: Mark[] = [];
  /** How long drawing and reading answers took, for those who measure. */
  readonly times: number[] = [];
  readonly reads = this.windows.times;

  constructor() {
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "timeline");
    this.element = el("div", { class: "timeline" }, this.canvas, this.tip);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.up(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("dblclick", (event) => this.double(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Another trace. */
  async open(status: Status, from: number, to: number): Promise<void> {
    this.status = status;
    this.total = Math.max(status.instructions, 1);
    this.now = null;
    this.marks = [];
    this.scroll = 0;
    this.window(from, to);
    await this.windows.open(view.lane, this.first, this.total);
    if (this.windows.whole) setClock(this.windows.whole.answer.clock);
    if (!has(view.axis)) show({ axis: "instructions" });
    this.update();
  }

  get first(): number {
    return exported ? exported.from : 0;
  }

  axes(): Axis[] {
    return (["instructions", "cycles", "time"] as Axis[]).filter(has);
  }

  /** The window changed: draws what is known, and asks for what is not. */
  update(): void {
    this.windows.want(view.from, view.to, this.width());
    this.paintNow();
  }

  private width(): number {
    return Math.max(100, this.element.clientWidth - GUTTER);
  }

  private x(n: number): number {
    return GUTTER + (toAxis(n) - this.origin) * this.scale;
  }

  private at(x: number): number {
    const [from, to] = [toAxis(view.from), toAxis(view.to)];
    return fromAxis(from + ((x - GUTTER) / this.width()) * (to - from));
  }

  /** Zooms around a place of the window. */
  zoom(factor: number, around?: number): void {
    const middle = around ?? (view.at >= view.from && view.at <= view.to ? view.at : (view.from + view.to) / 2);
    const [from, to, at] = [toAxis(view.from), toAxis(view.to), toAxis(middle)];
    this.window(fromAxis(at - (at - from) * factor), fromAxis(at + (to - at) * factor));
  }

  /** Moves by a part of the window. */
  pan(part: number): void {
    const [from, to] = [toAxis(view.from), toAxis(view.to)];
    const by = (to - from) * part;
    const [first, last] = [toAxis(this.first), toAxis(this.total)];
    const moved = Math.max(first - from, Math.min(last - to, by));
    this.window(fromAxis(from + moved), fromAxis(to + moved));
  }

  window(from: number, to: number): void {
    if (to - from < 8) {
      const middle = (from + to) / 2;
      [from, to] = [middle - 4, middle + 4];
    }
    from = Math.max(this.first, from);
    to = Math.min(Math.max(this.total, this.first + 8), to);
    if (to - from < 8) {
      if (from <= this.first) to = from + 8;
      else from = Math.max(this.first, to - 8);
    }
    show({ from, to });
  }

  /** Makes an instruction visible. */
  reveal(n: number): void {
    if (n >= view.from && n < view.to) return;
    const width = view.to - view.from;
    this.window(n - width / 2, n + width / 2);
  }

  /** Draws before the next frame. */
  draw(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paintNow());
  }

  private paintNow(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const begun = performance.now();
    this.paint();
    this.times.push(performance.now() - begun);
    if (this.times.length > 2000) this.times.splice(0, 1000);
  }

  private paint(): void {
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    if (width === 0 || height === 0) return;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const g = fit(this.canvas, width, height);
    this.boxes = [];
    this.placed = [];
    const [from, to] = [toAxis(view.from), toAxis(view.to)];
    [this.origin, this.scale, this.end] = [from, this.width() / (to - from), GUTTER + this.width()];
    g.fillStyle = colour("panel");
    g.fillRect(0, 0, width, height);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.now = this.windows.best(view.from, view.to);
    const top = MAP + RULER;
    g.save();
    g.beginPath();
    g.rect(0, top, width, height - top);
    g.clip();
    let y = top - this.scroll;
    if (this.now) {
      const { answer, tracks } = this.now;
      y = this.contexts(g, answer, y);
      y = this.instants(g, "traps", answer, "trap", y);
      y = this.instants(g, "marks", answer, "mark", y);
      y = this.instants(g, "gaps", answer, "gap", y);
      y = this.differences(g, y);
      y = this.threads(g, answer, tracks, y);
    } else {
      g.fillStyle = colour("dim");
      g.fillText("reading the trace …", GUTTER + 8, y + 14);
    }
    this.height = y + this.scroll - top;
    this.cursor(g, height);
    g.restore();
    this.ruler(g, width);
    this.map(g, width);
    g.strokeStyle = colour("line");
    g.beginPath();
    g.moveTo(GUTTER - 0.5, MAP);
    g.lineTo(GUTTER - 0.5, height);
    g.stroke();
  }

  private label(g: CanvasRenderingContext2D, text: string, y: number, strong = false): void {
    g.fillStyle = colour("panel");
    g.fillRect(0, y, GUTTER, TRACK);
    g.fillStyle = colour(strong ? "text" : "dim");
    g.fillText(clip(g, text, GUTTER - 14), 8, y + TRACK / 2);
  }

  private rect(g: CanvasRenderingContext2D, box: Box, style: string): void {
    g.fillStyle = style;
    g.fillRect(box.x, box.y, box.w, box.h);
    this.boxes.push(box);
  }

  private visible(from: number, to: number): [number, number] | null {
    const [x, right] = [Math.max(GUTTER, this.x(from)), Math.min(this.end, this.x(to))];
    return right > GUTTER && x < this.end ? [x, Math.max(right, x + 0.6)] : null;
  }

  private contexts(g: CanvasRenderingContext2D, answer: Answer, y: number): number {
    const { contexts } = answer;
    if (!contexts.length || (contexts.length === 1 && contexts[0].name === "unknown")) return y;
    contexts.forEach(({ start, name }, n) => {
      const end = contexts[n + 1]?.start ?? this.total;
      const seen = this.visible(start, end);
      if (!seen) return;
      const [x, right] = seen;
      this.rect(g, { x, y: y + 2, w: right - x, h: TRACK - 4, title: () => `context: ${name}`, n: start, end }, fill(name, false));
      text(g, name, x, right, y + TRACK / 2, colour("text"));
    });
    this.label(g, "context", y);
    return y + TRACK;
  }

  private instants(g: CanvasRenderingContext2D, kind: string, answer: Answer, style: string, y: number): number {
    const [listed, counted] = [answer.instants.filter((one) => one.kind === kind), answer.stretches.filter((one) => one.kind === kind)];
    const counts = this.status?.counts as Record<string, unknown> | undefined;
    if (!listed.length && !counted.length && !counts?.[kind]) return y;
    const ink = colour(style);
    g.fillStyle = ink;
    g.beginPath();
    for (const { at, name } of listed) {
      const x = this.x(at);
      if (x < GUTTER || x > this.end) continue;
      this.boxes.push({ x: x - 3, y: y + 3, w: 6, h: TRACK - 6, title: () => `${name} before ${group(at)}`, n: at, end: at + 1 });
      if (style === "gap") g.rect(x - 1, y + 2, 2, TRACK - 4);
      else {
        g.moveTo(x, y + 3);
        g.lineTo(x + 4, y + TRACK - 4);
        g.lineTo(x - 4, y + TRACK - 4);
      }
    }
    g.fill();
    const most = counted.reduce((sum, one) => Math.max(sum, one.count), 1);
    for (const { start, end, count } of counted) {
      const seen = this.visible(start, end);
      if (!seen) continue;
      const high = 3 + (TRACK - 7) * Math.sqrt(count / most);
      const box = { x: seen[0], y: y + TRACK - 2 - high, w: seen[1] - seen[0], h: high, title: () => plural(count, style), n: start, end };
      this.rect(g, box, ink);
    }
    this.label(g, kind, y);
    return y + TRACK;
  }

  private differences(g: CanvasRenderingContext2D, y: number): number {
    if (!this.marks.length) return y;
    for (const mark of this.marks) {
      const x = this.x(mark.n);
      if (x < GUTTER || x > this.end) continue;
      const box = { x: x - 1.5, y: y + 2, w: 3, h: TRACK - 4, title: () => `${mark.kind} at ${group(mark.n)}`, n: mark.n, end: mark.n + 1 };
      this.rect(g, box, colour(mark.kind));
    }
    this.label(g, "differences", y);
    return y + TRACK;
  }

  private threads(g: CanvasRenderingContext2D, answer: Answer, tracks: Track[], y: number): number {
    const query = view.query.toLowerCase();
    const found = new Set<number>();
    if (query) answer.names.forEach((name, n) => name.text.toLowerCase().includes(query) && found.add(n));
    for (const track of tracks) {
      this.placed.push({ y, track });
      const batches: Batches = { fills: new Map(), handlers: [], found: [], texts: [] };
      track.rows.forEach((row, depth) => this.row(row, y + depth * ROW, answer, found, batches));
      paintBatches(g, batches);
      g.fillStyle = colour("panel");
      g.fillRect(0, y, GUTTER, track.rows.length * ROW);
      const one = answer.threads.length === 1;
      this.label(g, one && track.name === "thread" ? "functions" : track.name, y, true);
      y += track.rows.length * ROW + 4;
    }
    return y;
  }

  /** The functions of one depth that are in view, gathered by colour. */
  private row(row: Row, y: number, answer: Answer, found: Set<number>, out: Batches): void {
    const { start, end, name, bits } = row;
    for (let n = after(end, view.from); n < start.length && start[n] < view.to; ) {
      const [x, right] = [Math.max(GUTTER, this.x(start[n])), Math.min(this.end, this.x(end[n]))];
      const label = answer.names[name[n]].text;
      const wide = right - x;
      const box = [x, y + 1, Math.max(0.6, wide - (wide > 3 ? 1 : 0)), ROW - 2];
      const style = fill(label, (bits[n] & 1) === 1);
      const known = out.fills.get(style);
      if (known) known.push(...box);
      else out.fills.set(style, box);
      if (bits[n] & 2 && wide > 3) out.handlers.push(x, y + 1, 2, ROW - 2);
      if (found.has(name[n])) out.found.push(x + 1, y + 2, Math.max(1, box[2] - 2), ROW - 4);
      if (wide > NAMED) out.texts.push({ label, x, right, y: y + ROW / 2, ink: bits[n] & 1 ? "ink" : "dim" });
      // Of those that are narrower than a pixel one is drawn.
      n = wide < 1 ? Math.max(n + 1, after(end, this.at(Math.floor(x) + 1), n)) : n + 1;
    }
  }

  private cursor(g: CanvasRenderingContext2D, height: number): void {
    if (view.selected) {
      const seen = this.visible(view.selected[0], view.selected[1]);
      if (seen) {
        g.fillStyle = colour("select");
        g.fillRect(seen[0], MAP + RULER, seen[1] - seen[0], height);
      }
    }
    const seen = this.visible(view.at, view.at + 1);
    if (seen) {
      const wide = seen[1] - seen[0] > 4;
      g.fillStyle = colour("accent");
      if (wide) {
        g.globalAlpha = 0.14;
        g.fillRect(seen[0], MAP + RULER, seen[1] - seen[0], height);
        g.globalAlpha = 1;
      }
      g.fillRect(seen[0] - (wide ? 0 : 0.5), MAP + RULER, 1.5, height);
    }
  }

  private ruler(g: CanvasRenderingContext2D, width: number): void {
    g.fillStyle = colour("raised");
    g.fillRect(0, MAP, width, RULER);
    const [from, to] = [toAxis(view.from), toAxis(view.to)];
    const raw = (to - from) / Math.max(2, this.width() / 110);
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? power * 10;
    g.fillStyle = colour("dim");
    g.strokeStyle = colour("line");
    for (let value = Math.ceil(from / step) * step; value <= to; value += step) {
      const x = Math.round(GUTTER + ((value - from) / (to - from)) * this.width()) + 0.5;
      g.beginPath();
      g.moveTo(x, MAP + RULER - 6);
      g.lineTo(x, MAP + RULER);
      g.stroke();
      g.fillText(step < 1000 ? group(value) : short(value), x + 4, MAP + RULER / 2 - 1);
    }
    g.fillStyle = colour("raised");
    g.fillRect(0, MAP, GUTTER, RULER);
    g.fillStyle = colour("dim");
    g.fillText(view.axis === "time" ? "time, ticks" : view.axis, 8, MAP + RULER / 2);
  }

  /** The whole run, small: drawn once. */
  private strip(place: (n: number) => number, wide: number): HTMLCanvasElement | null {
    const { whole } = this.windows;
    if (!whole) return null;
    const key = [view.lane, this.total, whole.tracks.length, wide, view.axis, colour("ground"), devicePixelRatio].join();
    if (this.overview?.key === key) return this.overview.canvas;
    const canvas = document.createElement("canvas");
    const g = fit(canvas, wide + GUTTER, MAP);
    const rows = whole.tracks.flatMap((track) => track.rows.map((row, depth) => ({ row, depth })));
    const deepest = rows.reduce((most, one) => Math.max(most, one.depth), 3);
    const high = (MAP - 6) / (Math.min(deepest, 8) + 1);
    for (const { row, depth } of rows.filter((one) => one.depth <= 8)) {
      for (let n = 0; n < row.start.length; n++) {
        g.fillStyle = fill(whole.answer.names[row.name[n]].text, (row.bits[n] & 1) === 1);
        const x = place(row.start[n]);
        g.fillRect(x, 3 + depth * high, Math.max(0.5, place(row.end[n]) - x), Math.max(1, high - 0.5));
      }
    }
    g.fillStyle = colour("gap");
    for (const { kind, at } of whole.answer.instants) if (kind === "gaps") g.fillRect(place(at) - 0.5, 2, 1.5, MAP - 4);
    this.overview = { canvas, key };
    return canvas;
  }

  private map(g: CanvasRenderingContext2D, width: number): void {
    g.fillStyle = colour("ground");
    g.fillRect(0, 0, width, MAP);
    const wide = this.width();
    const [first, last] = [toAxis(this.first), toAxis(this.total)];
    const place = (n: number) => GUTTER + ((toAxis(n) - first) / (last - first)) * wide;
    const strip = this.strip(place, wide);
    if (strip) g.drawImage(strip, 0, 0, wide + GUTTER, MAP);
    const [from, to] = [place(view.from), place(view.to)];
    g.fillStyle = colour("veil");
    g.fillRect(GUTTER, 0, Math.max(0, from - GUTTER), MAP);
    g.fillRect(to, 0, Math.max(0, GUTTER + wide - to), MAP);
    g.strokeStyle = colour("accent");
    g.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), MAP - 1);
    g.fillStyle = colour("ground");
    g.fillRect(0, 0, GUTTER, MAP);
    g.fillStyle = colour("dim");
    g.fillText(plural(this.total - this.first, "instruction"), 8, MAP / 2, GUTTER - 12);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const room = this.element.clientHeight - MAP - RULER;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways || event.shiftKey) {
      this.pan((sideways ? event.deltaX : event.deltaY) / this.width());
    } else if (event.ctrlKey || event.metaKey || this.height <= room || event.offsetY < MAP + RULER) {
      this.zoom(Math.exp(event.deltaY * 0.002), this.at(event.offsetX));
    } else {
      this.scroll = Math.max(0, Math.min(this.height - room, this.scroll + event.deltaY));
      this.draw();
    }
  }

  private down(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    const mode = event.offsetY < MAP ? "map" : event.shiftKey || event.button === 1 ? "pan" : "select";
    this.drag = { x: event.offsetX, from: view.from, to: view.to, mode };
    if (mode === "map") this.mapTo(event.offsetX);
  }

  private mapTo(x: number): void {
    const [first, last] = [toAxis(this.first), toAxis(this.total)];
    const middle = first + ((x - GUTTER) / this.width()) * (last - first);
    const half = (toAxis(view.to) - toAxis(view.from)) / 2;
    const start = Math.max(first, Math.min(last - 2 * half, middle - half));
    this.window(fromAxis(start), fromAxis(start + 2 * half));
  }

  private move(event: PointerEvent): void {
    const drag = this.drag;
    if (!drag) return this.hover(event);
    if (drag.mode === "map") return this.mapTo(event.offsetX);
    if (Math.abs(event.offsetX - drag.x) < 4) return;
    if (drag.mode === "pan") {
      const [from, to] = [toAxis(drag.from), toAxis(drag.to)];
      const by = ((drag.x - event.offsetX) / this.width()) * (to - from);
      this.window(fromAxis(from + by), fromAxis(to + by));
      return;
    }
    const ends = [this.at(drag.x), this.at(event.offsetX)].sort((one, other) => one - other);
    const from = Math.max(this.first, Math.floor(ends[0]));
    const to = Math.min(this.total, Math.max(Math.ceil(ends[1]), from + 1));
    show({ selected: [from, to] });
  }

  private hit(event: MouseEvent): Box | undefined {
    const { offsetX: x, offsetY: y } = event;
    if (y < MAP + RULER || x < GUTTER) return undefined;
    const inside = (box: Box) => x >= box.x - 1 && x <= box.x + box.w + 1 && y >= box.y && y <= box.y + box.h;
    return this.boxes.findLast(inside) ?? this.slice(x, y);
  }

  /** The function that is drawn there. */
  private slice(x: number, y: number): Box | undefined {
    const { placed, now } = this;
    const of = placed.findLast((one) => one.y <= y);
    const row = of?.track.rows[Math.floor((y - of.y) / ROW)];
    if (!of || !row || !now) return undefined;
    // Half a pixel to the left: narrow ones are drawn wider than they are.
    const n = after(row.end, this.at(x - 0.5));
    const [start, end, bits] = [row.start[n], row.end[n], row.bits[n]];
    if (n >= row.start.length || this.x(start) > x + 1) return undefined;
    const title = () =>
      `${now.answer.names[row.name[n]].text}${bits & 2 ? " (trap handler)" : ""}\n${plural(end - start, "instruction")}${bits & 1 ? "" : ", most of these"}`;
    const left = this.x(start);
    return { x: left, y: of.y, w: this.x(end) - left, h: ROW, title, n: start, end };
  }

  private up(event: PointerEvent): void {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.mode !== "select" || Math.abs(event.offsetX - drag.x) >= 4) return;
    const box = this.hit(event);
    const n = Math.max(this.first, Math.min(this.total - 1, Math.floor(this.at(event.offsetX))));
    const near = box && box.w < 12 ? Math.min(box.n, this.total - 1) : n;
    show({ at: near, selected: null });
  }

  private double(event: MouseEvent): void {
    const box = this.hit(event);
    if (!box || box.end <= box.n) return;
    const room = Math.max(2, (box.end - box.n) * 0.04);
    this.window(box.n - room, box.end + room);
    show({ selected: [box.n, Math.min(box.end, this.total)] });
  }

  private hover(event: PointerEvent): void {
    const box = this.hit(event);
    this.tip.hidden = !box;
    if (!box) return;
    this.tip.textContent = box.title();
    const right = Math.min(event.offsetX + 14, this.element.clientWidth - 260);
    this.tip.style.left = `${right}px`;
    this.tip.style.top = `${Math.min(event.offsetY + 14, this.element.clientHeight - 40)}px`;
  }

  /** Zooms to the selected range, or to the whole run. */
  fit(): void {
    if (view.selected) {
      this.window(view.selected[0], view.selected[1]);
    } else this.window(this.first, this.total);
  }
}

/** Shapes of a thread: rectangles by colour, four numbers each, and names. */
type Batches = {
  fills: Map<string, number[]>;
  handlers: number[];
  found: number[];
  texts: { label: string; x: number; right: number; y: number; ink: string }[];
};

function paintBatches(g: CanvasRenderingContext2D, { fills, handlers, found, texts }: Batches): void {
  fills.set(colour("trap"), handlers);
  for (const [style, boxes] of fills) {
    g.fillStyle = style;
    for (let n = 0; n < boxes.length; n += 4) g.fillRect(boxes[n], boxes[n + 1], boxes[n + 2], boxes[n + 3]);
  }
  g.strokeStyle = colour("found");
  g.lineWidth = 2;
  for (let n = 0; n < found.length; n += 4) g.strokeRect(found[n], found[n + 1], found[n + 2], found[n + 3]);
  g.lineWidth = 1;
  for (const { label, x, right, y, ink } of texts) text(g, label, x, right, y, colour(ink));
}

/** The widths of the beginnings of a text: measuring takes longer than drawing. */
const widths = new Map<string, number[]>();

function clip(g: CanvasRenderingContext2D, text: string, width: number): string {
  let known = widths.get(text);
  if (!known) {
    known = Array.from(text.slice(0, 200), (_, n) => g.measureText(text.slice(0, n + 1)).width);
    widths.set(text, known);
  }
  const last = known[known.length - 1] ?? 0;
  if (last <= width && text.length <= 200) return text;
  const fits = known.findLastIndex((one) => one + 11 <= width);
  return fits >= 0 ? `${text.slice(0, fits + 1)}…` : "";
}

function text(g: CanvasRenderingContext2D, label: string, x: number, right: number, y: number, style: string): void {
  const room = right - x - 8;
  if (room < 16) return;
  g.fillStyle = style;
  g.fillText(clip(g, label, room), x + 4, y);
}
