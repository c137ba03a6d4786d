// The explorable "softmax": scores as bars to drag, a rule and a temperature, the weights they give.

import { fixed, h, mount, shown } from "./dom.js";
import { button, figure, pick, place, row, temperatures } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, isNarrow, line, rect, text } from "./scene.js";
import { entmax15, entropyBits, hardmax, sigmoid, sparsemax } from "./weights.js";

const RULES = { softmax, "entmax-1.5": entmax15, sparsemax, hardmax, sigmoid };
const LIMIT = 8; // scores lie between -LIMIT and LIMIT
const COLD = 0.05; // the temperatures at the two ends of the chart
const HOT = 50;
const FEWEST = 4; // keys
const GLIDE = 200; // ms
const CHART = 150; // pixels: its height
const tenths = (score) => Math.round(10 * Math.min(Math.max(score, -LIMIT), LIMIT)) / 10;

const weigh = ({ rule, scores }, temperature) =>
  RULES[rule](scores.map((score) => score / temperature));

// All that follows from the state { rule, temperature, scores }.
export function compute(state) {
  const weights = weigh(state, state.temperature);
  return { weights, entropyBits: entropyBits(weights) };
}

// The picture; tracks are where the scores are dragged: [x, y, width, height] for each key.
export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const tall = narrow ? 44 : 32;
  const room = width - 64;
  const columns = narrow
    ? { score: [64, room - 54], weight: [64, room - 54], low: 20 }
    : { score: [64, room / 2 - 44], weight: [84 + room / 2, room / 2 - 74], low: 0 };
  const tracks = state.scores.map((_, j) => [columns.score[0], 22 + tall * j, columns.score[1], 24]);
  const top = 22 + tall * given.labels.length + 32;
  const [chart, pad] = chartMarks([8, top, width - 16, CHART], state, given);
  const marks = [...rowMarks(width, columns, tracks, state, given), ...chart];
  return { marks, tracks, pad, width, height: top + CHART + 42 };
}

// A row for each key: its score as a bar from 0, in the middle, to the handle; and its weight.
function rowMarks(width, { score: left, weight: right, low }, tracks, state, { labels }) {
  const { weights } = compute(state);
  const heads = [
    text("head-key", [0, 12], "key", "soft", 12.5, "start"),
    text("head-score", [left[0], 12], low ? "score, and weight below" : "score: drag it", "soft", 12.5, "start"),
    ...(low ? [] : [text("head-weight", [right[0], 12], "weight", "soft", 12.5, "start")]),
  ];
  const rows = tracks.flatMap(([x, y, wide], j) => {
    const score = state.scores[j];
    const at = (value) => x + 7 + ((value + LIMIT) / (2 * LIMIT)) * (wide - 14);
    const [from, to] = [Math.min(at(0), at(score)), Math.max(at(0), at(score))];
    const under = y + low;
    const weight = [right[0], under + 5, right[1] * weights[j], low ? 12 : 15];
    return [
      text(`key${j}`, [0, y + 17], labels[j], "k", 13, "start"),
      rect(`track${j}`, [x, y + 4, wide, 16], "surface", 1, { rx: 3 }),
      rect(`score${j}`, [from, y + 4, to - from, 16], "score"),
      rect(`handle${j}`, [at(score) - 6, y, 12, 24], "ink", 1, { rx: 5 }),
      text(`number${j}`, [x + wide + 40, y + 17], fixed(score, 1), "ink", 13, "end"),
      rect(`room${j}`, [right[0], under + 5, right[1], weight[3]], "surface", 1, { rx: 3 }),
      rect(`weight${j}`, weight, "p-fill", 1, { rx: 3 }),
      text(`share${j}`, [width, under + (low ? 15 : 17)], shown(weights[j], 3), "p", 13, "end"),
    ];
  });
  return [...heads, ...rows];
}

