"use strict";
// Bars on lanes that are zoomed, moved, searched and chosen with pointer and keys: the timeline and the icicle use it.

const ROW = 17, HEAD = 18;

/** A number of nanoseconds in words. */
function duration(ns) {
  const [divisor, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return `${(ns / divisor).toLocaleString("en-US", {maximumFractionDigits: 3})} ${unit}`;
}

/** A number of nanoseconds in words, with three digits as in the answer. */
function rounded(ns) {
  const digits = {minimumSignificantDigits: 3, maximumSignificantDigits: 3};
  const [divisor, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  return `${(ns / divisor).toLocaleString("en-US", digits)} ${unit}`;
}

/** Round moments between two others with labels that all differ: about so many, in one unit. */
function ticks(begin, length, most) {
  const power = 10 ** Math.floor(Math.log10(length / most)), step = [1, 2, 5, 10].map((n) => n * power).find((one) => length / one <= most);
  const end = begin + length, [divisor, unit] = end >= 1e9 ? [1e9, "s"] : end >= 1e6 ? [1e6, "ms"] : end >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const decimals = Math.max(Math.ceil(Math.log10(divisor / step) - 1e-9), 0), found = [];
  const form = new Intl.NumberFormat("en-US", {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  for (let i = Math.ceil(begin / step - 1e-9); i * step <= end; i++) found.push([i * step, `${form.format(i * step / divisor + 0)} ${unit}`]);
  return found;
}

/** The text without its middle, in so many characters. */
function inRoom(text, room) {
  const tail = Math.floor(room / 3);
  return text.length > room ? `${text.slice(0, Math.max(room - tail - 1, 1))}…${tail ? text.slice(-tail) : ""}` : text;
}

function isDark(color) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b < 150;
}

/**
 * Draws a picture of bars below its tools. `picture` has name, note, help, length, colors, bars (begin, length, level, own: the
 * lane, text, kind), lanes (name, depth, isHidden), describe(bar), writesTime, and may have matches(bar, text), decorate(draw)
 * and chosen(bar). Returns what others may do with it.
 */
function drawBars(place, picture, signal) {
  const {bars, lanes} = picture;
  const view = {begin: 0, length: picture.length, chosen: null, found: null};
  const canvas = element("canvas", {tabindex: "0", role: "img", "aria-label": `${picture.name}: ${picture.help}`});
  const status = element("p", {class: "about chosen", "aria-live": "polite"}), tip = element("div", {class: "tip", hidden: true});
  const box = element("div", {class: "canvas"}, canvas, tip), context = canvas.getContext("2d");
  let width = 0, height = 0;

  function layOut() {
    height = HEAD;
    for (const lane of lanes) {
      if (lane.isHidden) continue;
      lane.top = height + (lane.name ? HEAD : 0);
      height = lane.top + lane.depth * ROW + 4;
    }
  }
  const yOf = (bar) => bar.own.top + bar.level * ROW;
  const xOf = (ns) => (ns - view.begin) / view.length * width;
  const inView = (bar) => !bar.own.isHidden && bar.begin < view.begin + view.length && bar.begin + bar.length > view.begin;
  const fades = (bar) => view.found !== null && !view.found.has(bar);

  function drawBar(bar, ink) {
    const x = Math.max(xOf(bar.begin), 0), long = Math.min(xOf(bar.begin + bar.length), width) - x, y = yOf(bar);
    const color = picture.colors[bar.kind];
    context.globalAlpha = fades(bar) ? 0.15 : bar.isMerged ? 0.6 : 1;
    context.fillStyle = color;
    context.fillRect(x, y, Math.max(long - (long > 3 ? 0.6 : 0), 0.5), ROW - 1);
    context.globalAlpha = 1;
    if (long > 34 && !fades(bar)) {
      context.fillStyle = isDark(color) ? "#fff" : "#111";
      context.fillText(inRoom(bar.text, Math.floor((long - 6) / 6.2)), x + 3, y + ROW / 2);
    }
    if (bar !== view.chosen) return;
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y, Math.max(long - 2, 1), ROW - 1);
  }

  function draw() {
    const style = getComputedStyle(document.documentElement), scale = window.devicePixelRatio || 1;
    const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
    width = box.clientWidth;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const marks = ticks(view.begin, view.length, Math.max(Math.floor(width / 90), 2));
    context.fillStyle = style.getPropertyValue("--line");
    for (const [ns] of marks) context.fillRect(Math.round(xOf(ns)), 0, 1, height);
    for (const bar of bars) if (inView(bar)) drawBar(bar, ink);
    context.fillStyle = soft;
    for (const lane of lanes) if (lane.name && !lane.isHidden) context.fillText(lane.name, 2, lane.top - HEAD / 2);
    picture.decorate?.({context, view, xOf, yOf, inView, ink});
    label(marks, soft, style.getPropertyValue("--paper"));
  }

  /** Writes times at the top of what is seen of the picture, however far down it is scrolled. */
  function label(marks, color, paper) {
    context.fillStyle = paper;
    context.fillRect(0, box.scrollTop, width, HEAD);
    context.fillStyle = color;
    context.textAlign = "center";
    for (const [ns, text] of marks) {
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(xOf(ns), half), width - half), box.scrollTop + HEAD / 2);
    }
    context.textAlign = "left";
  }

  function show(begin, length) {
    view.length = Math.min(Math.max(length, 10), picture.length);
    view.begin = Math.min(Math.max(begin, 0), picture.length - view.length);
    draw();
  }
  const zoom = (factor, at = 0.5) => show(view.begin + view.length * at * (1 - factor), view.length * factor);
  const zoomTo = (bar) => bar && show(bar.begin - bar.length * 0.05, bar.length * 1.1);

  function choose(bar) {
    view.chosen = bar ?? view.chosen;
    if (!view.chosen) return;
    status.textContent = picture.describe(view.chosen);
    if (inView(view.chosen)) draw();
    else show(view.chosen.begin - view.length / 2, view.length);
    const y = yOf(view.chosen);
    if (y < box.scrollTop + HEAD || y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
    picture.chosen?.(view.chosen);
  }

  const barAt = (x, y) => bars.find((bar) => !bar.own.isHidden && y >= yOf(bar) && y < yOf(bar) + ROW &&
    x >= xOf(bar.begin) - 1 && x <= Math.max(xOf(bar.begin + bar.length), xOf(bar.begin) + 2));

  /** The bar beside the chosen one on its row, or the one at the same time on the next row that has any. */
  function beside(step, acrossRows) {
    const from = view.chosen ?? bars.find(inView);
    if (!view.chosen) return from;
    const middle = (bar) => bar.begin + bar.length / 2, seen = bars.filter((bar) => !bar.own.isHidden);
    if (!acrossRows) {
      const row = seen.filter((bar) => yOf(bar) === yOf(from)).sort((a, b) => a.begin - b.begin);
      return row[row.indexOf(from) + step];
    }
    const rows = [...new Set(seen.filter(inView).map(yOf))].sort((a, b) => step * (a - b));
    const next = rows.find((y) => step * (y - yOf(from)) > 0);
    const distance = (bar) => Math.abs(middle(bar) - middle(from));
    return seen.filter((bar) => yOf(bar) === next).reduce((a, b) => (a && distance(a) <= distance(b) ? a : b), undefined);
  }

  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show(0, picture.length),
    ArrowLeft: () => show(view.begin - view.length / 5, view.length),
    ArrowRight: () => show(view.begin + view.length / 5, view.length),
    ArrowUp: () => choose(beside(-1, true)), ArrowDown: () => choose(beside(1, true)),
    ",": () => choose(beside(-1, false)), ".": () => choose(beside(1, false)), Enter: () => zoomTo(view.chosen),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, event.offsetX / width);
  }, {passive: false});
  let dragged = null;
  canvas.addEventListener("pointerdown", (event) => { dragged = {x: event.offsetX, begin: view.begin, moved: false}; });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged && event.buttons) {
      dragged.moved ||= Math.abs(event.offsetX - dragged.x) > 3;
      show(dragged.begin - (event.offsetX - dragged.x) / width * view.length, view.length);
    }
    const bar = barAt(event.offsetX, event.offsetY);
    tip.hidden = !bar;
    if (!bar) return;
    tip.textContent = picture.describe(bar);
    tip.style.left = `${Math.min(event.offsetX + 12, Math.max(width - 260, 0))}px`;
    tip.style.top = `${event.offsetY + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => { if (!dragged?.moved) choose(barAt(event.offsetX, event.offsetY)); });
  canvas.addEventListener("dblclick", (event) => zoomTo(barAt(event.offsetX, event.offsetY)));

  const whole = picture.writesTime ? "Whole step" : "All";
  const buttons = [["Zoom in", "+"], ["Zoom out", "-"], ["Move left", "ArrowLeft"], ["Move right", "ArrowRight"], [whole, "0"]]
    .map(([word, key]) => element("button", {type: "button", onclick: () => keys[key]()}, word));
  const tools = element("div", {class: "tools"}, ...buttons);
  if (picture.matches) tools.append(searchBox());

  function searchBox() {
    const said = element("span", {role: "status"}), input = element("input", {type: "search", placeholder: "kernel, op, layer …"});
    let hits = [], at = -1;
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      hits = text ? bars.filter((bar) => !bar.own.isHidden && picture.matches(bar, text)).sort((a, b) => a.begin - b.begin) : [];
      at = -1;
      view.found = text ? new Set(hits) : null;
      said.textContent = text ? `${count(hits.length)} found${hits.length ? "; Enter goes to the next" : ""}` : "";
      draw();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !hits.length) return;
      event.preventDefault();
      at = (at + 1) % hits.length;
      said.textContent = `${count(at + 1)} of ${count(hits.length)}`;
      choose(hits[at]);
    });
    return element("label", {}, "find ", input, " ", said);
  }

  const used = [...new Set(bars.map((bar) => bar.kind))];
  const legend = element("ul", {class: "legend"}, ...used.map((kind) => {
    const mark = element("span", {class: "swatch"});
    mark.style.background = picture.colors[kind];
    return element("li", {}, mark, kind.replaceAll("_", " "));
  }));
  const help = element("details", {class: "help keys"}, element("summary", {}, "Pointer and keys"), picture.help);
  place.append(element("p", {class: "about"}, picture.note), tools, help, legend, box, status);
  box.addEventListener("scroll", draw);
  drawAgain(draw, signal);
  layOut();
  draw();
  return {choose, tools, redraw: () => { layOut(); draw(); }};
}
