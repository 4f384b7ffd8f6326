// The view, kept in the address, so that a link restores it.

import { exported } from "./api";

export type Panel = "state" | "code" | "flame" | "calls" | "memory" | "branches" | "why" | "search" | "compare";
export const PANELS: [Panel, string][] = [
  ["state", "State"],
  ["code", "Source"],
  ["flame", "Flame"],
  ["calls", "Calls"],
  ["memory", "Memory"],
  ["branches", "Branches"],
  ["why", "Why"],
  ["search", "Search"],
  ["compare", "Compare"],
];
export type Axis = "instructions" | "cycles" | "time";

export type View = {
  lane: number;
  /** The window of the timeline, in instructions. */
  from: number;
  to: number;
  /** The instruction that is looked at. */
  at: number;
  /** The selected range. */
  selected: [number, number] | null;
  panel: Panel;
  axis: Axis;
  /** The address of the function whose code is shown. */
  code: string | null;
  why: string | null;
  query: string;
  /** The trace beside this one, and its offset. */
  other: number | null;
  theme: "light" | "dark" | null;
};

export const view: View = {
  lane: 0,
  from: 0,
  to: 0,
  at: 0,
  selected: null,
  panel: "state",
  axis: "instructions",
  code: null,
  why: null,
  query: "",
  other: null,
  theme: null,
};

type Change = { [Key in keyof View]?: View[Key] };
type Watcher = (changed: Set<keyof View>) => void;
const watchers: Watcher[] = [];

export function watch(watcher: Watcher): void {
  watchers.push(watcher);
}

let changed = new Set<keyof View>();

/** Changes the view; watchers see it once, before the next frame. */
export function show(change: Change): void {
  for (const [key, value] of Object.entries(change) as [keyof View, never][]) {
    if (JSON.stringify(view[key]) === JSON.stringify(value)) continue;
    (view[key] as unknown) = value;
    if (changed.size === 0) requestAnimationFrame(tell);
    changed.add(key);
  }
}

let saving = 0;

function tell(): void {
  const now = changed;
  changed = new Set();
  for (const watcher of watchers) watcher(now);
  window.clearTimeout(saving);
  saving = window.setTimeout(save, 150);
}

function save(): void {
  const link = new URLSearchParams();
  link.set("l", String(view.lane));
  link.set("w", `${Math.round(view.from)}-${Math.round(view.to)}`);
  link.set("at", String(view.at));
  if (view.selected) link.set("s", view.selected.join("-"));
  link.set("p", view.panel);
  if (view.axis !== "instructions") link.set("x", view.axis);
  if (view.code) link.set("c", view.code);
  if (view.why) link.set("y", view.why);
  if (view.query) link.set("q", view.query);
  if (view.other !== null) link.set("o", String(view.other));
  if (view.theme) link.set("t", view.theme);
  history.replaceState(null, "", `#${link}`);
}

/** The view of the address. */
export function restore(): Partial<View> {
  const link = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => {
    const text = link.get(name);
    return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
  };
  const pair = (name: string): [number, number] | undefined => {
    const found = /^(\d+)-(\d+)$/.exec(link.get(name) ?? "");
    return found ? [Number(found[1]), Number(found[2])] : undefined;
  };
  const of = <T extends string>(name: string, known: readonly T[]) => known.find((one) => one === link.get(name));
  const hex = (text: string | null) => (text && /^0x[0-9a-f]{1,16}$/.test(text) ? text : undefined);
  const window = pair("w");
  const found: Partial<View> = {
    lane: number("l"),
    from: window?.[0],
    to: window?.[1],
    at: number("at"),
    selected: pair("s"),
    panel: of("p", PANELS.map((one) => one[0])),
    axis: of("x", ["instructions", "cycles", "time"] as const),
    code: hex(link.get("c")),
    why: link.get("y") ?? undefined,
    query: link.get("q") ?? undefined,
    other: number("o"),
    theme: of("t", ["light", "dark"] as const),
  };
  return Object.fromEntries(Object.entries(found).filter((entry) => entry[1] !== undefined));
}

/** The selected range, or the window of the timeline; an exported page has one. */
export function range(): [number, number] {
  if (exported) return [exported.from, exported.to];
  return view.selected ?? [Math.max(0, Math.floor(view.from)), Math.ceil(view.to)];
}
