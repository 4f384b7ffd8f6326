// Visits a viewer in Chromium and prints what it saw as JSON: node view.mjs PLAYWRIGHT SCENARIO LINK [FOLDER]
// FOLDER takes pictures.

import { createRequire } from "node:module";
import { join } from "node:path";

const [, , playwright, scenario, link, folder] = process.argv;
const { chromium } = createRequire(join(playwright, "node_modules/"))("playwright-core");

const browser = await chromium.launch({
  executablePath: process.env.TRACKWAY_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
const page = await context.newPage();
const problems = [];
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
page.on("pageerror", (error) => problems.push(String(error)));
page.on("dialog", (dialog) => (problems.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
const foreign = [];
page.on("request", (request) => {
  const url = new URL(request.url());
  if (!["127.0.0.1", "localhost"].includes(url.hostname) && !["file:", "data:"].includes(url.protocol)) foreign.push(request.url());
});

const view = (on = page) => on.evaluate(() => JSON.parse(JSON.stringify(window.trackway.view)));
const ready = (on = page) => on.waitForFunction(() => performance.getEntriesByName("trackway-ready").length > 0, null, { timeout: 900000 });
const shown = (name, on = page) => on.waitForFunction((name) => document.querySelector(".panel").dataset.shown === name && !document.querySelector(".panel.busy"), name);
const text = (selector, on = page) => on.locator(selector).first().innerText();
const settled = () => page.waitForTimeout(450);
const picture = async (name) => {
  if (!folder) return;
  await settled();
  await page.screenshot({ path: join(folder, `${name}.png`) });
};
const blur = () => page.evaluate(() => document.activeElement?.blur());

async function tour() {
  const seen = { address: page.url(), title: await page.title(), facts: await text(".facts") };
  seen.start = await view();
  await page.waitForSelector(".rows .row .text");
  seen.rows = await page.locator(".rows .row").count();
  seen.first = await text(".rows .row .text");
  // Zooms in by keyboard, to single instructions, and out again.
  for (let n = 0; n < 40; n++) await page.keyboard.press("w");
  await settled();
  seen.zoomed = await view();
  await page.keyboard.press("d");
  await settled();
  seen.moved = await view();
  await page.keyboard.press("f");
  await settled();
  seen.fitted = await view();
  // Searches.
  await page.keyboard.press("/");
  await page.keyboard.type("class:branch");
  await page.keyboard.press("Enter");
  await shown("search");
  await page.waitForSelector(".panel table tbody tr");
  seen.found = await page.locator(".panel table tbody tr").count();
  await page.keyboard.press("n");
  await settled();
  seen.next = await view();
  seen.current = await text(".rows .row.current .text");
  // After the last match that is known comes the next one, not the first.
  await page.locator(".panel table tbody tr a").last().click();
  await settled();
  seen.last = (await view()).at;
  await page.keyboard.press("n");
  await settled();
  seen.beyond = (await view()).at;
  // Goes to a position.
  await page.keyboard.press("g");
  await page.keyboard.type("end-1");
  await page.keyboard.press("Enter");
  await settled();
  seen.end = await view();
  await page.keyboard.press("Home");
  await settled();
  // Clicks a value.
  await page.locator(".rows .value.write").first().click();
  await shown("why");
  seen.why = await text(".panel .why");
  seen.panels = {};
  for (const [key, name] of [["1", "state"], ["2", "code"], ["3", "flame"], ["4", "calls"], ["5", "memory"], ["6", "branches"]]) {
    await blur();
    await page.keyboard.press(key);
    await shown(name);
    seen.panels[name] = (await text(".panel")).slice(0, 400);
  }
  await page.keyboard.press("g");
  await page.keyboard.type("sym:fib");
  await page.keyboard.press("Enter");
  await settled();
  await page.keyboard.press("2");
  await page.waitForSelector(".panel .source .current");
  seen.source = await text(".panel .source");
  await page.keyboard.press("Home");
  await page.keyboard.press("3");
  await shown("flame");
  await picture("view");
  if (folder) {
    await page.mouse.dblclick(700, 153);
    await page.keyboard.press("2");
    await shown("code");
    await page.locator(".rows .row").nth(2).click();
    await picture("view-source");
    await page.keyboard.press("t");
    await page.keyboard.press("5");
    await shown("memory");
    await picture("view-dark");
    await page.keyboard.press("t");
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
    await settled();
  }
  // Selects a range with the mouse, and asks for its calls.
  const box = await page.locator(".timeline canvas").boundingBox();
  await page.mouse.move(box.x + 400, box.y + 90);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 90, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.press("4");
  await shown("calls");
  await settled();
  seen.selected = await view();
  // A link restores the view.
  const other = await context.newPage();
  await other.goto(page.url());
  await ready(other);
  await shown("calls", other);
  seen.restored = await view(other);
  await other.close();
  await page.keyboard.press("?");
  seen.keys = await page.locator("dialog[open] dt").count();
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  await settled();
  seen.theme = await page.evaluate(() => document.documentElement.dataset.theme);
  seen.wide = await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  // No cookie that a script can read.
  seen.cookie = await page.evaluate(() => document.cookie);
  return seen;
}

async function compare() {
  await page.keyboard.press("9");
  await shown("compare");
  // Of two traces the other one is chosen.
  await page.waitForSelector(".list >> nth=1");
  await page.waitForFunction(() => document.querySelector(".panel .scope"), null, { timeout: 60000 });
  const seen = { lists: await page.locator(".list").count(), verdict: await text(".panel .scope") };
  await blur();
  await page.keyboard.press("]");
  await settled();
  seen.at = (await view()).at;
  seen.marked = await page.locator(".row.changed, .row.inserted, .row.deleted").count();
  return seen;
}

async function damaged() {
  await page.waitForSelector(".health:not([hidden])");
  const seen = { health: await text(".health"), facts: await text(".facts") };
  await page.locator(".health").click();
  seen.damage = await text("dialog[open]");
  return seen;
}

/** Times of a long trace: first paint, and frames while zooming. */
async function long() {
  const seen = { facts: await text(".facts"), instructions: await page.evaluate(() => window.trackway.view.to) };
  const again = await context.newPage();
  await again.goto(page.url());
  await ready(again);
  seen.paint = await again.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null);
  seen.ready = await again.evaluate(() => performance.getEntriesByName("trackway-ready")[0].startTime);
  await again.close();
  // Frames: the time that drawing took, and the time from a key to the frame that shows it.
  await page.evaluate(() => {
    window.trackway.times.splice(0);
    window.frames_ = [];
    document.addEventListener("keydown", (event) => {
      const begun = event.timeStamp;
      requestAnimationFrame(() => setTimeout(() => window.frames_.push(performance.now() - begun)));
    });
  });
  for (let n = 0; n < 160; n++) {
    await page.keyboard.press(n % 80 < 36 ? "w" : n % 80 < 44 ? "a" : "s");
    await page.waitForTimeout(30);
  }
  await settled();
  const p95 = (times) => times.sort((one, other) => one - other)[Math.floor(times.length * 0.95)];
  const times = await page.evaluate(() => [...window.trackway.times]);
  const shown = await page.evaluate(() => window.frames_);
  seen.frames = times.length;
  seen.p95 = p95(times);
  seen.shown = p95(shown);
  seen.median = shown[Math.floor(shown.length / 2)];
  seen.slowest = shown[shown.length - 1];
  seen.zoomed = await view();
  // From the middle of the trace, by the index.
  const begun = Date.now();
  const middle = Math.floor(seen.instructions / 2);
  await page.keyboard.press("g");
  await page.keyboard.type(String(middle));
  await page.keyboard.press("Enter");
  await page.waitForFunction((n) => document.querySelector(`.rows .row.current[data-n="${n}"] .text`), middle);
  seen.jump = Date.now() - begun;
  return seen;
}

/** Looks at the flame graph. */
async function look() {
  await page.keyboard.press("3");
  await shown("flame");
  return {};
}

await page.goto(link);
await ready();
const seen = await { tour, compare, damaged, long, look }[scenario]();
const markup = await page.evaluate(() => document.querySelectorAll("img, script:not([src]):not([nonce]):not([type]), iframe").length);
console.log(JSON.stringify({ ...seen, problems, foreign, markup }));
await browser.close();
