// The explorable "roll": a query that learns by rolling downhill. Three states: "roll", in which each
// start leaves a mark, filled where jazz was found; "pushes", with what each key adds to the push; and
// "equal", two paths from one start, by plain steps and by steps of equal length.

import { fixed, h, mount, shown } from "./dom.js";
import { button, coordinates, figure, plane, row } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, isNarrow, line, path, rect, text } from "./scene.js";

const REACH = { x: [-1, 4], y: [-3, 3] };
const EDGE = 0.24; // of the map around the places where a query may be released
const SNAP = 0.05;
const LOOKS_AT = 0.9; // of the weight
const DRAWN = 0.1; // an arrow's length for a push of 1 …
const LONGEST = 1.5; // … and at most
const MOST = 60; // starts that keep a mark

const dot = ([a, b], [c, d]) => a * c + b * d;
const length = ([a, b]) => Math.hypot(a, b);

// Weights, output, what each key asks its score for, what it adds to the push, and their sum.
export function look(query, { keys, values, wanted }) {
  const weights = softmax(keys.map((key) => dot(key, query) / Math.SQRT2));
  const output = sum(weights.map((weight, j) => weight * values[j]));
  const asks = weights.map((weight, j) => weight * (values[j] - output) * (wanted - output));
  const pulls = keys.map((key, j) => key.map((x) => (asks[j] * x) / Math.SQRT2));
  const push = [0, 1].map((i) => sum(pulls.map((pull) => pull[i])));
  return { weights, output, asks, pulls, push };
}

// All places of a path. Equal steps end where one key has nearly all of the weight.
export function rolled(query, kind, given) {
  const places = [query];
  for (let t = 0; t < (kind === "equal" ? given.equal_steps : given.steps); t++) {
    const { weights, push } = look(places.at(-1), given);
    if (kind === "equal" && Math.max(...weights) > given.enough) break;
    const far = kind === "equal" ? given.equal / (length(push) || 1) : given.rate;
    places.push(places.at(-1).map((x, i) => x + far * push[i]));
  }
  return places;
}

function end(query, kind, given) {
  const places = rolled(query, kind, given);
  const { weights, output } = look(places.at(-1), given);
  const best = weights.indexOf(Math.max(...weights));
  return { steps: places.length - 1, at: places.at(-1), weights, output, best, there: weights[best] > LOOKS_AT };
}

export function compute({ query, starts }, given) {
  const ends = { plain: end(query, "plain", given) };
  if (given.state === "equal") ends.equal = end(query, "equal", given);
  return { ...look(query, given), ends, found: starts.filter((start) => finds(start, given)).length };
}

// Whether a start finds the key that is worth most.
function finds(start, given) {
  const { best, there } = end(start, "plain", given);
  return there && given.values[best] === Math.max(...given.values);
}

export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const tall = narrow ? 312 : 366;
  const unit = tall / (6 + 2 * EDGE);
  const wide = unit * (5 + 2 * EDGE);
  const left = narrow ? (width - wide) / 2 : 0;
  const origin = { x: unit * (EDGE - REACH.x[0]), y: unit * (EDGE + REACH.y[1]) };
  const { at, pad } = plane({ width: wide, height: tall, unit, origin, reach: REACH }, [left, 0], 1);
  const frame = [left + 0.5, 0.5, wide - 1, tall - 1];
  const now = compute(state, given);
  const taken = [...given.keys.map((key) => around(at(key), 9)), around(at(state.query), 12)];
  const marks = [
    rect("frame", frame, "surface", 0.5, { stroke: "var(--ae-line)" }),
    ...keyMarks(at, frame, taken, given),
    ...(given.state === "pushes" ? pushMarks(at, frame, taken, state, now, given) : pathMarks(at, frame, state, given)),
    ...startMarks(at, state, given),
    disc("query", at(state.query), 8, "q-fill", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    ...(given.state === "pushes" || state.starts.length ? [] : hint(at(state.query), frame, taken)),
  ];
  const room = narrow ? [0, tall + 12, width] : [wide + 30, 6, width - wide - 30];
  const each = narrow ? 44 : 112;
  if (given.state === "pushes") marks.push(...askMarks(room, narrow ? 40 : 62, now, given));
  else marks.push(...weightMarks(room, each, state, now, given));
  return { marks, pad, width, height: narrow ? tall + 12 + 3 * each : tall };
}

