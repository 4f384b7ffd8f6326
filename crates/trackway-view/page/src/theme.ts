// Colours of the canvases; those of elements are in style.css.

import { view } from "./view";

const system = window.matchMedia("(prefers-color-scheme: dark)");

export function isDark(): boolean {
  return view.theme ? view.theme === "dark" : system.matches;
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}

export function onSystemTheme(changed: () => void): void {
  system.addEventListener("change", changed);
}

/** A colour of the styles. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const hues = new Map<string, number>();

function hueOf(name: string): number {
  let hue = hues.get(name);
  if (hue === undefined) {
    let sum = 2166136261;
    for (let n = 0; n < name.length; n++) sum = Math.imul(sum ^ name.charCodeAt(n), 16777619) >>> 0;
    // Steps of the golden angle keep neighbours apart.
    hue = ((sum % 997) * 137.508) % 360;
    hues.set(name, hue);
  }
  return hue;
}

/** The colour of a function, the same everywhere. */
export function fill(name: string, strong = true): string {
  const hue = hueOf(name);
  if (isDark()) return strong ? `hsl(${hue} 38% 36%)` : `hsl(${hue} 22% 26%)`;
  return strong ? `hsl(${hue} 62% 78%)` : `hsl(${hue} 45% 90%)`;
}
