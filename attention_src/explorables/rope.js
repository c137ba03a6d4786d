// The explorable "rope": a query and a key, each turned by its position, and their score.

import { fixed, h, mount, speaker } from "./dom.js";
import { buildPlane, drawnAt, showSlider, slider } from "./plane.js";

const PLANE = {
  ...{ width: 400, height: 240, unit: 46 },
  origin: { x: 200, y: 120 },
  reach: { x: [-2.4, 2.4], y: [-2.4, 2.4] }, // where the turned query may be
};
const CHART = { width: 400, height: 150, left: 30, right: 386, middle: 68, unit: 17 };
const ABOUT = "Query and key as hands of a clock: thin where position 0 would be, bold where they are";
const LAST = 60; // the last position, and so the largest distance to each side in the chart
const SLOWER = 4; // how many times slower each further pair turns
const PAIRS = [1, 2, 3, 4];

const turned = ([a, b], angle) => [
  a * Math.cos(angle) - b * Math.sin(angle),
  a * Math.sin(angle) + b * Math.cos(angle),
];
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// The score at offset n - m: the mean over pairs that are alike, but turn at their own speeds.
function scoreAt(offset, { query, key, step, pairs }) {
  let sum = 0;
  for (let i = 0; i < pairs; i++) sum += dot(query, turned(key, (offset * step) / SLOWER ** i));
  return sum / pairs;
}

// The same from the two turned vectors, as attention computes it.
function attend({ query, key, m, n, step, pairs }) {
  const angles = PAIRS.slice(0, pairs).map((_, i) => step / SLOWER ** i);
  const hands = angles.map((angle) => [turned(query, m * angle), turned(key, n * angle)]);
  const score = hands.reduce((sum, [q, k]) => sum + dot(q, k), 0) / pairs;
  return { turnedQuery: hands[0][0], turnedKey: hands[0][1], score };
}

function build(host, given) {
  const fresh = () => ({ ...given, query: [...given.query], pairs: 1 });
  const state = fresh();
  const parts = {};
  const set = (change) => {
    Object.assign(state, change);
    draw(host, state, parts);
  };
  const drag = (hand) => set({ query: turned(hand, -state.m * state.step) });
  parts.plane = buildPlane(PLANE, ABOUT, drag);
  parts.chart = h("svg", {
    class: "ae-plane ae-waves",
    viewBox: `0 0 ${CHART.width} ${CHART.height}`,
    role: "img",
    "aria-label": "The score at each distance, and where query and key stand now",
  });
  parts.m = slider("query at m", [0, LAST], 1, (m) => set({ m }));
  parts.n = slider("key at n", [0, LAST], 1, (n) => set({ n }));
  parts.step = slider("angle a step", [0, 3.2], 0.01, (step) => set({ step }));
  parts.choice = h(
    "select",
    { onchange: () => set({ pairs: Number(parts.choice.value) }) },
    ...PAIRS.map((count) => h("option", { value: count }, count)),
  );
  parts.score = h("p", { class: "ae-entropy" });
  parts.sentence = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  const button = (text, onclick) => h("button", { type: "button", onclick }, text);
  const controls = h(
    "div",
    { class: "ae-controls" },
    button("Both +1", () => set(moved(state, 1, 1))),
    button("Both +10", () => set(moved(state, 10, 10))),
    button("Key +1", () => set(moved(state, 0, 1))),
    button("Reset", () => set(fresh())),
    h("label", {}, "Pairs ", parts.choice),
  );
  const sliders = [parts.m, parts.n, parts.step].map((one) => one.node);
  set({});
  return [parts.plane, controls, ...sliders, parts.score, parts.chart, parts.sentence, spoken];
}

// Positions further on; both begin again from the smallest that keep their distance.
function moved({ m, n }, byM, byN) {
  const next = { m: m + byM, n: n + byN };
  if (Math.max(next.m, next.n) <= LAST) return next;
  if (byM === 0) return { n: 0 };
  const back = Math.min(m, n);
  return { m: m - back, n: n - back };
}

