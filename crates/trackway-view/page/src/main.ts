// The page: bar, timeline, list and panels, and the keyboard.

import * as api from "./api";
import { el, group, plural } from "./dom";
import { List } from "./list";
import * as panels from "./panels";
import { applyTheme, isDark, onSystemTheme } from "./theme";
import { TimelineView } from "./timeline";
import { PANELS, type Panel, range, restore, show, type View, view, watch } from "./view";

const app = document.getElementById("app") as HTMLElement;
const timeline = new TimelineView();
const list = new List(0);
let beside: List | null = null;
let lanes: api.Lane[] = [];
let status: api.Status | null = null;
let matches: api.Match[] = [];
let next: number | null = null;
let searching = false;
let diff: api.Diff | null = null;
let diffError: string | null = null;
let work = new AbortController();
let openedLane = -1;

const picker = el("select", { "aria-label": "trace", title: "trace" }) as HTMLSelectElement;
const position = el("input", { id: "position", placeholder: "go to: 123, sym:main, trap:0, end", title: "go to a position (g)", spellcheck: "false" }) as HTMLInputElement;
const finder = el("input", { id: "search", placeholder: "search: main, op:ld, mem:0x8000", title: "search (/)", spellcheck: "false" }) as HTMLInputElement;
const axis = el("select", { "aria-label": "axis", title: "axis of the timeline (x)" }) as HTMLSelectElement;
const facts = el("span", { class: "facts" });
const health = el("button", { class: "health", hidden: true, title: "damage" });
const theme = el("button", { title: "light or dark (t)", "aria-label": "light or dark" }, "◐");
const help = el("button", { title: "keys (?)", "aria-label": "keys" }, "?");
const tabs = el("nav", { class: "tabs", role: "tablist" });
const panel = el("div", { class: "panel", role: "tabpanel", tabindex: 0 });
const lists = el("div", { class: "lists" }, list.element);
const dialog = document.createElement("dialog");
const toast = el("div", { class: "toast", hidden: true, role: "status" });
const split = el("div", { class: "split", role: "separator", "aria-label": "width of the panels" });
const fold = el("div", { class: "fold", role: "separator", "aria-label": "height of the timeline" });
const main = el("main", {}, lists, split, el("aside", {}, tabs, panel));

app.append(
  el("header", {}, el("strong", {}, "Trackway"), picker, facts, health, el("span", { class: "space" }), position, finder, axis, theme, help),
  timeline.element,
  fold,
  main,
  dialog,
  toast,
);

function say(text: string): void {
  toast.textContent = text;
  toast.hidden = false;
  window.setTimeout(() => (toast.hidden = true), 4000);
}

const nameOf = (lane: api.Lane) => (lane.source ? `${lane.file} · ${lane.source}` : lane.file);
const first = () => (api.exported ? api.exported.from : 0);
const total = () => status?.instructions ?? 0;

async function begin(): Promise<void> {
  applyTheme();
  const wanted = restore();
  if (wanted.theme) view.theme = wanted.theme;
  applyTheme();
  for (const [name, title] of PANELS) {
    const tab = el("button", { role: "tab", "data-panel": name, onclick: () => show({ panel: name }) }, title);
    tabs.append(tab);
  }
  try {
    const traces = await api.ask<api.Traces>("traces");
    lanes = traces.lanes;
  } catch (error) {
    app.replaceChildren(el("div", { class: "closed" }, el("h1", {}, "Trackway"), el("p", {}, (error as Error).message)));
    return;
  }
  lanes.forEach((lane, n) => picker.append(el("option", { value: n }, nameOf(lane))));
  picker.hidden = lanes.length < 2;
  const lane = wanted.lane !== undefined && wanted.lane < lanes.length ? wanted.lane : 0;
  if (wanted.other !== undefined && (wanted.other as number) >= lanes.length) wanted.other = null;
  Object.assign(view, wanted, { lane });
  wire();
  await open(wanted);
}

