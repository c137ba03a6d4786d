// The explorable "two_dials": rock, paper and scissors, each a vector that says what it is and what
// it beats. Two angles say which of the two the queries and the keys are made of.
// Two states: "two" hands, one for each matrix, or "one" matrix, whose hands turn together.

import { fixed, h, mount } from "./dom.js";
import { button, figure, row } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, line, path, rect, text } from "./scene.js";
import { frame, slider } from "./slider.js";

const NAMES = ["rock", "paper", "scissors"];
const BEATS = [2, 0, 1]; // whom each beats
const FACTOR = 4; // of the scores
const ENOUGH = 0.9; // of the weight: found
const RIGHT = 90; // degrees: the end of a dial
const DIALS = ["q", "k"];
const SAID = { q: "query", k: "key" };
const each = [0, 1, 2];

const hot = (at) => each.map((j) => (j === at ? 1 : 0));
const radians = (degrees) => (degrees * Math.PI) / 180;

// What a matrix makes of a token: a mixture of what it is and what it beats.
const mixed = (token, degrees) => {
  const [am, beats] = [hot(token), hot(BEATS[token])];
  const t = radians(degrees);
  return each.map((j) => Math.cos(t) * am[j] + Math.sin(t) * beats[j]);
};

// weights: a row for each token; found: how many look at the one that they beat.
export function compute({ q, k }) {
  const weights = each.map((i) => {
    const query = mixed(i, q);
    return softmax(each.map((j) => FACTOR * sum(mixed(j, k).map((x, at) => x * query[at]))));
  });
  return { weights, found: each.filter((i) => weights[i][BEATS[i]] >= ENOUGH).length };
}

// Where things stand: dials { q, k } as { x, y, r }, the triangle's room and the map's.
function layout(width) {
  if (width < 636) {
    const half = width / 2;
    const r = Math.min(half - 38, 92);
    const at = (x) => ({ x: x + (half - r) / 2, y: 46 + r, r });
    const side = Math.min(width, 360);
    const low = 46 + r + 24;
    const map = [(width - 224) / 2 - 20, low + 240, 54];
    return { q: at(0), k: at(half), triangle: [(width - side) / 2, low, side, 192], map, height: low + 406 };
  }
  const [share, cell] = [width / 910, Math.min(54, 43 + (width - 636) / 16)];
  const r = 73 + 39 * Math.min((width - 636) / 274, 1);
  const first = 300 * share;
  return {
    ...{ q: { x: first, y: 72 + r, r }, k: { x: first + Math.max(r + 60 * share, 154), y: 72 + r, r } },
    ...{ triangle: [0, 0, 286 * share, 246], map: [width - 62 - 3 * cell, 60, cell], height: 254 },
  };
}

const onDial = ({ x, y, r }, degrees) => [
  x + r * Math.cos(radians(degrees)),
  y - r * Math.sin(radians(degrees)),
];

export function picture(state, width, given) {
  const room = layout(width);
  const { weights } = compute(state);
  const [x, y] = onDial(room.q, state.q);
  const untouched = DIALS.every((which) => state[which] === given[which]);
  return {
    marks: [
      ...DIALS.flatMap((which) => dialMarks(which, room[which], state[which], given.state)),
      ...triangleMarks(room.triangle, weights),
      ...mapMarks(room.map, weights),
      ...(untouched ? [bold(text("drag", [x + 15, y - 7], "drag", "q", 13, "start"))] : []),
    ],
    room,
    width,
    height: room.height,
  };
}

function dialMarks(which, dial, degrees, view) {
  const { x, y, r } = dial;
  const tip = onDial(dial, degrees);
  const [name, wide] = view === "one" ? ["", 0] : [which.toUpperCase(), 10];
  return [
    bold(text(`w-${which}`, [x, y - r - 30], "W", which, 15, "start")),
    text(`sub-${which}`, [x + 15, y - r - 26], name, which, 11, "start"),
    text(`makes-${which}`, [x + 20 + wide, y - r - 30], `makes the ${SAID[which]}`, which, 13, "start"),
    text(`beat-${which}`, [x - 4, y - r - 9], "what I beat", "soft", 13, "start"),
    text(`am-${which}`, [x + r + 4, y + 20], "what I am", "soft", 13, "end"),
    path(`arc-${which}`, `M${x} ${y} H${x + r} A${r} ${r} 0 0 0 ${x} ${y - r} Z`, "line", {
      ...{ fill: "var(--ae-surface)", "stroke-width": 1.5 },
    }),
    line(`arm-${which}`, [[x, y], tip], `${which}-fill`, { "stroke-width": 4 }),
    disc(`hub-${which}`, [x, y], 3.5, `${which}-fill`),
    disc(`hand-${which}`, tip, 10, `${which}-fill`, { stroke: "var(--ae-bg)", "stroke-width": 2 }),
  ];
}

