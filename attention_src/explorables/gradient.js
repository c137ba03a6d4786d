// The explorable "gradient": which way a loss pushes a query, its keys and its values.

import { fixed, h, mount, shown } from "./dom.js";
import { button, coordinates, figure, kept, plane, row, shelf, slide, temperatures } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, isNarrow, path, text } from "./scene.js";

const PLANE = {
  ...{ width: 400, height: 276, unit: 42 },
  origin: { x: 130, y: 138 },
  reach: { x: [-2.8, 6], y: [-3.1, 3.1] }, // where the query may be
};
const HEATS = [-1, 1, 0.01]; // powers of ten of the temperature
const TARGETS = [0, 10, 0.1];
const GLIDE = 250; // ms
const ROW = 46; // pixels of a key's row
const RATE = 0.02; // of one step of learning
const DRAWN = 0.11; // an arrow's length for a push of 1 …
const LONGEST = 1.5; // … and at most, in units of the plane

const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
const times = (c, a) => a.map((x) => c * x);
const plus = (a, b) => a.map((x, i) => x + b[i]);

// Forward and backward for one query, with the loss (o - target)^2 / 2. Pushes are minus gradients.
export function compute({ query, target, temperature }, { keys, values }) {
  const scale = 1 / Math.sqrt(query.length) / temperature;
  const weights = softmax(keys.map((key) => scale * dot(query, key)));
  const output = dot(weights, values);
  const dOutput = output - target;
  const delta = dOutput * output;
  const dScores = weights.map((weight, j) => weight * (dOutput * values[j] - delta));
  const moved = keys.reduce((total, key, j) => plus(total, times(dScores[j], key)), [0, 0]);
  return {
    weights,
    output,
    loss: dOutput ** 2 / 2,
    queryPush: times(-scale, moved),
    keyPushes: dScores.map((d) => times(-scale * d, query)),
    valuePushes: weights.map((weight) => -weight * dOutput),
  };
}

export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const across = narrow ? Math.min(width, 338) : 0.52 * width;
  const { at, pad } = plane(PLANE, [narrow ? (width - across) / 2 : 0, 0], across / PLANE.width);
  const now = compute(state, given);
  const room = narrow ? [0, 246, width] : [across + 24, 24, width - across - 24];
  const marks = [...planeMarks(at, state, now, given), ...rowMarks(room, now, given)];
  return { marks, pad, width, height: narrow ? 246 + 3 * ROW + 30 : 246 };
}

// The keys, as large as their weights, the query, and the push on each as an arrow.
function planeMarks(at, { query }, { weights, keyPushes, queryPush }, { labels, keys }) {
  const [x, y] = at(query);
  const look = { "fill-opacity": 0.55, stroke: "var(--ae-k)", "stroke-width": 1.5 };
  const ends = query[0] > 5 ? "end" : "start"; // its name stays on the plane
  return [
    ...keys.flatMap((key, j) => {
      const [left, top] = at(key);
      return [
        disc(`key${j}`, [left, top], 4 + 8 * Math.sqrt(weights[j]), "p-fill", look),
        arrow(`push${j}`, at, key, keyPushes[j], "k", 2),
        text(`name${j}`, [left + 14, top + 16], labels[j], "k", 13, "start"),
      ];
    }),
    arrow("push", at, query, queryPush, "q", 3),
    disc("query", [x, y], 7, "q", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    bold(text("query-name", [x + (ends === "end" ? -10 : 10), y - 10], "query", "q", 13, ends)),
  ];
}

// An arrow from a point; it is not seen where the push is too small to be drawn.
function arrow(key, at, from, push, colour, thick) {
  const size = Math.hypot(...push);
  const drawn = Math.min(DRAWN * size, LONGEST);
  const ahead = size ? times(1 / size, push) : [0, 0];
  const side = [-ahead[1], ahead[0]];
  const tip = plus(from, times(drawn, ahead));
  const barb = (turn) => at(plus(tip, plus(times(-0.16, ahead), times(0.1 * turn, side))));
  const d = `M${at(from)} L${at(tip)} M${barb(1)} L${at(tip)} L${barb(-1)}`;
  const round = { "stroke-linecap": "round", "stroke-linejoin": "round" };
  return path(key, d, colour, { "stroke-width": thick, opacity: drawn < 0.02 ? 0 : 1, ...round });
}

// A row for each key: what it holds, the push on its value, and its weight; below, the output.
function rowMarks([x, y, width], { weights, valuePushes, output, loss }, { labels, values }) {
  const low = y + ROW * labels.length + 18;
  return [
    ...labels.flatMap((label, j) => {
      const note = [`value ${signed(valuePushes[j])}`, "v"];
      return shelf(j, [x, y + ROW * j, width], label, values[j], weights[j], note, true);
    }),
    bold(text("output", [x, low], `Output ${fixed(output, 2)}`, "o", 16, "start")),
    text("loss", [x + width, low], `loss ${fixed(loss, 2)}`, "ink", 14, "end"),
  ];
}

const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);

export function sentence(state, given) {
  const { output, loss, queryPush } = compute(state, given);
  const length = Math.hypot(...queryPush).toPrecision(3);
  return `Output ${fixed(output, 2)}, loss ${fixed(loss, 2)}. Push on the query: length ${length}.`;
}

function spoken(state, given) {
  const { weights } = compute(state, given);
  const list = given.labels.map((label, j) => `${label} ${shown(weights[j], 3)}`).join(", ");
  return `${list}. ${sentence(state, given)}`;
}

// Where the query stands after some steps of gradient descent, kept on the plane.
function walked(state, steps, given) {
  let query = state.query;
  for (let i = 0; i < steps; i++) {
    query = kept(PLANE, plus(query, times(RATE, compute({ ...state, query }, given).queryPush)));
  }
  return query;
}

const fresh = ({ query, target }) => ({ query: [...query], target, temperature: 1 });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const move = (query) => set({ query });
  const names = ["query: across", "query: up"];
  const sliders = [
    ...coordinates(names, PLANE.reach, 0.05, () => state, move),
    slide("target", TARGETS, (now) => now.target, (target) => set({ target }), (one) => fixed(one, 1)),
    temperatures(HEATS, (change) => set(change)),
  ];
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Three keys and a query as points of a plane, with the push on each as an arrow",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls: sliders },
    drag: (query) => ({ query }),
  });
  const walk = (steps) => () => set({ query: walked(state, steps, given) }, GLIDE);
  const buttons = row(
    button("1 step", walk(1)),
    button("50 steps", walk(50)),
    button("Reset", () => set(fresh(given), GLIDE)),
  );
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  return { nodes: [buttons, slides, ...nodes], draw };
}

if (globalThis.document) mount("gradient", build);
