// The explorable "walkers": a query learns to bring back 10 by walking downhill on its error, once
// where the best match alone answers, once where a bit of everything does.

import { fixed, h, mount } from "./dom.js";
import { button, coordinates, figure, kept, row } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, isNarrow, line, path, rect, text } from "./scene.js";

const REACH = { x: [-2.9, 2.9], y: [-3.4, 2.4] }; // of the land; a wide one goes farther
const LEVELS = [3, 4, 5, 6, 7, 8, 9]; // of contour lines; what a terrace stands above, it covers
const NAMED = [3, 5, 7, 9]; // those with a number
const LAYER = 0.1; // how much greener each level is
const TITLES = { hard: "the best match alone", soft: "a bit of everything" };
const SPOTS = [[1.1, -2.3], [1.9, 1.5], [-2.1, -0.2]]; // where the heights of terraces stand
const AXES = ["edible →", "↑ size"]; // what the two numbers of a place mean
const DOTTED = { "stroke-width": 1.5, "stroke-dasharray": "1.5 4" }; // a key is no wall
const LENGTH = 100; // what each path counts as long, whatever its pixels
const WALK = 1800; // ms

const oneHot = (scores) => scores.map((_, j) => Number(j === scores.indexOf(Math.max(...scores))));
const dot = (a, b) => a[0] * b[0] + a[1] * b[1];

// What the query hears, and the slope of that: each entry pulls by its weight times how far its
// value is from the answer.
export function lookUp(kind, q, { keys, values }) {
  const scores = keys.map((key) => dot(key, q));
  const weights = kind === "hard" ? oneHot(scores) : softmax(scores);
  const answer = sum(weights.map((weight, j) => weight * values[j]));
  const pull = weights.map((weight, j) => weight * (values[j] - answer));
  return { answer, slope: [0, 1].map((i) => sum(keys.map((key, j) => pull[j] * key[i]))) };
}

// All places of a walk, the start among them.
function walk(kind, q, given) {
  const places = [q];
  for (let step = 0; step < given.steps; step++) {
    const { answer, slope } = lookUp(kind, q, given);
    q = q.map((value, i) => value - given.rate * (answer - given.wanted) * slope[i]);
    places.push(q);
  }
  return places;
}

export function compute({ query }, given) {
  const found = {};
  for (const kind of Object.keys(TITLES)) {
    const ends = [query, walk(kind, query, given).at(-1)];
    found[kind] = ends.map((place) => lookUp(kind, place, given).answer);
  }
  return found; // { hard: [before, after], soft: [before, after] }
}

export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const tall = narrow ? 172 : 226;
  const each = (width - (narrow ? 10 : 24)) / 2;
  const unit = Math.min(each, tall) / 5.8 / given.wide;
  const maps = Object.keys(TITLES).map((kind, n) => ({ kind, box: [n * (width - each), 22, each, tall] }));
  const middle = ([x, y, w]) => [x + w / 2, y + (tall / 5.8) * 2.4];
  const under = ([a, b]) => {
    const [x, y] = middle(maps[a < width / 2 ? 0 : 1].box);
    return kept({ reach: reach(given) }, [(a - x) / unit, (y - b) / unit]);
  };
  const marks = maps.flatMap((map) => mapMarks({ ...map, middle: middle(map.box), unit, narrow }, state, given));
  return { marks, pad: { area: [0, 22, width, tall], under }, width, height: tall + 48 };
}

const reach = ({ wide }) => ({ x: REACH.x.map((x) => x * wide), y: REACH.y.map((y) => y * wide) });

function mapMarks({ kind, box, middle, unit, narrow }, { query, walked }, given) {
  const [x, y, width, height] = box;
  const at = ([a, b]) => [middle[0] + unit * a, middle[1] - unit * b];
  const [spot, name] = [onMap(box)(at(query)), (part) => `${kind}-${part}`];
  const above = spot[1] + 26 > y + height;
  const hint = [Math.min(Math.max(spot[0], x + 20), x + width - 20), spot[1] + (above ? -14 : 23)];
  const tips = given.keys.map(at);
  const small = narrow ? 11 : 12;
  return [
    text(name("title"), [x + width / 2, 14], TITLES[kind], "ink", 13),
    rect(name("land"), box, "v-fill", 0.06),
    ...(kind === "hard" ? terraces : slopes)({ box, middle, unit, at, name, small, narrow }, given),
    rect(name("frame"), box, "none", 1, { stroke: "var(--ae-line)" }),
    text(name("axis0"), [x + width - 5, y + small + 2], AXES[0], "ink", small, "end"),
    text(name("axis1"), [x + 5, y + small + 2], AXES[1], "ink", small, "start"),
    ...given.keys.flatMap((_, j) => [
      line(name(`key${j}`), [middle, tips[j]], "k", DOTTED),
      disc(name(`tip${j}`), tips[j], given.wide > 1 ? 2 : 3.5, "k-fill"),
      ...(given.wide > 1 ? [] : [label(name(`name${j}`), tips[j], j, narrow, given.names[j])]),
    ]),
    ...wayMarks(walk(kind, query, given).map(at).map(onMap(box)), walked, name),
    disc(name("start"), spot, 8, "none", { stroke: "var(--ae-q)", "stroke-width": 2 }),
    ...(walked ? [] : [bold(text(name("drag"), hint, "drag", "q", 13))]),
    ...answerMarks(kind, [x + width / 2, y + height + 18], { query, walked }, given),
  ];
}

