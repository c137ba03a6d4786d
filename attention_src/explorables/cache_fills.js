// The explorable "cache_fills": a text grows by a token at a time; what is computed at each step.

import { choices, h, mount } from "./dom.js";
import { hold } from "./hold.js";
import { softmax, sum } from "./numbers.js";
import { bold, fill, isNarrow, line, path, rect, stage, text } from "./scene.js";

const GLIDE = 300; // ms
const HOLD = 800; // ms between two tokens while the button is held
const D = 3; // numbers in a row of K, and in one of V
const keys = (n) => [...Array(n).keys()];
const times = (row, matrix) => keys(D).map((c) => sum(row.map((value, r) => value * matrix[r][c])));

// K and V of two layers after n tokens. The second layer reads what attention in the first adds.
export function rows(n, both, { x, weights }) {
  const seen = x.slice(0, n);
  const apply = (name, input) => input.map((row) => times(row, weights[name]));
  const [q, k1, v1] = ["q1", "k1", "v1"].map((name) => apply(name, seen));
  const hidden = seen.map((row, i) => {
    const looked = k1.slice(0, both ? n : i + 1);
    const p = softmax(looked.map((k) => sum(k.map((value, c) => value * q[i][c])) / Math.sqrt(D)));
    return row.map((value, c) => value + sum(p.map((weight, j) => weight * v1[j][c])));
  });
  return { k1, v1, k2: apply("k2", hidden), v2: apply("v2", hidden) };
}

// How much the last token changed each older row of a layer, as a part of the row's length: k and v
// of a token side by side.
export function changes({ n, both }, layer, given) {
  const [old, now] = [n - 1, n].map((m) => {
    const all = rows(m, both, given);
    return all[`k${layer}`].map((row, i) => [...row, ...all[`v${layer}`][i]]);
  });
  const apart = (a, b) => Math.hypot(...a.map((value, c) => value - b[c]));
  return old.map((row, i) => apart(now[i], row) / Math.hypot(...row));
}

// Rows of q, k and v that the second layer has computed so far, with a cache and without.
export function counts({ n, both }) {
  const without = (3 * n * (n + 1)) / 2;
  return { kept: both ? without : 3 * n, without };
}

// All that follows from the state.
export const compute = (state, given) => ({
  ...counts(state),
  ...rows(state.n, state.both, given),
});

// Where things stand, in pixels. On a phone the work stands below the tables.
function places(width, count) {
  const narrow = isNarrow(width);
  const s = narrow ? width / 338 : Math.min(width / 638, 1.45);
  const left = 46 * s;
  const [cell, step, tall] = narrow ? [13.5 * s, 26.5 * s, 28] : [15 * s, 25 * s, 34];
  const layer = 6 * cell + 54 * s;
  const tables = { x: [left + 6, left + 6 + layer], y: 56, cell, tall };
  const work = narrow
    ? { x: [left + 6], y: 56 + count * tall + 86, step, tall: 20 }
    : { x: [left + 18 + 2 * layer], y: 56, step, tall };
  work.x.push(work.x[0] + count * step + 18 * s);
  return { narrow, left, tables, work, height: work.y + count * work.tall + 70 };
}

// The picture. state: { n, both }.
export function picture(state, width, given) {
  const at = places(width, given.tokens.length);
  const marks = [...tables(state, at, given), ...work(state, at, given)];
  return { marks, width, height: at.height };
}

export const first = (given, width) => picture(given.start, width, given);

function names(key, x, y, tall, n, { tokens }) {
  return tokens.slice(0, n).map((word, i) => {
    const mark = text(`${key}${i}`, [x, y + (i + 0.5) * tall + 4.5], word, "ink", 13, "end");
    return i === n - 1 ? bold(mark) : mark;
  });
}

