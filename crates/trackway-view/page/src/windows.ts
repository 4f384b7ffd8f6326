// Windows of the timeline: those that were read are kept, and the next ones asked for before they are needed.

import { type Timeline as Answer, ask, exported } from "./api";

/** Instructions of the widest window that the server reads call by call. */
const EXACT = 1 << 18;
const KEPT = 24;

/** The functions of one thread at one depth: they do not overlap, and are in order. */
export type Row = { start: Float64Array; end: Float64Array; name: Float64Array; bits: Float64Array };
export type Track = { name: string; rows: Row[] };
export type Window = { from: number; to: number; answer: Answer; tracks: Track[] };

/** The slices of an answer by thread and depth. */
export function arrange(answer: Answer): Track[] {
  const { slices } = answer;
  const counts = new Map<number, number[]>();
  for (let n = 0; n < slices.length; n++) {
    const thread = slices.thread[n];
    let depths = counts.get(thread);
    if (!depths) counts.set(thread, (depths = []));
    depths[slices.depth[n]] = (depths[slices.depth[n]] ?? 0) + 1;
  }
  const rows = new Map<number, (Row & { next: number })[]>();
  for (const [thread, depths] of counts) {
    const row = (count = 0) => ({ start: new Float64Array(count), end: new Float64Array(count), name: new Float64Array(count), bits: new Float64Array(count), next: 0 });
    rows.set(thread, Array.from(depths, row));
  }
  for (let n = 0; n < slices.length; n++) {
    const row = (rows.get(slices.thread[n]) as (Row & { next: number })[])[slices.depth[n]];
    row.start[row.next] = slices.start[n];
    row.end[row.next] = slices.end[n];
    row.name[row.next] = slices.name[n];
    row.bits[row.next++] = slices.bits[n];
  }
  return answer.threads.flatMap(({ id, name }) => (rows.has(id) ? [{ name, rows: rows.get(id) as Row[] }] : []));
}

/** The place of the first value that is greater. */
export function after(values: Float64Array, value: number, low = 0): number {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

export class Windows {
  private kept: Window[] = [];
  private lane = 0;
  private first = 0;
  private total = 0;
  private asking = false;
  private wanted: [number, number, number] | null = null;
  /** The whole run. */
  whole: Window | null = null;
  /** How long reading each answer took, for those who measure. */
  readonly times: number[] = [];

  constructor(private arrived: () => void) {}

  /** Another trace: its whole run. */
  async open(lane: number, first: number, total: number): Promise<void> {
    [this.lane, this.first, this.total, this.kept, this.whole, this.wanted] = [lane, first, total, [], null, null];
    try {
      const whole = await this.read(first, total, 1200);
      if (lane === this.lane) this.whole = whole;
    } catch {
      // The list says what is wrong.
    }
  }

  /** The sharpest window that has all of a view, or the one with most of it. */
  best(from: number, to: number): Window | null {
    let best = this.whole;
    let part = 0.6 * (to - from);
    for (const one of this.kept) {
      const inside = Math.min(to, one.to) - Math.max(from, one.from);
      const covers = inside >= Math.min(to, this.total) - from;
      if (covers ? !best || one.to - one.from < best.to - best.from || part < to - from : inside > part) {
        [best, part] = [one, covers ? to - from : inside];
      }
    }
    return best;
  }

  /** Asks for the window of a view unless it is there: one question at a time, the last one counts. */
  want(from: number, to: number, pixels: number): void {
    if (this.total <= this.first || to <= from) return;
    // Windows begin at quarters of their width: the next one is asked for before this one ends, and the same ones again.
    const wide = Math.max(EXACT, 2 ** Math.ceil(Math.log2(2 * (to - from))));
    const start = Math.floor(((from + to) / 2 - wide / 2) / (wide / 4) + 0.5) * (wide / 4);
    const window: [number, number] = [Math.max(this.first, start), Math.min(this.total, start + wide)];
    const place = this.kept.findIndex((one) => one.from === window[0] && one.to === window[1]);
    if (place >= 0) this.kept.unshift(...this.kept.splice(place, 1));
    const known = place >= 0 || (exported && this.whole) || (this.whole?.answer.exact && this.whole);
    this.wanted = known ? null : [...window, Math.ceil((pixels * (window[1] - window[0])) / (to - from))];
    void this.load();
  }

  private async load(): Promise<void> {
    if (this.asking || !this.wanted) return;
    const [[from, to, columns], lane] = [this.wanted, this.lane];
    [this.asking, this.wanted] = [true, null];
    try {
      const window = await this.read(from, to, columns);
      if (window && lane === this.lane) {
        this.kept.unshift(window);
        this.kept.length = Math.min(this.kept.length, KEPT);
        this.arrived();
      }
    } catch {
      // The window stays as it was; the list says what is wrong.
    } finally {
      this.asking = false;
      void this.load();
    }
  }

  private async read(from: number, to: number, columns: number): Promise<Window | null> {
    const answer = await ask<Answer>("timeline", { l: this.lane, from, to, columns });
    if (answer.busy) return null;
    const begun = performance.now();
    const tracks = arrange(answer);
    this.times.push(performance.now() - begun);
    return { from, to, answer, tracks };
  }
}