/** Opens the lane of the view; rows can be read before the overview is there. */
async function open(wanted: Partial<View> = {}): Promise<void> {
  const lane = view.lane;
  openedLane = lane;
  picker.value = String(lane);
  const about = lanes[lane];
  document.title = `${nameOf(about)} – Trackway`;
  [status, matches, next, diff, diffError] = [null, [], null, null, null];
  list.shape(about);
  list.open(lane, first(), first() + 256);
  facts.textContent = `${about.format}, ${about.isa} · reading …`;
  for (;;) {
    try {
      status = await api.ask<api.Status>("status", { l: lane });
    } catch (error) {
      facts.textContent = `${about.format}, ${about.isa}`;
      complain([{ n: 0, text: (error as Error).message }]);
      return;
    }
    if (lane !== view.lane) return;
    if (status.ready) break;
    // The list needs only the index, which comes first.
    if (status.instructions) list.open(lane, first(), status.instructions);
    facts.textContent = `${about.format}, ${about.isa} · reading ${Math.floor((status.progress ?? 0) / 10)}%`;
    await new Promise((done) => setTimeout(done, 200));
  }
  const counts = status.counts;
  const extras = counts
    ? ([["trap", counts.traps], ["mark", counts.marks], ["gap", counts.gaps]] as [string, number][])
        .filter((one) => one[1] > 0)
        .map((one) => plural(one[1], one[0]))
    : [];
  facts.textContent = [`${about.format}, ${about.isa}`, plural(total() - first(), "instruction"), ...extras].join(" · ");
  if (!about.program && about.flow) say("Without the program the instructions are unknown: name it with --elf.");
  complain(status.errors);
  list.open(lane, first(), total());
  const from = wanted.from !== undefined && wanted.to !== undefined && wanted.to > wanted.from ? wanted.from : first();
  const to = wanted.from !== undefined && wanted.to !== undefined && wanted.to > wanted.from ? wanted.to : total();
  const at = Math.min(Math.max(wanted.at ?? first(), first()), Math.max(first(), total() - 1));
  show({ at });
  await timeline.open(status, from, to);
  axis.replaceChildren(...timeline.axes().map((one) => el("option", { value: one }, one)));
  axis.hidden = timeline.axes().length < 2;
  axis.value = view.axis;
  if (view.query) void find(true);
  if (view.other !== null) void compareWith();
  moved(false);
  refresh();
  performance.mark("trackway-ready");
}

function complain(errors: api.Damage[]): void {
  health.hidden = errors.length === 0;
  health.textContent = `⚠ ${plural(errors.length, "error")}`;
  health.onclick = () => {
    const items = errors.map((one) =>
      el("li", {}, el("a", { href: "#", onclick: (event: MouseEvent) => (event.preventDefault(), dialog.close(), goto(one.n)) }, `before ${group(one.n)}`), `: ${one.text}`),
    );
    tell("Damage", el("p", {}, "Reading continued after these where it could; what is missing is shown as a gap."), el("ul", {}, ...items));
  };
}

function tell(title: string, ...body: Node[]): void {
  dialog.replaceChildren(el("h2", {}, title), ...body, el("form", { method: "dialog" }, el("button", {}, "Close")));
  dialog.showModal();
}

function wire(): void {
  wireList(list);
  picker.addEventListener("change", () => show({ lane: Number(picker.value), selected: null, code: null, why: null, other: null }));
  axis.addEventListener("change", () => show({ axis: axis.value as View["axis"] }));
  theme.addEventListener("click", () => show({ theme: isDark() ? "light" : "dark" }));
  help.addEventListener("click", keys);
  onSystemTheme(() => (applyTheme(), timeline.draw(), refresh()));
  position.addEventListener("keydown", (event) => {
    if (event.key === "Enter") void locate(position.value.trim());
    if (event.key === "Escape") position.blur();
  });
  finder.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      show({ query: finder.value.trim(), panel: "search" });
      finder.blur();
    }
    if (event.key === "Escape") finder.blur();
  });
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", () => {
    const wanted = restore();
    const { lane, ...rest } = wanted;
    if (lane !== undefined && lane !== view.lane && lane < lanes.length) {
      Object.assign(view, wanted);
      void open(wanted);
    } else show(rest as Partial<View>);
  });
  divide(split, (x) => main.style.setProperty("--aside", `${Math.max(260, Math.min(window.innerWidth - 360, window.innerWidth - x))}px`));
  divide(fold, (_, y) => app.style.setProperty("--timeline", `${Math.max(110, Math.min(window.innerHeight - 220, y - 38))}px`));
  watch(changes);
}

