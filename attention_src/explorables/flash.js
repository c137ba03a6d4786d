// The explorable "flash": step through the tiles; m, l and a of each row; what is moved.

import { fixed, h, mount, speaker } from "./dom.js";

const ORDERS = { queries: "a block of queries", keys: "a block of keys" };
const sum = (x) => x.reduce((total, value) => total + value, 0);

// The tiles in the order in which they are visited: [first query, first key].
function path(n, { rows, columns, order, causal }) {
  const starts = (size) => Array.from({ length: Math.ceil(n / size) }, (_, i) => i * size);
  const pairs =
    order === "queries"
      ? starts(rows).flatMap((i) => starts(columns).map((j) => [i, j]))
      : starts(columns).flatMap((j) => starts(rows).map((i) => [i, j]));
  return pairs.filter(([i, j]) => !causal || j <= Math.min(i + rows, n) - 1);
}

// What the rows hold and what has been moved, after some tiles. Counted in numbers: queries and
// keys are `width` of them, a value, m, l, a and lse are one each.
export function walk({ scores, values, width }, settings, steps) {
  const n = values.length;
  const tiles = path(n, settings);
  const at = { m: Array(n).fill(-Infinity), l: Array(n).fill(0), acc: Array(n).fill(0) };
  const sees = (i, j) => !settings.causal || j <= i;
  const byKeys = settings.order === "keys";
  let moved = byKeys && steps ? 3 * n : 0; // m, l and a are set up in memory
  let changes = [];
  for (let step = 0; step < steps; step++) {
    const [i0, j0] = tiles[step];
    const [i1, j1] = [Math.min(i0 + settings.rows, n), Math.min(j0 + settings.columns, n)];
    const isNew = (axis) => step === 0 || tiles[step - 1][axis] !== tiles[step][axis];
    if (byKeys || isNew(0)) moved += (i1 - i0) * width; // q
    if (!byKeys || isNew(1)) moved += (j1 - j0) * (width + 1); // k and v
    if (byKeys) moved += 6 * (i1 - i0); // m, l and a come in and go out
    else if (!tiles[step + 1] || tiles[step + 1][0] !== i0) moved += 2 * (i1 - i0); // o and lse
    changes = [];
    for (let i = i0; i < i1; i++) {
      const js = Array.from({ length: j1 - j0 }, (_, c) => j0 + c).filter((j) => sees(i, j));
      const m = Math.max(at.m[i], ...js.map((j) => scores[i][j]));
      if (m === -Infinity) continue;
      const rescale = Math.exp(at.m[i] - m);
      const e = js.map((j) => Math.exp(scores[i][j] - m));
      changes.push({ i, from: at.m[i], to: m, rescale });
      at.l[i] = rescale * at.l[i] + sum(e);
      at.acc[i] = rescale * at.acc[i] + sum(e.map((x, c) => x * values[js[c]]));
      at.m[i] = m;
    }
  }
  const finished = at.m.map((_, i) => {
    const left = tiles.slice(steps).some(([i0]) => i >= i0 && i < i0 + settings.rows);
    return steps > 0 && !left;
  });
  return { ...at, moved, tiles, changes, finished, sees };
}

// With the table: read q and k, write s; read s, write p; read p and v, write o.
const tableMoves = (n, width) => 2 * n * width + 4 * n * n + 2 * n;

function build(host, given) {
  const fresh = () => ({ rows: given.block, columns: given.block, order: "queries", causal: false });
  const state = { ...fresh(), step: 1 };
  const parts = {};
  const set = (change) => {
    Object.assign(state, change);
    const last = path(given.values.length, state).length;
    state.step = Math.min(Math.max(state.step, 0), last);
    draw(host, given, state, parts);
  };
  const button = (text, change) =>
    h("button", { type: "button", onclick: () => set(change()) }, text);
  const steps = h(
    "div",
    { class: "ae-controls", role: "group", "aria-label": "Steps" },
    button("Next tile", () => ({ step: state.step + 1 })),
    button("Back", () => ({ step: state.step - 1 })),
    button("To the end", () => ({ step: Infinity })),
    button("Start over", () => ({ step: 0 })),
  );
  const sizes = Object.fromEntries([1, 2, 3, 6].map((size) => [size, size]));
  parts.rows = choice("queries in a tile", sizes, (x) => set({ rows: Number(x), step: 1 }));
  parts.columns = choice("keys in a tile", sizes, (x) => set({ columns: Number(x), step: 1 }));
  parts.order = choice("held on the chip", ORDERS, (order) => set({ order, step: 1 }));
  parts.causal = h("input", {
    type: "checkbox",
    onchange: () => set({ causal: parts.causal.checked, step: 1 }),
  });
  const choices = h(
    "div",
    { class: "ae-controls ae-flash-choices" },
    ...[parts.rows, parts.columns, parts.order].map((one) => one.parentNode),
    h("label", {}, parts.causal, " causal"),
  );
  const { table, cells, numbers } = buildTable(given.tokens);
  parts.meter = [meter("with tiles, so far"), meter("with the table")];
  parts.where = h("p", { class: "ae-entropy" });
  parts.sentence = h("p", { class: "ae-sentence" });
  parts.done = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  Object.assign(parts, { cells, numbers, speak: speaker(spoken) });
  set({});
  const unit = h("p", { class: "ae-caption" }, "Numbers moved to the chip and from it:");
  const meters = h("div", { class: "ae-meters" }, unit, ...parts.meter.map((one) => one.node));
  return [steps, choices, table, meters, parts.where, parts.sentence, parts.done, spoken];
}

