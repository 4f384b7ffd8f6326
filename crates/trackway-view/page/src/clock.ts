// From instructions to the axis and back: by cycles or time where the trace knows them.

import type { Timeline } from "./api";
import { type Axis, view } from "./view";

type Points = { n: number[]; value: number[] };

/** The clocks of the whole run. */
const whole: Record<Axis, Points | null> = { instructions: null, cycles: null, time: null };

function points(clock: Timeline["clock"], which: "time" | "cycles"): Points | null {
  const known = clock.filter((point) => point[which] !== null);
  if (known.length < 2) return null;
  const first = BigInt(known[0][which] as string);
  const found: Points = { n: [], value: [] };
  for (const point of known) {
    const value = Number(BigInt(point[which] as string) - first);
    const last = found.n.length - 1;
    // A clock that stops or runs backwards has no place on an axis.
    if (last >= 0 && (point.at <= found.n[last] || value <= found.value[last])) continue;
    found.n.push(point.at);
    found.value.push(value);
  }
  return found.n.length < 2 ? null : found;
}

export function setClock(clock: Timeline["clock"]): void {
  whole.cycles = points(clock, "cycles");
  whole.time = points(clock, "time");
}

export const has = (axis: Axis) => axis === "instructions" || whole[axis] !== null;

function between(from: number[], to: number[], value: number): number {
  let [low, high] = [0, from.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (from[middle] <= value) low = middle;
    else high = middle;
  }
  const slope = (to[high] - to[low]) / (from[high] - from[low]);
  return to[low] + (value - from[low]) * slope;
}

/** The place of an instruction on the axis. */
export function toAxis(n: number): number {
  const known = whole[view.axis];
  return known ? between(known.n, known.value, n) : n;
}

/** The instruction at a place of the axis. */
export function fromAxis(value: number): number {
  const known = whole[view.axis];
  return known ? between(known.value, known.n, value) : value;
}
