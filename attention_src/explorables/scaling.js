// The explorable "scaling": wider and wider random vectors, and the key that then gets the weight.
// `entries` and `weightsOf` are the twins of what attention_src/explorables/scaling.py computes.

import { h, mount } from "./dom.js";
import { button, figure, row, slide } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, isNarrow, line, rect, text } from "./scene.js";

export const WIDTHS = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const N_QUERIES = 8;
const N_KEYS = 16;
const WIDEST = WIDTHS.at(-1);
const GOAL = 0.9; // the dotted line
const TOP = 18; // where a bar of weight 1 ends
const STEP = 13; // from one earlier winner to the next below it
const GLIDE = 250; // ms

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
const K = entries(2, N_KEYS * WIDEST);

// The weights of the keys at a width, for one query.
function weightsOf(query, width, divided) {
  const scores = Array.from({ length: N_KEYS }, (_, j) => {
    let s = 0;
    for (let i = 0; i < width; i++) s += Q[query * WIDEST + i] * K[j * WIDEST + i];
    return divided ? s / Math.sqrt(width) : s;
  });
  return softmax(scores);
}

const largest = (weights) => weights.indexOf(Math.max(...weights));

// The weights now, and the key that has the most of them at each narrower width.
export function compute({ place, query }, { divided }) {
  const weights = weightsOf(query, WIDTHS[place], divided);
  const before = WIDTHS.slice(0, place).map((width) => largest(weightsOf(query, width, divided)));
  return { weights, winner: largest(weights), before };
}

export function picture(state, width, given) {
  const { weights, winner, before } = compute(state, given);
  const tall = isNarrow(width) ? 160 : 190;
  const foot = TOP + tall;
  const left = 34;
  const wide = (width - left) / N_KEYS;
  const y = (weight) => foot - tall * weight;
  const at = (j) => left + wide * (j + 0.5);
  const bar = Math.min(wide * 0.8, 34);
  const high = Math.max(y(weights[winner]) - 5, 11);
  const stack = before.map((j, i) => before.slice(0, i).filter((other) => other === j).length);
  const marks = [
    ...[0, 0.5, 1].flatMap((weight) => [
      line(`grid${weight}`, [[left, y(weight)], [width, y(weight)]], "line"),
      text(`tick${weight}`, [left - 6, y(weight) + 4.5], `${weight}`, "soft", 12.5, "end"),
    ]),
    line("goal", [[left, y(GOAL)], [width, y(GOAL)]], "ink", { "stroke-dasharray": "2 3", "stroke-width": 1.5 }),
    text("goal-name", [left - 6, y(GOAL) + 4.5], `${GOAL}`, "ink", 12.5, "end"),
    ...weights.map((weight, j) => rect(`bar${j}`, [at(j) - bar / 2, y(weight), bar, tall * weight], "p-fill")),
    bold(text("largest", [at(winner), high], three(weights[winner]), "p", 13)),
    ...weights.map((_, j) => {
      const label = text(`key${j}`, [at(j), foot + 16], `${j}`, "k", 13);
      return j === winner ? bold(label) : label;
    }),
    text("keys", [0, foot + 16], "key", "k", 13, "start"),
    ...before.map((j, i) => text(`won${WIDTHS[i]}`, [at(j), foot + 32 + STEP * stack[i]], `${WIDTHS[i]}`, "soft", 11)),
    ...(before.length ? [text("won", [0, foot + 32], "won at", "soft", 11, "start")] : []),
  ];
  return { marks, width, height: foot + 32 + STEP * 2 + 4 };
}

// Three digits, and no weight that is not all is called 1.
const three = (weight) => (weight < 0.9995 ? weight.toFixed(3) : "0.999…");

export function sentence(state, given) {
  const { weights, winner } = compute(state, given);
  const width = WIDTHS[state.place];
  const root = Math.sqrt(width);
  const by = Number.isInteger(root) ? `${root}` : `√${width}`;
  const said = `Width ${width.toLocaleString("en-US")}${given.divided ? `, divided by ${by}` : ""}`;
  const most = weights[winner];
  const rest = sum(weights) - most;
  if (most >= 0.9995) return `${said}: key ${winner} has all of the weight but for less than 0.001.`;
  return `${said}: key ${winner} has ${most.toFixed(3)} of the weight, the other fifteen share ${rest.toFixed(3)}.`;
}

const fresh = ({ place, query }) => ({ place, query });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const last = WIDTHS.length - 1;
  const width = slide(
    "width",
    [0, last, 1],
    ({ place }) => place,
    (place) => set({ place }, GLIDE),
    (place) => WIDTHS[place].toLocaleString("en-US"),
  );
  const { state, set, draw, nodes } = figure(host, given, {
    label: "The weight of each of sixteen keys",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence, controls: [width] },
  });
  const next = button("Another query", () => set({ query: (state.query + 1) % N_QUERIES }, GLIDE));
  const reset = button("Reset", () => set(fresh(given), GLIDE));
  const slides = h("div", { class: "ae-slides" }, width.node);
  return { nodes: [slides, ...nodes, row(next, reset)], draw };
}

if (globalThis.document) mount("scaling", build);
