// The explorable "which_key": a query to drag among 24 keys, and the key whose score is largest.
// Two states: "alone", in which those that have been first keep a ring; and "one_more", which shows
// for which queries each key is first, with the keys as they are or with one number more each.

import { choices, fixed, h, mount } from "./dom.js";
import { button, coordinates, figure, kept, plane, row } from "./figure.js";
import { bold, disc, isNarrow, line, path, rect, text } from "./scene.js";

const REACH = { x: [-3, 3], y: [-2.5, 2.5] };
const TALL = { alone: [250, 300], one_more: [250, 300] }; // of the plane: on a phone, on a desk
const SHOWN = 5; // scores in the list
const SNAP = 0.16; // from here on, the tip is drawn onto a key
const TURN = 3000; // ms
const KINDS = { plain: "as they are", more: "one more" };

const dot = ([a, b], [c, d]) => a * c + b * d;
const offset = (key, kind) => (kind === "more" ? -dot(key, key) / 2 : 0);

// The scores, the best first, the winner, or −1 where all keys score 0, and the key on which the
// query stands, or −1.
export function compute({ query, set, kind, won }, { sets }) {
  const keys = sets[set];
  const scores = keys.map((key) => dot(query, key) + offset(key, kind));
  const best = [...keys.keys()].sort((i, j) => scores[j] - scores[i]);
  const on = keys.findIndex(([x, y]) => x === query[0] && y === query[1]);
  const can = lands(keys, kind).flatMap((land, j) => (land.length ? [j] : []));
  const winner = scores.some((score) => score !== 0) ? best[0] : -1;
  const ring = won.filter((j) => j !== winner);
  return { scores, best: best.slice(0, SHOWN), winner, on, can, ring };
}

// For each key the part of the plane where a query scores it highest, as corners; none if nowhere.
export function lands(keys, kind) {
  const { x, y } = REACH;
  const whole = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]];
  return keys.map((key, j) => {
    let corners = whole;
    keys.forEach((other, i) => {
      if (i === j || corners.length === 0) return;
      const lead = offset(key, kind) - offset(other, kind);
      corners = clip(corners, [key[0] - other[0], key[1] - other[1]], lead);
    });
    return corners;
  });
}

// The part of a polygon where normal · point + lead is positive; [] if that has no area.
function clip(corners, normal, lead) {
  const over = corners.map((corner) => dot(normal, corner) + lead);
  const rest = corners.flatMap((corner, i) => {
    const j = (i + 1) % corners.length;
    const inside = over[i] >= 0 ? [corner] : [];
    if (over[i] >= 0 === over[j] >= 0) return inside;
    const t = over[i] / (over[i] - over[j]);
    return [...inside, corner.map((value, axis) => value + t * (corners[j][axis] - value))];
  });
  return area(rest) > 1e-9 ? rest : [];
}

const area = (corners) =>
  corners.reduce((sum, [x, y], i) => {
    const [right, up] = corners[(i + 1) % corners.length];
    return sum + (x * up - right * y) / 2;
  }, 0);

export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const height = TALL[given.state][narrow ? 0 : 1];
  const list = narrow ? 0 : Math.min(Math.max(width - 6.4 * (height / 5), 200), 320);
  const unit = Math.min(height / 5, (width - list) / 6);
  const wide = Math.min(6 * unit, width - list);
  const left = narrow ? (width - wide) / 2 : 0;
  const place = { width: wide, height, unit, origin: { x: wide / 2, y: height / 2 }, reach: REACH };
  const { at, pad } = plane(place, [left, 0], 1);
  const now = compute(state, given);
  const keys = given.sets[state.set];
  const marks = [
    ...(given.state === "one_more" ? landMarks(at, keys, state.kind, now) : axisMarks(at)),
    ...keyMarks(at, keys, now, given.state),
    ...queryMarks(at, state),
  ];
  if (!narrow) marks.push(...listMarks([wide + 28, 0, width - wide - 28], keys, now));
  return { marks, pad, width, height };
}

function axisMarks(at) {
  const { x, y } = REACH;
  return [
    line("across", [at([x[0], 0]), at([x[1], 0])], "line"),
    line("up", [at([0, y[0]]), at([0, y[1]])], "line"),
  ];
}

function landMarks(at, keys, kind, { winner }) {
  const outline = (corners) =>
    `M${corners.map((corner) => at(corner).map((value) => fixed(value, 1).replace("−", "-")).join(" ")).join("L")}z`;
  const shades = { stroke: "var(--ae-bg)", "stroke-width": 2, "stroke-linejoin": "round" };
  return lands(keys, kind).flatMap((corners, j) => {
    if (!corners.length) return [];
    const fill = `var(--ae-${j === winner ? "k-fill" : "score"})`;
    return [path(`land${j}`, outline(corners), "none", { ...shades, fill, "fill-opacity": j === winner ? 0.4 : 0.22 })];
  });
}

function keyMarks(at, keys, { winner, can, ring }, state) {
  return keys.map((key, j) => {
    const spot = at(key);
    if (j === winner) return disc(`key${j}`, spot, 7, "k-fill");
    const ringed = state === "one_more" ? can.includes(j) : ring.includes(j);
    const look = ringed ? { stroke: "var(--ae-k-fill)", "stroke-width": 2.5 } : {};
    return disc(`key${j}`, spot, ringed ? 5.5 : 4.5, "score", look);
  });
}

function queryMarks(at, { query }) {
  const [x, y] = at(query);
  const look = { stroke: "var(--ae-q-fill)", "stroke-width": 2.5, "fill-opacity": 0.2 };
  const [side, anchor] = query[0] > 2 ? [-14, "end"] : [14, "start"];
  return [
    line("arrow", [at([0, 0]), [x, y]], "q-fill", { "stroke-width": 3.5 }),
    disc("query", [x, y], 10, "q-fill", look),
    bold(text("drag", [x + side, y + (query[1] < -2 ? -6 : 15)], "drag", "q", 13, anchor)),
  ];
}

