// The explorable "softmax": four scores on a line, dragged alone or all together, and their shares of
// one unit. Two states: "shares" to drag, and "temperature", where a slider divides all scores.

import { fixed, h, mount } from "./dom.js";
import { button, figure, row, temperatures } from "./figure.js";
import { softmax } from "./numbers.js";
import { bold, disc, isNarrow, line, rect, text } from "./scene.js";
import { entropyBits } from "./weights.js";

const REACH = { shares: 6, temperature: 12 }; // how far the line goes to both sides of 0
const POWERS = [-0.6, 0.78, 0.02]; // of ten: the temperatures
const GLIDE = 300; // ms
const NAMES = 58; // room for the names of the keys
const TOP = 46; // where the first lane begins
const ALL = "all four";
const BAR = 66; // how long the bar that holds all is at least

const tenths = (value) => Math.round(10 * value) / 10 + 0;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// All that follows from the state { scores, temperature, who, from }: `who` was moved last, and
// `from` is where the scores stood before that.
export function compute({ scores, temperature, from }) {
  const weigh = (row) => softmax(row.map((score) => score / temperature));
  const [weights, before] = [scores, from].map(weigh);
  const change = Math.max(...weights.map((weight, j) => Math.abs(weight - before[j])));
  return { weights, change, worth: 2 ** entropyBits(weights) };
}

// The scores after key `who`, or all, has gone as near to `by` as the line allows.
export function moved(scores, who, by) {
  const { shares } = REACH;
  if (who !== ALL) return scores.map((s, j) => (j === who ? tenths(clamp(s + by, -shares, shares)) : s));
  const step = clamp(by, -shares - Math.min(...scores), shares - Math.max(...scores));
  return scores.map((s) => tenths(s + step));
}

// How far the move went that is under way.
const gone = ({ scores, from }) => {
  const steps = scores.map((score, j) => score - from[j]);
  return tenths(steps.reduce((most, step) => (Math.abs(step) > Math.abs(most) ? step : most), 0));
};

// Whether dots stand at both ends, so that all four together have nowhere to go.
const stuck = (scores) => Math.max(...scores) - Math.min(...scores) === 2 * REACH.shares;

const signed = (value) => `${value > 0 ? "+" : ""}${fixed(value, 1)}`;

function layout(width, given) {
  const narrow = isNarrow(width);
  const tall = narrow ? 46 : 44;
  const end = narrow ? width - 40 : Math.round(0.52 * width);
  const reach = REACH[given.state];
  const unit = (end - NAMES - 18) / (2 * reach);
  const zero = (NAMES + 8 + end - 10) / 2;
  const lanes = given.labels.map((_, j) => TOP + tall * j + (narrow ? 14 : 22));
  const bars = narrow ? [NAMES + 8, width - 52] : [end + 62, width - 52];
  return { narrow, tall, end, reach, lanes, bars, x: (value) => zero + unit * value, unit };
}

// The picture, and where the dots and the bar that holds them all are.
export function picture(state, width, given) {
  const at = layout(width, given);
  const { weights } = compute(state);
  const low = TOP + at.tall * given.labels.length;
  const drawn = state.scores.map((score) => score / state.temperature);
  const dots = drawn.map((score, j) => [at.x(score), at.lanes[j]]);
  const marks = lineMarks(at, low, given);
  if (given.state === "shares") {
    marks.push(...barMarks(at, dots));
    if (state.who === "") marks.push(disc("hint", dots.at(-1), 17, "ink", { "fill-opacity": 0.16 }));
  }
  marks.push(...laneMarks(at, width, drawn, dots, weights, given));
  marks.push(...unitMarks(low + 32, width, weights, given));
  if (given.state === "temperature") {
    const { worth } = compute(state);
    const top = at.narrow ? 35 : 14;
    marks.push(bold(text("worth", [width, top], `worth ${fixed(worth, 1)} keys`, "p", 15, "end")));
  }
  return { marks, dots, bar: bar(at, dots), unit: at.unit, width, height: low + 60 };
}