function divide(bar: HTMLElement, move: (x: number, y: number) => void): void {
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    const moved = (one: PointerEvent) => move(one.clientX, one.clientY);
    bar.addEventListener("pointermove", moved);
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", moved), { once: true });
  });
}

function wireList(one: List): void {
  one.onPick = (n) => show({ at: n });
  one.onWhy = (at, what) => show({ why: `${at}:${what}`, panel: "why" });
  one.onCode = (pc) => show({ code: pc, panel: "code" });
  one.onScroll = (top) => beside?.scrollTo(there(top), true);
}

function changes(changed: Set<keyof View>): void {
  const has = (...names: (keyof View)[]) => names.some((name) => changed.has(name));
  if (has("lane") && view.lane !== openedLane) {
    void open();
    return;
  }
  if (has("theme")) applyTheme();
  if (has("at")) moved(!has("from", "to"));
  if (has("from", "to", "selected", "at", "axis", "theme", "query")) timeline.update();
  if (has("axis")) axis.value = view.axis;
  if (has("selected")) {
    list.selected = view.selected;
    list.draw();
  }
  if (has("query")) {
    finder.value = view.query;
    void find(true);
  }
  if (has("other")) void compareWith();
  if (changed.has("panel") || changed.has("theme")) refresh();
  else if (view.panel === "state" && has("at")) refresh(80);
  else if (view.panel === "code" && has("at", "code")) refresh(80);
  else if (view.panel === "why" && has("why")) refresh();
  if (RANGED.has(view.panel) && (has("selected", "query") || (!view.selected && has("from", "to")))) refresh(350);
  // Of two traces it is clear which is the other.
  if (has("panel") && view.panel === "compare" && view.other === null && lanes.length === 2) show({ other: 1 - view.lane });
}

const RANGED = new Set<Panel>(["flame", "calls", "memory", "branches", "code"]);

/** The current instruction changed. */
function moved(reveal: boolean): void {
  list.at = view.at;
  list.reveal(view.at);
  if (beside) {
    beside.at = there(view.at);
    beside.reveal(beside.at);
  }
  if (reveal) timeline.reveal(view.at);
  // A function that was chosen stays, until the cursor moves elsewhere.
  position.placeholder = `${group(view.at)} of ${group(total())}`;
}

let waiting = 0;

function refresh(after = 0): void {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(() => void fill(), after);
}

async function fill(): Promise<void> {
  work.abort();
  work = new AbortController();
  const { signal } = work;
  main.dataset.panel = view.panel;
  for (const tab of tabs.children) tab.setAttribute("aria-selected", String((tab as HTMLElement).dataset.panel === view.panel));
  if (!status?.ready) return;
  panel.classList.add("busy");
  const shown = view.panel;
  try {
    const parts = await content(shown, signal);
    if (signal.aborted) return;
    panel.dataset.shown = shown;
    panel.replaceChildren(...parts.filter((part) => (part as unknown) !== ""));
    if (shown === "code") {
      for (const current of panel.querySelectorAll(".code.current")) current.scrollIntoView({ block: "center" });
    }
  } catch (error) {
    if (signal.aborted || (error as Error).name === "AbortError") return;
    panel.dataset.shown = shown;
    panel.replaceChildren(el("p", { class: "message" }, (error as Error).message));
  } finally {
    if (!signal.aborted) panel.classList.remove("busy");
  }
}

