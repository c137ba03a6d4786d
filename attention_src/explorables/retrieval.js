// The explorable "retrieval": a query to drag among keys, the weights and the output it brings.

import { fixed, h, mount, shown } from "./dom.js";
import { button, coordinates, figure, pick, plane, row, shelf, temperatures } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, isNarrow, line, text } from "./scene.js";

const HEATS = [Math.log10(0.05), Math.log10(50), 0.01]; // powers of ten of the temperature
const PLANE = {
  ...{ width: 400, height: 260, unit: 62 },
  origin: { x: 165, y: 200 },
  reach: { x: [-2.5, 3.5], y: [-0.9, 3] }, // where the query may be
};
const SCORES = {
  dot: (q, k) => q[0] * k[0] + q[1] * k[1],
  distance: (q, k) => -((q[0] - k[0]) ** 2 + (q[1] - k[1]) ** 2) / 2,
};
const NAMES = { dot: "dot product q·k", distance: "nearness −|q − k|²/2" };
const GLIDE = 200; // ms
const ROW = 46; // pixels of a key's row

// All that follows from the state { query, rule, temperature }.
export function compute({ query, rule, temperature }, { keys, values }) {
  const scores = keys.map((key) => SCORES[rule](query, key));
  const weights = softmax(scores.map((score) => score / temperature));
  return { scores, weights, output: sum(weights.map((weight, j) => weight * values[j])) };
}

export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const across = narrow ? Math.min(width, 338) : 0.52 * width;
  const { at, pad } = plane(PLANE, [narrow ? (width - across) / 2 : 0, 0], across / PLANE.width);
  const now = compute(state, given);
  const room = narrow ? [0, 232, width] : [across + 24, 24, width - across - 24];
  const marks = [...planeMarks(at, pad.area, state, now, given), ...rowMarks(room, now, given)];
  return { marks, pad, width, height: narrow ? 232 + 3 * ROW + 30 : 232 };
}

// The keys, as large as their weights, and the query.
function planeMarks(at, [left, top, width, height], { query }, { weights }, { labels, keys }) {
  const [x0, y0] = at([0, 0]);
  const [x, y] = at(query);
  const ends = query[0] < -1 ? "start" : "end"; // its name stays on the plane
  const low = y < top + 30 ? 22 : -12;
  return [
    line("across", [[left, y0], [left + width, y0]], "line"),
    line("up", [[x0, top], [x0, top + height]], "line"),
    text("edible", [left + width, y0 + 15], "edible →", "soft", 12, "end"),
    text("size", [x0 - 6, top + 12], "size ↑", "soft", 12, "end"),
    ...keys.flatMap((key, j) => {
      const look = { "fill-opacity": 0.55, stroke: "var(--ae-k)", "stroke-width": 1.5 };
      const spot = at(key);
      return [
        line(`line${j}`, [[x0, y0], spot], "k", { "stroke-width": 1.2, opacity: 0.6 }),
        disc(`key${j}`, spot, 5 + 11 * Math.sqrt(weights[j]), "p-fill", look),
        text(`name${j}`, [spot[0] + 19, spot[1] + 5], labels[j], "k", 13, "start"),
      ];
    }),
    line("arrow", [[x0, y0], [x, y]], "q", { "stroke-width": 2 }),
    disc("query", [x, y], 8, "q", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    bold(text("query-name", [x + (ends === "end" ? -8 : 8), y + low], "query", "q", 13, ends)),
  ];
}

// A row for each key: what it holds, its score, its weight; and the output below.
function rowMarks([x, y, width], { scores, weights, output }, { labels, values }) {
  const rows = labels.flatMap((label, j) => {
    const note = [`score ${fixed(scores[j], 2)}`, "ink"];
    return shelf(j, [x, y + ROW * j, width], label, values[j], weights[j], note);
  });
  const low = y + ROW * labels.length + 18;
  return [...rows, bold(text("output", [x, low], `Output ${fixed(output, 2)}`, "o", 16, "start"))];
}

// Who wins, and whether that is the key that lies nearest.
export function sentence({ query, rule }, { keys, labels }) {
  const best = (name) => {
    const scores = keys.map((key) => SCORES[name](query, key));
    return labels[scores.indexOf(Math.max(...scores))];
  };
  const [winner, nearest] = [best(rule), best("distance")];
  if (winner === nearest) return `Most goes to ${winner}, which is also the nearest key.`;
  return `Most goes to ${winner}, though ${nearest} is nearer.`;
}

function spoken(state, given) {
  const { weights, output } = compute(state, given);
  const list = given.labels.map((label, j) => `${label} ${shown(weights[j], 3)}`).join(", ");
  return `${list}. Output ${fixed(output, 2)}. ${sentence(state, given)}`;
}

const fresh = ({ query }) => ({ query: [...query], rule: "dot", temperature: 1 });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const move = (query) => set({ query });
  const names = ["query: edible", "query: size"];
  const sliders = [
    ...coordinates(names, PLANE.reach, 0.05, () => state, move),
    temperatures(HEATS, (change) => set(change)),
  ];
  const rule = pick("Score", Object.entries(NAMES), (now) => now.rule, (name) => set({ rule: name }, GLIDE));
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Three keys and the query as points of a plane, and the weights",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls: [rule, ...sliders] },
    drag: (query) => ({ query }),
  });
  const buttons = row(rule.node, button("Reset", () => set(fresh(given), GLIDE)));
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  return { nodes: [buttons, slides, ...nodes], draw };
}

if (globalThis.document) mount("retrieval", build);
