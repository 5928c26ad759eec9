"use strict";
// Heat maps: a row a rank, a column a step, coloured by a time or by the cause of most idle time.

function drawHeat(place, told, signal) {
  const {ranks, steps, columns, colors, shades} = told;
  const measures = [["waiting_ns", "exposed wait"], ["compute_ns", "compute"], ["cause", "cause of most idle time"]];
  const cells = new Map(columns.row.map((row, i) => [row * steps.length + columns.column[i], i]));
  const most = Object.fromEntries(measures.slice(0, 2).map(([name]) => [name, columns[name].reduce((a, b) => Math.max(a, b), 0)]));
  const longestIdle = columns.idle_ns.reduce((a, b) => Math.max(a, b), 1);
  const state = {measure: "waiting_ns", row: 0, column: 0, chosen: false};
  const canvas = element("canvas", {tabindex: "0", role: "img", "aria-label": "Heat map of ranks and steps: arrows choose a cell"});
  const status = element("p", {class: "about", "aria-live": "polite"}), legend = element("ul", {class: "legend"});
  const context = canvas.getContext("2d");
  const LEFT = 9 + 6.5 * Math.max(...ranks.map((label) => label.length)), BELOW = 18;
  const tall = Math.min(Math.max(Math.floor(640 / ranks.length), 3), 22);
  let wide = 1;

  const shareOf = (i) => (state.measure === "cause" ? columns.idle_ns[i] / longestIdle
    : columns[state.measure][i] / (most[state.measure] || 1));

  function describe(row, column) {
    const i = cells.get(row * steps.length + column), where = `Rank ${ranks[row]}, step ${steps[column]}`;
    if (i === undefined) return `${where}: not recorded`;
    const idle = columns.cause[i] === null ? "no idle time" : `idle ${duration(columns.idle_ns[i])}, mostly ${columns.cause[i]}`;
    return `${where}, of ${duration(columns.step_ns[i])}: waits ${duration(columns.waiting_ns[i])}, computes ` +
      `${duration(columns.compute_ns[i])}; ${idle}`;
  }

  function draw() {
    const style = getComputedStyle(document.documentElement), scale = window.devicePixelRatio || 1;
    const width = canvas.parentElement.clientWidth, height = ranks.length * tall + BELOW;
    wide = (width - LEFT) / steps.length;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const gap = wide > 6 ? 1 : 0, rowGap = tall > 5 ? 1 : 0;
    columns.row.forEach((row, i) => {
      const color = state.measure === "cause" ? colors[columns.cause[i]] : shades[state.measure];
      if (!color) return;
      context.globalAlpha = 0.08 + 0.92 * shareOf(i);
      context.fillStyle = color;
      context.fillRect(LEFT + columns.column[i] * wide, row * tall, Math.max(wide - gap, 0.5), tall - rowGap);
    });
    context.globalAlpha = 1;
    context.fillStyle = style.getPropertyValue("--soft");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const everyRow = Math.ceil(13 / tall), everyColumn = Math.ceil((7 * Math.max(...steps.map((s) => s.length)) + 8) / wide);
    context.textAlign = "right";
    ranks.forEach((label, row) => { if (row % everyRow === 0) context.fillText(label, LEFT - 4, Math.max(row * tall + tall / 2, 7)); });
    context.textAlign = "center";
    steps.forEach((label, column) => {
      const x = LEFT + (column + 0.5) * wide;
      if (column % everyColumn === 0 && x < width - 8) context.fillText(label, x, height - BELOW / 2);
    });
    if (!state.chosen) return;
    context.strokeStyle = style.getPropertyValue("--ink");
    context.lineWidth = 2;
    context.strokeRect(LEFT + state.column * wide, state.row * tall, Math.max(wide, 2), Math.max(tall, 2));
  }

  function explain() {
    const mark = (color, alpha, word) => {
      const swatch = element("span", {class: "swatch"});
      swatch.style.background = color;
      swatch.style.opacity = alpha;
      return element("li", {}, swatch, word);
    };
    const ns = most[state.measure];
    legend.replaceChildren(...(state.measure === "cause"
      ? [...Object.entries(colors).map(([word, color]) => mark(color, 1, word)), element("li", {}, "paler where less is idle")]
      : [0, 0.25, 0.5, 0.75, 1].map((share) => mark(shades[state.measure], 0.08 + 0.92 * share, share ? rounded(ns * share) : "0"))));
  }

  function choose(row, column) {
    state.row = Math.min(Math.max(row, 0), ranks.length - 1);
    state.column = Math.min(Math.max(column, 0), steps.length - 1);
    state.chosen = true;
    status.textContent = describe(state.row, state.column);
    draw();
  }

  canvas.addEventListener("keydown", (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (state.chosen) choose(state.row + step[0], state.column + step[1]);
    else choose(0, 0);
  });
  const at = (event) => [Math.floor(event.offsetY / tall), Math.floor((event.offsetX - LEFT) / wide)];
  const isCell = ([row, column]) => row >= 0 && row < ranks.length && column >= 0 && column < steps.length;
  canvas.addEventListener("click", (event) => { if (isCell(at(event))) choose(...at(event)); });
  canvas.addEventListener("pointermove", (event) => {
    canvas.title = isCell(at(event)) ? describe(...at(event)) : "";
  });
  const chooser = element("select", {onchange: (event) => { state.measure = event.target.value; explain(); draw(); }},
    ...measures.map(([value, word]) => element("option", {value}, word)));
  place.append(element("div", {class: "tools"}, element("label", {}, "show ", chooser)), legend,
    element("div", {class: "canvas"}, canvas), status);
  drawAgain(draw, signal);
  explain();
  draw();
}
