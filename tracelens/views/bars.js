"use strict";
// Bars on rows that are zoomed and moved: the timeline of a step, and kernel time as an icicle.

const ROW = 17, HEAD = 18;

/** A number of nanoseconds in words. */
function duration(ns) {
  const [divisor, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return `${(ns / divisor).toLocaleString("en-US", {maximumFractionDigits: 3})} ${unit}`;
}

const wordOf = (column, i) => column.words[column.at[i]];

/** The timeline's bars and lanes: each bar has row, begin, length, text, kind, and call where launch and work share one. */
function timelineBars({columns}) {
  const lanes = new Map(), bars = [];
  columns.start_ns.forEach((begin, i) => {
    const lane = wordOf(columns.lane, i);
    if (!lanes.has(lane)) lanes.set(lane, {name: lane, depth: 0});
    const own = lanes.get(lane), level = columns.level[i];
    own.depth = Math.max(own.depth, level + 1);
    bars.push({own, level, begin, length: columns.duration_ns[i], text: wordOf(columns.name, i), n: columns.n[i],
      kind: wordOf(columns.kind, i), call: columns.api_call_id[i], isHost: wordOf(columns.kind, i) === "api call"});
  });
  return {bars, lanes: [...lanes.values()]};
}

/** The icicle's bars: nodes below each other, as wide as the time of their kernels, most time first. */
function icicleBars({columns}) {
  const root = {children: new Map(), length: 0, level: -1};
  columns.duration_ns.forEach((ns, i) => {
    const layer = wordOf(columns.layer, i), parts = layer.startsWith("(") ? [layer] : layer.split(".");
    const path = [[wordOf(columns.phase, i), "module"], ...parts.map((part) => [part, "module"]),
      [wordOf(columns.op, i), "op"], [wordOf(columns.kernel, i), wordOf(columns.primitive, i)]];
    let node = root;
    root.length += ns;
    path.forEach(([text, kind], level) => {
      const key = `${kind} ${text}`;
      if (!node.children.has(key)) node.children.set(key, {text, kind, level, length: 0, n: 0, children: new Map()});
      node = node.children.get(key);
      node.length += ns;
      node.n += columns.n[i];
    });
  });
  const own = {name: "", depth: 0}, bars = [];
  const place = (node, begin) => {
    for (const child of [...node.children.values()].sort((a, b) => b.length - a.length)) {
      own.depth = Math.max(own.depth, child.level + 1);
      bars.push(Object.assign(child, {own, begin}));
      place(child, begin);
      begin += child.length;
    }
  };
  place(root, 0);
  return {bars, lanes: [own]};
}

function drawBars(place, told, signal) {
  const {bars, lanes} = told.kind === "timeline" ? timelineBars(told) : icicleBars(told);
  let height = 0;
  for (const lane of lanes) {
    lane.top = height + (lane.name ? HEAD : 0);
    height = lane.top + lane.depth * ROW + 4;
  }
  height += HEAD;
  const byCall = new Map();
  for (const bar of bars) if (bar.isHost && bar.call !== null) byCall.set(bar.call, bar);
  const started = bars.filter((bar) => !bar.isHost && bar.call !== undefined && bar.call !== null && byCall.has(bar.call));
  const view = {begin: 0, length: told.length, chosen: null};
  const canvas = element("canvas", {tabindex: "0", role: "img",
    "aria-label": `${told.kind}: keys + and - zoom, arrows left and right move, up and down choose a row, comma and period ` +
      "choose a bar, Enter zooms to it, 0 shows all"});
  const status = element("p", {class: "about", "aria-live": "polite"}), tip = element("div", {class: "tip", hidden: true});
  const context = canvas.getContext("2d");
  let width = 0;

  const yOf = (bar) => bar.own.top + bar.level * ROW;
  const xOf = (ns) => (ns - view.begin) / view.length * width;
  const inView = (bar) => bar.begin < view.begin + view.length && bar.begin + bar.length > view.begin;
  const describe = (bar) => {
    const several = bar.n > 1 ? `; ${count(bar.n)} ${told.kind === "timeline" ? "together" : "kernels"}` : "";
    const at = told.kind === "timeline" ? ` at ${duration(bar.begin)}` : `, ${(100 * bar.length / told.length).toFixed(1)} %`;
    return `${bar.text} (${bar.kind}): ${duration(bar.length)}${at}${several}`;
  };

  function isDark(color) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
    return 0.299 * r + 0.587 * g + 0.114 * b < 120;
  }

  function draw() {
    const style = getComputedStyle(document.documentElement), scale = window.devicePixelRatio || 1;
    const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
    width = canvas.parentElement.clientWidth;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const bar of bars) {
      if (!inView(bar)) continue;
      const x = Math.max(xOf(bar.begin), 0), long = Math.min(xOf(bar.begin + bar.length), width) - x, y = yOf(bar);
      context.globalAlpha = bar.n > 1 && told.kind === "timeline" ? 0.6 : 1;
      context.fillStyle = told.colors[bar.kind];
      context.fillRect(x, y, Math.max(long - (long > 3 ? 0.6 : 0), 0.5), ROW - 1);
      context.globalAlpha = 1;
      if (long > 34) {
        const room = Math.floor((long - 6) / 6.2), text = bar.text;
        context.fillStyle = isDark(told.colors[bar.kind]) ? "#fff" : "#111";
        context.fillText(text.length > room ? `${text.slice(0, room - Math.floor(room / 3) - 1)}…${text.slice(-Math.floor(room / 3))}`
          : text, x + 3, y + ROW / 2);
      }
      if (bar === view.chosen) {
        context.strokeStyle = ink;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y, Math.max(long - 2, 1), ROW - 1);
      }
    }
    context.fillStyle = soft;
    for (const lane of lanes) if (lane.name) context.fillText(lane.name, 2, lane.top - HEAD / 2);
    const near = started.filter((bar) => inView(bar));
    const call = view.chosen?.call ?? null;
    const pointed = near.length <= 60 ? near : near.filter((bar) => call !== null && bar.call === call);
    for (const bar of pointed) arrow(byCall.get(bar.call), bar, ink);
    axis(soft);
  }

  function arrow(from, to, color) {
    const [x, y, toX, toY] = [xOf(from.begin + from.length), yOf(from), xOf(to.begin), yOf(to) + ROW - 1];
    context.strokeStyle = color;
    context.globalAlpha = view.chosen && view.chosen.call === to.call ? 1 : 0.35;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.lineTo(toX - 3, toY + 5);
    context.moveTo(toX, toY);
    context.lineTo(toX + 3, toY + 5);
    context.stroke();
    context.globalAlpha = 1;
  }

  function axis(color) {
    const n = Math.max(Math.floor(width / 160), 1);
    context.fillStyle = color;
    for (let i = 0; i <= n; i++) {
      const text = duration(view.begin + view.length * i / n);
      context.textAlign = i === n ? "right" : i ? "center" : "left";
      context.fillText(text, width * i / n, height - HEAD / 2);
    }
    context.textAlign = "left";
  }

  function show(begin, length) {
    view.length = Math.min(Math.max(length, 10), told.length);
    view.begin = Math.min(Math.max(begin, 0), told.length - view.length);
    draw();
  }
  const zoom = (factor, at = 0.5) => show(view.begin + view.length * at * (1 - factor), view.length * factor);
  const zoomTo = (bar) => bar && show(bar.begin - bar.length * 0.05, bar.length * 1.1);

  function choose(bar) {
    view.chosen = bar ?? view.chosen;
    if (!view.chosen) return;
    status.textContent = describe(view.chosen);
    if (inView(view.chosen)) draw();
    else show(view.chosen.begin - view.length / 2, view.length);
  }

  const barAt = (x, y) => bars.find((bar) => y >= yOf(bar) && y < yOf(bar) + ROW && x >= xOf(bar.begin) - 1 &&
    x <= Math.max(xOf(bar.begin + bar.length), xOf(bar.begin) + 2));

  /** The bar beside the chosen one on its row, or the one at the same time on the next row that has any. */
  function beside(step, acrossRows) {
    const from = view.chosen ?? bars.find(inView);
    if (!view.chosen) return from;
    const middle = (bar) => bar.begin + bar.length / 2;
    if (!acrossRows) {
      const row = bars.filter((bar) => yOf(bar) === yOf(from)).sort((a, b) => a.begin - b.begin);
      return row[row.indexOf(from) + step];
    }
    const rows = [...new Set(bars.filter(inView).map(yOf))].sort((a, b) => step * (a - b));
    const next = rows.find((y) => step * (y - yOf(from)) > 0);
    const distance = (bar) => Math.abs(middle(bar) - middle(from));
    return bars.filter((bar) => yOf(bar) === next).reduce((a, b) => (a && distance(a) <= distance(b) ? a : b), undefined);
  }

  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show(0, told.length),
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
  canvas.addEventListener("pointerdown", (event) => { dragged = {x: event.offsetX, begin: view.begin}; });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged && event.buttons) show(dragged.begin - (event.offsetX - dragged.x) / width * view.length, view.length);
    const bar = barAt(event.offsetX, event.offsetY);
    tip.hidden = !bar;
    if (!bar) return;
    tip.textContent = describe(bar);
    tip.style.left = `${Math.min(event.offsetX + 12, Math.max(width - 260, 0))}px`;
    tip.style.top = `${event.offsetY + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => choose(barAt(event.offsetX, event.offsetY)));
  canvas.addEventListener("dblclick", (event) => zoomTo(barAt(event.offsetX, event.offsetY)));

  const buttons = [["Zoom in", "+"], ["Zoom out", "-"], ["Back", "ArrowLeft"], ["On", "ArrowRight"], ["All", "0"]]
    .map(([word, key]) => element("button", {type: "button", onclick: () => keys[key]()}, word));
  const hint = element("span", {}, "drag, Ctrl and wheel, or keys: + - arrows , . Enter 0");
  const used = [...new Set(bars.map((bar) => bar.kind))];
  const legend = element("ul", {class: "legend"}, ...used.map((kind) => {
    const mark = element("span", {class: "swatch"});
    mark.style.background = told.colors[kind];
    return element("li", {}, mark, kind);
  }));
  place.append(element("p", {class: "about"}, told.note), element("div", {class: "tools"}, ...buttons, hint), legend, element("div", {class: "canvas"}, canvas, tip), status);
  drawAgain(draw, signal);
  draw();
}
