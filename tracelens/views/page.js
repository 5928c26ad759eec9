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

const count = (number) => number.toLocaleString("en-US");

/** The data in a place's own script: base64 of deflated JSON. */
async function unpacked(place) {
  const bytes = Uint8Array.from(atob(place.querySelector("script").textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

/** The chart for a narrow page: the names of bars stand above them, for they would leave no room beside. */
function fitted(spec, width) {
  if (width >= 600) return spec;
  if (spec.encoding?.color?.legend) spec.encoding.color.legend.columns = 2;
  if (spec.encoding?.y?.field !== "label") return spec;
  const n = new Set(spec.datasets[spec.data.name].map((row) => row.label)).size, step = 1.4 * spec.height / n + 14;
  spec.height = step * n;
  spec.encoding.y.scale = {paddingInner: 14 / step, paddingOuter: 14 / step};
  Object.assign(spec.encoding.y.axis, {
    labelAlign: "left", labelPadding: -1, labelOffset: -step / 2 - 1, labelLimit: width, labelFontSize: 10, zindex: 1,
  });
  return spec;
}

async function drawChart(place) {
  const spec = JSON.parse(place.querySelector("script").textContent);
  const drawn = place.appendChild(element("div", {class: "drawn"}));
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}
  };
  await window.vegaEmbed(drawn, fitted(spec, drawn.clientWidth), options);
}

const drawings = {
  ".chart": drawChart,
  ".bars": async (place) => drawBars(place, await unpacked(place)),
  ".table": async (place) => drawTable(place, await unpacked(place)),
};

/** Draws every part, one after the other, so that the page can be scrolled and clicked meanwhile. */
async function drawAll() {
  for (const place of document.querySelectorAll(Object.keys(drawings).join())) {
    const [, draw] = Object.entries(drawings).find(([selector]) => place.matches(selector));
    try {
      await draw(place);
    } catch (error) {
      console.error(error);
      place.append(`This could not be drawn: ${error.message}`);
    }
    await new Promise((resolve) => { setTimeout(resolve); });
  }
  document.documentElement.dataset.drawn = "";
}
document.addEventListener("DOMContentLoaded", drawAll);