// --- Words that keep out of each other's way: boxes [left, top, right, bottom] ---

const around = ([x, y], r) => [x - r, y - r, x + r, y + r];
const apart = (a, b) => a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];

// Words beside a point, at the first of some places that is free and inside; none if none is.
function beside(key, [x, y], words, colour, size, frame, taken, strong) {
  const wide = 0.6 * size * words.length + 4;
  const [left, top, right, low] = [frame[0] + 2, frame[1] + 2, frame[0] + frame[2] - 2, frame[1] + frame[3] - 2];
  const spots = [12, 20].flatMap((r) => [
    [x + r, y, 0], [x - r - wide, y, 0], [x - wide / 2, y + r + 6, 0], [x - wide / 2, y - r - 6, 0],
    [x + r, y + r, 0], [x + r, y - r, 0], [x - r - wide, y + r, 0], [x - r - wide, y - r, 0],
  ]);
  for (const [from, middle] of spots) {
    const box = [from, middle - 0.62 * size, from + wide, middle + 0.62 * size];
    const inside = box[0] >= left && box[1] >= top && box[2] <= right && box[3] <= low;
    if (!inside || !taken.every((other) => apart(box, other))) continue;
    taken.push(box);
    const mark = text(key, [from + 2, middle + 0.36 * size], words, colour, size, "start");
    return [strong ? bold(mark) : mark];
  }
  return [];
}

// Until somebody has dragged.
const hint = (spot, frame, taken) => beside("drag", spot, "drag", "q", 13, frame, taken, true);

function keyMarks(at, frame, taken, { labels, keys, values }) {
  return keys.flatMap((key, j) => [
    disc(`key${j}`, at(key), 6, "k-fill"),
    ...beside(`name${j}`, at(key), `${labels[j]}, worth ${values[j]}`, "k", 13, frame, taken),
  ]);
}

// --- The paths ---

const LOOKS = { plain: { "stroke-width": 3 }, equal: { "stroke-width": 2, "stroke-dasharray": "2 4" } };

function pathMarks(at, frame, { query }, given) {
  const kinds = given.state === "equal" ? ["plain", "equal"] : ["plain"];
  return kinds.flatMap((kind) => {
    const seen = inside(rolled(query, kind, given).map(at), frame);
    const dots = kind === "equal" ? seen.filter((_, t) => t % 5 === 0 && t > 0) : [];
    const round = { "stroke-linejoin": "round", opacity: 0.85, ...LOOKS[kind] };
    return [
      line(`path-${kind}`, seen, kind === "equal" ? "ink" : "q-fill", round),
      ...dots.map((spot, t) => disc(`step${t}`, spot, 2.5, "ink")),
      tip(`tip-${kind}`, seen, kind === "equal" ? "ink" : "q-fill"),
    ];
  });
}

// A path up to where it leaves the map.
function inside(points, [x, y, width, height]) {
  const out = points.findIndex(([a, b]) => a < x || b < y || a > x + width || b > y + height);
  if (out < 0) return points;
  const [from, to] = [points[out - 1], points[out]];
  const cut = [[x, x + width], [y, y + height]].map(([low, high], i) => {
    if (to[i] < low) return (low - from[i]) / (to[i] - from[i]);
    return to[i] > high ? (high - from[i]) / (to[i] - from[i]) : 1;
  });
  const t = Math.min(...cut);
  return [...points.slice(0, out), from.map((value, i) => value + t * (to[i] - value))];
}

// A head at the end of a path, along its last 12 pixels.
function tip(key, points, colour) {
  const last = points.at(-1);
  const before = points.findLast((one) => length([last[0] - one[0], last[1] - one[1]]) > 12) ?? points[0];
  return barbs(key, before, last, colour, 3, length([last[0] - before[0], last[1] - before[1]]) > 2);
}

