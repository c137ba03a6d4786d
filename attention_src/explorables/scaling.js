// The explorable "scaling": width, scale and number of keys against weights, entropy and slope.
// `entries` and `attend` are the twins of what attention_src/explorables/scaling.py computes.

import { h, mount } from "./dom.js";
import { button, figure, pick, row, slide } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { disc, isNarrow, line, rect, text } from "./scene.js";
import { entropyBits } from "./weights.js";

const WIDTHS = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SIZES = [2, 4, 8, 16, 32, 64];
const RULES = { "no scale": 0, "1/√d_k": -0.5, "1/d_k": -1 };
const N_QUERIES = 40;
const WIDEST = WIDTHS.at(-1);
const HEIGHT = 100; // pixels of both charts
const GLIDE = 200; // ms
const LEAST = -6; // the slope axis, as powers of 10
const MOST = 1;
const LOW = 0.01; // "a small slope"

// Numbers between −√3 and √3, evenly spread: mean 0, variance 1. (mulberry32)
function entries(seed, count) {
  const made = new Float64Array(count);
  for (let i = 0, a = seed; i < count; i++) {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    made[i] = Math.sqrt(3) * ((2 * ((t ^ (t >>> 14)) >>> 0)) / 2 ** 32 - 1);
  }
  return made;
}

const Q = entries(1, N_QUERIES * WIDEST);
const K = entries(2, SIZES.at(-1) * WIDEST);

// One query: its scores, weights and entropy, and the norm of the slope of the weights by it.
function attend(query, { d_k, n_k, rule }) {
  const c = d_k ** RULES[rule];
  const mean = new Float64Array(d_k);
  const scores = Array.from({ length: n_k }, (_, j) => {
    let s = 0;
    for (let i = 0; i < d_k; i++) s += Q[query * WIDEST + i] * K[j * WIDEST + i];
    return c * s;
  });
  const weights = softmax(scores);
  weights.forEach((p, j) => {
    for (let i = 0; i < d_k; i++) mean[i] += p * K[j * WIDEST + i];
  });
  const squares = weights.map((p, j) => {
    let r = 0;
    for (let i = 0; i < d_k; i++) r += (K[j * WIDEST + i] - mean[i]) ** 2;
    return p * p * r;
  });
  const slope = c * Math.sqrt(sum(squares));
  return { scores, weights, bits: entropyBits(weights), slope };
}

const median = (x) => {
  const sorted = [...x].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
};
const average = (x) => sum(x) / x.length;
const spread = (x) => {
  const m = average(x);
  return Math.sqrt(average(x.map((value) => (value - m) ** 2)));
};
// Three digits, whatever the size.
const three = (x) => {
  if (x >= 0.001) return x.toFixed(Math.max(0, 2 - Math.floor(Math.log10(x))));
  return x === 0 ? "0" : `${(x * 1e6).toFixed(x < 1e-6 ? 2 : 0)} millionths`;
};

// All that follows from the state { d_k, n_k, rule, query }: what is shown of its query, and the
// slopes of all. Many numbers: those of the last state are kept.
let last = {};
export function compute({ query, ...choice }) {
  const key = JSON.stringify(choice);
  if (last.key !== key) {
    const rows = Array.from({ length: N_QUERIES }, (_, i) => attend(i, choice));
    last = { key, rows, slopes: rows.map(({ slope }) => slope) };
  }
  return { ...last.rows[query], slopes: last.slopes };
}

export function picture(state, width) {
  const { weights, slopes } = compute(state);
  const low = HEIGHT + 58;
  const said = "How far the weights move when the query";
  const dots = "does: a dot for each of 40 queries.";
  const two = isNarrow(width) ? 17 : 0; // lines that have room for the words
  const marks = [
    ...barMarks(width, weights),
    text("about", [0, low], two ? said : `${said} ${dots}`, "soft", 12.5, "start"),
    ...(two ? [text("about-dots", [0, low + two], dots, "soft", 12.5, "start")] : []),
    ...dotMarks(width, low + 12 + two, slopes, state.query),
  ];
  return { marks, width, height: low + two + HEIGHT + 34 };
}

