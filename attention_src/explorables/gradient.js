// The explorable "gradient": which way a loss pushes a query, its keys and its values.

import { softmax } from "./numbers.js";
import { fixed, h, mount, shown, speaker } from "./dom.js";
import { buildPlane, drawnAt, kept, showSlider, slider } from "./plane.js";

const PLANE = {
  ...{ width: 400, height: 276, unit: 42 },
  origin: { x: 130, y: 138 },
  reach: { x: [-2.8, 6], y: [-3.1, 3.1] }, // where the query may be
};
const ABOUT = "Three keys and a query as points of a plane, with the push on each as an arrow";
const HEATS = [-1, 1]; // powers of ten of the temperature
const TARGETS = [0, 10];
const RATE = 0.02; // of one step of learning
const DRAWN = 0.11; // an arrow's length for a push of 1 …
const LONGEST = 1.5; // … and at most, in units of the plane

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const times = (c, a) => a.map((x) => c * x);
const plus = (a, b) => a.map((x, i) => x + b[i]);
const onPlane = (point) => drawnAt(PLANE, point);

// Forward and backward for one query, with the loss (o - target)^2 / 2. Pushes are minus gradients.
function learn({ keys, values }, { query, target, temperature }) {
  const scale = 1 / Math.sqrt(query.length) / temperature;
  const weights = softmax(keys.map((key) => scale * dot(query, key)));
  const output = dot(weights, values);
  const dOutput = output - target;
  const delta = dOutput * output;
  const dScores = weights.map((weight, j) => weight * (dOutput * values[j] - delta));
  const sum = keys.reduce((total, key, j) => plus(total, times(dScores[j], key)), [0, 0]);
  return {
    weights,
    output,
    loss: dOutput ** 2 / 2,
    queryPush: times(-scale, sum),
    keyPushes: dScores.map((d) => times(-scale * d, query)),
    valuePushes: weights.map((weight) => -weight * dOutput),
  };
}

function build(host, given) {
  const fresh = () => ({ query: [...given.query], target: given.target, temperature: 1 });
  const state = fresh();
  const parts = {};
  const set = (change) => {
    Object.assign(state, change);
    draw(host, given, state, parts);
  };
  parts.plane = buildPlane(PLANE, ABOUT, (query) => set({ query }));
  const sliders = buildSliders(state, set, parts);
  parts.rows = given.labels.map((label, j) => buildRow(label, given.values[j]));
  parts.length = h("p", { class: "ae-entropy" });
  parts.sentence = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  const button = (text, onclick) => h("button", { type: "button", onclick }, text);
  const controls = h(
    "div",
    { class: "ae-controls" },
    button("1 step", () => set({ query: walked(given, state, 1) })),
    button("50 steps", () => set({ query: walked(given, state, 50) })),
    button("Reset", () => set(fresh())),
  );
  const rows = h("div", { class: "ae-rows" }, ...parts.rows.map((row) => row.node));
  set({});
  return [parts.plane, controls, ...sliders, rows, parts.length, parts.sentence, spoken];
}

// Where the query stands after some steps of gradient descent, kept on the plane.
function walked(given, state, steps) {
  let query = state.query;
  for (let i = 0; i < steps; i++) {
    query = kept(PLANE, plus(query, times(RATE, learn(given, { ...state, query }).queryPush)));
  }
  return query;
}

function buildSliders(state, set, parts) {
  const at = (i) => (value) => set({ query: state.query.map((old, j) => (i === j ? value : old)) });
  parts.across = slider("query: across", PLANE.reach.x, 0.05, at(0));
  parts.up = slider("query: up", PLANE.reach.y, 0.05, at(1));
  parts.target = slider("target", TARGETS, 0.1, (target) => set({ target }));
  parts.heat = slider("temperature", HEATS, 0.01, (power) => set({ temperature: 10 ** power }));
  return [parts.across, parts.up, parts.target, parts.heat].map((one) => one.node);
}

function buildRow(label, value) {
  const fill = h("div", { class: "ae-fill" });
  const weight = h("span", { class: "ae-number" });
  const push = h("span", { class: "ae-number ae-v" });
  const bar = h("div", { class: "ae-bar", "aria-hidden": "true" }, fill);
  const words = h("span", {}, h("span", { class: "ae-k" }, label), ` holds ${value}`);
  return { fill, weight, push, node: h("div", { class: "ae-shelf" }, words, bar, weight, push) };
}

function draw(host, given, state, parts) {
  const now = learn(given, state);
  parts.rows.forEach((row, j) => {
    row.fill.style.width = `${100 * now.weights[j]}%`;
    row.weight.textContent = shown(now.weights[j], 3);
    row.push.textContent = `value ${signed(now.valuePushes[j])}`;
  });
  const length = Math.hypot(...now.queryPush);
  parts.length.textContent = `Push on the query: length ${length.toPrecision(3)}`;
  parts.sentence.textContent = `Output ${fixed(now.output, 2)}, loss ${fixed(now.loss, 2)}.`;
  showSlider(parts.across, state.query[0], fixed(state.query[0], 2));
  showSlider(parts.up, state.query[1], fixed(state.query[1], 2));
  showSlider(parts.target, state.target, fixed(state.target, 1));
  showSlider(parts.heat, Math.log10(state.temperature), fixed(state.temperature, 2));
  drawPlane(parts.plane, given, state.query, now);
  const list = given.labels.map((label, j) => `${label} ${shown(now.weights[j], 3)}`).join(", ");
  parts.speak(`${list}. ${parts.sentence.textContent} ${parts.length.textContent}`);
  host.dataset.state = JSON.stringify({ ...state, ...now });
}

const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);

function drawPlane(svg, given, query, now) {
  const keys = given.keys.flatMap((key, j) => {
    const [x, y] = onPlane(key);
    return [
      h("circle", { class: "ae-shelf-dot", cx: x, cy: y, r: 4 + 9 * Math.sqrt(now.weights[j]) }),
      ...arrow("ae-key-push", key, now.keyPushes[j]),
      h("text", { class: "ae-k", x: x + 16, y: y + 17 }, given.labels[j]),
    ];
  });
  const [x, y] = onPlane(query);
  const handle = [
    ...arrow("ae-query-push", query, now.queryPush),
    h("circle", { class: "ae-asker", cx: x, cy: y, r: 7 }),
    h("text", { class: "ae-q", x: x + 10, y: y - 10 }, "query"),
  ];
  svg.replaceChildren(...keys, ...handle);
}

// An arrow from a point, none where the push is too small to be drawn.
function arrow(className, from, push) {
  const size = Math.hypot(...push);
  const drawn = Math.min(DRAWN * size, LONGEST);
  if (drawn < 0.02) return [];
  const ahead = times(1 / size, push);
  const side = [-ahead[1], ahead[0]];
  const tip = plus(from, times(drawn, ahead));
  const barb = (turn) =>
    onPlane(plus(tip, plus(times(-0.16, ahead), times(0.1 * turn, side)))).join(",");
  const line = `M${onPlane(from)}L${onPlane(tip)}M${barb(1)}L${onPlane(tip)}L${barb(-1)}`;
  return [h("path", { class: className, d: line })];
}

mount("gradient", build);
