// The explorable "retrieval": a query to drag among keys, the weights and the output it brings.

import { softmax } from "./weights.js";
import { fixed, h, mount, shown, speaker } from "./dom.js";

const COLD = 0.05; // the temperatures at the two ends of the slider
const HOT = 50;
const SIZE = { width: 400, height: 260 }; // of the plane, in its own units
const UNIT = 62; // that many of them are 1
const ORIGIN = { x: 165, y: 200 };
const REACH = { x: [-2.5, 3.5], y: [-0.9, 3] }; // where the query may be

const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1]];
const SCORES = {
  dot: (q, k) => dot(q, k),
  distance: (q, k) => -dot(minus(q, k), minus(q, k)) / 2,
};
const NAMES = { dot: "dot product q·k", distance: "nearness −|q − k|²/2" };
const within = (value, [low, high]) => Math.min(Math.max(value, low), high);
const onPlane = ([x, y]) => [ORIGIN.x + UNIT * x, ORIGIN.y - UNIT * y];

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
  const plane = buildPlane(state, set, parts);
  parts.rows = given.labels.map((label, j) => buildRow(label, given.values[j]));
  const rows = h("div", { class: "ae-rows" }, ...parts.rows.map((row) => row.node));
  parts.output = h("p", { class: "ae-entropy" });
  parts.sentence = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  redraw();
  return [controls, plane, ...parts.sliders, rows, parts.output, parts.sentence, spoken];
}

function buildControls(state, set, fresh, parts) {
  const options = Object.entries(NAMES).map(([value, name]) => h("option", { value }, name));
  parts.rule = h("select", { onchange: () => set({ rule: parts.rule.value }) }, ...options);
  const reset = h("button", { type: "button", onclick: () => set(fresh()) }, "Reset");
  return h("div", { class: "ae-controls" }, h("label", {}, "Score ", parts.rule), reset);
}

// The plane, and a slider for each number of the query and for the temperature.
function buildPlane(state, set, parts) {
  const move = (event) => {
    const box = parts.plane.getBoundingClientRect();
    const scale = SIZE.width / box.width;
    const x = ((event.clientX - box.left) * scale - ORIGIN.x) / UNIT;
    const y = (ORIGIN.y - (event.clientY - box.top) * scale) / UNIT;
    set({ query: [within(x, REACH.x), within(y, REACH.y)] });
  };
  parts.plane = h("svg", {
    class: "ae-plane",
    viewBox: `0 0 ${SIZE.width} ${SIZE.height}`,
    role: "img",
    "aria-label": "Three keys and the query as points of a plane",
    onpointerdown: (event) => {
      parts.plane.setPointerCapture(event.pointerId);
      move(event);
    },
    onpointermove: (event) => event.buttons && move(event),
  });
  const axis = (i, name) =>
    slider(name, REACH[name === "first" ? "x" : "y"], 0.05, (value) =>
      set({ query: state.query.map((old, j) => (i === j ? value : old)) }),
    );
  const log = [Math.log10(COLD), Math.log10(HOT)];
  parts.first = axis(0, "first");
  parts.second = axis(1, "second");
  parts.temperature = slider("temperature", log, 0.01, (value) => set({ temperature: 10 ** value }));
  parts.first.name.textContent = "query: edible";
  parts.second.name.textContent = "query: size";
  parts.sliders = [parts.first, parts.second, parts.temperature].map((one) => one.node);
  return parts.plane;
}

function slider(label, [min, max], step, change) {
  const name = h("span", {}, label);
  const number = h("span", { class: "ae-number" });
  const input = h("input", {
    type: "range",
    ...{ min, max, step },
    oninput: () => change(Number(input.value)),
  });
  return { name, number, input, node: h("label", { class: "ae-slide" }, name, input, number) };
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
  show(parts.first, state.query[0], fixed(state.query[0], 2));
  show(parts.second, state.query[1], fixed(state.query[1], 2));
  show(parts.temperature, Math.log10(state.temperature), fixed(state.temperature, 2));
  drawPlane(parts.plane, given, state.query, weights);
  const list = given.labels.map((label, j) => `${label} ${shown(weights[j], 3)}`).join(", ");
  parts.speak(`${list}. ${parts.output.textContent}. ${parts.sentence.textContent}`);
  host.dataset.state = JSON.stringify({ ...state, scores, weights, output });
}

function show(slide, value, text) {
  slide.input.value = value;
  slide.input.setAttribute("aria-valuetext", text);
  slide.number.textContent = text;
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
    h("line", { class: "ae-axis", x1: 0, x2: SIZE.width, y1: y0, y2: y0 }),
    h("line", { class: "ae-axis", x1: x0, x2: x0, y1: 0, y2: SIZE.height }),
    h("text", { class: "ae-tick", x: SIZE.width - 4, y: y0 + 18, "text-anchor": "end" }, "edible →"),
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
