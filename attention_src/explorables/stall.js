// The explorable "stall": a question to drag among four things, and the price that it hears.

import { fixed, h, mount } from "./dom.js";
import { button, coordinates, figure, plane, row } from "./figure.js";
import { attend } from "./one_query.js";
import { bold, disc, isNarrow, line, rect, text } from "./scene.js";

const REACH = { x: [-1, 3.5], y: [-2, 2.5] };
const MOST = 12; // the price at which the gauge ends
const TALL = 250;

export const compute = ({ query }, given) => attend(query, given);

export function picture({ query }, width, given) {
  const narrow = isNarrow(width);
  const gauge = narrow ? 78 : 190;
  const unit = Math.min((TALL - 14) / 4.5, (width - gauge - 20) / 4.9);
  const area = { width: width - gauge - 12, height: TALL, unit, reach: REACH };
  const origin = { x: (area.width - 4.5 * unit) / 2 + unit, y: 6 + 2.5 * unit };
  const { at, pad } = plane({ ...area, origin }, [0, 0], 1);
  const now = compute({ query }, given);
  const marks = [
    ...planeMarks(at, pad.area, query, now, given),
    ...gaugeMarks([width - gauge, 12, gauge, TALL - 24], narrow, now, given),
  ];
  return { marks, pad, width, height: TALL };
}

// The things, in discs as large as their weights, with their prices; and the question.
function planeMarks(at, [, top, width, height], query, { weights }, { names, keys, axes, prices }) {
  const [x0, y0] = at([0, 0]);
  const [x, y] = at(query);
  const low = query[1] >= 0 && query[1] < 1.2;
  return [
    line("across", [[0, y0], [width, y0]], "line"),
    line("up", [[x0, top], [x0, top + height]], "line"),
    text("axis0", [width, y0 + 16], `${axes[0]} →`, "soft", 12, "end"),
    text("axis1", [x0 + 7, top + 12], `${axes[1]} ↑`, "soft", 12, "start"),
    ...keys.flatMap((key, j) => {
      const spot = at(key);
      const r = 26 * Math.sqrt(weights[j]); // the area is the weight
      // Below the axis along which the arrow lies at first; the others beside their discs.
      const [dx, dy, anchor] = key[1] ? [r + 5, 5, "start"] : [0, r + 15, "middle"];
      return [
        disc(`thing${j}`, spot, r, "p-fill", { "fill-opacity": 0.5 }),
        disc(`point${j}`, spot, 3, "k-fill"),
        text(`name${j}`, [spot[0] + dx, spot[1] + dy], `${names[j]} ${prices[j]}`, "k", 13, anchor),
      ];
    }),
    line("arrow", [[x0, y0], [x, y]], "q-fill", { "stroke-width": 4 }),
    disc("question", [x, y], 9, "q-fill", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    bold(text("question-name", [x, y + (low ? -26 : 28)], "drag", "q", 13)),
  ];
}

// The price heard, and 3, which nothing sweet exceeds.
function gaugeMarks([x, y, width, height], narrow, { output }, { dearest }) {
  const up = (price) => y + height * (1 - Math.min(price, MOST) / MOST);
  const bar = [x + 22, up(output), narrow ? 26 : 44, y + height - up(output)];
  const [left, right] = [bar[0] - 6, bar[0] + bar[2] + 8];
  const high = Math.max(up(output) - 6, y + 14);
  const [at, anchor] = narrow ? [x + width, "end"] : [right, "start"];
  return [
    rect("track", [bar[0], y, bar[2], height], "surface", 1, { rx: 3 }),
    rect("bar", bar, "o-fill", 1, { rx: 3 }),
    line("limit", [left, right].map((end) => [end, up(dearest)]), "ink", { "stroke-dasharray": "4 3" }),
    text("limit-name", [left - 3, up(dearest) + 5], `${dearest}`, "ink", 13, "end"),
    bold(text("price", [at, high], fixed(output, 2), "o", 17, anchor)),
    ...(narrow ? [] : [text("heard", [at, high + 18], "is what you hear", "soft", 12, anchor)]),
  ];
}

const point = (query) => `(${query.map((value) => fixed(value, 1)).join(", ")})`;

export function sentence({ query }, given) {
  const { output } = compute({ query }, given);
  const heard = fixed(output, 2);
  const low = Number(output.toFixed(2)) < given.dearest;
  return `Question ${point(query)}: you hear ${heard}${low ? `, less than ${given.dearest}` : ""}.`;
}

function spoken(state, given) {
  const { weights } = compute(state, given);
  const list = given.names.map((name, j) => `${name} ${fixed(weights[j], 3)}`).join(", ");
  return `${list}. ${sentence(state, given)}`;
}

const rounded = (query) => ({ query: query.map((value) => Math.round(value * 10) / 10) });
const fresh = ({ query }) => ({ query: [...query] });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const names = given.axes.map((axis) => `how ${axis}`);
  const move = (query) => set(rounded(query));
  const sliders = coordinates(names, REACH, 0.1, () => state, move, (value) => fixed(value, 1));
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Four things and your question as points of a plane, and the price that you hear",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls: sliders },
    drag: rounded,
  });
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  const reset = row(button("Reset", () => set(fresh(given), 200)));
  return { nodes: [...nodes, slides, reset], draw };
}

if (globalThis.document) mount("stall", build);