// K and V of both layers, and beside each row what the last token did to it.
function tables(state, at, given) {
  const { n } = state;
  const { x, y, cell, tall } = at.tables;
  const wide = x[1] + D * 2 * cell + 46;
  const band = rect("newest", [0, y + (n - 1) * tall, wide, tall], "ink", 0.08, { rx: 4 });
  const marks = [band, ...names("word", at.left, y, tall, n, given)];
  for (const layer of [1, 2]) {
    const left = x[layer - 1];
    marks.push(text(`layer${layer}`, [left, 14], given.words[`layer${layer}`], "ink", 13, "start"));
    marks.push(...table("k", layer, left, state, at.tables, given));
    marks.push(...table("v", layer, left + D * cell + 6, state, at.tables, given));
    marks.push(...news(layer, left + 2 * D * cell + 12, state, at.tables, given));
  }
  if (!state.both || n === 1) return marks;
  const [from, height] = [x[1], y + given.tokens.length * tall + 14];
  const said = fill(given.words.was, { word: given.tokens[n - 1] });
  return [
    ...marks,
    line("key-was", [[from, height], [from + cell, height]], "ink", { "stroke-width": 2 }),
    text("key-word", [from + cell + 6, height + 4], said, "soft", 12.5, "start"),
  ];
}

// A table: a bar for each number, up if it is positive, and a line where it was before. The new row
// has a frame.
function table(name, layer, left, { n, both }, { y, cell, tall }, given) {
  const key = name + layer;
  const [before, now] = [n - 1, n].map((m) => rows(m, both, given)[key]);
  const marks = [bold(text(`head-${key}`, [left + 1.5 * cell, y - 9], name.toUpperCase(), name, 14))];
  const unit = tall / 2 - 3; // pixels for 1
  now.flat().forEach((value, at) => {
    const [i, c] = [Math.floor(at / D), at % D];
    const was = before[i]?.[c] ?? value;
    const [x, middle] = [left + c * cell, y + (i + 0.5) * tall];
    const bar = [x + 1.5, middle - Math.max(value * unit, 0), cell - 3, Math.abs(value) * unit];
    const old = [[x, middle - was * unit], [x + cell, middle - was * unit]];
    const moved = { "stroke-width": 2, opacity: Math.abs(value - was) > 1e-9 ? 1 : 0 };
    marks.push(
      rect(`${key}-cell${i}${c}`, [x + 0.5, y + i * tall + 2, cell - 1, tall - 4], `${name}-fill`, 0.14),
      rect(`${key}-${i}${c}`, bar, `${name}-fill`),
      line(`${key}-was${i}${c}`, old, "ink", moved),
    );
  });
  const box = [left - 1, y + (n - 1) * tall + 1, D * cell + 2, tall - 2];
  const frame = { stroke: `var(--ae-${name})`, "stroke-width": 2.5, rx: 3 };
  return [...marks, rect(`new-${key}`, box, "none", 1, frame)];
}

// What the last token did to each row: it is new, or the same, or changed by so much.
function news(layer, x, state, { y, tall }, given) {
  return [...changes(state, layer, given), NaN].map((change, i) => {
    const same = change < 1e-9;
    const said = i === state.n - 1 ? "new" : same ? "same" : `${Math.round(100 * change)} %`;
    const place = [x, y + (i + 0.5) * tall + 4.5];
    const mark = text(`news${layer}-${i}`, place, said, same ? "soft" : "ink", 12.5, "start");
    return same ? mark : bold(mark);
  });
}

// The rows of q, k and v that the second layer computes at each step, with a cache and without.
function work(state, { work: at, narrow, left }, given) {
  const above = [at.x[0], narrow ? at.y - 42 : 14];
  return [
    text("work", above, given.words.work, "ink", 13, "start"),
    ...(narrow ? names("again", left, at.y, at.tall, state.n, given) : []),
    ...stairs("kept", 0, state, at, given),
    ...stairs("without", 1, state, at, given),
  ];
}