const thick = (weight) => Math.max(10 * weight, 0.6);

// A straight arrow beside the line from one token to another: its ends, and the corners of its tip.
function between(from, to, size) {
  const apart = [to[0] - from[0], to[1] - from[1]];
  const long = Math.hypot(...apart);
  const [dx, dy] = apart.map((value) => value / long);
  const rim = Math.min(40 / Math.abs(dx || 1e-9), 17 / Math.abs(dy || 1e-9)); // of a token's box
  const spot = (point, along, aside) => [
    point[0] + dx * along - dy * aside,
    point[1] + dy * along + dx * aside,
  ];
  const end = (along, aside = 0) => spot(to, -rim - along, 8 + aside);
  return { shaft: [spot(from, rim, 8), end(size)], tip: [end(size, -size * 0.6), end(0), end(size, size * 0.6)] };
}

const closed = (points) => `M${points.map((point) => point.join(" ")).join(" L")} Z`;

// Whom each token looks at, as arrows; whom it should look at, dotted.
function triangleMarks([x, y, w, tall], weights) {
  const [middle, dx] = [x + w / 2, w / 2 - 40];
  const at = [[middle, y + 48], [middle - dx, y + tall - 48], [middle + dx, y + tall - 48]];
  const marks = [];
  for (const i of each) {
    const loop = at[i][1] + (i === 0 ? -24 : 24);
    marks.push(disc(`loop${i}`, [at[i][0], loop], 14, "none", {
      ...{ stroke: "var(--ae-p-fill)", "stroke-width": thick(weights[i][i]) },
    }));
    for (const j of each.filter((j) => j !== i)) {
      const wide = thick(weights[i][j]);
      const { shaft, tip } = between(at[i], at[j], 6 + wide);
      marks.push(line(`arrow${i}${j}`, shaft, "p-fill", { "stroke-width": wide }));
      marks.push(path(`tip${i}${j}`, closed(tip), "none", {
        ...{ fill: "var(--ae-p-fill)", "fill-opacity": Math.min(1, 0.25 + 4 * weights[i][j]) },
      }));
    }
  }
  for (const i of each) {
    const { shaft, tip } = between(at[i], at[BEATS[i]], 9);
    const dots = { "stroke-dasharray": "1.5 5", "stroke-width": 2, "stroke-linecap": "round" };
    marks.push(line(`want${i}`, [shaft[0], tip[1]], "ink", dots));
    marks.push(path(`aim${i}`, `M${tip.map((point) => point.join(" ")).join(" L")}`, "ink", { "stroke-width": 1.5 }));
  }
  for (const i of each) {
    const [left, top] = [at[i][0] - 36, at[i][1] - 13];
    marks.push(rect(`node${i}`, [left, top, 72, 26], "bg", 1, { rx: 6, stroke: "var(--ae-line)" }));
    marks.push(text(`name${i}`, [at[i][0], at[i][1] + 5], NAMES[i], "ink", 14));
  }
  return marks;
}