function choice(label, options, change) {
  const entries = Object.entries(options);
  const select = h(
    "select",
    { onchange: () => change(select.value) },
    ...entries.map(([value, text]) => h("option", { value }, text)),
  );
  h("label", {}, `${label} `, select);
  return select;
}

function buildTable(tokens) {
  const head = (text, kind) => h("th", { scope: "col", class: kind }, text);
  const cells = tokens.map(() => tokens.map(() => h("td")));
  const numbers = tokens.map(() => ["m", "l", "a"].map(() => h("td", { class: "ae-held" })));
  const corner = h("td", { class: "ae-corner" });
  corner.append(h("span", { class: "ae-q" }, "query ↓"), h("span", { class: "ae-k" }, "key →"));
  const top = [corner, ...tokens.map((token) => head(token, "ae-k"))];
  const table = h(
    "table",
    { class: "ae-grid ae-tiles" },
    h("caption", { class: "ae-spoken" }, "Scores, and what each row holds"),
    h("thead", {}, h("tr", {}, ...top, ...["m", "l", "a"].map((name) => head(name, "ae-held")))),
    h(
      "tbody",
      {},
      ...tokens.map((token, i) =>
        h("tr", {}, h("th", { scope: "row", class: "ae-q" }, token), ...cells[i], ...numbers[i]),
      ),
    ),
  );
  return { table, cells, numbers };
}

function meter(label) {
  const fill = h("div", { class: "ae-fill" });
  const number = h("span", { class: "ae-number" });
  const bar = h("div", { class: "ae-bar", "aria-hidden": "true" }, fill);
  return { fill, number, node: h("div", { class: "ae-meter" }, h("span", {}, label), bar, number) };
}

function draw(host, given, state, parts) {
  const { tokens, scores, values, width } = given;
  const n = tokens.length;
  const now = walk(given, state, state.step);
  const inTile = ([i0, j0], i, j) =>
    i >= i0 && i < i0 + state.rows && j >= j0 && j < j0 + state.columns;
  parts.cells.forEach((row, i) =>
    row.forEach((cell, j) => {
      const place = now.tiles.findIndex((tile) => inTile(tile, i, j));
      const hidden = place < 0 ? "skipped" : !now.sees(i, j) ? "hidden" : "";
      const here = place >= 0 && place === state.step - 1;
      const when = place >= state.step ? "waiting" : here ? "here" : "done";
      cell.className = `ae-${hidden || when}${here ? " ae-on-chip" : ""}`;
      cell.style.setProperty("--weight", hidden ? 0 : Math.exp(scores[i][j] - now.m[i]) || 0);
      cell.textContent = hidden ? "·" : fixed(scores[i][j], 1);
    }),
  );
  parts.numbers.forEach((row, i) => {
    const seen = now.m[i] > -Infinity;
    row[0].textContent = seen ? fixed(now.m[i], 2) : "−∞";
    row[1].textContent = fixed(now.l[i], 2);
    row[2].textContent = fixed(now.acc[i], 2);
  });
  const table = tableMoves(n, width);
  [now.moved, table].forEach((count, i) => {
    parts.meter[i].fill.style.width = `${Math.min(100, (100 * count) / table)}%`;
    parts.meter[i].number.textContent = count;
  });
  for (const name of ["rows", "columns", "order"]) parts[name].value = state[name];
  parts.causal.checked = state.causal;
  const outputs = now.acc.map((a, i) => (now.finished[i] ? a / now.l[i] : null));
  parts.where.textContent = whereText(tokens, state, now);
  parts.sentence.textContent = changeText(tokens, now);
  parts.done.textContent = doneText(tokens, outputs);
  const spoken = [parts.where, parts.sentence, parts.done].map((p) => p.textContent);
  parts.speak(`${spoken.join(" ")} Moved ${now.moved}; with the table ${table}.`);
  const { m, l, acc, moved } = now;
  const held = { m: m.map((x) => (x === -Infinity ? null : x)), l, acc, outputs };
  host.dataset.state = JSON.stringify({ ...state, ...held, moved, table, tiles: now.tiles.length });
}

function whereText(tokens, { step, rows, columns }, { tiles }) {
  if (!step) return `No tile yet, of ${tiles.length}.`;
  const [i, j] = tiles[step - 1];
  const names = (from, size) => tokens.slice(from, from + size).join(", ");
  const where = `queries ${names(i, rows)}; keys ${names(j, columns)}`;
  return `Tile ${step} of ${tiles.length}: ${where}.`;
}

// The row of this tile whose older sums shrink most.
function changeText(tokens, { changes }) {
  const older = changes.filter((change) => change.from > -Infinity);
  if (!older.length) return changes.length ? "These rows begin: nothing to rescale." : "";
  const { i, from, to, rescale } = older.reduce((a, b) => (b.rescale < a.rescale ? b : a));
  if (rescale === 1) return "No maximum rises: nothing is rescaled.";
  const rise = `${fixed(from, 2)} to ${fixed(to, 2)}`;
  return `${tokens[i]}: the maximum rises from ${rise}; what it held counts ${rescale.toFixed(2)}.`;
}

function doneText(tokens, outputs) {
  const done = outputs.flatMap((o, i) => (o === null ? [] : [`${tokens[i]} ${fixed(o, 2)}`]));
  return done.length ? `Finished, a / l: ${done.join(", ")}.` : "No output is finished.";
}

mount("flash", build);