// Who stands or walks beyond the map is shown at its edge.
const onMap = ([x, y, width, height]) => ([a, b]) =>
  [Math.min(Math.max(a, x + 5), x + width - 5), Math.min(Math.max(b, y + 5), y + height - 5)];

// A key's name beside its tip; the first two stand below theirs where there is little room.
function label(key, [x, y], j, narrow, words) {
  const [dx, dy, anchor] = j === 2 ? [7, 4, "start"] : narrow ? [0, 14, "middle"] : [7, 11, "start"];
  return text(key, [x + dx, y + dy], words, "k", narrow ? 11 : 12, anchor);
}

// A land that falls towards the top: the ground above a level lies below one line, its rim.
function ground({ box: [x, y, width, height] }, key, points, opacity, look) {
  const [top, low] = [y, y + height];
  const rim = cut(points, top, low);
  const left = [x, points[0][1] > low ? low : Math.max(points[0][1], top)];
  const right = [x + width, Math.min(Math.max(points.at(-1)[1], top), low)];
  const hull = [[x, low], left, ...rim, right, [x + width, low]];
  const d = `M${hull.map((point) => point.join(" ")).join(" L")}Z`;
  return [
    path(`${key}-ground`, d, "none", { fill: "var(--ae-v-fill)", "fill-opacity": opacity }),
    ...(rim.length ? [line(`${key}-rim`, rim, "v", look)] : []),
  ];
}

// The part of a line that lies between two heights.
function cut(points, top, low) {
  const inside = ([, b]) => b >= top && b <= low;
  const kept = [];
  points.forEach((point, i) => {
    const before = points[i - 1];
    if (before) {
      for (const edge of [top, low]) {
        const t = (edge - before[1]) / (point[1] - before[1]);
        if (t > 0 && t < 1) kept.push([before[0] + t * (point[0] - before[0]), edge]);
      }
    }
    if (inside(point)) kept.push(point);
  });
  return kept.sort((a, b) => a[0] - b[0]);
}

// Three terraces: 10 below the first line, 5 below the second, 2 above.
function terraces(map, { keys, values, wide }) {
  const { box: [x, , width], middle, name, at } = map;
  const border = ([i, j], a) => (a * (keys[i][0] - keys[j][0])) / (keys[j][1] - keys[i][1]);
  const ends = [x, middle[0], x + width].map((pixel) => (pixel - middle[0]) / map.unit);
  const rims = [[1, [0, 2], [1, 2]], [0, [0, 2], [0, 1]]]; // a terrace, its borders left and right
  let below = 0;
  return [
    ...rims.flatMap(([j, left, right]) => {
      const points = ends.map((a) => at([a, border(a < 0 ? left : right, a)]));
      const levels = LEVELS.filter((level) => level <= values[j]).length;
      const opacity = 1 - (1 - LAYER) ** (levels - below);
      below = levels;
      return ground(map, name(`terrace${j}`), points, opacity, { "stroke-width": 2 });
    }),
    ...heights(map, { values, wide }),
  ];
}

const heights = ({ at, name, small }, { values, wide }) =>
  SPOTS.map((spot, j) =>
    bold(text(name(`height${j}`), at(spot.map((one) => one * wide)), `${values[j]}`, "v", small + 3)),
  );

