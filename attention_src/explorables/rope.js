// The explorable "rope": a query and a key, each turned by its position, and their score.

import { fixed, h, mount } from "./dom.js";
import { button, figure, pick, plane, row, slide } from "./figure.js";
import { sum } from "./numbers.js";
import { bold, disc, line, text } from "./scene.js";

const PLANE = {
  ...{ width: 300, height: 240, unit: 46 },
  origin: { x: 150, y: 120 },
  reach: { x: [-2.4, 2.4], y: [-2.4, 2.4] }, // where the turned query may be
};
const LONGEST = 2.5; // of a query, so that it turns within the plane
const LAST = 60; // the last position, and so the largest distance to each side in the chart
const SLOWER = 4; // how many times slower each further pair turns
const PAIRS = [1, 2, 3, 4];
const FINE = 10; // points of the curve for one position
const GLIDE = 250; // ms

const turned = ([a, b], angle) => [
  a * Math.cos(angle) - b * Math.sin(angle),
  a * Math.sin(angle) + b * Math.cos(angle),
];
const shortened = (hand) => hand.map((x) => x * Math.min(1, LONGEST / Math.hypot(...hand)));
const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
const speeds = ({ step, pairs }) => PAIRS.slice(0, pairs).map((_, i) => step / SLOWER ** i);

// The score at offset n - m: the mean over pairs that are alike, but turn at their own speeds.
function scoreAt(offset, state) {
  const each = speeds(state).map((angle) => dot(state.query, turned(state.key, offset * angle)));
  return sum(each) / state.pairs;
}

// All that follows from the state { query, key, m, n, step, pairs }: the two turned vectors, and
// their score, as attention computes it.
export function compute(state) {
  const { query, key, m, n, pairs } = state;
  const hands = speeds(state).map((angle) => [turned(query, m * angle), turned(key, n * angle)]);
  const score = sum(hands.map(([q, k]) => dot(q, k))) / pairs;
  return { turnedQuery: hands[0][0], turnedKey: hands[0][1], score, offset: n - m };
}

export function picture(state, width) {
  const { at, pad } = plane(PLANE, [(width - PLANE.width) / 2, 0], 1);
  const marks = [...handMarks(at, state), ...chartMarks([20, 250, width - 34, 150], state)];
  return { marks, pad, width, height: 410 };
}

// Query and key as hands of a clock: thin where position 0 would be, bold where they are.
function handMarks(at, state) {
  const { query, key, m, n } = state;
  const { turnedQuery, turnedKey } = compute(state);
  const [x0, y0] = at([0, 0]);
  const rim = (name, point) =>
    disc(name, [x0, y0], PLANE.unit * Math.hypot(...point), "none", { stroke: "var(--ae-line)" });
  const hand = (name, point, colour) =>
    line(name, [[x0, y0], at(point)], colour, { "stroke-width": 4, "stroke-linecap": "round" });
  const thin = (name, point, colour) =>
    line(name, [[x0, y0], at(point)], colour, { "stroke-width": 1.4, "stroke-dasharray": "4 4" });
  const corner = [x0 - PLANE.origin.x, y0 - PLANE.origin.y];
  const name = (key, line, words, colour) =>
    text(key, [corner[0], corner[1] + line], words, colour, 13, "start");
  return [
    rim("rim-q", query),
    rim("rim-k", key),
    thin("from-q", query, "q"),
    thin("from-k", key, "k"),
    hand("key", turnedKey, "k"),
    hand("query", turnedQuery, "q"),
    disc("asker", at(turnedQuery), 7, "q", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    bold(name("name-q", 14, `query at ${m}`, "q")),
    bold(name("name-k", 32, `key at ${n}`, "k")),
  ];
}

// The score from LAST positions before the query to LAST after it: a curve, a dot a position.
function chartMarks([left, top, width, height], state) {
  const { score, offset } = compute(state);
  const x = (o) => left + ((o + LAST) / (2 * LAST)) * width;
  const most = Math.hypot(...state.query) * Math.hypot(...state.key) || 1;
  const y = (s) => top + height / 2 - (s / most) * (height / 2 - 16);
  const spot = (o) => [x(o), y(scoreAt(o, state))].map((number) => number.toFixed(1));
  const whole = Array.from({ length: 2 * LAST + 1 }, (_, i) => i - LAST);
  const curve = Array.from({ length: 2 * LAST * FINE + 1 }, (_, i) => spot(i / FINE - LAST));
  const ticks = [-LAST, -LAST / 2, 0, LAST / 2, LAST].map((o) =>
    text(`tick${o}`, [x(o), top + height + 4], o ? fixed(o, 0) : "n − m = 0", "soft", 12),
  );
  return [
    line("axis", [[left, y(0)], [left + width, y(0)]], "line"),
    text("zero", [left - 7, y(0) + 4], "0", "soft", 12, "end"),
    text("score-name", [left, top + 2], "score", "soft", 12, "start"),
    line("curve", curve, "p-fill", { "stroke-width": 1.5 }),
    ...whole.map((o) => disc(`dot${o}`, spot(o), 1.7, "p-fill")),
    ...ticks,
    disc("here", [x(offset), y(score)], 6, "q", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
  ];
}

export function sentence(state) {
  const { step, pairs } = state;
  const { score, offset } = compute(state);
  const lap = (2 * Math.PI) / step;
  const remark =
    pairs > 1
      ? `${pairs} pairs; each turns a quarter as fast as the one before.`
      : step < 0.01
        ? "Nothing turns: the score is the same at every distance."
        : `The score comes back after 2π / ${fixed(step, 2)} = ${fixed(lap, 1)} positions.`;
  return `Score ${fixed(score, 3)} at distance n − m = ${fixed(offset, 0)}. ${remark}`;
}

const fresh = (given) => ({ ...given, query: [...given.query], pairs: 1 });
export const first = (given, width) => picture(fresh(given), width);

// Positions further on; both begin again from the smallest that keep their distance.
export function moved({ m, n }, byM, byN) {
  const next = { m: m + byM, n: n + byN };
  if (Math.max(next.m, next.n) <= LAST) return next;
  if (byM === 0) return { n: 0 };
  const back = Math.min(m, n);
  return { m: m - back, n: n - back };
}

function build(host, given) {
  const number = (label, key, range, words) =>
    slide(label, range, (now) => now[key], (value) => set({ [key]: value }), words);
  const sliders = [
    number("query at m", "m", [0, LAST, 1], String),
    number("key at n", "n", [0, LAST, 1], String),
    number("angle a step", "step", [0, 3.2, 0.01], (value) => `${fixed(value, 2)} rad`),
  ];
  const sizes = PAIRS.map((count) => [count]);
  const pairs = pick("Pairs", sizes, (now) => now.pairs, (count) => set({ pairs: Number(count) }));
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Query and key as hands of a clock, and their score at each distance",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence, controls: [pairs, ...sliders] },
    drag: (hand, { m, step }) => ({ query: turned(shortened(hand), -m * step) }),
  });
  const further = (words, byM, byN) => button(words, () => set(moved(state, byM, byN), GLIDE));
  const buttons = row(
    further("Both +1", 1, 1),
    further("Both +10", 10, 10),
    further("Key +1", 0, 1),
    button("Reset", () => set(fresh(given), GLIDE)),
    pairs.node,
  );
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  return { nodes: [buttons, slides, ...nodes], draw };
}

if (globalThis.document) mount("rope", build);