// Each key's weight from cold to hot, and a line at the present temperature.
function chartMarks([left, top, width, height], state, { labels }) {
  const { temperature } = state;
  const { weights } = compute(state);
  const temperatureAt = (part) => COLD * (HOT / COLD) ** Math.min(Math.max(part, 0), 1);
  const x = (t) => left + (Math.log(t / COLD) / Math.log(HOT / COLD)) * width;
  const y = (weight) => top + 8 + (1 - weight) * (height - 16);
  const points = Array.from({ length: 101 }, (_, i) => temperatureAt(i / 100));
  const rows = points.map((t) => weigh(state, t));
  const here = x(temperature);
  const back = here > left + 0.7 * width; // names go to the side that has room
  const heights = spread(weights.map(y), 14, y(0) + 4);
  const ends = top + height + 36;
  const marks = [
    text("caption", [0, top - 14], `Weights at temperature ${fixed(temperature, 2)}`, "soft", 13, "start"),
    ...[0, 1].flatMap((weight) => [
      line(`level${weight}`, [[left, y(weight)], [left + width, y(weight)]], "line"),
      text(`level-name${weight}`, [left - 8, y(weight) - 4], `${weight}`, "soft", 12, "start"),
    ]),
    ...[0.1, 1, 10].flatMap((t) => [
      line(`tick${t}`, [[x(t), y(1)], [x(t), y(0) + 5]], "line"),
      text(`tick-name${t}`, [x(t), y(0) + 19], `${t}`, "soft", 12),
    ]),
    ...weights.map((_, j) => {
      const curve = rows.map((p, i) => [x(points[i]).toFixed(1), y(p[j]).toFixed(1)]);
      return line(`curve${j}`, curve, "p-fill", { "stroke-width": 1.75 });
    }),
    line("now", [[here, top], [here, y(0) + 6]], "ink", { "stroke-width": 1.5 }),
    ...weights.flatMap((weight, j) => [
      disc(`dot${j}`, [here, y(weight)], 4, "p-fill", { stroke: "var(--ae-bg)", "stroke-width": 1.5 }),
      halo(text(`name${j}`, [here + (back ? -9 : 9), heights[j] + 4], labels[j], "k", 13, back ? "end" : "start")),
    ]),
    text("cold", [0, ends], "← cold: the winner takes all", "soft", 12.5, "start"),
    text("hot", [left + width + 8, ends], "hot: all alike →", "soft", 12.5, "end"),
  ];
  const under = ([a]) => temperatureAt((a - left) / width);
  return [marks, { area: [left, top, width, height], under, sideways: true }];
}

// A name that can be read on a curve.
const halo = (mark) => {
  const edge = { stroke: "var(--ae-bg)", "stroke-width": 4, "stroke-linejoin": "round" };
  Object.assign(mark[2], edge, { "paint-order": "stroke" });
  return mark;
};

// Heights for names near these heights, at least `gap` apart and none below `bottom`.
function spread(heights, gap, bottom) {
  const order = heights.map((_, j) => j).sort((a, b) => heights[a] - heights[b]);
  const places = [...heights];
  for (let i = 1; i < order.length; i++) {
    places[order[i]] = Math.max(places[order[i]], places[order[i - 1]] + gap);
  }
  let limit = bottom;
  for (const j of order.reverse()) {
    places[j] = Math.min(places[j], limit);
    limit = places[j] - gap;
  }
  return places;
}

export function sentence(state, { labels }) {
  const { weights } = compute(state);
  return `${remark(labels, state, weights)} ${entropyText(weights)}`;
}

function entropyText(weights) {
  const total = sum(weights);
  if (Math.abs(total - 1) > 1e-9) {
    return `The weights sum to ${total.toFixed(3)}, not to 1: they have no entropy.`;
  }
  const bits = entropyBits(weights);
  const most = Math.log2(weights.length);
  return `Entropy ${bits.toFixed(2)} of at most ${most.toFixed(2)} bits: like ${(2 ** bits).toFixed(1)} keys.`;
}

// What to notice in the present state.
function remark(labels, state, weights) {
  const zeros = labels.filter((_, j) => weights[j] === 0);
  if (state.rule === "sigmoid") return "Each key is judged alone, by its own score. None competes.";
  if (state.rule === "hardmax") return "The highest score takes all. Temperature changes nothing.";
  if (zeros.length) return `Exactly 0: ${zeros.join(", ")}.`;
  if (state.rule === "softmax") return "Each weight is positive, however low the score.";
  return "No weight is exactly 0 here. Lower the temperature, or one score.";
}

