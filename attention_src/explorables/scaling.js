// The explorable "scaling": width, scale and number of keys against weights, entropy and slope.
// `entries` and `row` are the twins of what attention_src/explorables/scaling.py computes.

import { softmax } from "./numbers.js";
import { entropyBits } from "./weights.js";
import { h, mount, speaker } from "./dom.js";

const WIDTHS = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SIZES = [2, 4, 8, 16, 32, 64];
const RULES = { "no scale": 0, "1/√d_k": -0.5, "1/d_k": -1 };
const N_QUERIES = 40;
const WIDEST = WIDTHS.at(-1);
const HEIGHT = 120; // of both charts, as in explorable.css
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

// One query: its scores, weights and entropy, and the norm of the slope of the weights by it.
function row(q, k, query, { d_k, n_k, rule }) {
  const c = d_k ** RULES[rule];
  const mean = new Float64Array(d_k);
  const scores = Array.from({ length: n_k }, (_, j) => {
    let s = 0;
    for (let i = 0; i < d_k; i++) s += q[query * WIDEST + i] * k[j * WIDEST + i];
    return c * s;
  });
  const weights = softmax(scores);
  weights.forEach((p, j) => {
    for (let i = 0; i < d_k; i++) mean[i] += p * k[j * WIDEST + i];
  });
  const squares = weights.map((p, j) => {
    let r = 0;
    for (let i = 0; i < d_k; i++) r += (k[j * WIDEST + i] - mean[i]) ** 2;
    return p * p * r;
  });
  const slope = c * Math.sqrt(squares.reduce((a, b) => a + b, 0));
  return { scores, weights, bits: entropyBits(weights), slope };
}

const median = (x) => {
  const sorted = [...x].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
};
const average = (x) => x.reduce((a, b) => a + b, 0) / x.length;
const spread = (x) => {
  const m = average(x);
  return Math.sqrt(average(x.map((value) => (value - m) ** 2)));
};
// Three digits, whatever the size.
const three = (x) => {
  if (x >= 0.001) return x.toFixed(Math.max(0, 2 - Math.floor(Math.log10(x))));
  return x === 0 ? "0" : `${(x * 1e6).toFixed(x < 1e-6 ? 2 : 0)} millionths`;
};

function build(host, given) {
  const state = { ...given };
  const q = entries(1, N_QUERIES * WIDEST);
  const k = entries(2, SIZES.at(-1) * WIDEST);
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  const parts = { speak: speaker(spoken) };
  const redraw = () => draw(host, state, parts, q, k);
  const set = (changes) => {
    Object.assign(state, changes);
    redraw();
  };
  const controls = buildControls(state, given, parts, set);
  const chart = (label, extra) =>
    h("svg", { class: `ae-chart ae-still ${extra}`, role: "img", "aria-label": label });
  parts.bars = chart("Weight of each key", "ae-bars");
  parts.dots = chart("Slope by the query, for 40 queries, on a logarithmic axis", "ae-slopes");
  parts.sentence = h("p", { class: "ae-sentence" });
  parts.entropy = h("p", { class: "ae-entropy" });
  parts.lottery = h("p", { class: "ae-entropy ae-lottery" });
  const caption = (words) => h("p", { class: "ae-caption" }, words);
  redraw();
  new ResizeObserver(redraw).observe(parts.bars);
  return [
    ...controls,
    parts.sentence,
    parts.bars,
    parts.entropy,
    caption("How far the weights move when the query does: a dot for each of 40 queries."),
    parts.dots,
    parts.lottery,
    spoken,
  ];
}

function buildControls(state, given, parts, set) {
  const slider = (label, choices, name) => {
    const input = h("input", {
      type: "range",
      min: 0,
      max: choices.length - 1,
      step: 1,
      "aria-label": label,
      oninput: () => set({ [name]: choices[input.value] }),
    });
    parts[name] = input;
    parts[`${name}Text`] = h("strong");
    return h("div", { class: "ae-dial" }, h("span", {}, `${label} `, parts[`${name}Text`]), input);
  };
  parts.rule = h(
    "select",
    { onchange: () => set({ rule: parts.rule.value }) },
    ...Object.keys(RULES).map((name) => h("option", { value: name }, name)),
  );
  const button = (words, act) => h("button", { type: "button", onclick: act }, words);
  const next = () => set({ query: (state.query + 1) % N_QUERIES });
  const group = (...children) => h("div", { class: "ae-controls" }, ...children);
  return [
    group(
      h("label", {}, "Scale ", parts.rule),
      button("Next query", next),
      button("Reset", () => set(given)),
    ),
    group(slider("width d_k", WIDTHS, "d_k"), slider("keys", SIZES, "n_k")),
  ];
}

