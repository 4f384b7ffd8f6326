// Colours of the canvases; those of elements are in style.css.

import { view } from "./view";

const system = window.matchMedia("(prefers-color-scheme: dark)");

export function isDark(): boolean {
  return view.theme ? view.theme === "dark" : system.matches;
}

export function applyTheme(): void {
  colours.clear();
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}

export function onSystemTheme(changed: () => void): void {
  system.addEventListener("change", changed);
}

/** Colours that were asked for: a canvas asks for thousands in each frame. */
const colours = new Map<string, string>();

function known(name: string, find: () => string): string {
  let found = colours.get(name);
  if (found === undefined) colours.set(name, (found = find()));
  return found;
}

/** A colour of the styles. */
export function colour(name: string): string {
  return known(name, () => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
}

function hueOf(name: string): number {
  let sum = 2166136261;
  for (let n = 0; n < name.length; n++) sum = Math.imul(sum ^ name.charCodeAt(n), 16777619) >>> 0;
  // Steps of the golden angle keep neighbours apart.
  return ((sum % 997) * 137.508) % 360;
}

/** The colour of a function, the same everywhere. */
export function fill(name: string, strong = true): string {
  return known(`${strong ? "+" : "-"}${name}`, () => {
    const hue = hueOf(name);
    if (isDark()) return strong ? `hsl(${hue} 38% 36%)` : `hsl(${hue} 22% 26%)`;
    return strong ? `hsl(${hue} 62% 78%)` : `hsl(${hue} 45% 90%)`;
  });
}