// The line on which scores stand: a lane for each key, ticks, and 0.
function lineMarks({ lanes, reach, end, narrow, x, bars }, low, { state }) {
  const ticks = [-1, -0.5, 0, 0.5, 1].map((part) => part * reach);
  const says = state === "shares" ? "score" : "score ÷ temperature";
  return [
    text("head-score", [NAMES + 8, 14], says, "soft", 12.5, "start"),
    ...(narrow || state === "temperature" ? [] : [text("head-share", [bars[0], 14], "share of the unit", "soft", 12.5, "start")]),
    ...ticks.flatMap((value) => [
      line(`tick${value}`, [[x(value), TOP - 6], [x(value), low + 2]], value ? "line" : "ink", {
        "stroke-width": value ? 1 : 1.5,
        "stroke-opacity": value ? 0.6 : 1,
      }),
      text(`tick-name${value}`, [x(value), low + 16], fixed(value, 0), value ? "soft" : "ink", 12),
    ]),
    ...lanes.map((y, j) => line(`lane${j}`, [[NAMES + 8, y], [end - 6, y]], "line", { "stroke-width": 1 })),
  ];
}

// The grey bar from which all dots hang.
function bar({ reach, x }, dots) {
  const places = dots.map(([at]) => at);
  const [low, high] = [Math.min(...places) - 10, Math.max(...places) + 10];
  const wide = Math.max(high - low, BAR);
  return [clamp((low + high - wide) / 2, x(-reach) - 10, x(reach) + 10 - wide), TOP - 24, wide, 18];
}

function barMarks(at, dots) {
  const [left, top, wide, tall] = bar(at, dots);
  return [
    ...dots.map(([x, y], j) => line(`string${j}`, [[x, top + tall], [x, y]], "score", { "stroke-width": 1 })),
    rect("all", [left, top, wide, tall], "score", 1, { rx: 5 }),
    bold(text("all-name", [left + wide / 2, top + 13], ALL, "bg", 12)),
  ];
}

