// Questions to the server, or to the data inside an exported page.

import { decode, type Name, type Rec } from "./wire";

export type Event = Rec<"Event">;
export type Reg = Rec<"Reg">;
export type Mem = Rec<"Access">;
export type Row = Rec<"Row">;
export type Damage = Rec<"Damage">;
export type Rows = Rec<"Rows">;
export type Timeline = Rec<"Timeline"> & { busy?: boolean };
export type TreeNode = Rec<"Node">;
export type Tree = Rec<"Tree"> & { busy?: boolean };
export type MemoryMap = Rec<"Memory"> & { busy?: boolean };
export type Lane = {
  file: string;
  path: string;
  source: string | null;
  format: string;
  version: string;
  isa: string;
  flow: boolean;
  program: boolean;
};
export type Status = {
  ready: boolean;
  progress?: number;
  instructions: number;
  counts?: { traps: number; marks: number; gaps: number; contexts: number; times: boolean; cycles: boolean };
  errors: Damage[];
};
export type CodeLine = {
  pc: string;
  count: number;
  code?: string;
  text?: string;
  target?: string;
  taken?: [number, number, number];
  file?: string;
  line?: number;
  source?: number | null;
};
export type Code = { name: string; start: string; end: string; lines: CodeLine[] };
export type Branch = {
  pc: string;
  place: string;
  text: string;
  indirect: boolean;
  count: number;
  taken: [number, number, number];
  targets: [string, string, number][];
  all: number;
};
export type Register = { r: string; id: string; v: string | null; known: string | null; how: string; by: number };
export type State = {
  n: number;
  pc: string | null;
  context: string | null;
  time: string | null;
  cycles: string | null;
  gap: number | null;
  frames: { pc: string; by: number; trap: boolean; guess: string | null; sym?: string; line?: string }[];
  forgotten: number;
  registers: Register[];
  error?: string;
};
export type Cause = { what: string; node?: number; end?: string; n?: number | null };
export type WhyNode = {
  n: number;
  pc: string | null;
  text?: string;
  sym?: string;
  line?: string;
  results: { what: string; v: string | null }[];
  inputs: { what: string; v: string | null; address: boolean; causes: Cause[] }[];
  unseen: boolean;
};
export type Why = { at: number; what: string; causes: Cause[]; nodes: WhyNode[]; error: string | null };
export type Match = { n: number; pc: string | null; text?: string; sym?: string; line?: string };
export type Found = { matches: Match[]; next: number | null };
export type Difference = {
  kind: string;
  a: [number, number, string | null];
  b: [number, number, string | null];
  fields: [string, string | null, string | null][];
};
export type Diff = {
  busy?: boolean;
  equal: boolean;
  counts: Record<string, number>;
  compared: Record<string, number>;
  not_compared: string[];
  damage: number;
  errors: string[];
  differences: Difference[];
};
export type Traces = { lanes: Lane[]; sources: number };

type Exported = {
  from: number;
  to: number;
  traces: Traces;
  rows: Rows;
  timeline: Timeline;
  state: State;
  tree: Tree;
  branches: { all: number; branches: Branch[] };
  memory: MemoryMap;
  code: Record<string, Code>;
  sources: Record<string, { name: string; text: string }>;
};

/** The questions whose answers are tables. */
const LARGE: Record<string, Name> = { rows: "Rows", timeline: "Timeline", tree: "Tree", memory: "Memory" };

/** The data of an exported page, in which tables are base64. */
export const exported = unpacked(document.getElementById("trackway-data")?.textContent);

function unpacked(text: string | null | undefined): Exported | null {
  if (!text) return null;
  const data = JSON.parse(text);
  for (const [what, name] of Object.entries(LARGE)) data[what] = decode(name, Uint8Array.from(atob(data[what]), (char) => char.charCodeAt(0)));
  return data;
}

export class Refused extends Error {}

type Asked = Record<string, string | number | undefined>;

async function fetched<T>(what: string, asked: Asked, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) if (value !== undefined) query.set(name, String(value));
  const response = await fetch(`api/${what}?${query}`, { signal, credentials: "same-origin" });
  if (response.headers.get("Content-Type") === "application/x-trackway") {
    return decode(LARGE[what], new Uint8Array(await response.arrayBuffer())) as T;
  }
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error ?? response.statusText);
  return answer;
}