function barbs(key, from, to, colour, thick, seen) {
  const size = length([to[0] - from[0], to[1] - from[1]]) || 1;
  const [x, y] = [(to[0] - from[0]) / size, (to[1] - from[1]) / size];
  const barb = (turn) => [to[0] - 8 * x + 5 * turn * y, to[1] - 8 * y - 5 * turn * x];
  const round = { "stroke-linecap": "round", "stroke-linejoin": "round" };
  return line(key, [barb(1), to, barb(-1)], colour, { "stroke-width": thick, opacity: seen ? 1 : 0, ...round });
}

function startMarks(at, { starts }, given) {
  return starts.map((start, i) => {
    const found = finds(start, given);
    const look = { stroke: "var(--ae-q)", "stroke-width": 1.8, ...(found ? {} : { "fill-opacity": 0 }) };
    return disc(`start${i}`, at(start), 4.5, "q-fill", look);
  });
}

// --- What is beside the map ---

// Each key's weight along the path: all steps, the first ones drawn wider apart.
function weightMarks([x, y, width], each, { query }, { ends }, given) {
  const along = rolled(query, "plain", given).map((place) => look(place, given).weights);
  const last = along.length - 1;
  const tall = each > 60 ? 58 : 18;
  const steps = [...new Set(Array.from({ length: 61 }, (_, i) => Math.round((i / 60) ** 2 * last)))];
  return given.labels.flatMap((label, j) => {
    const top = y + each * j;
    const low = top + 24 + tall;
    const points = steps.map((t) => [x + width * Math.sqrt(t / last), low - tall * along[t][j]]);
    const area = [[x, low], ...points, [x + width, low]];
    const d = `M${area.map((point) => point.join(" ")).join(" L")}Z`;
    const numbers = `${shown(along[0][j], 3)} → ${shown(ends.plain.weights[j], 3)}`;
    return [
      text(`label${j}`, [x, top + 14], `weight of ${label}`, "k", 13, "start"),
      text(`weight${j}`, [x + width, top + 14], numbers, "p", 13, "end"),
      rect(`track${j}`, [x, top + 24, width, tall], "surface", 1, { rx: 2 }),
      path(`area${j}`, d, "none", { fill: "var(--ae-p-fill)" }),
    ];
  });
}

// What each key asks its score for, as a bar to the left or to the right, and their sum.
function askMarks([x, y, width], each, { weights, asks }, { labels }) {
  const middle = x + width / 2;
  const far = (value) => (Math.min(Math.abs(value), 12) / 12) * (width / 2);
  const rows = labels.map((label, j) => [`${label}, weight ${shown(weights[j], 3)}`, asks[j], `ask${j}`]);
  return rows.flatMap(([words, value, key], j) => {
    const top = y + each * j;
    const from = value < 0 ? middle - far(value) : middle;
    return [
      text(`${key}-name`, [x, top + 14], words, "k", 13, "start"),
      text(`${key}-number`, [x + width, top + 14], `asks for ${signed(value)}`, "ink", 13, "end"),
      rect(`${key}-track`, [x, top + 20, width, 12], "surface", 1, { rx: 2 }),
      rect(key, [from, top + 20, far(value), 12], "k-fill"),
      line(`${key}-middle`, [[middle, top + 18], [middle, top + 34]], "ink"),
    ];
  });
}

const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);

// Three pulls and their sum, as arrows from the query.
function pushMarks(at, frame, taken, { query }, { pulls, push }, { labels }) {
  const ends = [...pulls, push].map((pull) => {
    const size = length(pull);
    const far = size ? Math.min(DRAWN, LONGEST / size) : 0;
    return at(query.map((x, i) => x + far * pull[i]));
  });
  const arrows = ends.map((tip, j) => {
    const colour = j < labels.length ? "k-fill" : "q-fill";
    const cut = inside([at(query), tip], frame);
    const seen = length([cut[1][0] - cut[0][0], cut[1][1] - cut[0][1]]) > 9;
    const thick = { "stroke-width": j < labels.length ? 2.5 : 4, opacity: seen ? 1 : 0 };
    return { cut, seen, marks: [line(`pull${j}`, cut, colour, thick), barbs(`pull${j}-tip`, ...cut, colour, thick["stroke-width"], seen)] };
  });
  const middles = [0.25, 0.5, 0.75].map((t) => (from, to) => from.map((x, i) => x + t * (to[i] - x)));
  for (const { cut } of arrows) taken.push(...[...middles.map((of) => of(...cut)), cut[1]].map((spot) => around(spot, 5)));
  const names = arrows.flatMap(({ cut, seen }, j) =>
    seen ? beside(`pull${j}-name`, cut[1], labels[j] ?? "push", j < labels.length ? "k" : "q", 13, frame, taken, true) : [],
  );
  return [...arrows.flatMap((one) => one.marks), ...names];
}

