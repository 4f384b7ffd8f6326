// The timeline: from the whole run to single instructions.

import { type Instants, type Timeline as Answer, ask, exported, type Status } from "./api";
import { fromAxis, has, setClock, toAxis } from "./clock";
import { el, fit, group, plural, short } from "./dom";
import { colour, fill } from "./theme";
import { type Axis, show, view } from "./view";

const GUTTER = 116;
const MAP = 30;
const RULER = 22;
const TRACK = 18;
const ROW = 18;
const NAMED = 34;
/** Instructions of the widest window that the server reads call by call. */
const EXACT = 1 << 18;

type Box = { x: number; y: number; w: number; h: number; title: string; n: number; end: number; code?: string };
type Mark = { n: number; kind: string };

export class TimelineView {
  readonly element: HTMLElement;
  private canvas = document.createElement("canvas");
  private tip = el("div", { class: "tip", hidden: true });
  private whole: Answer | null = null;
  private now: Answer | null = null;
  private covered: [number, number] = [0, 0];
  private asking = false;
  private again = false;
  private boxes: Box[] = [];
  private total = 0;
  private scroll = 0;
  private height = 0;
  private drag: { x: number; from: number; to: number; mode: "select" | "pan" | "map" } | null = null;
  private frame = 0;
  private status: Status | null = null;
  /** Differences to another trace, in this trace's numbers. */
  marks: Mark[] = [];
  /** How long drawing took, for those who measure. */
  readonly times: number[] = [];

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
    this.covered = [0, 0];
    this.marks = [];
    this.scroll = 0;
    this.window(from, to);
    try {
      this.whole = await ask<Answer>("timeline", { l: view.lane, from: this.first, to: this.total, columns: 1200 });
      if (this.whole.busy) this.whole = null;
    } catch {
      this.whole = null;
    }
    if (this.whole) setClock(this.whole.events.clock);
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
    this.draw();
    void this.load();
  }

  private async load(): Promise<void> {
    if (this.total === 0 || view.to <= view.from) return;
    const width = view.to - view.from;
    const has = this.covered[1] - this.covered[0];
    const within = view.from >= this.covered[0] && view.to <= this.covered[1];
    const sharp = this.now?.exact || width * 4 > has;
    if (this.now && within && sharp) return;
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    const room = width * 2 <= EXACT || width > EXACT ? width / 2 : Math.max(0, (EXACT - width) / 2);
    const from = Math.max(this.first, Math.floor(view.from - room));
    const to = Math.min(this.total, Math.ceil(view.to + room));
    const lane = view.lane;
    try {
      if (to > from) {
        const answer = await ask<Answer>("timeline", { l: lane, from, to, columns: Math.min(4000, 2 * this.width()) });
        if (lane === view.lane && !answer.busy) {
          this.now = answer;
          this.covered = exported ? [exported.from, exported.to] : [from, to];
          this.draw();
        }
      }
    } catch {
      // The window stays as it was; the list says what is wrong.
    } finally {
      this.asking = false;
      if (this.again) {
        this.again = false;
        void this.load();
      }
    }
  }

  private width(): number {
    return Math.max(100, this.element.clientWidth - GUTTER);
  }

  private x(n: number): number {
    const [from, to] = [toAxis(view.from), toAxis(view.to)];
    return GUTTER + ((toAxis(n) - from) / (to - from)) * this.width();
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

  draw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const begun = performance.now();
      this.paint();
      this.times.push(performance.now() - begun);
      if (this.times.length > 2000) this.times.splice(0, 1000);
    });
  }

  private paint(): void {
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    if (width === 0 || height === 0) return;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const g = fit(this.canvas, width, height);
    this.boxes = [];
    g.fillStyle = colour("panel");
    g.fillRect(0, 0, width, height);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const answer = this.now ?? this.whole;
    const top = MAP + RULER;
    g.save();
    g.beginPath();
    g.rect(0, top, width, height - top);
    g.clip();
    let y = top - this.scroll;
    if (answer) {
      y = this.contexts(g, answer, y);
      const events = answer.events;
      y = this.instants(g, "traps", events.traps, events.names, "trap", y);
      y = this.instants(g, "marks", events.marks, events.names, "mark", y);
      y = this.instants(g, "gaps", events.gaps, events.names, "gap", y);
      y = this.differences(g, y);
      y = this.threads(g, answer, y);
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
    const end = GUTTER + this.width();
    const [x, right] = [Math.max(GUTTER, this.x(from)), Math.min(end, this.x(to))];
    return right > GUTTER && x < end ? [x, Math.max(right, x + 0.6)] : null;
  }

  private contexts(g: CanvasRenderingContext2D, answer: Answer, y: number): number {
    const { contexts, names } = answer.events;
    if (!contexts.length || (contexts.length === 1 && names[contexts[0][1]] === "unknown")) return y;
    contexts.forEach(([start, name], n) => {
      const end = contexts[n + 1]?.[0] ?? this.total;
      const seen = this.visible(start, end);
      if (!seen) return;
      const [x, right] = seen;
      const title = names[name];
      this.rect(g, { x, y: y + 2, w: right - x, h: TRACK - 4, title: `context: ${title}`, n: start, end }, fill(title, false));
      text(g, title, x, right, y + TRACK / 2, colour("text"));
    });
    this.label(g, "context", y);
    return y + TRACK;
  }

  private instants(
    g: CanvasRenderingContext2D,
    label: string,
    found: Instants,
    names: string[],
    style: string,
    y: number,
  ): number {
    const counts = this.status?.counts as Record<string, unknown> | undefined;
    if (!found.at?.length && !found.in?.length && !counts?.[label]) return y;
    const ink = colour(style);
    for (const [n, name] of found.at ?? []) {
      const x = this.x(n);
      if (x < GUTTER || x > GUTTER + this.width()) continue;
      const box = { x: x - 3, y: y + 3, w: 6, h: TRACK - 6, title: `${names[name]} before ${group(n)}`, n, end: n + 1 };
      this.boxes.push(box);
      g.fillStyle = ink;
      if (style === "gap") g.fillRect(x - 1, y + 2, 2, TRACK - 4);
      else {
        g.beginPath();
        g.moveTo(x, y + 3);
        g.lineTo(x + 4, y + TRACK - 4);
        g.lineTo(x - 4, y + TRACK - 4);
        g.fill();
      }
    }
    const most = Math.max(1, ...(found.in ?? []).map((one) => one[2]));
    for (const [start, end, count] of found.in ?? []) {
      const seen = this.visible(start, end);
      if (!seen) continue;
      const high = 3 + (TRACK - 7) * Math.sqrt(count / most);
      const box = { x: seen[0], y: y + TRACK - 2 - high, w: seen[1] - seen[0], h: high, title: plural(count, style), n: start, end };
      this.rect(g, box, ink);
    }
    this.label(g, label, y);
    return y + TRACK;
  }

  private differences(g: CanvasRenderingContext2D, y: number): number {
    if (!this.marks.length) return y;
    for (const mark of this.marks) {
      const x = this.x(mark.n);
      if (x < GUTTER || x > GUTTER + this.width()) continue;
      const box = { x: x - 1.5, y: y + 2, w: 3, h: TRACK - 4, title: `${mark.kind} at ${group(mark.n)}`, n: mark.n, end: mark.n + 1 };
      this.rect(g, box, colour(mark.kind));
    }
    this.label(g, "differences", y);
    return y + TRACK;
  }

  private threads(g: CanvasRenderingContext2D, answer: Answer, y: number): number {
    const deepest = new Map<number, number>();
    for (const [thread, depth] of answer.slices) deepest.set(thread, Math.max(deepest.get(thread) ?? 0, depth));
    const query = view.query.toLowerCase();
    for (const [thread, name] of answer.threads) {
      const deep = deepest.get(thread);
      if (deep === undefined) continue;
      // Slices that are narrower than a pixel are drawn once for each pixel.
      const reached: number[] = [];
      for (const [of, depth, start, end, title, bits] of answer.slices) {
        if (of !== thread) continue;
        const seen = this.visible(start, end);
        if (!seen) continue;
        const [x, right] = seen;
        if (right <= (reached[depth] ?? -1)) continue;
        reached[depth] = Math.max(right, Math.ceil(x));
        const label = answer.names[title];
        const solid = (bits & 1) === 1;
        const found = query !== "" && label.toLowerCase().includes(query);
        const told = `${label}${bits & 2 ? " (trap handler)" : ""}\n${plural(end - start, "instruction")}${solid ? "" : ", most of these"}`;
        const box = { x, y: y + depth * ROW + 1, w: Math.max(0.6, right - x - (right - x > 3 ? 1 : 0)), h: ROW - 2, title: told, n: start, end, code: label };
        this.rect(g, box, fill(label, solid));
        if (bits & 2 && box.w > 3) {
          g.fillStyle = colour("trap");
          g.fillRect(x, box.y, 2, box.h);
        }
        if (found) {
          g.strokeStyle = colour("found");
          g.lineWidth = 2;
          g.strokeRect(x + 1, box.y + 1, Math.max(1, box.w - 2), box.h - 2);
          g.lineWidth = 1;
        }
        if (box.w > NAMED) text(g, label, x, right, box.y + box.h / 2, colour(solid ? "ink" : "dim"));
      }
      g.fillStyle = colour("panel");
      g.fillRect(0, y, GUTTER, (deep + 1) * ROW);
      const one = answer.threads.length === 1;
      this.label(g, one && name === "thread" ? "functions" : name, y, true);
      y += (deep + 1) * ROW + 4;
    }
    return y;
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

  /** The whole run, small. */
  private map(g: CanvasRenderingContext2D, width: number): void {
    g.fillStyle = colour("ground");
    g.fillRect(0, 0, width, MAP);
    const wide = this.width();
    const [first, last] = [toAxis(this.first), toAxis(this.total)];
    const place = (n: number) => GUTTER + ((toAxis(n) - first) / (last - first)) * wide;
    if (this.whole) {
      const deepest = Math.max(3, ...this.whole.slices.map((slice) => slice[1]));
      const high = (MAP - 6) / (Math.min(deepest, 8) + 1);
      for (const [, depth, start, end, name, bits] of this.whole.slices) {
        if (depth > 8) continue;
        g.fillStyle = fill(this.whole.names[name], (bits & 1) === 1);
        const x = place(start);
        g.fillRect(x, 3 + depth * high, Math.max(0.5, place(end) - x), Math.max(1, high - 0.5));
      }
      g.fillStyle = colour("gap");
      for (const [n] of this.whole.events.gaps.at ?? []) g.fillRect(place(n) - 0.5, 2, 1.5, MAP - 4);
    }
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
    return this.boxes.findLast(inside);
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
    this.tip.textContent = box.title;
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

function clip(g: CanvasRenderingContext2D, text: string, width: number): string {
  if (text.length * 9 < width || g.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (g.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}

function text(g: CanvasRenderingContext2D, label: string, x: number, right: number, y: number, style: string): void {
  const room = right - x - 8;
  if (room < 16) return;
  g.fillStyle = style;
  g.fillText(clip(g, label, room), x + 4, y);
}