// Contour lines. Along each column the answer only falls, so that halving finds a level's place.
function slopes(map, given) {
  const { box: [x, y, width, height], middle, unit, at, name, small } = map;
  const edges = [y - 2, y + height + 2].map((pixel) => (middle[1] - pixel) / unit); // top, bottom
  const columns = [...Array(49).keys()].map((n) => (x + (n * width) / 48 - middle[0]) / unit);
  const place = (a, level) => {
    let [high, low] = edges;
    for (let halving = 0; halving < 12; halving++) {
      const half = (high + low) / 2;
      if (lookUp("soft", [a, half], given).answer > level) low = half;
      else high = half;
    }
    return at([a, (high + low) / 2]);
  };
  const lines = LEVELS.map((level) => columns.map((a) => place(a, level)));
  const thin = { "stroke-width": 1, "stroke-opacity": 0.7 };
  const near = ([a, b]) => Math.abs(b - middle[1] - 0.2 * (a - middle[0]) - (map.narrow ? 1.5 : 0.7) * unit);
  const number = (points, level) => {
    const [a, b] = points.reduce((best, point) => (near(point) < near(best) ? point : best));
    return text(name(`number${level}`), [a, b + 4], `${level}`, "v", small);
  };
  const ways = lines.flatMap((points, i) => ground(map, name(`level${LEVELS[i]}`), points, LAYER, thin));
  if (given.wide > 1) return [...ways, ...heights(map, given)];
  const numbers = NAMED.map((level) => number(lines[LEVELS.indexOf(level)], level));
  const up = text(name("up"), at([map.narrow ? 2 : 2.3, -2.4]), `→ ${given.wanted}`, "v", small + 1);
  return [...ways, ...numbers, bold(up)];
}

// The walker, and the way that it has gone: a dash that grows, and a dot that runs ahead of it.
function wayMarks(places, walked, name) {
  const way = [places[0]];
  for (const place of places) {
    const [a, b] = way.at(-1);
    if (Math.hypot(place[0] - a, place[1] - b) > 3) way.push(place);
  }
  if (way.length < 2) return [disc(name("stands"), places[0], 6.5, "q-fill")];
  const gone = { "stroke-dasharray": LENGTH, "stroke-dashoffset": walked ? 0 : LENGTH };
  const dot = {
    ...{ "stroke-width": 13, "stroke-linecap": "round" },
    ...{ "stroke-dasharray": `0.1 ${2 * LENGTH - 0.1}`, "stroke-dashoffset": walked ? LENGTH + 0.1 : 2 * LENGTH },
  };
  return [
    line(name("way"), way, "q", { pathLength: LENGTH, "stroke-width": 2.5, ...gone }),
    line(name("walker"), way, "q-fill", { pathLength: LENGTH, ...dot }),
  ];
}

const written = (kind, answer) => fixed(answer, kind === "hard" ? 0 : 2);

function answerMarks(kind, [x, y], { query, walked }, given) {
  const [before, after] = compute({ query }, given)[kind].map((answer) => written(kind, answer));
  const first = (at, words, anchor) => bold(text(`${kind}-before`, at, words, "o", 16, anchor));
  if (!walked) return [first([x, y], `answer ${before}`, "middle")];
  const then = bold(text(`${kind}-after`, [x - 2, y], `→ ${after}`, "o", 16, "start"));
  return [first([x - 8, y], before, "end"), then];
}

const point = (query) => `(${query.map((value) => fixed(value, 1)).join(", ")})`;

export function sentence({ query, walked }, given) {
  const now = compute({ query }, given);
  const [hard, soft] = ["hard", "soft"].map((kind) => now[kind].map((answer) => written(kind, answer)));
  if (!walked) return `Start ${point(query)}: the left walker hears ${hard[0]}, the right one ${soft[0]}.`;
  return `Left: ${hard[0]} before, ${hard[1]} after ${given.steps} steps. Right: ${soft[0]}, then ${soft[1]}.`;
}

const spoken = (state, given) => `From ${point(state.query)}. ${sentence(state, given)}`;
const fresh = ({ query }) => ({ query: [...query], walked: false });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const rounded = (query) => ({ query: query.map((value) => Math.round(value * 10) / 10) });
  const names = ["start: edible", "start: size"];
  const move = (query) => set(rounded(query));
  const sliders = coordinates(names, reach(given), 0.1, () => state, move, (value) => fixed(value, 1));
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Two maps of one land, a start that can be moved, and the answers there",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls: sliders },
    drag: rounded,
  });
  const again = () => {
    set({ walked: false });
    set({ walked: true }, WALK);
  };
  const buttons = row(button("Walk", again), button("Reset", () => set(fresh(given))));
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  return { nodes: [buttons, ...nodes, slides], draw };
}

if (globalThis.document) mount("walkers", build);
