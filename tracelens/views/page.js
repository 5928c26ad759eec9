"use strict";
// What all parts of the page share, and the order in which they are drawn.

/** An element with attributes (those that begin with on are listeners) and children, which are text unless elements. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** The same of a part of a picture. */
function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const count = (number) => number.toLocaleString("en-US");

/** The data in a script: base64 of deflated JSON. */
async function unpacked(script) {
  const bytes = Uint8Array.from(atob(script.textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

/** The chart for a narrow page: the names of bars stand above them, for they would leave no room beside. */
function fitted(spec, width) {
  if (width >= 600) return spec;
  if (spec.encoding?.color?.legend) spec.encoding.color.legend.columns = 2;
  if (spec.encoding?.y?.field !== "label") return spec;
  const n = new Set(spec.datasets[spec.data.name].map((row) => row.label)).size, step = 1.4 * spec.height / n + 17;
  spec.height = step * n;
  spec.encoding.y.scale = {paddingInner: 17 / step, paddingOuter: 17 / step};
  Object.assign(spec.encoding.y.axis, {
    labelAlign: "left", labelPadding: -1, labelOffset: -step / 2 - 1, labelLimit: width, labelFontSize: 10, zindex: 1,
  });
  return spec;
}

/** The charts that are drawn when the section that hides them is opened. */
const waiting = new Map();
const foldOf = (place) => place.closest(".fold");
const isFolded = (place) => foldOf(place)?.open === false;

/** Opens a section, and draws its charts. */
function unfold(fold) {
  fold.open = true;
  const places = waiting.get(fold) ?? [];
  waiting.delete(fold);
  places.forEach(drawPlace);
}

/** Opens the section to which a link leads. */
function unfoldLinked(hash) {
  const fold = document.getElementById(hash.slice(1))?.querySelector(".fold");
  if (fold) unfold(fold);
}

/** Opens sections when they are linked to, found in the page or printed, and puts a button for all above them. */
function listenToFolds() {
  const folds = [...document.querySelectorAll(".fold")];
  let closed = [];
  for (const fold of folds) fold.addEventListener("toggle", () => { if (fold.open) unfold(fold); });
  document.addEventListener("click", (event) => { unfoldLinked(event.target.closest("a[href^='#']")?.hash ?? ""); });
  window.addEventListener("hashchange", () => unfoldLinked(location.hash));
  window.addEventListener("beforeprint", () => {
    closed = folds.filter((fold) => !fold.open);
    closed.forEach(unfold);
  });
  window.addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });
  document.querySelector(".folds")?.append(element("button", {type: "button", onclick: () => folds.forEach(unfold)}, "Open all"));
  unfoldLinked(location.hash);
}

async function drawChart(place) {
  const spec = JSON.parse(place.querySelector("script").textContent);
  const drawn = place.appendChild(element("div", {class: "drawn"}));
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}
  };
  await window.vegaEmbed(drawn, fitted(spec, drawn.clientWidth), options);
}

/** Draws again when the width or the colours change, until the signal says that the picture is gone. */
function drawAgain(draw, signal) {
  window.addEventListener("resize", draw, {signal});
  for (const media of ["print", "(prefers-color-scheme: dark)"]) matchMedia(media).addEventListener("change", draw, {signal});
}

/** The first of a place's views, and selects of rank and step for the others. */
async function drawViews(place) {
  const views = [...place.querySelectorAll("script[data-rank]")], shown = element("div"), above = element("div");
  const overviews = new Map();
  for (const script of place.querySelectorAll("script[data-overview]")) {
    overviews.set(script.dataset.overview, drawOverview(await unpacked(script), (step) => controlled("step", step)));
  }
  const of = (name) => [...new Set(views.map((view) => view.dataset[name]))].filter(Boolean);
  let leave = new AbortController();
  async function show(view) {
    leave.abort();
    leave = new AbortController();
    const told = await unpacked(view);
    shown.replaceChildren();
    pictures[told.kind](shown, told, leave.signal);
    const overview = overviews.get(view.dataset.rank);
    above.replaceChildren(...(overview?.parts ?? []));
    overview?.mark(view.dataset.step);
  }
  const pictures = {heat: drawHeat, icicle: drawIcicle, timeline: drawTimeline};
  const controls = ["rank", "step"].filter((name) => of(name).length > 1).map((name) => [name, element("select")]);
  const chosen = {...views[0].dataset};
  /** The steps of the chosen rank, which need not be those of another. */
  function fill() {
    for (const [name, select] of controls) {
      const fits = name === "rank" ? views : views.filter((view) => view.dataset.rank === chosen.rank);
      select.replaceChildren(...[...new Set(fits.map((view) => view.dataset[name]))].map((word) => element("option", {}, word)));
      if (![...select.options].some((option) => option.value === chosen[name])) chosen[name] = select.options[0].value;
      select.value = chosen[name];
    }
  }
  async function controlled(name, value) {
    chosen[name] = value;
    fill();
    await show(views.find((view) => view.dataset.rank === chosen.rank && view.dataset.step === chosen.step));
  }
  for (const [name, select] of controls) select.addEventListener("change", () => controlled(name, select.value));
  fill();
  if (controls.length) place.append(element("div", {class: "tools"}, ...controls.map(([name, select]) => element("label", {}, `${name} `, select))));
  place.append(above, shown);
  await show(views[0]);
}

const drawings = {
  ".chart": drawChart,
  ".bars": drawViews,
  ".table": async (place) => drawTable(place, await unpacked(place.querySelector("script"))),
};

async function drawPlace(place) {
  const [, draw] = Object.entries(drawings).find(([selector]) => place.matches(selector));
  try {
    await draw(place);
  } catch (error) {
    console.error(error);
    place.append(`This could not be drawn: ${error.message}`);
  }
}

/**
 * Draws every part, one after the other, so that the page can be scrolled and clicked meanwhile. Closed sections come last: their
 * tables are drawn, to be found by a search, and their charts, which need a width, wait.
 */
async function drawAll() {
  listenToFolds();
  const places = [...document.querySelectorAll(Object.keys(drawings).join())];
  for (const place of places.sort((a, b) => isFolded(a) - isFolded(b))) {
    if (place.matches(".chart") && isFolded(place)) waiting.set(foldOf(place), [...(waiting.get(foldOf(place)) ?? []), place]);
    else await drawPlace(place);
    await new Promise((resolve) => { setTimeout(resolve); });
  }
  document.documentElement.dataset.drawn = "";
}
document.addEventListener("DOMContentLoaded", drawAll);
