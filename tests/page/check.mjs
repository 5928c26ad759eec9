// Opens pages in Chromium at 390 and 1,300 px, light, dark and printed, and looks for what no reader should meet:
// words on the console, requests, parts that were not drawn, a page wider than its window, more than 2 s to open, serious
// findings of axe-core. Takes some minutes a page.
//
//     npm install --prefix /tmp/page playwright-core axe-core
//     NODE_PATH=/tmp/page/node_modules node tests/page/check.mjs PAGE.html… [--shots FOLDER]
//
// CHROMIUM names the browser, by default /usr/bin/chromium. Exits with 1 where anything was found.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {basename, join, resolve} from "node:path";
import {pathToFileURL} from "node:url";

const require = createRequire(join(process.env.NODE_PATH ?? ".", "here"));
const {chromium} = require(join(process.env.NODE_PATH ?? "", "playwright-core"));
const axe = readFileSync(require.resolve(join(process.env.NODE_PATH ?? "", "axe-core", "axe.min.js")), "utf8");
const words = process.argv.slice(2), at = words.indexOf("--shots"), shots = at < 0 ? null : words.splice(at, 2)[1];
const ways = ["screen", "print"].flatMap((media) => ["light", "dark"].flatMap((colorScheme) =>
  [390, 1300].map((width) => ({media, colorScheme, width}))));

/** Writes the condition into the filter of every table. */
function filter(condition) {
  for (const input of document.querySelectorAll("input.limit")) {
    input.value = condition;
    input.dispatchEvent(new Event("input"));
  }
}

const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"]});
let wrong = 0;
for (const file of words) {
  let soonest = Infinity;
  for (const {media, colorScheme, width} of ways) {
    // bypassCSP: for axe, which is put into the page; tests/test_html_page.py has the policy enforced.
    const page = await browser.newPage({viewport: {width, height: 900}, colorScheme, bypassCSP: true});
    await page.emulateMedia({media, colorScheme});
    const found = [], url = pathToFileURL(resolve(file)).href, began = Date.now();
    page.on("console", (message) => found.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => found.push(`error: ${error.message}`));
    page.on("request", (request) => { if (request.url() !== url) found.push(`request: ${request.url().slice(0, 100)}`); });
    await page.goto(url);
    const opened = Date.now() - began;
    await page.waitForFunction(() => "drawn" in document.documentElement.dataset, null, {timeout: 120_000});
    const drawn = Date.now() - began;
    await page.evaluate(() => document.querySelector(".folds button")?.click());
    await page.waitForTimeout(500);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 0 && media === "screen") found.push(`wider than the window by ${wide} px`);
    const name = `${basename(file, ".html")}-${width}-${colorScheme}-${media}`;
    if (shots) await page.screenshot({path: join(shots, `${name}.png`), fullPage: true});
    await page.evaluate(axe);
    // As it opens, and with conditions on numbers: one that no row meets, and one that is none.
    for (const condition of [null, "> 1e300", "many"]) {
      if (condition !== null) await page.evaluate(filter, condition);
      const {violations} = await page.evaluate(() => window.axe.run());
      for (const {impact, id, nodes} of violations) {
        const where = `${condition ?? ""} ${nodes[0].html.slice(0, 100)}`.trim();
        if (["serious", "critical"].includes(impact)) found.push(`axe: ${id} (${impact}), ${where}`);
      }
    }
    console.log(`${name}: opened after ${opened} ms, all drawn after ${drawn} ms${found.map((one) => `\n  ${one}`).join("")}`);
    wrong += found.length;
    soonest = Math.min(soonest, opened);
    await page.close();
  }
  if (soonest > 2000) {
    console.log(`${file}: takes more than 2 s to open every time`);
    wrong += 1;
  }
}
await browser.close();
process.exitCode = wrong ? 1 : 0;
