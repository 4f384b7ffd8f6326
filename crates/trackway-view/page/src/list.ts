// The instruction list: as long as the trace, with the rows in view only.

import { ask, type Event, type Lane, type Mem, type Reg, type Row, type Rows } from "./api";
import { el, fileOf, group } from "./dom";

const HEIGHT = 20;
const CHUNK = 256;
const KEPT = 96;

export type Mark = { from: number; to: number; kind: string };

/** The list of one trace. */
export class List {
  readonly element: HTMLElement;
  private body = el("div", { class: "rows", tabindex: 0, role: "listbox", "aria-label": "instructions" });
  private thumb = el("div", { class: "thumb" });
  private bar = el("div", { class: "bar" }, this.thumb);
  private head: HTMLElement;
  private name = el("div", { class: "title", hidden: true });
  private note = el("div", { class: "note", hidden: true });
  private chunks = new Map<number, Row[] | "asked">();
  private top = 0;
  private total = 0;
  private first = 0;
  private frame = 0;
  private generation = 0;
  at = 0;
  selected: [number, number] | null = null;
  /** Rows that differ from those of another trace. */
  marks: Mark[] = [];
  found = new Set<number>();
  onPick: (n: number) => void = () => {};
  onScroll: (top: number) => void = () => {};
  onWhy: (at: number, what: string) => void = () => {};
  onCode: (pc: string) => void = () => {};

  constructor(
    private lane: number,
  ) {
    const cells = ["number", "address", "code", "instruction", "function", "line", "registers and memory"];
    this.head = el("div", { class: "row head" }, ...cells.map((name) => el("span", {}, name)));
    this.element = el(
      "section",
      { class: "list" },
      this.name,
      this.head,
      el("div", { class: "scroller" }, this.body, this.bar),
      this.note,
    );
    this.body.addEventListener("wheel", (event) => this.wheel(event as WheelEvent), { passive: false });
    this.body.addEventListener("click", (event) => this.click(event as MouseEvent));
    this.bar.addEventListener("pointerdown", (event) => this.grab(event as PointerEvent));
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  /** Columns for what the trace has. */
  shape(lane: Lane): void {
    this.element.classList.toggle("flow", lane.flow);
    this.element.classList.toggle("bare", !lane.program);
  }

  /** A title, where there are two lists. */
  call(title: string): void {
    this.name.textContent = title;
    this.name.hidden = title === "";
  }

  open(lane: number, first: number, total: number): void {
    if (lane === this.lane && first === this.first && total === this.total) return this.draw();
    if (lane !== this.lane || total !== this.total) this.chunks.clear();
    this.generation++;
    this.note.hidden = true;
    this.element.classList.remove("wide");
    [this.lane, this.first, this.total] = [lane, first, total];
    this.top = Math.max(first, Math.min(this.top, this.last()));
    this.draw();
  }

  get rows(): number {
    return Math.max(1, Math.floor(this.body.clientHeight / HEIGHT));
  }

  private last(): number {
    return Math.max(this.first, this.total - this.rows);
  }

  /** Scrolls so that a row is in view. */
  reveal(n: number): void {
    if (n < this.top + 1 || n >= this.top + this.rows - 1) this.scrollTo(n - Math.floor(this.rows / 3));
    else this.draw();
  }

  scrollTo(top: number, quiet = false): void {
    this.top = Math.max(this.first, Math.min(this.last(), top));
    this.draw();
    if (!quiet) this.onScroll(this.top);
  }

  row(n: number): Row | null {
    const chunk = this.chunks.get(Math.floor(n / CHUNK));
    return Array.isArray(chunk) ? (chunk.find((row) => row.n === n) ?? null) : null;
  }

  private wheel(event: WheelEvent): void {
    if (event.ctrlKey) return;
    event.preventDefault();
    const rows = event.deltaMode === 1 ? event.deltaY : event.deltaY / HEIGHT;
    this.scrollTo(this.top + rows);
  }

  private grab(event: PointerEvent): void {
    this.bar.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent) => {
      const box = this.bar.getBoundingClientRect();
      const part = (moved.clientY - box.top) / Math.max(1, box.height);
      this.scrollTo(Math.round(this.first + part * (this.total - this.first)));
    };
    const done = () => {
      this.bar.removeEventListener("pointermove", move);
      this.bar.removeEventListener("pointerup", done);
    };
    this.bar.addEventListener("pointermove", move);
    this.bar.addEventListener("pointerup", done);
    move(event);
  }

  private click(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>("[data-n]");
    if (!row) return;
    const n = Number(row.dataset.n);
    this.onPick(n);
    const what = target.closest<HTMLElement>("[data-why]");
    if (what) this.onWhy(n + Number(what.dataset.after), what.dataset.why as string);
    if (target.dataset.pc) this.onCode(target.dataset.pc);
  }

  private async load(chunk: number): Promise<void> {
    if (this.chunks.has(chunk) || chunk * CHUNK >= this.total) return;
    this.chunks.set(chunk, "asked");
    for (const key of this.chunks.keys()) {
      if (this.chunks.size <= KEPT) break;
      this.chunks.delete(key);
    }
    const [lane, generation] = [this.lane, this.generation];
    try {
      const answer = await ask<Rows>("rows", { l: lane, from: chunk * CHUNK, count: CHUNK });
      if (lane !== this.lane) return;
      this.chunks.set(chunk, answer.rows);
      const digits = Math.max(...answer.rows.map((row) => (row.pc ? row.pc.length - 2 : 0)));
      if (digits > 10) this.element.classList.add("wide");
      if (answer.errors.length) this.say(`damage: ${answer.errors[0].text}`);
      this.draw();
    } catch (error) {
      if (generation === this.generation) this.chunks.delete(chunk);
      this.say(String((error as Error).message));
    }
  }

