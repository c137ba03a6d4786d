// The explorable "retrieval": a query to drag among keys, the weights and the output it brings.

import { softmax } from "./numbers.js";
import { fixed, h, mount, shown, speaker } from "./dom.js";
import { buildPlane, drawnAt, showSlider, slider } from "./plane.js";

const COLD = 0.05; // the temperatures at the two ends of the slider
const HOT = 50;
const PLANE = {
  ...{ width: 400, height: 260, unit: 62 },
  origin: { x: 165, y: 200 },
  reach: { x: [-2.5, 3.5], y: [-0.9, 3] }, // where the query may be
};

const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1]];
const SCORES = {
  dot: (q, k) => dot(q, k),
  distance: (q, k) => -dot(minus(q, k), minus(q, k)) / 2,
};
const NAMES = { dot: "dot product q·k", distance: "nearness −|q − k|²/2" };
const onPlane = (point) => drawnAt(PLANE, point);

function build(host, given) {
  const fresh = () => ({ query: [...given.query], rule: "dot", temperature: 1 });
  const state = fresh();
  const parts = {};
  const redraw = () => draw(host, given, state, parts);
  const set = (change) => {
    Object.assign(state, change);
    redraw();
  };
  const controls = buildControls(state, set, fresh, parts);
  parts.plane = buildPlane(PLANE, "Three keys and the query as points of a plane", (query) =>
    set({ query }),
  );
  const sliders = buildSliders(state, set, parts);
  parts.rows = given.labels.map((label, j) => buildRow(label, given.values[j]));
  const rows = h("div", { class: "ae-rows" }, ...parts.rows.map((row) => row.node));
  parts.output = h("p", { class: "ae-entropy" });
  parts.sentence = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  redraw();
  return [controls, parts.plane, ...sliders, rows, parts.output, parts.sentence, spoken];
}

function buildControls(state, set, fresh, parts) {
  const options = Object.entries(NAMES).map(([value, name]) => h("option", { value }, name));
  parts.rule = h("select", { onchange: () => set({ rule: parts.rule.value }) }, ...options);
  const reset = h("button", { type: "button", onclick: () => set(fresh()) }, "Reset");
  return h("div", { class: "ae-controls" }, h("label", {}, "Score ", parts.rule), reset);
}

// A slider for each number of the query and for the temperature.
function buildSliders(state, set, parts) {
  const at = (i) => (value) => set({ query: state.query.map((old, j) => (i === j ? value : old)) });
  const heats = [Math.log10(COLD), Math.log10(HOT)];
  parts.first = slider("query: edible", PLANE.reach.x, 0.05, at(0));
  parts.second = slider("query: size", PLANE.reach.y, 0.05, at(1));
  parts.heat = slider("temperature", heats, 0.01, (power) => set({ temperature: 10 ** power }));
  return [parts.first, parts.second, parts.heat].map((one) => one.node);
}

function buildRow(label, value) {
  const score = h("span", { class: "ae-number" });
  const fill = h("div", { class: "ae-fill" });
  const weight = h("span", { class: "ae-number" });
  const bar = h("div", { class: "ae-bar", "aria-hidden": "true" }, fill);
  const words = h("span", {}, h("span", { class: "ae-k" }, label), ` holds ${value}`);
  const node = h("div", { class: "ae-found" }, words, score, bar, weight);
  return { node, score, fill, weight };
}

function draw(host, given, state, parts) {
  const scores = given.keys.map((key) => SCORES[state.rule](state.query, key));
  const weights = softmax(scores.map((score) => score / state.temperature));
  const output = weights.reduce((sum, weight, j) => sum + weight * given.values[j], 0);
  parts.rows.forEach((row, j) => {
    row.score.textContent = `score ${fixed(scores[j], 2)}`;
    row.fill.style.width = `${100 * weights[j]}%`;
    row.weight.textContent = shown(weights[j], 3);
  });
  parts.output.textContent = `Output ${output.toFixed(2)}`;
  parts.sentence.textContent = remark(given, state, scores);
  parts.rule.value = state.rule;
  showSlider(parts.first, state.query[0], fixed(state.query[0], 2));
  showSlider(parts.second, state.query[1], fixed(state.query[1], 2));
  showSlider(parts.heat, Math.log10(state.temperature), fixed(state.temperature, 2));
  drawPlane(parts.plane, given, state.query, weights);
  const list = given.labels.map((label, j) => `${label} ${shown(weights[j], 3)}`).join(", ");
  parts.speak(`${list}. ${parts.output.textContent}. ${parts.sentence.textContent}`);
  host.dataset.state = JSON.stringify({ ...state, scores, weights, output });
}

// Who wins, and whether that is the key that lies nearest.
function remark(given, state, scores) {
  const nearness = given.keys.map((key) => SCORES.distance(state.query, key));
  const best = (list) => given.labels[list.indexOf(Math.max(...list))];
  const [winner, nearest] = [best(scores), best(nearness)];
  if (winner === nearest) return `Most goes to ${winner}, which is also the nearest key.`;
  return `Most goes to ${winner}, though ${nearest} is nearer.`;
}

function drawPlane(svg, given, query, weights) {
  const [x0, y0] = onPlane([0, 0]);
  const line = (className, [x, y]) => h("line", { class: className, x1: x0, y1: y0, x2: x, y2: y });
  const axes = [
    h("line", { class: "ae-axis", x1: 0, x2: PLANE.width, y1: y0, y2: y0 }),
    h("line", { class: "ae-axis", x1: x0, x2: x0, y1: 0, y2: PLANE.height }),
    h("text", { class: "ae-tick", x: PLANE.width - 4, y: y0 + 18, "text-anchor": "end" }, "edible →"),
    h("text", { class: "ae-tick", x: x0 - 6, y: 14, "text-anchor": "end" }, "size ↑"),
  ];
  const keys = given.keys.flatMap((key, j) => {
    const [x, y] = onPlane(key);
    return [
      line("ae-key-line", [x, y]),
      h("circle", { class: "ae-key-dot", cx: x, cy: y, r: 5 + 12 * Math.sqrt(weights[j]) }),
      h("text", { class: "ae-k", x: x + 20, y: y + 5 }, given.labels[j]),
    ];
  });
  const [x, y] = onPlane(query);
  const handle = [
    line("ae-query-line", [x, y]),
    h("circle", { class: "ae-query-dot", cx: x, cy: y, r: 8 }),
    h("text", { class: "ae-q", x: x - 8, y: y - 12, "text-anchor": "end" }, "query"),
  ];
  svg.replaceChildren(...axes, ...keys, ...handle);
}

mount("retrieval", build);