// The weights as a table: rows ask, columns are found; what is wanted has a dotted frame.
function mapMarks([x, y, cell], weights) {
  const left = x + 62;
  const marks = [text("map-name", [left + 1.5 * cell, y - 26], "weights", "p", 13)];
  each.forEach((j) => marks.push(text(`col${j}`, [left + (j + 0.5) * cell, y - 7], NAMES[j], "k", cell < 50 ? 11 : 13)));
  each.forEach((i) => {
    marks.push(text(`row${i}`, [left - 7, y + (i + 0.5) * cell + 5], NAMES[i], "q", 13, "end"));
    each.forEach((j) => {
      const spot = [left + j * cell, y + i * cell];
      const dark = weights[i][j] > 0.6;
      marks.push(rect(`cell${i}${j}`, [spot[0] + 1, spot[1] + 1, cell - 2, cell - 2], "p-fill", 0.06 + 0.94 * weights[i][j], { rx: 3 }));
      marks.push(text(`value${i}${j}`, [spot[0] + cell / 2, spot[1] + cell / 2 + 5], fixed(weights[i][j], 2), dark ? "bg" : "ink", 13));
      if (j === BEATS[i]) {
        const look = { rx: 4, stroke: "var(--ae-ink)", "stroke-width": 2, "stroke-dasharray": "1.5 5", "stroke-linecap": "round" };
        marks.push(rect(`frame${i}`, [spot[0] + 3, spot[1] + 3, cell - 6, cell - 6], "none", 1, look));
      }
    });
  });
  return marks;
}

export function sentence(state) {
  const { weights, found } = compute(state);
  const [rock, paper, scissors] = weights[1].map((weight) => fixed(weight, 2));
  return `Paper gives rock ${rock}, itself ${paper} and scissors ${scissors}. Found, with at least ${ENOUGH} from the one that beats them (dotted): ${found} of 3.`;
}

const spoken = (state) =>
  `The query is read at ${state.q} degrees, the key at ${state.k}. ${sentence(state)}`;

const kept = (degrees) => Math.min(Math.max(Math.round(degrees), 0), RIGHT);
const fresh = ({ q, k }) => ({ q, k });
export const first = (given, width) => picture(fresh(given), width, given);

const STEPS = { ArrowLeft: -5, ArrowDown: -5, ArrowRight: 5, ArrowUp: 5 };

// A dial that mouse, finger and arrow keys turn: change(degrees). A finger that begins elsewhere than
// at the hand scrolls the page.
function turner(which, change, svg) {
  let dial;
  let now = 0;
  const point = (event) => {
    const box = svg().getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const turn = (event) => {
    const [x, y] = point(event);
    change(kept((Math.atan2(dial.y - y, Math.max(x - dial.x, 0)) * 180) / Math.PI));
  };
  const near = (event) => {
    const [[x, y], tip] = [point(event), onDial(dial, now)];
    return Math.hypot(x - tip[0], y - tip[1]) < 34;
  };
  const node = h("rect", {
    ...slider(`dial of the ${SAID[which]}`, RIGHT + 1),
    ontouchstart: (event) => near(event.touches[0]) && event.preventDefault(),
    onpointerdown: (event) => {
      if (event.pointerType === "touch" && !near(event)) return;
      node.setPointerCapture(event.pointerId);
      node.focus();
      turn(event);
    },
    onpointermove: (event) => node.hasPointerCapture(event.pointerId) && turn(event),
    onclick: turn,
    onkeydown: (event) => {
      const ends = { Home: 0, End: RIGHT };
      const next = ends[event.key] ?? (event.key in STEPS ? now + STEPS[event.key] : undefined);
      if (next === undefined) return;
      event.preventDefault();
      change(kept(next));
    },
  });
  const follow = (state, { room }) => {
    [dial, now] = [room[which], state[which]];
    const area = [dial.x - 14, dial.y - dial.r - 14, dial.r + 28, dial.r + 28];
    frame(node, area, now, `${now} degrees from what I am to what I beat`);
  };
  return { node, follow };
}

function build(host, given) {
  const turn = (which) => (degrees) =>
    set(given.state === "one" ? { q: degrees, k: degrees } : { [which]: degrees });
  const dials = DIALS.map((which) => turner(which, turn(which), () => front.ownerSVGElement));
  const { state, set, draw, front, nodes } = figure(host, given, {
    label: "Two dials, three tokens and whom each looks at",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls: dials },
  });
  front.append(...dials.map(({ node }) => node));
  const reset = button("Reset", () => set(fresh(given), 300));
  const swap = button("Exchange the two", () => set({ q: state.k, k: state.q }, 300));
  return { nodes: [...nodes, given.state === "one" ? row(reset) : row(swap, reset)], draw };
}

if (globalThis.document) mount("two_dials", build);