// The five best scores, as grey bars; where none is best, five of them.
function listMarks([x, y, width], keys, { scores, best, winner, on }) {
  const most = Math.max(...best.map((j) => Math.abs(scores[j])), 1e-9);
  const [from, room] = [x + 92, width - 92 - 52];
  return [
    text("list", [x, y + 26], winner < 0 ? "five of the scores" : "the five best scores", "soft", 13, "start"),
    ...best.flatMap((j, place) => {
      const top = y + 44 + 34 * place;
      const name = text(`name${j}`, [x, top + 16], point(keys[j]), "k", 14, "start");
      const long = room * Math.max(scores[j] / most, 0);
      return [
        j === winner ? bold(name) : name,
        rect(`track${j}`, [from, top + 2, room, 19], "surface", 1, { rx: 3 }),
        rect(`bar${j}`, [from, top + 2, long, 19], "score", 1, { rx: 3 }),
        ...(j === on ? [text(`here${j}`, [x, top + 30], "query here", "q", 11.5, "start")] : []),
        text(`score${j}`, [x + width, top + 16], fixed(scores[j], 2), "ink", 14, "end"),
      ];
    }),
  ];
}

const point = (one) => `(${one.map((value) => fixed(value, 1)).join(", ")})`;

export function sentence(state, given) {
  const keys = given.sets[state.set];
  const now = compute(state, given);
  const said = outcome(state.query, keys, now);
  const known = now.winner < 0 ? " (ringed)" : " (ringed or lit)";
  if (given.state === "one_more") return `${now.can.length} of ${keys.length} keys${known} can be first. ${said}`;
  const { length } = state.won;
  const which = now.ring.length ? known : "";
  return `${said} So far ${length} of ${keys.length}${which} ${length === 1 ? "has" : "have"} been first.`;
}

// Who wins, and what the key scores on which the query stands.
function outcome(query, keys, { scores, winner, on }) {
  if (winner < 0) return `The query is ${point(query)}: all ${keys.length} keys score 0.00, and none wins.`;
  const score = fixed(scores[winner], 2);
  const stands = `The query stands on ${point(query)}`;
  if (on === winner) return `${stands}, which wins with ${score}.`;
  const wins = `${point(keys[winner])} wins with ${score}.`;
  return on < 0 ? `The query is ${point(query)}. ${wins}` : `${stands}, which scores ${fixed(scores[on], 2)}. ${wins}`;
}

// The state after a move: who is first now has been first.
export function moved(state, query, given) {
  const { winner } = compute({ ...state, query }, given);
  const known = winner < 0 || state.won.includes(winner);
  return { query, won: known ? state.won : [...state.won, winner] };
}

// Where the tip may stand: on a key that is near, or at tenths.
export function snapped(query, keys) {
  const far = ([x, y]) => Math.hypot(x - query[0], y - query[1]);
  const near = keys.reduce((a, b) => (far(b) < far(a) ? b : a));
  return far(near) < SNAP ? [...near] : query.map((value) => Math.round(value * 10) / 10);
}

const begun = (set, kind, query, given) => {
  const start = { set, kind, query: [...query], won: [] };
  return { ...start, ...moved(start, start.query, given) };
};
const fresh = (given, set = 0, kind = given.kind) => begun(set, kind, given.query, given);
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let frame = 0;
  const stop = () => cancelAnimationFrame(frame);
  const go = (query) => set(moved(state, query, given));
  const move = (query) => {
    stop();
    go(query.map((value) => Math.round(value * 10) / 10));
  };
  const names = ["to the right", "up"];
  const sliders = coordinates(names, REACH, 0.1, () => state, move, (value) => fixed(value, 1));
  const { node, press } = choices("keys", KINDS, (kind) => {
    stop();
    set({ kind }, 300);
  });
  const follow = ({ kind }) => press(kind);
  const { state, set, draw, nodes } = figure(host, given, {
    label: "A query and 24 keys as points of a plane, and the key that scores highest",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence },
    controls: given.state === "one_more" ? [...sliders, { follow }] : sliders,
    drag: (pointed, now) => {
      stop();
      return moved(now, snapped(pointed, given.sets[now.set]), given);
    },
  });

  // Once around, from where the query stands, and back; from 0, at length 1.
  function turn() {
    stop();
    const [x, y] = state.query;
    const [length, angle] = [Math.hypot(x, y) || 1, Math.atan2(y, x)];
    const start = performance.now();
    const step = (time) => {
      const t = calm.matches ? 1 : Math.min(Math.max((time - start) / TURN, 0), 1);
      const at = angle + 2 * Math.PI * t;
      if (t === 1) return set({ query: [x, y], won: everyone() });
      go(kept({ reach: REACH }, [length * Math.cos(at), length * Math.sin(at)]));
      frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    if (calm.matches) step(start);
  }
  const everyone = () => [...new Set([...state.won, ...compute(state, given).can])];

  const again = (number) => {
    stop();
    set(fresh(given, number, state.kind), 300);
  };
  const other = button("Other keys", () => again((state.set + 1) % given.sets.length));
  const reset = button("Reset", () => again(0));
  const buttons = given.state === "one_more" ? [node, other] : [button("Turn once", turn), other, reset];
  const slides = h("div", { class: "ae-slides" }, ...sliders.map((one) => one.node));
  return { nodes: [...nodes, row(...buttons), slides], draw };
}

if (globalThis.document) mount("which_key", build);
