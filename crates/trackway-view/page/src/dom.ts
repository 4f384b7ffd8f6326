// Elements. Text is always text: no name from a trace becomes markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function el(name: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

export const plural = (count: number, one: string, many = `${one}s`) => `${group(count)} ${count === 1 ? one : many}`;

/** A number with thin spaces between thousands. */
export function group(value: number | bigint | string): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
}

/** A number for an axis: 12k, 3.4M. */
export function short(value: number): string {
  const units: [number, string][] = [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [size, unit] of units) {
    if (Math.abs(value) >= size * 10) return `${Math.round((value / size) * 100) / 100}${unit}`;
  }
  return String(Math.round(value * 100) / 100);
}

export function percent(part: number, all: number): string {
  if (all === 0) return "";
  const value = (100 * part) / all;
  return value >= 99.95 ? "100%" : value >= 10 ? `${value.toFixed(1)}%` : `${value.toFixed(2)}%`;
}

/** The last part of a path with its line. */
export const fileOf = (line: string) => line.split("/").pop() ?? line;

/** A canvas with the resolution of the screen. */
export function fit(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