function spoken(state, { labels }) {
  const { weights } = compute(state);
  const list = weights.map((weight, j) => `${labels[j]} ${shown(weight, 3)}`).join(", ");
  return `${state.rule} at temperature ${fixed(state.temperature, 2)}: ${list}. ${entropyText(weights)}`;
}

const fresh = ({ scores }) => ({ rule: "softmax", temperature: 1, scores: [...scores] });
export const first = (given, width) => picture(fresh(given), width, given);

const STEPS = { ArrowRight: 0.1, ArrowUp: 0.1, ArrowLeft: -0.1, ArrowDown: -0.1, PageUp: 1, PageDown: -1 };
const ENDS = { Home: -LIMIT, End: LIMIT };

// A score's bar: mouse, finger and keys move it. change(score) is called.
function buildBar(label, change) {
  let track, score;
  const move = (event) => {
    const { left } = node.ownerSVGElement.getBoundingClientRect();
    const part = (event.clientX - left - track[0] - 7) / (track[2] - 14);
    change(tenths(2 * LIMIT * part - LIMIT));
  };
  const node = h("rect", {
    ...{ class: "ae-thing ae-bar", tabindex: 0, role: "slider", "aria-label": `score of ${label}` },
    ...{ "aria-valuemin": -LIMIT, "aria-valuemax": LIMIT, rx: 4 },
    onpointerdown: (event) => move(event, node.setPointerCapture(event.pointerId)),
    onpointermove: (event) => node.hasPointerCapture(event.pointerId) && move(event),
    onkeydown: (event) => {
      if (!(event.key in STEPS) && !(event.key in ENDS)) return;
      event.preventDefault();
      change(tenths(event.key in ENDS ? ENDS[event.key] : score + STEPS[event.key]));
    },
  });
  const follow = (value, at) => {
    [score, track] = [value, at];
    node.style.display = at ? "" : "none";
    if (!at) return;
    place(node, at);
    node.setAttribute("aria-valuenow", score);
    node.setAttribute("aria-valuetext", fixed(score, 1));
  };
  return { node, follow };
}

function build(host, given) {
  const change = (update) => () => set({ scores: update(state.scores) }, GLIDE);
  const shift = (by) => change((scores) => scores.map((score) => tenths(score + by)));
  const fewer = button("Remove key", change((scores) => scores.slice(0, -1)));
  const more = button("Add key", change((scores) => [...scores, 0]));
  const [up, down] = [button("All +1", shift(1)), button("All −1", shift(-1))];
  const ends = ({ scores }) => {
    fewer.disabled = scores.length <= FEWEST;
    more.disabled = scores.length >= given.labels.length;
    up.disabled = Math.max(...scores) > LIMIT - 1;
    down.disabled = Math.min(...scores) < 1 - LIMIT;
  };
  const bars = given.labels.map((label, j) =>
    buildBar(label, (score) =>
      set({ scores: state.scores.map((old, i) => (i === j ? score : old)) }),
    ),
  );
  const rules = Object.keys(RULES).map((name) => [name]);
  const rule = pick("Rule", rules, (now) => now.rule, (name) => set({ rule: name }, GLIDE));
  const powers = [Math.log10(COLD), Math.log10(HOT), 0.01];
  const heat = temperatures(powers, (change) => set(change));
  const follow = ({ scores }, { tracks }) =>
    bars.forEach((bar, j) => bar.follow(scores[j], tracks[j]));
  const { state, set, draw, front, nodes } = figure(host, given, {
    label: "Scores to drag, and weights from cold to hot temperatures",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken },
    controls: [rule, heat, { follow: ends }, { follow }],
    drag: (temperature) => ({ temperature }),
  });
  front.append(...bars.map((bar) => bar.node));
  const reset = button("Reset", () => set(fresh(given), GLIDE));
  const slides = h("div", { class: "ae-slides" }, heat.node);
  return { nodes: [row(rule.node, fewer, more, up, down, reset), slides, ...nodes], draw };
}

if (globalThis.document) mount("softmax", build);
