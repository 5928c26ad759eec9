"use strict";
// The timeline of a step: lanes of streams and threads, arrows from launches to their work, what a click tells, all steps above.

const wordOf = (column, i) => column.words[column.at[i]];
/** The word at a place, null where there is none. */
const knownOf = (column, i) => (wordOf(column, i) === "(none)" ? null : wordOf(column, i));
const CALLS = ", Python calls", MOST_FRAMES = 40, MOST_ARROWS = 60;

/** The timeline's bars and lanes; the lane of a thread's Python calls stands below the thread's own. */
function timelineBars({columns}) {
  const lanes = new Map(), bars = [];
  columns.start_ns.forEach((begin, i) => {
    const name = wordOf(columns.lane, i), kind = wordOf(columns.kind, i), level = columns.level[i], n = columns.n[i];
    if (!lanes.has(name)) lanes.set(name, {name, depth: 0, bars: [], isCalls: name.endsWith(CALLS), isHidden: name.endsWith(CALLS)});
    const own = lanes.get(name);
    own.depth = Math.max(own.depth, level + 1);
    const bar = {own, level, begin, length: columns.duration_ns[i], text: wordOf(columns.name, i), n, isMerged: n > 1, kind,
      call: columns.api_call_id[i], isHost: kind === "api call", op: knownOf(columns.op, i), layer: knownOf(columns.layer, i),
      shapes: knownOf(columns.shapes, i), size: knownOf(columns.size, i)};
    own.bars.push(bar);
    bars.push(bar);
  });
  const order = [...lanes.values()].filter((lane) => !lane.isCalls);
  for (const lane of lanes.values()) {
    if (!lane.isCalls) continue;
    const thread = order.findIndex((one) => one.name === lane.name.slice(0, -CALLS.length));
    order.splice(thread < 0 ? order.length : thread + 1, 0, lane);
  }
  return {bars, lanes: order};
}

/** Bars of the same thread around a bar, the innermost first: its ops, modules and Python calls. */
function stackOf(bar, lanes) {
  const thread = bar.own.name.replace(CALLS, "");
  const around = lanes.filter((lane) => lane.name.replace(CALLS, "") === thread).flatMap((lane) => lane.bars);
  const end = bar.begin + bar.length;
  return around.filter((one) => one !== bar && !one.isMerged && one.begin <= bar.begin && one.begin + one.length >= end)
    .sort((a, b) => a.length - b.length);
}

