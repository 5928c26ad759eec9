"use strict";
// Tables: sorted, searched, selected by rank and step, a page at a time, and layers as a tree. Names are hostile: they
// become text nodes and titles only, never markup.

/** Longer words than this many characters may take several lines. */
const LONG = 20;
const collator = new Intl.Collator("en", {numeric: true});
const numeric = (value) => (typeof value === "string" && value.endsWith("inf") ? Number(value + "inity") : Number(value));

/** One column: how a row's value is shown, sorted, searched and copied. */
function columnOf(told) {
  const {words, at, values, decimals, divisor} = told;
  if (words) {
    const order = words.map((_, i) => i).sort((a, b) => collator.compare(words[a], words[b]));
    const place = [];
    order.forEach((word, i) => { place[word] = i; });
    return {
      ...told, isLong: words.some((word) => word.length > LONG), known: (row) => words[at[row]] !== "-", key: (row) => place[at[row]], text: (row) => words[at[row]],
      short: (row) => told.short[at[row]] ?? words[at[row]],
    };
  }
  const form = decimals === null ? null
    : new Intl.NumberFormat("en-US", {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  const written = (value) => (form && Number.isFinite(Number(value)) ? form.format(value / divisor) : String(value));
  const text = (row) => (values[row] === null ? "-" : written(values[row]));
  return {...told, written, text, short: text, known: (row) => values[row] !== null, key: (row) => numeric(values[row])};
}

/** The condition on a column's stored number that a text such as ">100" or "2..5" is, in the unit shown; null for others. */
function conditionOf(text, divisor) {
  const number = "(-?[\\d.]+(?:e[+-]?\\d+)?)", plain = text.replace(/[,_\s]/g, "").toLowerCase();
  const [, low, high] = plain.match(new RegExp(`^${number}\\.\\.${number}$`)) ?? [];
  if (low !== undefined) return (value) => value >= low * divisor && value <= high * divisor;
  const [, sign, said] = plain.match(new RegExp(`^(>=|<=|>|<|=)?${number}$`)) ?? [];
  const limit = Number(said) * divisor;
  if (said === undefined || Number.isNaN(limit)) return null;
  return {">": (value) => value > limit, "<": (value) => value < limit, ">=": (value) => value >= limit,
    "<=": (value) => value <= limit}[sign] ?? ((value) => Math.abs(value - limit) <= Math.abs(limit) * 1e-9);
}

/** A cell of a CSV file: the stored value, not the words for it; as the CSV format does it, a quote stands before what a spreadsheet would compute. */
function csvCell(column, row) {
  if (!column.known(row)) return "";
  const word = column.words && (column.stored[column.at[row]] ?? column.text(row));
  const text = column.words ? word.replace(/^[=+\-@\t\r]/, "'$&") : String(column.values[row]);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = element("textarea", {readonly: true}, text);
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** What other parts of the page may do with the tables that are drawn: ask for rows of a name, and show them. */
const drawnTables = [];

/** The tables that have rows of exactly this name, with how many. */
function rowsNamed(name) {
  return drawnTables.map((table) => ({table, n: table.countOf(name)})).filter(({n}) => n > 0);
}

/** The rows of a table as nodes of a tree by the parts of their paths; numbers in paths become * in `byClass`. */
function grownTree(paths, rows, byClass) {
  const root = {children: new Map(), rows};
  for (const row of rows) {
    const path = paths.text(row);
    let node = root, whole = "";
    for (const part of /^[(-]/.test(path) ? [path] : path.split(".")) {
      const name = byClass ? part.replace(/\d+/g, "*") : part;
      whole = whole ? `${whole}.${part}` : part;
      if (!node.children.has(name)) {
        const path = node.path === undefined ? name : `${node.path}.${name}`;
        node.children.set(name, {name, path, depth: (node.depth ?? 0) + 1, rows: [], children: new Map(), members: new Set()});
      }
      node = node.children.get(name);
      node.rows.push(row);
      node.members.add(whole);
    }
  }
  return root;
}

/** Draws a table into its place, and again whenever something about it is changed. */
function drawTable(place, told) {
  for (const column of told.columns) if (typeof column.values === "number") column.values = told.columns[column.values].values;
  const columns = told.columns.map(columnOf), more = (i) => (told.first[i] ? "" : " more");
  const perPage = Number(place.dataset.rows), {height, name} = told;
  const size = told.tree === null ? -1 : columns.findIndex((column) => column.summed && column.unit);
  const state = {sorted: size < 0 ? null : size, falls: true, page: 0, search: "", limit: null, chosen: new Map(), open: new Set(), focus: 0,
    mode: told.tree === null ? "rows" : "tree"};
  const body = element("tbody"), status = element("span", {"aria-live": "polite"});
  const heads = columns.map((column, i) => headOf(column, i));
  const grid = element("table", {"aria-label": `Table of ${name}`}, element("thead", {}, element("tr", {}, ...heads)), body);
  const tools = element("div", {class: "tools"});
  let shown = [], limited = -1;

  function headOf(column, i) {
    const unit = column.unit ? [element("span", {class: "unit"}, ` ${column.unit}`)] : [];
    const button = element("button", {type: "button", title: column.doc || null, onclick: () => sortBy(i)}, column.label, ...unit);
    return element("th", {scope: "col", class: (column.number ? "n" : "") + more(i)}, button);
  }

  function sortBy(i) {
    const first = Boolean(columns[i].number);
    if (state.sorted !== i) Object.assign(state, {sorted: i, falls: first});
    else if (state.falls === first) state.falls = !first;
    else state.sorted = null;
    draw({page: 0});
  }

  function kept() {
    const asked = state.search.toLowerCase();
    const texts = columns.filter((column) => column.words);
    const hits = texts.map((column) => column.words.map((word) => word.toLowerCase().includes(asked)));
    const rows = [];
    for (let row = 0; row < height; row++) {
      if ([...state.chosen].some(([i, text]) => columns[i].text(row) !== text)) continue;
      if (state.limit && !(columns[limited].known(row) && state.limit(columns[limited].key(row)))) continue;
      if (!asked || texts.some((column, i) => hits[i][column.at[row]])) rows.push(row);
    }
    return rows;
  }

  /** A node's value in a column: of sums the sum, else what all its rows have in common. */
  function valueOf(node, column, i) {
    const [first] = node.rows;
    if (i === told.tree) return node.name;
    if (column.summed && !(column.unit === "%" && mixesRanks(node))) {
      return node.rows.reduce((sum, row) => sum + Number(column.values[row] ?? 0), 0);
    }
    return node.rows.every((row) => column.key(row) === column.key(first)) ? column.key(first) : NaN;
  }
  const rank = columns.find((column) => column.name === "rank");
  const mixesRanks = (node) => rank !== undefined && node.rows.some((row) => rank.key(row) !== rank.key(node.rows[0]));

  function ordered(items, key, known = () => true) {
    if (state.sorted === null) return items;
    const keyed = items.map((item) => [item, key(item), known(item)]);
    const compare = (a, b) => (typeof a === "string" ? collator.compare(a, b) : Number.isNaN(a) - Number.isNaN(b) || a - b);
    keyed.sort((a, b) => b[2] - a[2] || (state.falls ? compare(b[1], a[1]) : compare(a[1], b[1])));
    return keyed.map(([item]) => item);
  }

  const isOpen = (node) => node.children.size > 0 && (state.search !== "" || state.open.has(node.path));

  function listed(node, found = []) {
    const i = state.sorted ?? 0;
    for (const child of ordered([...node.children.values()], (one) => valueOf(one, columns[i], i))) {
      found.push(child);
      if (isOpen(child)) listed(child, found);
    }
    return found;
  }

  function openFirst(root) {
    for (let node = root; node; node = [...node.children.values()].find((child) => child.children.size)) {
      if (node.path !== undefined) state.open.add(node.path);
      if ([...node.children.values()].filter((child) => child.children.size).length > 1) return;
    }
  }

  function cell(column, content, indent) {
    const kind = column.number ? "n" : column.prose ? "prose" : column.isLong ? "text long" : "text";
    const made = element("td", {class: kind + more(columns.indexOf(column))}, ...content);
    if (indent !== undefined) made.style.paddingLeft = `${indent}rem`;
    return made;
  }

  const named = (column, row) => {
    const [text, short] = [column.text(row), column.short(row)];
    return text === short ? [text]
      : [element("span", {class: "short", title: text}, short), element("span", {class: "whole"}, text)];
  };

  function rowOf(row) {
    return element("tr", {}, ...columns.map((column) => cell(column, named(column, row))));
  }

  function nodeRow(node) {
    const opens = node.children.size > 0;
    const cells = columns.map((column, i) => {
      if (i === told.tree) {
        const several = node.members.size > 1 ? ` ×${node.members.size}` : "";
        const mark = element("span", {class: "mark", "aria-hidden": "true"}, opens ? (isOpen(node) ? "▾ " : "▸ ") : "");
        return cell(column, [mark, node.name + several], node.depth * 0.9);
      }
      const value = valueOf(node, column, i);
      if (Number.isNaN(value)) return cell(column, [""]);
      return cell(column, column.summed ? [column.written(value)] : named(column, node.rows[0]));
    });
    return element("tr", {"aria-level": node.depth, "aria-expanded": opens ? String(isOpen(node)) : null,
      onclick: () => toggle(node)}, ...cells);
  }

  function toggle(node, opened = !isOpen(node)) {
    if (node.children.size) state.open[opened ? "add" : "delete"](node.path);
    draw({focus: shown.indexOf(node) - state.page * perPage}, true);
  }

  function draw(change = {}, takesFocus = false) {
    Object.assign(state, {focus: 0}, change);
    const rows = kept();
    if (state.mode === "rows") {
      const column = columns[state.sorted ?? 0];
      shown = ordered(rows, column.key, column.known);
    } else {
      const root = grownTree(columns[told.tree], rows, state.mode === "class");
      if (change.mode || !state.open.size) openFirst(root);
      shown = listed(root);
    }
    const pages = Math.max(Math.ceil(shown.length / perPage), 1);
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const begin = state.page * perPage, part = shown.slice(begin, begin + perPage);
    body.replaceChildren(...part.map(state.mode === "rows" ? rowOf : nodeRow));
    [...body.rows].forEach((row, i) => { row.tabIndex = i === state.focus ? 0 : -1; });
    if (takesFocus) body.rows[state.focus]?.focus();
    grid.setAttribute("role", state.mode === "rows" ? "table" : "treegrid");
    heads.forEach((head, i) => {
      if (state.sorted === i) head.setAttribute("aria-sort", state.falls ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const of = rows.length < height ? `${count(rows.length)} of ${count(height)}` : count(height);
    const at = pages > 1 ? `${count(begin + 1)} to ${count(begin + part.length)} of ${count(shown.length)} lines; ` : "";
    status.textContent = `${at}${of} ${height === 1 ? "row" : "rows"}`;
    for (const [button, to] of steps) button.disabled = to() < 0 || to() >= pages || to() === state.page;
    pager.hidden = pages < 2;
  }

  const pages = () => Math.max(Math.ceil(shown.length / perPage), 1);
  const steps = [["First", () => 0], ["Back", () => state.page - 1], ["Next", () => state.page + 1], ["Last", () => pages() - 1]]
    .map(([word, to]) => [element("button", {type: "button", onclick: () => draw({page: to()})}, word), to]);
  const pager = element("span", {class: "pager"}, ...steps.map(([button]) => button));

  body.addEventListener("keydown", (event) => {
    const at = [...body.rows].indexOf(event.target.closest("tr")), node = shown[state.page * perPage + at];
    const move = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (move && body.rows[at + move]) {
      body.rows[at].tabIndex = -1;
      body.rows[at + move].tabIndex = 0;
      body.rows[at + move].focus();
    } else if (move || event.key === "PageDown" || event.key === "PageUp") {
      const step = move ?? (event.key === "PageDown" ? 1 : -1), page = state.page + step;
      if (page >= 0 && page < pages()) draw({page, focus: move === -1 ? perPage - 1 : 0}, true);
    } else if (state.mode !== "rows" && ["ArrowRight", "ArrowLeft", "Enter", " "].includes(event.key)) {
      toggle(node, {ArrowRight: true, ArrowLeft: false}[event.key]);
    } else return;
    event.preventDefault();
  });

  const labelled = (word, control) => element("label", {}, `${word} `, control);
  const select = (options, onchange) => element("select", {onchange: (event) => onchange(event.target.value)},
    ...options.map(([value, word]) => element("option", {value}, word)));
  if (told.tree !== null) {
    const modes = [["tree", "tree"], ["class", "tree by class"], ["rows", "rows"]];
    tools.append(labelled("as", select(modes, (mode) => { state.open.clear(); draw({mode, page: 0}); })));
  }
  for (const i of told.choices) {
    const column = columns[i], texts = [...new Set(Array.from({length: height}, (_, row) => column.text(row)))];
    const options = [["", "all"], ...texts.sort(collator.compare).map((text) => [text, text])];
    tools.append(labelled(column.label, select(options, (text) => {
      if (text) state.chosen.set(i, text); else state.chosen.delete(i);
      draw({page: 0});
    })));
  }
  const numbers = columns.map((column, i) => [i, column]).filter(([, column]) => column.values && column.number && column.written);
  if (height > 8 && numbers.length) {
    const first = numbers.find(([i]) => i === size) ?? numbers.find(([, column]) => column.unit) ?? numbers[0];
    [limited] = first;
    const asked = element("input", {type: "text", class: "limit", placeholder: "> 100", "aria-label": "only rows where the number is",
      title: ">100, <=5, =3, or 2..5, in the unit of the column"});
    const ask = () => {
      state.limit = conditionOf(asked.value, columns[limited].divisor);
      asked.setAttribute("aria-invalid", String(Boolean(asked.value) && !state.limit));
      draw({page: 0});
    };
    asked.addEventListener("input", ask);
    const which = select(numbers.map(([i, column]) => [i, column.unit ? `${column.label} (${column.unit})` : column.label]),
      (i) => { limited = Number(i); ask(); });
    which.value = limited;
    tools.append(labelled("where", which), asked);
  }
  const sought = element("input", {type: "search", oninput: (event) => draw({search: event.target.value, page: 0})});
  if (height > 8) tools.append(labelled("search", sought));
  drawnTables.push({
    name,
    countOf: (word) => columns.filter((column) => column.words?.includes(word)).reduce((sum, column) => {
      const at = column.words.indexOf(word);
      return Math.max(sum, column.at.reduce((n, one) => n + (one === at), 0));
    }, 0),
    find: (word) => {
      if (isFolded(place)) unfold(foldOf(place));
      if (height > 8) {
        sought.value = word;
        draw({search: word, page: 0});
      }
      place.scrollIntoView();
      const isOf = (row) => [...row.cells].some((cell) => (cell.querySelector(".whole") ?? cell).textContent === word);
      ([...body.rows].find(isOf) ?? body.rows[0])?.focus({preventScroll: true});
    },
  });
  const button = element("button", {type: "button", onclick: async () => {
    const [column] = [columns[state.sorted ?? 0]], rows = ordered(kept(), column.key, column.known);
    const lines = rows.map((row) => columns.map((one) => csvCell(one, row)).join(","));
    await copy([columns.map((one) => one.name).join(","), ...lines].join("\n") + "\n");
    status.textContent = `copied ${count(rows.length)} rows`;
  }}, "Copy as CSV");
  const box = element("div", {class: "scroll"}, grid), n_more = told.first.filter((isFirst) => !isFirst).length;
  if (n_more) {
    const all = element("input", {type: "checkbox", onchange: () => box.classList.toggle("all", all.checked)});
    tools.append(element("label", {}, all, ` ${n_more} more ${n_more === 1 ? "column" : "columns"}`));
  }
  tools.append(button, status, pager);
  place.append(tools, box);
  draw();
}
