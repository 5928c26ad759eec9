"use strict";
// Kernel time by phase, layer, op and kernel: nodes below each other, as wide as the time of their kernels.

/** The icicle's bars, most time first. */
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

function drawIcicle(place, told, signal) {
  drawBars(place, {
    ...told, ...icicleBars(told), name: "Kernel time", writesTime: false,
    note: `${told.note} Each row splits the one above it; wider is more time.`,
    help: "Drag to move, Ctrl and wheel to zoom, click to read a bar, double " +
      "click to fill the width with it. Keys: + - and arrows, comma and period for the bar beside, Enter to zoom to it, 0 for all.",
    describe: (bar) => `${bar.text} (${bar.kind}): ${duration(bar.length)}, ${(100 * bar.length / told.length).toFixed(1)} %` +
      (bar.n > 1 ? `; ${count(bar.n)} kernels` : ""),
    matches: (bar, text) => bar.text.toLowerCase().includes(text),
  }, signal);
}