// The weight of each key.
function barMarks(width, weights) {
  const step = width / weights.length;
  const y = (weight) => 22 + (1 - weight) * HEIGHT;
  return [
    text("weights", [0, 12], "weight of each key", "soft", 12.5, "start"),
    text("largest", [width, 12], `largest ${Math.max(...weights).toFixed(3)}`, "p", 12.5, "end"),
    ...[0, 1].map((one) => line(`level${one}`, [[0, y(one)], [width, y(one)]], "line")),
    ...weights.map((weight, j) =>
      rect(`bar${j}`, [step * (j + 0.1), y(weight), 0.8 * step, weight * HEIGHT], "p-fill"),
    ),
    ...(step < 19 ? [] : weights.map((_, j) => text(`key${j}`, [step * (j + 0.5), y(0) + 15], `${j}`, "k", 12))),
  ];
}

// Each query's slope as a dot; the one shown above is larger. Heights only keep dots apart.
function dotMarks(width, top, slopes, query) {
  const place = (slope) => (Math.log10(Math.max(slope, 10 ** LEAST)) - LEAST) / (MOST - LEAST);
  const x = (slope) => 12 + place(slope) * (width - 24);
  const names = { "-6": "10⁻⁶ or less", "-4": "10⁻⁴", "-2": "0.01", 0: "1" };
  const ticks = Object.entries(names).flatMap(([power, name]) => {
    const at = x(10 ** power);
    const [spot, anchor] = Number(power) === LEAST ? [0, "start"] : [at, "middle"];
    return [
      line(`tick${power}`, [[at, top], [at, top + HEIGHT]], "line"),
      text(`name${power}`, [spot, top + HEIGHT + 15], name, "soft", 12, anchor),
    ];
  });
  const dots = slopes.map((slope, i) => {
    const spot = [x(slope), top + 6 + (((i * 17) % N_QUERIES) * (HEIGHT - 12)) / N_QUERIES];
    const edge = { stroke: "var(--ae-bg)", "stroke-width": 1.5 };
    return disc(`dot${i}`, spot, i === query ? 6 : 3.5, i === query ? "q" : "p-fill", edge);
  });
  return [...ticks, ...dots];
}

function lottery(slopes) {
  const small = slopes.filter((slope) => slope < LOW).length;
  return (
    `Slope: mean ${three(average(slopes))}, median ${three(median(slopes))}; ` +
    `${small} of ${N_QUERIES} below ${LOW}.`
  );
}

function weightText({ n_k }, { weights, bits }) {
  const most = Math.max(...weights).toFixed(3);
  return `Largest weight ${most}; entropy ${bits.toFixed(2)} of at most ${Math.log2(n_k)} bits.`;
}

export function sentence(state) {
  const now = compute(state);
  const scores = `Query ${state.query + 1} of ${N_QUERIES}: its scores spread by ${three(spread(now.scores))}.`;
  return `${scores} ${weightText(state, now)} ${lottery(now.slopes)}`;
}

const spoken = (state) => {
  const now = compute(state);
  return `${weightText(state, now)} ${lottery(now.slopes)}`;
};

export const first = (given, width) => picture(given, width);

function build(host, given) {
  const sizes = (label, key, list) =>
    slide(
      label,
      [0, list.length - 1, 1],
      (now) => list.indexOf(now[key]),
      (place) => set({ [key]: list[place] }, GLIDE),
      (place) => list[place].toLocaleString("en"),
    );
  const rules = Object.keys(RULES).map((name) => [name]);
  const rule = pick("Scale", rules, (now) => now.rule, (name) => set({ rule: name }, GLIDE));
  const slides = [sizes("width d_k", "d_k", WIDTHS), sizes("keys", "n_k", SIZES)];
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Weight of each key, and the slope by the query for 40 queries",
    start: given,
    ...{ picture, sentence, compute, spoken, controls: [rule, ...slides] },
  });
  const next = button("Next query", () => set({ query: (state.query + 1) % N_QUERIES }, GLIDE));
  const buttons = row(rule.node, next, button("Reset", () => set(given, GLIDE)));
  const sliders = h("div", { class: "ae-slides" }, ...slides.map((one) => one.node));
  return { nodes: [buttons, sliders, ...nodes], draw };
}

if (globalThis.document) mount("scaling", build);