function draw(host, state, parts, q, k) {
  const rows = Array.from({ length: N_QUERIES }, (_, i) => row(q, k, i, state));
  const now = rows[state.query];
  const slopes = rows.map((r) => r.slope);
  const small = slopes.filter((slope) => slope < LOW).length;
  const most = Math.max(...now.weights);
  for (const [name, choices] of [["d_k", WIDTHS], ["n_k", SIZES]]) {
    parts[name].value = choices.indexOf(state[name]);
    parts[name].setAttribute("aria-valuetext", state[name]);
    parts[`${name}Text`].textContent = state[name].toLocaleString("en");
  }
  parts.rule.value = state.rule;
  parts.sentence.textContent =
    `Query ${state.query + 1} of ${N_QUERIES}: its scores spread by ${three(spread(now.scores))}.`;
  parts.entropy.textContent =
    `Largest weight ${most.toFixed(3)}; entropy ${now.bits.toFixed(2)} ` +
    `of at most ${Math.log2(state.n_k).toFixed(0)} bits.`;
  parts.lottery.textContent =
    `Slope: mean ${three(average(slopes))}, median ${three(median(slopes))}; ` +
    `${small} of ${N_QUERIES} below ${LOW}.`;
  drawBars(parts.bars, now.weights);
  drawDots(parts.dots, slopes, state.query);
  host.dataset.state = JSON.stringify({ ...state, ...now, slopes });
  parts.speak(`${parts.entropy.textContent} ${parts.lottery.textContent}`);
}

function drawBars(svg, weights) {
  const width = svg.clientWidth || 600;
  const step = width / weights.length;
  const y = (weight) => 8 + (1 - weight) * (HEIGHT - 16);
  const line = (weight) =>
    h("line", { class: "ae-axis", x1: 0, x2: width, y1: y(weight), y2: y(weight) });
  const bars = weights.map((weight, j) => {
    const [left, right] = [step * (j + 0.1), step * (j + 0.9)];
    const box = `M${left},${y(0)}V${y(weight)}H${right}V${y(0)}Z`;
    return h("path", { d: box, class: "ae-solid" });
  });
  svg.replaceChildren(line(0), line(1), ...bars);
}

// Each query's slope as a dot; the one shown above is larger. Heights only keep dots apart.
function drawDots(svg, slopes, query) {
  const width = svg.clientWidth || 600;
  const place = (slope) => (Math.log10(Math.max(slope, 10 ** LEAST)) - LEAST) / (MOST - LEAST);
  const x = (slope) => 12 + place(slope) * (width - 24);
  const ticks = [-6, -4, -2, 0].flatMap((power) => {
    const at = x(10 ** power);
    const name = { "-6": "10⁻⁶ or less", "-4": "10⁻⁴", "-2": "0.01", 0: "1" }[power];
    const anchor = power === LEAST ? "start" : "middle";
    return [
      h("line", { class: "ae-axis", x1: at, x2: at, y1: 4, y2: HEIGHT - 22 }),
      h("text", { class: "ae-tick", x: anchor === "start" ? 0 : at, y: HEIGHT - 6,
        "text-anchor": anchor }, name),
    ];
  });
  const dots = slopes.map((slope, i) =>
    h("circle", {
      class: i === query ? "ae-dot ae-here" : "ae-dot",
      cx: x(slope).toFixed(1),
      cy: 12 + ((i * 17) % N_QUERIES) * ((HEIGHT - 46) / N_QUERIES),
      r: i === query ? 6 : 3.5,
    }),
  );
  svg.replaceChildren(...ticks, ...dots);
}

mount("scaling", build);