function draw(host, state, parts) {
  const now = attend(state);
  const offset = state.n - state.m;
  parts.choice.value = state.pairs;
  showSlider(parts.m, state.m, String(state.m));
  showSlider(parts.n, state.n, String(state.n));
  showSlider(parts.step, state.step, `${fixed(state.step, 2)} rad`);
  parts.score.textContent = `Score ${fixed(now.score, 3)} at distance n − m = ${fixed(offset, 0)}`;
  const lap = (2 * Math.PI) / state.step;
  parts.sentence.textContent =
    state.pairs > 1
      ? `${state.pairs} pairs; each turns a quarter as fast as the one before.`
      : state.step < 0.01
        ? "Nothing turns: the score is the same at every distance."
        : `The score comes back after 2π / ${fixed(state.step, 2)} = ${fixed(lap, 1)} positions.`;
  drawHands(parts.plane, state, now);
  drawChart(parts.chart, state, offset, now.score);
  parts.speak(`${parts.score.textContent}. ${parts.sentence.textContent}`);
  host.dataset.state = JSON.stringify({ ...state, ...now, offset });
}

function drawHands(svg, { query, key, m, n }, { turnedQuery, turnedKey }) {
  const [x0, y0] = drawnAt(PLANE, [0, 0]);
  const hand = (className, point) => {
    const [x, y] = drawnAt(PLANE, point);
    return h("line", { class: className, x1: x0, y1: y0, x2: x, y2: y });
  };
  const label = (className, point, words) => {
    const [x, y] = drawnAt(PLANE, point);
    const side = x < x0 ? { x: x - 10, "text-anchor": "end" } : { x: x + 10 };
    return h("text", { class: className, y: y + (y < y0 ? -4 : 12), ...side }, words);
  };
  const [x, y] = drawnAt(PLANE, turnedQuery);
  svg.replaceChildren(
    h("circle", { class: "ae-dial-rim", cx: x0, cy: y0, r: PLANE.unit * Math.hypot(...query) }),
    h("circle", { class: "ae-dial-rim", cx: x0, cy: y0, r: PLANE.unit * Math.hypot(...key) }),
    hand("ae-hand-q ae-thin", query),
    hand("ae-hand-k ae-thin", key),
    hand("ae-hand-k", turnedKey),
    hand("ae-hand-q", turnedQuery),
    h("circle", { class: "ae-asker", cx: x, cy: y, r: 7 }),
    label("ae-k", turnedKey, `key at ${n}`),
    label("ae-q", turnedQuery, `query at ${m}`),
  );
}

// The score from LAST positions before the query to LAST after it: a curve, a dot a position.
function drawChart(svg, state, offset, score) {
  const { left, right, middle, unit, height } = CHART;
  const x = (o) => left + ((o + LAST) / (2 * LAST)) * (right - left);
  const most = Math.hypot(...state.query) * Math.hypot(...state.key) || 1;
  const y = (s) => middle - (s / most) * 3.3 * unit;
  const point = (o) => `${x(o).toFixed(1)},${y(scoreAt(o, state)).toFixed(1)}`;
  const curve = Array.from({ length: 40 * LAST + 1 }, (_, i) => point(i / 20 - LAST));
  const dots = Array.from({ length: 2 * LAST + 1 }, (_, i) => {
    const o = i - LAST;
    return h("circle", { class: "ae-dot", cx: x(o), cy: y(scoreAt(o, state)), r: 1.7 });
  });
  const axis = h("line", { class: "ae-axis", x1: left, x2: right, y1: y(0), y2: y(0) });
  const ticks = [-LAST, -LAST / 2, 0, LAST / 2, LAST].map((o) =>
    h(
      "text",
      { class: "ae-tick", x: x(o), y: height - 4, "text-anchor": "middle" },
      o ? fixed(o, 0) : "n − m = 0",
    ),
  );
  const zero = { class: "ae-tick", x: left - 6, y: y(0) + 4, "text-anchor": "end" };
  const here = { cx: x(offset), cy: y(score), r: 6 };
  svg.replaceChildren(
    axis,
    h("path", { class: "ae-curve", d: `M${curve.join("L")}` }),
    ...dots,
    ...ticks,
    h("text", zero, "0"),
    h("circle", { class: "ae-asker", ...here }),
  );
}

mount("rope", build);