/** Answers from the data of an exported page. */
function kept(data: Exported, what: string, asked: Asked): unknown {
  switch (what) {
    case "traces":
      return data.traces;
    case "status": {
      const { instants, contexts, clock } = data.timeline;
      const count = (kind: string) => instants.filter((one) => one.kind === kind).length;
      return {
        ready: true,
        instructions: data.to,
        counts: {
          traps: count("traps"),
          marks: count("marks"),
          gaps: count("gaps"),
          contexts: contexts.length,
          times: clock.some((point) => point.time !== null),
          cycles: clock.some((point) => point.cycles !== null),
        },
        errors: data.rows.errors,
      };
    }
    case "rows": {
      const from = Math.max(Number(asked.from), data.from);
      const rows = data.rows.rows.slice(from - data.from, from - data.from + Number(asked.count));
      return { from, rows, after: [], errors: data.rows.errors };
    }
    case "timeline":
      return data.timeline;
    case "tree":
      return data.tree;
    case "branches":
      return data.branches;
    case "memory":
      return data.memory;
    case "code": {
      const code = data.code[String(asked.at)] ?? Object.values(data.code).find((one) => contains(one, String(asked.at)));
      if (!code) throw new Refused("the code of this function is not part of the page");
      return code;
    }
    case "source":
      return data.sources[String(asked.id)];
    case "state":
      return stateOf(data, Number(asked.at));
    case "goto": {
      const to = String(asked.to);
      if (/^\d+$/.test(to)) return { n: Number(to) };
      if (to === "end") return { n: data.to };
      const [kind, value] = to.split(":");
      const after = Number(asked.after ?? -1);
      const found = data.rows.rows.find(
        (row) => row.n > after && (kind === "pc" ? same(row.pc, value) : kind === "sym" && row.sym === value),
      );
      if (!found) throw new Refused(`${to} is not in this page`);
      return { n: found.n };
    }
    case "find": {
      const words = String(asked.q).split(/\s+/).map((word) => word.replace(/^[a-z]+:/, "").toLowerCase());
      const meets = (row: Row) => {
        const text = `${row.pc} ${row.text ?? ""} ${row.sym ?? ""} ${row.ev.map((one) => one.text)}`.toLowerCase();
        return words.every((word) => text.includes(word));
      };
      return { matches: data.rows.rows.filter((row) => row.n >= Number(asked.from) && meets(row)).slice(0, 200), next: null };
    }
    default:
      throw new Refused("an exported page has no answer to this: it needs trackway view");
  }
}

const same = (one: string | null, other: string) => one !== null && BigInt(one) === BigInt(other);
const contains = (code: Code, at: string) => BigInt(code.start) <= BigInt(at) && BigInt(at) < BigInt(code.end);

/** The state at a row of an exported page: that at its beginning, and the writes since. */
function stateOf(data: Exported, at: number): State {
  const registers = new Map(data.state.registers.map((one) => [one.r, one]));
  for (const row of data.rows.rows) {
    if (row.n >= at) break;
    for (const reg of row.regs) {
      if (reg.w) registers.set(reg.r, { r: reg.r, id: reg.id, v: reg.v, known: null, how: "written", by: row.n });
    }
  }
  const row = data.rows.rows[at - data.from];
  const frames = at === data.from ? data.state.frames : [];
  return { ...data.state, n: at, pc: row?.pc ?? null, frames, registers: [...registers.values()] };
}

/** Asks; an exported page answers itself. */
export async function ask<T>(what: string, asked: Asked = {}, signal?: AbortSignal): Promise<T> {
  if (exported) return kept(exported, what, asked) as T;
  return fetched<T>(what, asked, signal);
}

/** Asks until the answer is there. */
export async function wait<T extends { busy?: boolean }>(what: string, asked: Asked, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const answer = await ask<T>(what, asked, signal);
    if (!answer.busy) return answer;
    await new Promise((done) => setTimeout(done, 250));
    signal?.throwIfAborted();
  }
}