async function content(name: Panel, signal: AbortSignal): Promise<Node[]> {
  switch (name) {
    case "state":
      return panels.state(signal);
    case "code":
      return panels.code(signal, await rowAt(view.at));
    case "flame":
      return panels.flame(signal);
    case "calls":
      return panels.calls(signal);
    case "memory":
      return panels.memory(signal);
    case "branches":
      return panels.branches(signal);
    case "why":
      return panels.why(signal);
    case "search":
      return panels.search(matches, next, searching, () => void find(false));
    case "compare":
      return panels.compare(lanes, diff, diffError, (one) => goto(one.a[0]));
  }
}

async function rowAt(n: number): Promise<api.Row | null> {
  const known = list.row(n);
  if (known) return known;
  const answer = await api.ask<api.Rows>("rows", { l: view.lane, from: n, count: 1 });
  return answer.rows[0] ?? null;
}

function goto(n: number): void {
  const at = Math.max(first(), Math.min(total() - 1, n));
  show({ at, code: null });
}

async function locate(text: string): Promise<void> {
  if (!text) return;
  const plain = text.replace(/[\s\u2009,_]/g, "");
  const to = /^\d+$/.test(plain) ? plain : /^0x[0-9a-f]+$/i.test(plain) ? `pc:${plain.toLowerCase()}` : text;
  try {
    const found = await api.ask<{ n: number }>("goto", { l: view.lane, to, after: view.at });
    position.value = "";
    position.blur();
    goto(found.n);
  } catch (error) {
    say((error as Error).message);
  }
}

async function find(fresh: boolean): Promise<void> {
  if (fresh) [matches, next, searching] = [[], first(), false];
  list.found = new Set();
  if (!view.query || next === null) {
    list.draw();
    if (view.panel === "search") refresh();
    return;
  }
  const [lane, query] = [view.lane, view.query];
  searching = true;
  try {
    // Long searches come in pieces; the panel shows how far they are.
    for (let pieces = 0; pieces < 40 && next !== null; pieces++) {
      if (view.panel === "search") refresh();
      const found: api.Found = await api.ask<api.Found>("find", { l: lane, q: query, from: next, limit: 200 });
      if (lane !== view.lane || query !== view.query) return;
      matches = matches.concat(found.matches);
      next = found.next;
      if (found.matches.length) break;
    }
  } catch (error) {
    next = null;
    say((error as Error).message);
  }
  searching = false;
  list.found = new Set(matches.map((one) => one.n));
  list.draw();
  if (view.panel === "search") refresh();
}

async function step(direction: 1 | -1): Promise<void> {
  const after = () => matches.find((one) => one.n > view.at);
  // Matches that are not known yet come after those that are.
  if (direction === 1 && !after() && next !== null && !searching) await find(false);
  if (!matches.length) return say(searching ? "searching …" : "nothing was found: / searches");
  const order = direction === 1 ? after() : matches.findLast((one) => one.n < view.at);
  goto((order ?? (direction === 1 ? matches[0] : matches[matches.length - 1])).n);
}

/** The instruction of the other trace that belongs to one of this trace. */
function there(n: number): number {
  let shift = 0;
  for (const one of diff?.differences ?? []) {
    if (one.a[1] <= n) shift = one.b[1] - one.a[1];
    else if (one.a[0] <= n) return Math.min(one.b[0] + (n - one.a[0]), Math.max(one.b[1] - 1, one.b[0]));
    else break;
  }
  return Math.max(0, n + shift);
}