// --- Words ---

const place = (query) => `(${query.map((value) => fixed(value, 2)).join(", ")})`;

function goal({ best, there, weights }, { labels }) {
  return there ? `ends at ${labels[best]}` : `is on its way, with ${shown(weights[best], 3)} on ${labels[best]}`;
}

export function sentence(state, given) {
  const { asks, push, output, ends, found } = compute(state, given);
  const { labels, wanted } = given;
  if (given.state === "pushes") {
    const rises = labels.filter((_, j) => asks[j] > 0).join(" and ");
    const falls = labels.filter((_, j) => asks[j] < 0).join(" and ");
    const much = fixed(sum(asks.filter((ask) => ask > 0)), 2);
    return `At ${place(state.query)} it hears ${fixed(output, 2)}, and ${wanted} is wanted. Up by ${much} in all: ${rises}. Down by as much: ${falls}. The push has length ${fixed(length(push), 2)}.`;
  }
  if (given.state === "equal") {
    const same = ends.plain.there && ends.equal.there && ends.plain.best === ends.equal.best;
    const many = `${ends.equal.steps} ${ends.equal.steps === 1 ? "step" : "steps"}`;
    const from = `Released at ${place(state.query)}:`;
    if (same) return `${from} both end at ${labels[ends.plain.best]}, after ${given.steps} plain steps and after ${many} of equal length.`;
    return `${from} with plain steps it ${goal(ends.plain, given)}; with ${many} of equal length it ${goal(ends.equal, given)}.`;
  }
  const { best, there, weights, output: hears } = ends.plain;
  const after = there ? `ends at ${labels[best]} with weight ${shown(weights[best], 3)}` : `after ${given.steps} steps it ${goal(ends.plain, given)}`;
  const many = `${state.starts.length} ${state.starts.length === 1 ? "start" : "starts"}`;
  const count = state.starts.length ? ` So far ${many}, ${found} at ${labels[values(given)]}.` : "";
  return `Released at ${place(state.query)}: ${after}; it hears ${fixed(hears, 1)}, and ${wanted} is wanted.${count}`;
}

const values = (given) => given.values.indexOf(Math.max(...given.values));

// --- The live figure ---

const near = (query) => query.map((value) => Math.round(value / SNAP) / (1 / SNAP));
const same = (a, b) => length([a[0] - b[0], a[1] - b[1]]) < SNAP / 2;
// The starts with the query among them, once.
const marked = ({ starts, query }) => ({
  starts: starts.some((start) => same(start, query)) ? starts : [...starts, query].slice(-MOST),
});
const fresh = ({ query }) => ({ query: [...query], starts: [] });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const names = ["to the right", "up"];
  const sliders = coordinates(names, REACH, SNAP, () => state, (query) => set({ query: near(query) }));
  const { state, set, draw, nodes } = figure(host, given, {
    label: "A map with three keys and a query, and the path on which the query learns",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence, controls: sliders },
    drag: (query) => ({ query: near(query) }),
  });
  const keeps = given.state === "roll";
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  if (keeps) {
    nodes[0].addEventListener("pointerup", () => set(marked(state)));
    slides.addEventListener("change", () => set(marked(state)));
  }
  const grid = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5].flatMap((y) => [-0.5, 0.5, 1.5, 2.5, 3.5].map((x) => [x, y]));
  const many = button("30 starts", () =>
    set(grid.reduce((all, query) => marked({ starts: all.starts, query }), { starts: state.starts })));
  const reset = button("Reset", () => set(fresh(given)));
  return { nodes: [...nodes, row(...(keeps ? [many] : []), reset), slides], draw };
}

if (globalThis.document) mount("roll", build);