function drawTimeline(place, told, signal) {
  const {bars, lanes} = timelineBars(told), details = element("div", {class: "details", role: "region", "aria-label": "The chosen bar", tabindex: "0", hidden: true});
  const launches = new Map(), works = new Map();
  for (const bar of bars) {
    if (bar.call === null) continue;
    if (bar.isHost) launches.set(bar.call, bar);
    else works.set(bar.call, [...(works.get(bar.call) ?? []), bar]);
  }
  const started = [...works.entries()].filter(([call]) => launches.has(call)).flatMap(([, list]) => list);

  function decorate({context, view, xOf, yOf, inView, ink}) {
    const near = started.filter(inView), call = view.chosen?.call ?? null;
    const pointed = near.length <= MOST_ARROWS ? near : near.filter((bar) => call !== null && bar.call === call);
    for (const to of pointed) {
      const from = launches.get(to.call);
      if (from.own.isHidden) continue;
      const [x, y, toX, toY] = [xOf(from.begin + from.length), yOf(from), xOf(to.begin), yOf(to) + ROW - 1];
      context.strokeStyle = ink;
      context.globalAlpha = call !== null && call === to.call ? 1 : 0.35;
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
  }

  /** The words that name a bar's rows in tables, with what each is. */
  function namesOf(bar) {
    const cause = bar.kind.startsWith("idle: ") ? bar.text.replace(/^[^:]+: /, "") : bar.text;
    return [...new Set([cause, bar.op, bar.layer].filter(Boolean))];
  }

  function tell(bar) {
    const rows = [["what", bar.text], ["kind", bar.kind.replaceAll("_", " ")], ["took", duration(bar.length)],
      ["began", `${duration(bar.begin)} from the left end`], ["where", bar.own.name], ["op", bar.op], ["layer", bar.layer],
      ["shapes", bar.shapes], [bar.own.name.startsWith("critical path") ? "waits for" : "size", bar.size], ["stands for", bar.isMerged ? `${count(bar.n)} short ones together` : null]];
    const list = element("dl", {}, ...rows.filter(([, text]) => text).map(([word, text]) =>
      element("div", {}, element("dt", {}, word), element("dd", {}, text))));
    const launch = bar.isHost ? null : launches.get(bar.call);
    const links = [...(launch ? [["Show its launch", launch]] : []),
      ...(bar.isHost ? works.get(bar.call) ?? [] : []).slice(0, 3).map((work) => [`Show what it started: ${inRoom(work.text, 40)}`, work])];
    const jumps = links.map(([word, to]) => element("button", {type: "button", onclick: () => chart.choose(to)}, word));
    const tables = namesOf(bar).flatMap((name) => rowsNamed(name).map(({table, n}) => element("button",
      {type: "button", onclick: () => table.find(name)}, `${inRoom(name, 40)} in ${table.name.replaceAll("_", " ")} (${count(n)})`)));
    const frames = stackOf(bar.isHost || !launch ? bar : launch, lanes);
    const stack = frames.length ? [element("p", {class: "about"}, launch ? "launched in, innermost first" : "called in, innermost first"),
      element("ol", {}, ...frames.slice(0, MOST_FRAMES).map((one) => element("li", {}, `${one.text} (${one.kind})`)))] : [];
    details.hidden = false;
    details.replaceChildren(list, ...(jumps.length ? [element("div", {class: "tools"}, ...jumps)] : []),
      ...(tables.length ? [element("div", {class: "tools"}, element("span", {}, "its rows: "), ...tables)] : []), ...stack);
  }

  const chart = drawBars(place, {
    ...told, bars, lanes, name: "Timeline", writesTime: true, decorate, chosen: tell,
    help: "Drag to move, hold Ctrl and turn the wheel to zoom, click a bar to see what it is, double click to zoom to it. " +
      "Keys: + and - zoom, left and right move, up and down change the row, comma and period go to the bar beside, Enter zooms " +
      "to it, 0 shows the whole step.",
    describe: (bar) => `${bar.text} (${bar.kind}): ${duration(bar.length)} at ${duration(bar.begin)}` +
      (bar.isMerged ? `; ${count(bar.n)} together` : ""),
    matches: (bar, text) => [bar.text, bar.op, bar.layer].some((one) => one?.toLowerCase().includes(text)),
  }, signal);
  place.append(details);
  const hidden = lanes.filter((lane) => lane.isCalls);
  if (!hidden.length) return;
  const box = element("input", {type: "checkbox", onchange: () => {
    for (const lane of hidden) lane.isHidden = !box.checked;
    chart.redraw();
  }});
  chart.tools.append(element("label", {}, box, " Python calls"));
}

/** All steps of a rank as columns, as high as they take time, work at the foot; a click chooses one that can be looked at. */
function drawOverview(told, choose) {
  const {steps, durations, working, choices, n_steps: total} = told, most = Math.max(...durations), n = steps.length;
  const mean = durations.reduce((a, b) => a + b, 0) / n, TALL = 40;
  const svg = svgElement("svg", {viewBox: `0 0 ${Math.max(n, 20)} ${TALL}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${count(n)} steps${told.of}, ${rounded(mean)} on average, the longest ${rounded(most)}`});
  const marks = [];
  steps.forEach((step, i) => {
    const tall = Math.max(TALL * durations[i] / most, 1), busy = (working[i] ?? 0) * tall, wide = n > 200 ? 1 : 0.9;
    const title = svgElement("title");
    title.textContent = `step ${step}: ${duration(durations[i])}` + (working[i] === null ? "" : `, the device works ${Math.round(100 * working[i])} %`) +
      (choices[i] === null ? "; its timeline is not in this page" : "; click to see it");
    const group = svgElement("g", {class: choices[i] === null ? "step-mark" : "step-mark can"}, title,
      svgElement("rect", {x: i, y: 0, width: wide, height: TALL, class: "back"}),
      svgElement("rect", {x: i, y: TALL - tall, width: wide, height: tall - busy, class: working[i] === null ? "known" : "waits"}),
      svgElement("rect", {x: i, y: TALL - busy, width: wide, height: busy, class: "works"}));
    if (choices[i] !== null) group.addEventListener("click", () => choose(choices[i]));
    marks.push(group);
    svg.append(group);
  });
  const about = element("p", {class: "about"}, `${total > n ? `The first ${count(n)} of ${count(total)} steps` : `All ${count(n)} steps`}${told.of}: ` +
    `a higher column is a longer step (the longest ${rounded(most)}), its lower part is work${told.of && " (waiting within a collective is part of it)"} and its upper part idle time. Click one in full colour to see it below.`);
  return {
    parts: [element("div", {class: "overview"}, svg), about],
    mark: (choice) => marks.forEach((group, i) => group.classList.toggle("now", choices[i] !== null && choices[i] === choice)),
  };
}
