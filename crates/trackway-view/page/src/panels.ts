// The panels beside the list.

import * as api from "./api";
import { el, fileOf, fit, group, percent, plural } from "./dom";
import { colour, fill } from "./theme";
import { range, show, view } from "./view";

const link = (n: number, text = group(n)) =>
  el("a", { class: "go", href: "#", onclick: (event: MouseEvent) => (event.preventDefault(), show({ at: n })) }, text);

const codeLink = (pc: string, text: string) =>
  el(
    "a",
    { class: "go", href: "#", title: pc, onclick: (event: MouseEvent) => (event.preventDefault(), show({ code: pc, panel: "code" })) },
    text,
  );

const message = (text: string) => el("p", { class: "message" }, text);

const scope = (count: number) => {
  const [from, to] = range();
  const text = api.exported ? `page ${group(from)} – ${group(to)}` : view.selected ? `selected ${group(from)} – ${group(to)}` : `window ${group(from)} – ${group(to)}`;
  return el("p", { class: "scope" }, `${text}: ${plural(count, "instruction")}`);
};

function table(heads: string[], rows: (string | Node)[][], numeric: number[]): HTMLElement {
  const cell = (name: string) => (value: string | Node, n: number) =>
    el(name, { class: numeric.includes(n) ? "num" : "" }, value as never);
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...heads.map(cell("th")))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell("td"))))),
  );
}

const asked = () => {
  const [from, to] = range();
  return { l: view.lane, from, to };
};