  private say(text: string): void {
    this.note.textContent = text;
    this.note.hidden = false;
  }

  draw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private paint(): void {
    const first = Math.floor(this.top);
    const shift = -(this.top - first) * HEIGHT;
    const count = Math.min(this.rows + 2, this.total - first);
    const fragment = document.createDocumentFragment();
    for (let n = first; n < first + count; n++) {
      const row = this.row(n);
      if (!row) void this.load(Math.floor(n / CHUNK));
      const element = row ? this.line(row) : el("div", { class: "row waiting", "data-n": n }, el("span", {}, group(n)));
      element.style.top = `${(n - first) * HEIGHT + shift}px`;
      fragment.append(element);
    }
    this.body.replaceChildren(fragment);
    const all = Math.max(1, this.total - this.first);
    const size = Math.max(0.03, Math.min(1, this.rows / all));
    const place = ((this.top - this.first) / Math.max(1, all - this.rows)) * (1 - size);
    this.thumb.style.height = `${size * 100}%`;
    this.thumb.style.top = `${Math.max(0, Math.min(1 - size, place)) * 100}%`;
    this.bar.hidden = all <= this.rows;
  }

  private line(row: Row): HTMLElement {
    const classes = ["row"];
    if (row.n === this.at) classes.push("current");
    if (this.selected && row.n >= this.selected[0] && row.n < this.selected[1]) classes.push("selected");
    if (this.found.has(row.n)) classes.push("found");
    if (row.attempted) classes.push("attempted");
    const mark = this.marks.find((one) => row.n >= one.from && row.n < Math.max(one.to, one.from + 1));
    if (mark) classes.push(mark.kind);
    const badges = row.ev.length ? badge(row.ev) : [];
    const [taken, told] = row.taken === null ? ["", ""] : OUTCOMES[row.taken];
    return el(
      "div",
      { class: classes.join(" "), "data-n": row.n, role: "option", "aria-selected": row.n === this.at },
      el("span", { class: "n" }, group(row.n)),
      el("span", { class: "pc" }, row.pc ? row.pc.slice(2) : unknown()),
      el("span", { class: "enc" }, row.code ?? ""),
      el(
        "span",
        { class: "text", title: row.text ?? "the code is unknown" },
        ...badges,
        row.text ?? unknown(),
        taken ? el("i", { title: told }, taken) : null,
      ),
      row.sym && row.pc
        ? el("span", { class: "sym link", title: row.sym, "data-pc": row.pc }, row.sym)
        : el("span", { class: "sym" }),
      el("span", { class: "src", title: row.line ?? undefined }, row.line ? fileOf(row.line) : ""),
      el("span", { class: "values" }, ...row.regs.map(register), ...row.mem.map(memory)),
    );
  }
}

/** Of a conditional branch. */
const OUTCOMES = [
  [" ↓", "not taken"],
  [" ↷", "taken"],
  [" ?", "unknown"],
];

const unknown = () => el("i", { class: "unknown" }, "unknown");

const RANKS = ["gap", "trap", "mark"];

/** The most important event before an instruction, and how many more there are. */
function badge(events: Event[]): HTMLElement[] {
  const rank = (one: Event) => (RANKS.indexOf(one.kind) + RANKS.length + 1) % (RANKS.length + 1);
  const first = [...events].sort((one, other) => rank(one) - rank(other))[0];
  const all = events.map((one) => `${one.kind} ${one.text}`).join("\n");
  const more = events.length > 1 ? ` +${events.length - 1}` : "";
  return [el("b", { class: `badge ${first.kind}`, title: all }, named(first) + more)];
}

function named(event: Event): string {
  const field = (name: string) => new RegExp(`\\b${name}=(\\S+)`).exec(event.text)?.[1] ?? "";
  if (event.kind === "trap") {
    const name = event.text.split(/ ?kind=/)[0];
    return name || `trap ${field("kind")}`;
  }
  if (event.kind === "gap") return `gap ${field("reason")}`;
  if (event.kind === "mark") return field("kind") || "mark";
  return event.kind;
}

function register(reg: Reg): HTMLElement {
  const title = reg.w ? "written; click: where does it come from?" : "read; click: who wrote it?";
  const value = reg.v === null ? unknown() : reg.v.length > 20 ? `${reg.v.slice(0, 18)}…` : reg.v;
  return el(
    "span",
    { class: reg.w ? "value write" : "value", "data-why": reg.id, "data-after": reg.w ? 1 : 0, title },
    el("em", {}, reg.w ? `${reg.r} ← ` : `${reg.r} `),
    value,
  );
}

function memory(mem: Mem): HTMLElement {
  const writes = mem.k.includes("w");
  const arrow = writes ? "←" : "→";
  const value = mem.v === null ? unknown() : mem.v.length > 20 ? `${mem.v.slice(0, 18)}…` : mem.v;
  if (mem.a === null) return el("span", { class: "value" }, el("em", {}, "[address "), unknown(), el("em", {}, `] ${arrow} `), value);
  const title = writes ? "written; click: where does it come from?" : "read; click: who wrote it?";
  return el(
    "span",
    { class: writes ? "value write" : "value", "data-why": `${mem.a}:${mem.s || 1}`, "data-after": writes ? 1 : 0, title },
    el("em", {}, `[${mem.a}:${mem.s}] ${arrow} `),
    value,
  );
}
