// The explorable "stretch": products of w and k that stand still, and cosines within w that do not.

import { fixed, h, mount } from "./dom.js";
import { button, figure, pick, row, slide } from "./figure.js";
import { isNarrow, path, rect, text } from "./scene.js";

const NAMES = 62; // room for the names of the things
const ROWS = { narrow: 15, wide: 17 }; // a row's height, where the width allows
const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
const table = (a, b, of) => a.map((one) => b.map((other) => of(one, other)));
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

export function compute({ number, power }, { w, k }) {
  const scaled = (rows, by) => rows.map((one) => one.with(number, one[number] * by));
  const [w2, k2] = [scaled(w, 10 ** power), scaled(k, 10 ** -power)];
  const before = table(w, k, dot);
  const products = table(w2, k2, dot);
  const changes = products.flatMap((line, i) => line.map((x, j) => Math.abs(x - before[i][j])));
  return { products, cosines: table(w2, w2, cosine), change: Math.max(...changes) };
}

export function picture(state, width, given) {
  const { products, cosines } = compute(state, given);
  const narrow = isNarrow(width);
  const [tall, wide] = [given.w.length, given.k.length];
  const most = narrow ? ROWS.narrow : ROWS.wide;
  const room = narrow ? (width - NAMES) / wide : (width - 2 * NAMES - 24) / (wide + tall);
  const cell = Math.min(Math.floor(room), most);
  const second = narrow ? [NAMES, tall * most + 74] : [2 * NAMES + wide * cell + 24, 26];
  const [a, b] = given.pair;
  const note = `${given.things[a]}, ${given.things[b]}: ${fixed(cosines[a][b], 2)}`;
  const low = second[1] + tall * cell + 18;
  const at = [second[0] + (b + 1) * cell, low];
  return {
    marks: [
      ...tableMarks("product", [NAMES, 26], cell, products, 2, "ink", given.things),
      ...tableMarks("cosine", second, cell, cosines, 1, "q-fill", given.things),
      text("products", [NAMES, 14], "w · k: things and their words", "ink", 13, "start"),
      text("cosines", [second[0], second[1] - 12], "cosines within w", "q", 13, "start"),
      rect("pair", [second[0] + b * cell, second[1] + a * cell, cell, cell], "none", 1, {
        stroke: "var(--ae-ink)",
        "stroke-width": 2,
      }),
      text("note", at, note, "q", 13, "end"),
    ],
    width,
    height: second[1] + tall * most + 26,
  };
}

// A square for each entry, as wide as the entry is large, up to `most`; hollow if it is negative.
function tableMarks(name, [x, y], cell, entries, most, colour, things) {
  const square = (value, i, j) => {
    const size = (cell - 3) * Math.min(Math.abs(value) / most, 1);
    const [left, top] = [x + cell * (j + 0.5) - size / 2, y + cell * (i + 0.5) - size / 2];
    const side = fixed(size, 2);
    return `M${fixed(left, 1)} ${fixed(top, 1)}h${side}v${side}h-${side}z`;
  };
  const outline = (keep) =>
    entries
      .flatMap((line, i) => line.map((value, j) => (keep(value) ? square(value, i, j) : "")))
      .join("");
  const labels = things.map((thing, i) =>
    text(`${name}-name${i}`, [x - 6, y + cell * (i + 0.5) + 4], thing, "q", cell < 16 ? 11.5 : 12.5, "end"),
  );
  return [
    path(`${name}-filled`, outline((value) => value >= 0), "none", { fill: `var(--ae-${colour})` }),
    path(`${name}-hollow`, outline((value) => value < 0), colour, { "stroke-width": 1 }),
    ...labels,
  ];
}

export function sentence(state, given) {
  const { cosines, change } = compute(state, given);
  const [a, b] = given.pair;
  const now = `the cosine of ${given.things[a]} and ${given.things[b]} is ${fixed(cosines[a][b], 2)}`;
  if (state.power === 0) return `Nothing is stretched yet: ${now}.`;
  const times = fixed(10 ** state.power, 1);
  const still = change < 1e-9 ? "no product has changed" : "products have changed";
  return `Number ${state.number} times ${times}: ${still}, but for rounding, and ${now}.`;
}

const fresh = ({ number, power }) => ({ number, power });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const numbers = given.w[0].map((_, i) => [i]);
  const which = pick("number", numbers, ({ number }) => number, (value) => set({ number: Number(value) }, 300));
  const times = slide(
    "times",
    [0, 2, 0.05],
    ({ power }) => power,
    (power) => set({ power }),
    (power) => fixed(10 ** power, 1),
  );
  const { set, draw, nodes } = figure(host, given, {
    label: "Products of w with k, and cosines within w, as squares",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence, controls: [which, times] },
  });
  const reset = button("Reset", () => set(fresh(given), 300));
  const slides = h("div", { class: "ae-slides" }, times.node);
  return { nodes: [row(which.node, reset), slides, ...nodes], draw };
}

if (globalThis.document) mount("stretch", build);