/** Registers and calls before the current instruction. */
export async function state(signal: AbortSignal): Promise<Node[]> {
  const found = await api.ask<api.State>("state", { l: view.lane, at: view.at }, signal);
  const facts: [string, string][] = [["pc", found.pc ?? "unknown"]];
  facts.push(["context", found.context ?? "unknown"]);
  if (found.time) facts.push(["time", group(found.time)]);
  if (found.cycles) facts.push(["cycles", group(found.cycles)]);
  const frames = found.frames.map((frame) =>
    el(
      "li",
      { class: frame.guess ? "guess" : "" },
      codeLink(frame.pc, frame.sym ?? frame.pc),
      el("small", {}, frame.trap ? " trap at " : " called at ", link(frame.by)),
      frame.guess ? el("small", { class: "warn", title: `a guess: ${frame.guess}` }, " a guess") : null,
    ),
  );
  const outside = found.forgotten ? `and ${found.forgotten} more` : found.gap !== null ? "callers unknown: there is a gap" : "callers before the trace are unknown";
  const registers = found.registers.map((reg) =>
    el(
      "div",
      { class: "reg", title: `${reg.how} ${reg.how === "shown" ? "before" : "by"} ${group(reg.by)}; click: who wrote it?`, onclick: () => show({ why: `${view.at}:${reg.id}`, panel: "why" }) },
      el("em", {}, reg.r),
      el("span", {}, reg.v === null ? "unknown" : reg.known ? `${reg.v} & ${reg.known}` : reg.v),
    ),
  );
  return [
    el("h3", {}, `Before instruction ${group(found.n)}`),
    el("dl", {}, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    found.error ? el("p", { class: "warn" }, `damage before this point: ${found.error}`) : "",
    el("h3", {}, "Call stack"),
    el("ol", { class: "frames" }, ...frames, el("li", { class: "dim" }, outside)),
    el("h3", {}, "Registers"),
    registers.length ? el("div", { class: "regs" }, ...registers) : message("The trace shows none before this point: all are unknown."),
    registers.length ? el("p", { class: "dim" }, "All others are unknown.") : "",
  ] as Node[];
}

/** Source and disassembly side by side, with execution counts of the range. */
export async function code(signal: AbortSignal, row: api.Row | null): Promise<Node[]> {
  const at = view.code ?? row?.pc ?? null;
  if (at === null) return [message("Choose an instruction or a function: its code is shown here.")];
  const found = await api.wait<api.Code & { busy?: boolean }>("code", { ...asked(), at }, signal);
  const most = Math.max(1, ...found.lines.map((line) => line.count));
  const current = row?.pc ? BigInt(row.pc) : null;
  const heat = (count: number) => (count === 0 ? "" : `--heat:${Math.round(12 + 55 * Math.sqrt(count / most))}%`);
  const listing = found.lines.map((line) => {
    const outcome = line.taken ? `taken ${group(line.taken[0])}, not ${group(line.taken[1])}` : "";
    const item = el(
      "div",
      {
        class: `code${current !== null && BigInt(line.pc) === current ? " current" : ""}${line.count ? "" : " never"}`,
        "data-line": line.line ?? "",
        title: outcome,
      },
      el("span", { class: "count" }, line.count ? group(line.count) : ""),
      el("span", { class: "pc" }, line.pc.slice(2)),
      el("span", { class: "text" }, line.text ?? "unknown"),
    );
    if (line.count) (item.firstChild as HTMLElement).style.cssText = heat(line.count);
    return item;
  });
  const named = found.lines.find((line) => line.source !== undefined && line.source !== null);
  const first = found.lines.find((line) => line.file);
  let source: Node = message(
    first ? `${first.file}: allow its folder with --source-root to see the source.` : "The program has no line information.",
  );
  if (named) {
    const text = await api.ask<{ name: string; text: string }>("source", { id: named.source as number }, signal);
    source = sourceText(found, named.source as number, text.text, current);
  }
  const title = el("h3", {}, found.name, el("small", {}, ` ${found.start}${first?.file ? ` · ${fileOf(first.file)}` : ""}`));
  return [title, scope(range()[1] - range()[0]), el("div", { class: "sides" }, source, el("div", { class: "listing" }, ...listing))];
}

function sourceText(found: api.Code, id: number, text: string, current: bigint | null): HTMLElement {
  const counts = new Map<number, number>();
  let here = 0;
  for (const line of found.lines) {
    if (line.source !== id || !line.line) continue;
    counts.set(line.line, Math.max(counts.get(line.line) ?? 0, line.count));
    if (current !== null && BigInt(line.pc) === current) here = line.line;
  }
  const numbers = [...counts.keys()];
  const [low, high] = [Math.max(1, Math.min(...numbers) - 4), Math.max(...numbers) + 6];
  const most = Math.max(1, ...counts.values());
  const lines = text.split("\n").slice(low - 1, high).map((line, n) => {
    const number = low + n;
    const count = counts.get(number);
    const item = el(
      "div",
      { class: `code${number === here ? " current" : ""}${count === undefined ? " plain" : count ? "" : " never"}`, "data-line": number },
      el("span", { class: "count" }, count ? group(count) : ""),
      el("span", { class: "pc" }, String(number)),
      el("span", { class: "text" }, line.replaceAll("\t", "    ")),
    );
    if (count) (item.firstChild as HTMLElement).style.cssText = `--heat:${Math.round(12 + 55 * Math.sqrt(count / most))}%`;
    return item;
  });
  return el("div", { class: "listing source" }, ...lines);
}

type Placed = { node: api.TreeNode; depth: number; start: number; id: number };

/** The flame graph of the range. */
export async function flame(signal: AbortSignal): Promise<Node[]> {
  const tree = await api.wait<api.Tree>("tree", asked(), signal);
  if (!tree.nodes.length) return [message("No instruction in this range has a known address.")];
  const placed: Placed[] = [];
  const next: number[] = [];
  let root = 0;
  tree.nodes.forEach((node, id) => {
    const parent = node.parent;
    const start = parent === null ? root : next[parent];
    if (parent === null) root += node.total;
    else next[parent] += node.total;
    next[id] = start;
    placed.push({ node, depth: parent === null ? 0 : placed[parent].depth + 1, start, id });
  });
  let focus: Placed | null = null;
  const canvas = document.createElement("canvas");
  const note = el("p", { class: "scope" });
  const holder = el("div", { class: "flame" }, canvas);
  const deepest = Math.max(...placed.map((one) => one.depth));
  const high = 19;
  const bounds = () => (focus ? [focus.start, focus.start + focus.node.total] : [0, tree.total]);
  const box = (one: Placed) => {
    const [from, to] = bounds();
    const wide = canvas.clientWidth;
    const x = ((one.start - from) / (to - from)) * wide;
    return [Math.max(0, x), Math.min(wide, x + (one.node.total / (to - from)) * wide), one.depth * high] as const;
  };
  const draw = () => {
    if (!holder.clientWidth) return;
    canvas.style.width = "100%";
    canvas.style.height = `${(deepest + 1) * high}px`;
    const g = fit(canvas, holder.clientWidth, (deepest + 1) * high);
    g.clearRect(0, 0, holder.clientWidth, (deepest + 1) * high);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const query = view.query.toLowerCase();
    for (const one of placed) {
      const [x, right, y] = box(one);
      if (right - x < 0.4) continue;
      const name = one.node.name;
      g.fillStyle = one.node.parent === null ? colour("raised") : fill(name);
      g.fillRect(x, y, Math.max(0.5, right - x - 1), high - 1);
      if (query && name.toLowerCase().includes(query)) {
        g.strokeStyle = colour("found");
        g.lineWidth = 2;
        g.strokeRect(x + 1, y + 1, right - x - 3, high - 3);
      }
      if (right - x > 24) {
        g.save();
        g.beginPath();
        g.rect(x, y, right - x - 3, high);
        g.clip();
        g.fillStyle = colour("ink");
        g.fillText(name, x + 4, y + high / 2);
        g.restore();
      }
    }
  };
  const hit = (event: MouseEvent) =>
    placed.findLast((one) => {
      const [x, right, y] = box(one);
      return event.offsetX >= x && event.offsetX < right && event.offsetY >= y && event.offsetY < y + high;
    });
  const tell = (one: Placed | undefined) => {
    const about = one ?? focus;
    note.textContent = about
      ? `${about.node.name}: ${plural(about.node.total, "instruction")} (${percent(about.node.total, tree.total)}), own ${group(about.node.own)}, ${plural(about.node.calls, "call")}${about.node.guesses ? `, ${plural(about.node.guesses, "guess", "guesses")}` : ""}`
      : `${plural(tree.total, "instruction")}. Click a frame to zoom, double-click for its code.`;
  };
  canvas.addEventListener("mousemove", (event) => tell(hit(event)));
  canvas.addEventListener("mouseleave", () => tell(undefined));
  canvas.addEventListener("click", (event) => {
    const one = hit(event);
    focus = !one || one === focus || one.depth === 0 ? null : one;
    tell(undefined);
    draw();
  });
  canvas.addEventListener("dblclick", (event) => {
    const pc = hit(event)?.node.address;
    if (pc) show({ code: pc, panel: "code" });
  });
  new ResizeObserver(draw).observe(holder);
  tell(undefined);
  return [scope(tree.total), holder, note];
}

/** Functions and the call tree of the range. */
export async function calls(signal: AbortSignal): Promise<Node[]> {
  const tree = await api.wait<api.Tree>("tree", asked(), signal);
  const query = view.query.toLowerCase();
  const meets = (name: string) => !query || name.toLowerCase().includes(query);
  const any = tree.functions.some((row) => meets(row.name));
  const rows = tree.functions
    .filter((row) => !any || meets(row.name))
    .slice(0, 200)
    .map((row) => [
      codeLink(row.address, row.name),
      group(row.own),
      percent(row.own, tree.total),
      group(row.total),
      percent(row.total, tree.total),
      group(row.calls),
      row.guesses ? group(row.guesses) : "",
    ]);
  const children = new Map<number | null, number[]>();
  tree.nodes.forEach((node, id) => {
    const known = children.get(node.parent);
    if (known) known.push(id);
    else children.set(node.parent, [id]);
  });
  const item = (id: number, open: boolean): HTMLElement => {
    const node = tree.nodes[id];
    const below = children.get(id) ?? [];
    const line = el(
      "summary",
      {},
      el("span", { class: "share" }, percent(node.total, tree.total)),
      node.address ? codeLink(node.address, node.name) : node.name,
      el("small", {}, ` ${plural(node.total, "instruction")}, own ${group(node.own)}${node.calls ? `, ${plural(node.calls, "call")}` : ""}`),
    );
    if (!below.length) return el("div", { class: "leaf" }, ...(line.childNodes as unknown as Node[]));
    const details = el("details", open ? { open: true } : {}, line);
    let filled = false;
    const grow = () => {
      if (filled) return;
      filled = true;
      // The heaviest callee is open too, down to a depth that fits a screen.
      details.append(...below.map((one, n) => item(one, open && n === 0 && depthOf(one) < 7)));
    };
    if (open) grow();
    else details.addEventListener("toggle", grow);
    return details;
  };
  const depthOf = (id: number): number => {
    const { parent } = tree.nodes[id];
    return parent === null ? 0 : depthOf(parent) + 1;
  };
  const roots = children.get(null) ?? [];
  return [
    scope(tree.total),
    el("h3", {}, "Functions"),
    table(["function", "own", "", "with callees", "", "calls", "guesses"], rows, [1, 2, 3, 4, 5, 6]),
    el("h3", {}, "Call tree"),
    el("div", { class: "tree" }, ...roots.map((id) => item(id, true))),
    tree.cut ? el("p", { class: "dim" }, "Nodes with few instructions are left out.") : "",
  ] as Node[];
}

/** The memory map: addresses over time, and by whom they were touched. */
export async function memory(signal: AbortSignal): Promise<Node[]> {
  const map = await api.wait<api.MemoryMap>("memory", asked(), signal);
  if (!map.rows.length) {
    return [message(map.unplaced ? "The trace has no addresses of its accesses." : "The trace records no memory accesses in this range.")];
  }
  const canvas = document.createElement("canvas");
  const holder = el("div", { class: "memory" }, canvas);
  const about = el("div", {});
  // Rows that are not neighbours in memory are apart.
  const places: number[] = [];
  let y = 8;
  const tall = map.rows.length > 120 ? 3 : map.rows.length > 40 ? 6 : 12;
  const size = BigInt(map.size ?? 1);
  map.rows.forEach((row, n) => {
    if (n && BigInt(row.a) - BigInt(map.rows[n - 1].a) !== size) y += 5;
    places.push(y);
    y += tall;
  });
  const left = 118;
  let [used, most] = [1, 1];
  for (const { cells } of map.rows) {
    for (let n = 0; n < cells.length; n++) [used, most] = [Math.max(used, cells.column[n] + 1), Math.max(most, cells.r[n] + cells.w[n])];
  }
  const draw = () => {
    if (!holder.clientWidth) return;
    canvas.style.width = "100%";
    canvas.style.height = `${y + 4}px`;
    const g = fit(canvas, holder.clientWidth, y + 4);
    g.clearRect(0, 0, holder.clientWidth, y + 4);
    g.font = "11px ui-monospace, monospace";
    g.textBaseline = "middle";
    const wide = (holder.clientWidth - left) / used;
    const [read, write] = [colour("read"), colour("write")];
    let labelled = -20;
    map.rows.forEach((row, n) => {
      if (places[n] - labelled >= 13) {
        labelled = places[n];
        g.fillStyle = colour("dim");
        g.fillText(row.a, 2, places[n] + tall / 2);
      }
      const { cells } = row;
      for (let cell = 0; cell < cells.length; cell++) {
        const [reads, writes] = [cells.r[cell], cells.w[cell]];
        g.globalAlpha = 0.25 + 0.75 * Math.sqrt((reads + writes) / most);
        const x = left + cells.column[cell] * wide;
        const share = (tall - 1) * (writes / (reads + writes));
        g.fillStyle = read;
        g.fillRect(x, places[n], Math.max(1, wide), tall - 1 - share);
        g.fillStyle = write;
        g.fillRect(x, places[n] + tall - 1 - share, Math.max(1, wide), share);
      }
      g.globalAlpha = 1;
    });
  };
  const pick = (n: number) => {
    const row = map.rows[n];
    const who = row.who.map((one) => [one.name ?? "unknown", group(one.r), group(one.w)]);
    about.replaceChildren(
      el("h3", {}, `${row.a} + ${map.size} bytes`),
      el("p", {}, `${plural(row.r, "read")}, ${plural(row.w, "write")}, first by `, link(row.first), ", last by ", link(row.last)),
      table(["by", "reads", "writes"], who, [1, 2]),
      row.others ? el("p", { class: "dim" }, `${plural(row.others, "access", "accesses")} by others`) : "",
    );
  };
  canvas.addEventListener("click", (event) => {
    const n = places.findLastIndex((place) => place <= event.offsetY);
    if (n < 0) return;
    pick(n);
    const column = Math.floor((event.offsetX - left) / ((holder.clientWidth - left) / used));
    if (column >= 0) show({ at: Math.max(map.from, Math.min(map.rows[n].last, map.from + column * map.width)) });
  });
  new ResizeObserver(draw).observe(holder);
  pick(map.rows.reduce((best, row, n) => (row.r + row.w > map.rows[best].r + map.rows[best].w ? n : best), 0));
  const bytes = `each row is ${map.size} bytes, each column ${plural(map.width, "instruction")}`;
  return [
    el("p", { class: "scope" }, `${group(map.accesses)} accesses; ${bytes}. `, el("b", { class: "read" }, "reads"), " ", el("b", { class: "write" }, "writes")),
    map.unplaced ? el("p", { class: "warn" }, `${group(map.unplaced)} accesses have no address in the trace.`) : "",
    holder,
    about,
  ] as Node[];
}

/** Branches and where they went. */
export async function branches(signal: AbortSignal): Promise<Node[]> {
  const found = await api.wait<{ all: number; branches: api.Branch[]; busy?: boolean }>("branches", asked(), signal);
  if (!found.branches.length) return [message("There are no branches with known code in this range.")];
  const rows = found.branches.slice(0, 300).map((one) => {
    const all = one.taken[0] + one.taken[1] + one.taken[2];
    const bar = el("span", { class: "outcome" }, el("i", {}), el("i", {}), el("i", {}));
    one.taken.forEach((count, n) => ((bar.children[n] as HTMLElement).style.width = `${(100 * count) / Math.max(1, all)}%`));
    const targets = one.targets.map(([pc, place, count]) => el("div", {}, codeLink(pc, place), el("small", {}, ` ${group(count)}`)));
    const where = one.indirect
      ? el("div", {}, ...targets, one.all > targets.length ? el("small", {}, `and ${one.all - targets.length} more`) : null)
      : bar;
    const share = one.indirect ? plural(one.all, "target") : all ? percent(one.taken[0], all) : "unknown";
    return [codeLink(one.pc, one.place), el("code", {}, one.text), group(one.count), share, where];
  });
  return [
    el("p", { class: "scope" }, `${plural(found.all, "branch", "branches")}, by how often they ran`),
    table(["place", "instruction", "count", "taken", "outcomes and targets"], rows, [2, 3]),
  ];
}

/** Who wrote a value, and the chain back. */
export async function why(signal: AbortSignal): Promise<Node[]> {
  const found = /^(\d+):(.+)$/.exec(view.why ?? "");
  if (!found) return [message("Click a value in the list or a register: this panel shows who wrote it.")];
  const answer = await api.ask<api.Why>("why", { l: view.lane, at: found[1], what: found[2], depth: 8 }, signal);
  const shown = new Set<number>();
  const cause = (one: api.Cause, whole: string): Node => {
    const part = one.what === whole ? "" : `${one.what}: `;
    if (one.node === undefined) {
      return el("li", { class: "dim" }, part, one.end ?? "", one.n !== null && one.n !== undefined ? el("span", {}, " before ", link(one.n)) : null);
    }
    const node = answer.nodes[one.node];
    const results = node.results.map((result) => `${result.what} = ${result.v ?? "unknown"}`).join(", ");
    const line = el(
      "div",
      { class: "step" },
      part,
      link(node.n),
      " ",
      el("code", {}, node.text ?? "unknown"),
      " ",
      el("b", {}, results),
      node.sym && node.pc ? el("small", {}, " ", codeLink(node.pc, node.sym)) : null,
      node.line ? el("small", {}, ` ${fileOf(node.line)}`) : null,
    );
    if (shown.has(one.node)) return el("li", {}, line, el("small", {}, "its inputs are above"));
    shown.add(one.node);
    const inputs = node.inputs.map((input) =>
      el(
        "li",
        { class: input.address ? "address" : "" },
        el("span", { class: "input" }, `${input.what} = `, input.v ?? "unknown", input.address ? " (address)" : ""),
        el("ul", {}, ...input.causes.map((inner) => cause(inner, input.what) as never)),
      ),
    );
    if (node.unseen) inputs.push(el("li", { class: "dim" }, "memory: unknown, the trace has no address"));
    return el("li", {}, line, inputs.length ? el("ul", {}, ...inputs) : null);
  };
  return [
    el("h3", {}, `Who wrote ${found[2]}`, el("small", {}, " before ", link(Number(found[1])))),
    answer.error ? el("p", { class: "warn" }, answer.error) : "",
    el("ul", { class: "why" }, ...answer.causes.map((one) => cause(one, one.what) as never)),
  ] as Node[];
}

/** Matches of the search. */
export function search(matches: api.Match[], next: number | null, searching: boolean, more: () => void): Node[] {
  if (!view.query) {
    return [
      message("Type / and search:"),
      el(
        "ul",
        { class: "help" },
        ...["main", "ld", "pc:0x80000000", "within:main", "class:branch", "mem:0x80002000:64", "reg:a0=5", "trap:any", "context:privilege=u"].map((example) =>
          el("li", {}, el("code", {}, example)),
        ),
      ),
      message("Several conditions must all be met. Functions of that name are also marked in the timeline and the flame graph."),
    ];
  }
  const rows = matches.map((one) => [link(one.n), el("code", {}, one.text ?? "unknown"), one.sym ?? one.pc ?? "unknown"]);
  return [
    el("p", { class: "scope" }, `${matches.length}${next !== null ? " or more" : ""} matches for `, el("code", {}, view.query)),
    rows.length ? table(["instruction", "text", "place"], rows, [0]) : next === null ? message("Nothing was found.") : "",
    next === null ? "" : searching ? message(`Searching from ${group(next)} on …`) : el("button", { onclick: more }, `Search on from ${group(next)}`),
  ] as Node[];
}

/** The differences between two traces. */
export function compare(lanes: api.Lane[], diff: api.Diff | null, error: string | null, go: (one: api.Difference) => void): Node[] {
  const name = (lane: api.Lane) => (lane.source ? `${lane.file} ${lane.source}` : lane.file);
  const choose = el("select", { "aria-label": "the other trace", onchange: (event: Event) => {
    const value = (event.target as HTMLSelectElement).value;
    show({ other: value === "" ? null : Number(value) });
  } });
  choose.append(el("option", { value: "" }, "no other trace"));
  lanes.forEach((lane, n) => {
    if (n !== view.lane) choose.append(el("option", { value: n, selected: n === view.other }, name(lane)));
  });
  const parts: Node[] = [el("p", {}, "Beside ", name(lanes[view.lane]), ": ", choose)];
  if (lanes.length < 2) parts.push(message("Name two traces: trackway view A B."));
  if (view.other === null) return parts;
  if (error) return [...parts, el("p", { class: "warn" }, error)];
  if (!diff) return [...parts, message("Comparing …")];
  const counts = Object.entries(diff.counts).map(([kind, count]) => `${group(count)} ${kind}`);
  parts.push(el("p", { class: "scope" }, diff.equal ? "No differences." : counts.join(", ")));
  if (diff.damage) parts.push(el("p", { class: "warn" }, `${plural(diff.damage, "error")} were passed on the way.`));
  for (const text of diff.errors) parts.push(el("p", { class: "warn" }, text));
  const rows = diff.differences.slice(0, 1000).map((one) => {
    const at = (side: [number, number, string | null]) => (side[1] - side[0] > 1 ? `${group(side[0])} +${group(side[1] - side[0])}` : group(side[0]));
    const fields = one.fields.map((field) => `${field[0]}: ${field[1] ?? "none"} ≠ ${field[2] ?? "none"}`).join("; ");
    const jump = el("a", { class: "go", href: "#", onclick: (event: MouseEvent) => (event.preventDefault(), go(one)) }, at(one.a));
    return [jump, at(one.b), el("span", {}, el("b", { class: one.kind }, one.kind), " ", el("small", {}, fields))];
  });
  if (rows.length) parts.push(table(["here", "there", "what"], rows, [0, 1]));
  if (diff.not_compared.length) {
    parts.push(el("h3", {}, "Not compared"), el("ul", { class: "help" }, ...diff.not_compared.map((text) => el("li", {}, text))));
  }
  return parts;
}