// For each key its name, the dot at its score, and its share as a bar.
function laneMarks({ lanes, narrow, end, bars }, width, drawn, dots, weights, { labels }) {
  return labels.flatMap((label, j) => {
    const y = lanes[j];
    const [left, right] = bars;
    const [top, tall] = narrow ? [y + 13, 11] : [y - 9, 18];
    return [
      text(`name${j}`, [0, y + 4], label, "k", 14, "start"),
      disc(`dot${j}`, dots[j], 8, "ink", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
      text(`score${j}`, [narrow ? width : end + 34, y + 4], fixed(drawn[j], 1), "ink", 13, "end"),
      rect(`room${j}`, [left, top, right - left, tall], "surface", 1, { rx: 3 }),
      rect(`share${j}`, [left, top, (right - left) * weights[j], tall], "p-fill", 1, { rx: 3 }),
      text(`weight${j}`, [width, top + tall / 2 + 5], fixed(weights[j], 3), "p", 14, "end"),
    ];
  });
}

// The unit, in as many pieces as there are keys.
function unitMarks(top, width, weights, { labels }) {
  let left = NAMES + 8;
  const room = width - left;
  return [
    text("unit-name", [0, top + 16], "one unit", "soft", 12.5, "start"),
    ...weights.flatMap((weight, j) => {
      const place = [left, top, room * weight, 22];
      left += place[2];
      const edge = { stroke: "var(--ae-bg)", "stroke-width": 1.5 };
      const middle = [place[0] + place[2] / 2, top + 15.5];
      const named = place[2] > 8 * labels[j].length + 8;
      const name = bold(text(`unit-name${j}`, middle, labels[j], "bg", 12.5));
      return [rect(`unit${j}`, place, "p-fill", 1, edge), ...(named ? [name] : [])];
    }),
  ];
}

export function sentence(state, { labels, state: shown }) {
  const { change, worth } = compute(state);
  if (shown === "temperature") {
    return `At temperature ${fixed(state.temperature, 2)} the row is worth ${fixed(worth, 1)} keys of ${labels.length}.`;
  }
  if (state.who === "") return "Nothing has been moved yet.";
  const { who, scores } = state;
  if (who === ALL && stuck(scores)) {
    const [high, low] = [Math.max(...scores), Math.min(...scores)].map((end) => labels[scores.indexOf(end)]);
    return `All four cannot move: ${high} and ${low} stand at the ends.`;
  }
  const [name, back] = who === ALL ? [ALL, "where they were"] : [labels[who], "where it was"];
  const by = gone(state);
  return `You moved ${name} ${by ? `by ${signed(by)}` : `back to ${back}`}. ${effect(change)}`;
}

function effect(change) {
  if (change < 1e-9) return "No share changed.";
  if (change < 5e-4) return "Each share changed by less than 0.001.";
  return `The largest change of a share is ${fixed(change, 3)}.`;
}

function spoken(state, given) {
  const { weights } = compute(state);
  const list = weights.map((weight, j) => `${given.labels[j]} ${fixed(weight, 3)}`);
  return `${list.join(", ")}. ${sentence(state, given)}`;
}

const fresh = ({ scores }) => ({ scores: [...scores], temperature: 1, who: "", from: [...scores] });
export const first = (given, width) => picture(fresh(given), width, given);

const STEPS = { ArrowRight: 0.1, ArrowUp: 0.1, ArrowLeft: -0.1, ArrowDown: -0.1, PageUp: 1, PageDown: -1 };

// What is dragged, a dot or the bar: mouse, finger and keys move it. begin() is called where a move
// begins, and by(steps) with how far it has gone since then, or since the last key.
function buildHandle(name, begin, by, unit) {
  let start;
  const node = h("rect", {
    ...{ class: "ae-thing ae-grip", tabindex: 0, role: "slider", "aria-label": name },
    ...{ "aria-valuemin": -REACH.shares, "aria-valuemax": REACH.shares, rx: 8 },
    ontouchstart: (event) => event.preventDefault(), // the finger drags, the page stays
    onpointerdown: (event) => {
      node.setPointerCapture(event.pointerId);
      node.focus();
      start = event.clientX;
      begin();
    },
    onpointermove: (event) => node.hasPointerCapture(event.pointerId) && by((event.clientX - start) / unit(), true),
    onfocus: begin,
    onkeydown: (event) => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      by(STEPS[event.key], false);
    },
  });
  const follow = ([x, y, width, height], value) => {
    for (const [key, size] of Object.entries({ x, y, width, height })) node.setAttribute(key, size);
    node.setAttribute("aria-valuenow", value);
    node.setAttribute("aria-valuetext", fixed(value, 1));
  };
  return { node, follow };
}

function build(host, given) {
  const hot = given.state === "temperature";
  let unit = 1;
  let held = false; // whether the move under way has begun in the state
  const grip = (who, name) =>
    buildHandle(
      name,
      () => (held = false),
      (step, whole) => {
        const from = held ? state.from : [...state.scores];
        const scores = moved(whole ? from : state.scores, who, step);
        const stays = scores.every((score, j) => score === from[j]);
        if (!held && stays && !(who === ALL && stuck(scores))) return;
        held = true;
        set({ scores, who, from });
      },
      () => unit,
    );
  const grips = hot ? [] : given.labels.map((label, j) => grip(j, `score of ${label}`));
  const all = hot ? undefined : grip(ALL, ALL);
  const follow = ({ scores }, now) => {
    unit = now.unit;
    grips.forEach((one, j) => one.follow([now.dots[j][0] - 20, now.dots[j][1] - 20, 40, 40], scores[j]));
    const [x, y, wide, tall] = now.bar;
    all?.follow([x, y - 6, wide, tall + 8], scores[0]);
  };
  const heat = temperatures(POWERS, (change) => set(change));
  const { state, set, draw, front, nodes } = figure(host, given, {
    label: hot ? "Four scores divided by a temperature, and their shares" : "Four scores to drag, and their shares",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken },
    controls: hot ? [heat] : [{ follow }],
  });
  front.append(...[...grips, ...(all ? [all] : [])].map(({ node }) => node));
  const reset = button("Reset", () => {
    held = false;
    set(fresh(given), GLIDE);
  });
  const slides = hot ? [h("div", { class: "ae-slides" }, heat.node)] : [];
  return { nodes: [...nodes, ...slides, row(reset)], draw };
}

if (globalThis.document) mount("softmax", build);