function stairs(key, side, { n, both }, { x, y, step, tall }, { tokens, words }) {
  const count = tokens.length;
  const [left, foot] = [x[side], y + count * tall];
  const again = side === 1 || both; // are older rows computed again?
  const total = counts({ n, both })[key];
  const edge = keys(count).map((t) => `V${y + (t + 1) * tall} H${left + (t + 1) * step}`);
  const wide = (step - 3) / 3;
  const put = (name, dx, height, said, colour = "soft", size = 12.5) =>
    text(`${key}-${name}`, [left + dx, height], said, colour, size, "start");
  const note = both ? words.back_note : words[`${key}_note`];
  const marks = [
    bold(put("title", 0, y - 25, words[both && !side ? "useless" : key], "ink", 13)),
    path(`${key}-frame`, `M${left} ${y} ${edge.join(" ")} V${y} Z`, "line"),
    rect(`${key}-now`, [left + (n - 1) * step, y - 1, step, n * tall + 2], "ink", 0.1, { rx: 4 }),
    bold(put("total", 0, foot + 44, `${total}`, "ink", 24)),
    put("rows", total > 9 ? 37 : 21, foot + 44, words.sofar, "ink", 13),
    put("note", 0, foot + 64, fill(note, { n: counts({ n, both: false })[key] })),
  ];
  for (let t = 0; t < n; t++) {
    const column = left + t * step + 1.5;
    const now = again ? 3 * (t + 1) : 3;
    const ink = t === n - 1 ? "ink" : "soft";
    marks.push(text(`${key}-step${t}`, [left + (t + 0.5) * step, foot + 16], `${now}`, ink, 12.5));
    ["q", "k", "v"].forEach((name, c) => {
      const from = column + c * wide;
      if (t === n - 1) marks.push(text(`${key}-${name}`, [from + wide / 2, y - 7], name, name, 12));
      for (let i = 0; i <= t; i++) {
        const shade = again || i === t ? 1 : name === "q" ? 0 : 0.22;
        const box = [from, y + i * tall + 2, wide - 0.75, tall - 4];
        marks.push(rect(`${key}-${name}${i}-${t}`, box, `${name}-fill`, shade));
      }
    });
  }
  return marks;
}

// What the picture says, in the maker's words.
export function sentence(state, given) {
  const { n, both } = state;
  const { tokens, words, far } = given;
  const { kept, without } = counts(state);
  const change = changes(state, 2, given);
  const most = Math.max(...change);
  const kind = n === 1 ? "alone" : both ? "changes" : n === tokens.length ? "ends" : "grows";
  return fill(words[kind], {
    ...{ word: tokens[n - 1], new: 3, all: 3 * n, kept, without, times: without / kept },
    ...{ far, far_times: (far + 1) / 2 },
    ...{ most: tokens[change.indexOf(most)], change: Math.round(100 * most) },
  });
}

function build(host, given) {
  const state = { ...given.start };
  const { words, tokens } = given;
  const { svg, said, spoken, show, speak } = stage(words.label);

  function draw(ms = 0, more = {}) {
    Object.assign(state, more);
    show(picture(state, svg.clientWidth, given), ms);
    next.textContent = state.n === tokens.length ? words.again : words.next;
    ways.press(state.both);
    said.textContent = sentence(state, given);
    const now = compute(state, given);
    speak(`${said.textContent} ${words.work}: ${now.kept}, ${words.without} ${now.without}.`);
    host.dataset.state = JSON.stringify({ ...state, ...now });
  }

  // False at the last token, where a button that is held stops.
  function grow() {
    draw(GLIDE, { n: state.n === tokens.length ? 1 : state.n + 1 });
    return state.n < tokens.length;
  }
  const shrink = () => draw(GLIDE, { n: Math.max(state.n - 1, 1) });
  const next = hold(grow, HOLD);
  const less = h("button", { type: "button", onclick: shrink }, words.less);
  const ways = choices("Tokens", words.ways, (value) => draw(GLIDE, { both: value === "true" }));
  const controls = h("div", { class: "ae-controls" }, next, less, ways.node);
  controls.addEventListener("keydown", (event) => {
    const move = { ArrowRight: grow, ArrowLeft: shrink }[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  });
  return { nodes: [controls, svg, said, spoken], draw };
}

if (globalThis.document) mount("cache_fills", build);