async function compareWith(): Promise<void> {
  const other = view.other;
  [diff, diffError] = [null, null];
  if (other === null || other >= lanes.length) {
    beside = null;
    list.call("");
    delete main.dataset.beside;
    lists.replaceChildren(list.element);
    [list.marks, timeline.marks] = [[], []];
    list.draw();
    timeline.draw();
    return refresh();
  }
  beside = new List(other);
  const side = beside;
  list.call(nameOf(lanes[view.lane]));
  side.call(nameOf(lanes[other]));
  side.shape(lanes[other]);
  main.dataset.beside = "";
  side.onPick = (n) => side.at !== n && (side.at = n, side.draw());
  lists.replaceChildren(list.element, side.element);
  refresh();
  try {
    let known = await api.ask<api.Status>("status", { l: other });
    while (!known.ready) {
      await new Promise((done) => setTimeout(done, 200));
      known = await api.ask<api.Status>("status", { l: other });
    }
    side.open(other, 0, known.instructions);
    const answer = await api.wait<api.Diff>("diff", { a: view.lane, b: other });
    if (view.other !== other) return;
    diff = answer;
    const marks = (which: "a" | "b") => answer.differences.map((one) => ({ from: one[which][0], to: one[which][1], kind: one.kind }));
    list.marks = marks("a");
    side.marks = marks("b");
    timeline.marks = answer.differences.map((one) => ({ n: one.a[0], kind: one.kind }));
    side.scrollTo(there(view.at));
  } catch (error) {
    diffError = (error as Error).message;
  }
  moved(false);
  list.draw();
  timeline.draw();
  refresh();
}

const KEYS: [string, string][] = [
  ["W S, + −", "zoom in and out"],
  ["A D", "move left and right"],
  ["← →", "the instruction before and after"],
  ["↑ ↓, Page up and down", "move in the list"],
  ["Home End", "first and last instruction"],
  ["g", "go to a position: 123, pc:0x80000000, sym:main, line:main.c:12, time:5, trap:0, gap:0, mark:0, end"],
  ["/", "search; n and N: the next match and the one before"],
  ["f", "fit the timeline to the selection, or to the whole run"],
  ["Esc", "clear the selection"],
  ["1 – 9", "panels"],
  ["[ ]", "the difference before and after"],
  ["x", "axis: instructions, cycles, time"],
  ["t", "light or dark"],
  ["?", "this list"],
  ["drag", "select a range; with Shift: move"],
  ["wheel", "zoom; with Shift: move; double-click: zoom to a slice"],
];

function keys(): void {
  tell("Keys", el("dl", { class: "keys" }, ...KEYS.flatMap(([key, what]) => [el("dt", {}, key), el("dd", {}, what)])));
}

function key(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  const page = Math.max(1, list.rows - 2);
  const actions: Record<string, () => void> = {
    w: () => timeline.zoom(0.6),
    s: () => timeline.zoom(1 / 0.6),
    "+": () => timeline.zoom(0.6),
    "-": () => timeline.zoom(1 / 0.6),
    a: () => timeline.pan(-0.2),
    d: () => timeline.pan(0.2),
    ArrowLeft: () => goto(view.at - 1),
    ArrowRight: () => goto(view.at + 1),
    ArrowUp: () => goto(view.at - 1),
    ArrowDown: () => goto(view.at + 1),
    PageUp: () => goto(view.at - page),
    PageDown: () => goto(view.at + page),
    Home: () => goto(first()),
    End: () => goto(total() - 1),
    g: () => position.focus(),
    "/": () => finder.focus(),
    n: () => void step(1),
    N: () => void step(-1),
    f: () => timeline.fit(),
    Escape: () => show({ selected: null }),
    "[": () => change(-1),
    "]": () => change(1),
    x: () => {
      const known = timeline.axes();
      show({ axis: known[(known.indexOf(view.axis) + 1) % known.length] });
    },
    t: () => show({ theme: isDark() ? "light" : "dark" }),
    "?": keys,
  };
  const digit = /^[1-9]$/.test(event.key) ? PANELS[Number(event.key) - 1] : undefined;
  if (digit) actions[event.key] = () => show({ panel: digit[0] });
  const action = actions[event.key] ?? actions[event.key.toLowerCase()];
  if (!action || (event.shiftKey && /^[wasd]$/i.test(event.key))) return;
  event.preventDefault();
  action();
}

function change(direction: 1 | -1): void {
  const all = diff?.differences ?? [];
  const found = direction === 1 ? all.find((one) => one.a[0] > view.at) : all.findLast((one) => one.a[0] < view.at);
  if (found) goto(found.a[0]);
  else say(view.other === null ? "choose another trace to compare with: 9" : "no further difference");
}

// For those who measure.
Object.assign(window, { trackway: { view, show, range, times: timeline.times, reads: timeline.reads } });

void begin();
