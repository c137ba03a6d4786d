// The explorable "flash": step through the tiles; m, l and a of each row; what is moved.

import { fixed, h, mount } from "./dom.js";
import { button, figure, pick, row } from "./figure.js";
import { sum } from "./numbers.js";
import { bold, isNarrow, line, rect, text } from "./scene.js";

const ORDERS = { queries: "a block of queries", keys: "a block of keys" };
const SIZES = [1, 2, 3, 6];
const GLIDE = 200; // ms

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

// All that follows from the state { rows, columns, order, causal, step }.
export function compute(state, given) {
  const now = walk(given, state, state.step);
  const { m, l, acc, moved, tiles, finished } = now;
  return {
    ...{ m: m.map((x) => (x === -Infinity ? null : x)), l, acc, moved, tiles: tiles.length },
    outputs: acc.map((a, i) => (finished[i] ? a / l[i] : null)),
    table: tableMoves(given.values.length, given.width),
  };
}

export function picture(state, width, given) {
  const tall = isNarrow(width) ? 32 : 36;
  const top = 26;
  const low = top + tall * given.tokens.length + 30;
  const marks = [...gridMarks(width, top, tall, state, given), ...meterMarks(width, low, state, given)];
  return { marks, width, height: low + 50 };
}

// The scores, tile by tile, and beside each row what it holds.
function gridMarks(width, top, tall, state, given) {
  const { tokens, scores } = given;
  const now = walk(given, state, state.step);
  const left = isNarrow(width) ? 30 : 56;
  const wide = Math.min((width - left) / (tokens.length + 3.6), 62);
  const size = isNarrow(width) ? 11 : 13;
  const x = (j) => left + j * wide;
  const held = (n) => x(tokens.length) + (n + 0.6) * 1.2 * wide;
  const middle = (i) => top + (i + 0.5) * tall + 4.5;
  const heads = tokens.map((word, j) => text(`key${j}`, [x(j + 0.5), top - 8], word, "k", 13));
  const names = ["m", "l", "a"].map((name, n) => text(`head-${name}`, [held(n), top - 8], name));
  const rows = tokens.flatMap((word, i) => {
    const seen = now.m[i] > -Infinity;
    const numbers = [seen ? fixed(now.m[i], 2) : "−∞", fixed(now.l[i], 2), fixed(now.acc[i], 2)];
    return [
      text(`query${i}`, [0, middle(i)], word, "q", 13, "start"),
      ...numbers.map((number, n) => text(`${"mla"[n]}${i}`, [held(n), middle(i)], number, "ink", size)),
    ];
  });
  const cells = scores.flatMap((list, i) =>
    list.flatMap((score, j) => {
      const box = [x(j) + 1.5, top + i * tall + 1.5, wide - 3, tall - 3];
      return cellMarks(`${i}-${j}`, box, size, score, stateOf(i, j, state, now), now.m[i]);
    }),
  );
  return [...heads, ...names, ...rows, ...cells];
}

// Of a pair: is it skipped or hidden, and is its tile waiting, on the chip or done?
function stateOf(i, j, { rows, columns, step }, { tiles, sees }) {
  const inside = ([i0, j0]) => i >= i0 && i < i0 + rows && j >= j0 && j < j0 + columns;
  const place = tiles.findIndex(inside);
  const here = place >= 0 && place === step - 1;
  return { hidden: place < 0 || !sees(i, j), here, waits: place >= step };
}

function cellMarks(key, [x, y, wide, tall], size, score, { hidden, here, waits }, m) {
  const spot = [x + wide / 2, y + tall / 2 + 4.5];
  const live = here && !hidden;
  const colour = live ? "p-fill" : "surface";
  const shade = live ? 0.6 * Math.exp(score - m) : waits && !hidden ? 0 : 1;
  const edge = { stroke: `var(--ae-${here ? "ink" : "line"})`, "stroke-width": here ? 2 : 1 };
  return [
    rect(`cell${key}`, [x, y, wide, tall], colour, shade, { rx: 3, ...edge }),
    ...(hidden ? [line(`out${key}`, [[x + 3, y + tall - 3], [x + wide - 3, y + 3]], "line")] : []),
    text(`score${key}`, spot, hidden ? "" : fixed(score, 1), live ? "ink" : "soft", size),
  ];
}

// What has been moved to the chip and from it, beside what the table would move.
function meterMarks(width, y, state, given) {
  const { moved, table } = compute(state, given);
  const [from, to] = [132, width - 34];
  const meter = (key, top, words, count) => [
    text(`words-${key}`, [0, top], words, "ink", 13, "start"),
    rect(`track-${key}`, [from, top - 12, to - from, 15], "surface", 1, { rx: 3 }),
    rect(`bar-${key}`, [from, top - 12, ((to - from) * Math.min(count, table)) / table, 15], "p-fill", 1, { rx: 3 }),
    bold(text(`count-${key}`, [width, top], `${count}`, "ink", 13, "end")),
  ];
  return [
    text("unit", [0, y - 6], "Numbers moved to the chip and from it:", "soft", 12.5, "start"),
    ...meter("tiles", y + 18, "with tiles, so far", moved),
    ...meter("table", y + 40, "with the table", table),
  ];
}

// Which tile, what it changed, and what is finished.
export function sentence(state, given) {
  const now = walk(given, state, state.step);
  const { outputs } = compute(state, given);
  const { tokens } = given;
  const said = [whereText(tokens, state, now), changeText(tokens, now), doneText(tokens, outputs)];
  return said.filter(Boolean).join(" ");
}

const spoken = (state, given) => {
  const { moved, table } = compute(state, given);
  return `${sentence(state, given)} Moved ${moved}; with the table ${table}.`;
};

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

const fresh = ({ block }) => ({
  ...{ rows: block, columns: block, order: "queries", causal: false, step: 1 },
});
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const last = () => path(given.values.length, state).length;
  const go = (step) => set({ step: Math.min(Math.max(step, 0), last()) }, GLIDE);
  const choice = (label, key, options, read) =>
    pick(label, options, (now) => now[key], (value) => set({ [key]: read(value), step: 1 }));
  const sizes = SIZES.map((size) => [size]);
  const choices = [
    choice("queries in a tile", "rows", sizes, Number),
    choice("keys in a tile", "columns", sizes, Number),
    choice("held on the chip", "order", Object.entries(ORDERS), String),
  ];
  const box = h("input", {
    type: "checkbox",
    onchange: () => set({ causal: box.checked, step: 1 }),
  });
  const causal = { node: h("label", {}, box, " causal"), follow: (now) => (box.checked = now.causal) };
  const controls = [...choices, causal];
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Scores in tiles, and what each row holds",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls },
  });
  const steps = row(
    button("Next tile", () => go(state.step + 1)),
    button("Back", () => go(state.step - 1)),
    button("To the end", () => go(last())),
    button("Start over", () => go(0)),
  );
  return { nodes: [steps, row(...controls.map((one) => one.node)), ...nodes], draw };
}

if (globalThis.document) mount("flash", build);
