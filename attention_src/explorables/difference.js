// The explorable "difference": what one head, or two, can make of Lisbon's and Oslo's reports.
// A point of the plane says how much of each city's report is in the answer: (1, −1) is wanted.
// Three states: "one" head to drag, "two" heads to drag, and the "signs" of two heads' factors, which
// stay while each head moves its weight from Lisbon to Oslo.

import { choices, fixed, h, mount } from "./dom.js";
import { slide } from "./figure.js";
import { bold, disc, fill, isNarrow, line, rect, stage, text } from "./scene.js";

const EDGES = { one: 1.45, two: 1.45, signs: 1.9 }; // where the plane ends
const FAR = 1.3; // how far a head can be dragged, along each axis
const WANTED = [1, -1];
const GLIDE = 300; // ms
const HIGHEST = 6; // degrees: the longest bar
const NAMES = ["head 0", "head 1"];

const clamp = (value, most) => Math.min(Math.max(value, -most), most);

// The nearest place that a head can be at: its two weights have one sign, that of its factor.
export function kept(point) {
  const [x, y] = point.map((value) => Math.round(clamp(value, FAR) * 100) / 100 + 0);
  if (x * y >= 0) return [x, y];
  return Math.abs(x) >= Math.abs(y) ? [x, 0] : [0, y];
}

// A head's weights, and the factor that its rows of W_O come to.
export function weigh([x, y]) {
  const factor = x + y;
  return { weights: factor === 0 ? [0.5, 0.5] : [x / factor, y / factor], factor };
}

// All that the picture shows. state: { at }: where each head is.
export function compute({ at }, { lisbon, oslo }) {
  const total = [0, 1].map((axis) => at.reduce((sum, point) => sum + point[axis], 0));
  const wanted = lisbon.map((value, day) => value - oslo[day]);
  const answer = lisbon.map((value, day) => total[0] * value + total[1] * oslo[day]);
  const square = (list) => list.reduce((sum, value) => sum + value ** 2, 0);
  const left = square(answer.map((value, day) => value - wanted[day])) / square(wanted);
  return { used: at.map(weigh), total, wanted, answer, left };
}

const percent = (share) => `${Math.round(100 * share)} %`;

// The picture: { marks, plane, width, height }.
export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const side = narrow ? Math.min(width, 260) : Math.min(0.44 * width, 300);
  const edge = EDGES[given.state];
  const plane = { x: narrow ? (width - side) / 2 : 0, side, edge, unit: side / 2 / edge };
  const now = compute(state, given);
  const second = 46 * (state.at.length - 1);
  const room = narrow ? [0, side + 26, width] : [side + 26, 0, width - side - 26];
  const days = [room[0], room[1] + second, room[2]];
  const drawn = given.state === "signs" ? chainMarks(plane, state, now) : arrowMarks(plane, state, now);
  const marks = [...planeMarks(plane, given.state, now), ...drawn];
  marks.push(...headMarks(room, now), ...dayMarks(days, given, now));
  return { marks, plane, width, height: narrow ? side + 26 + 266 + second : Math.max(300, 270 + second) };
}

export const onPlane = ({ x, side, unit }, point) => [
  x + side / 2 + unit * point[0],
  side / 2 - unit * point[1],
];

// The plane: two axes, what is left, the ring.
function planeMarks(plane, state, { left }) {
  const spot = (...point) => onPlane(plane, point);
  const [right, low] = spot(plane.edge, -plane.edge);
  const [x0, y0] = spot(0, 0);
  const half = plane.side / 2;
  const ring = spot(...WANTED);
  const below = state === "signs" ? [-1] : [-1, 1]; // a head's name stands where the other would
  return [
    line("across", [[plane.x, y0], [right, y0]], "line"),
    line("up", [[x0, 0], [x0, low]], "line"),
    text("of-lisbon", [right - 2, y0 - 7], "Lisbon →", "v", 13, "end"),
    text("of-oslo", [x0 - 7, 12], "Oslo ↑", "v", 13, "end"),
    ...[-1, 1].flatMap((n) => [
      line(`tick-x${n}`, [spot(n, 0.04), spot(n, -0.04)], "soft"),
      line(`tick-y${n}`, [spot(-0.04, n), spot(0.04, n)], "soft"),
      text(`number-y${n}`, [x0 + 9, spot(0, n)[1] + 4], fixed(n, 0), "soft", 12, "start"),
    ]),
    ...below.map((n) => text(`number-x${n}`, [spot(n, 0)[0] - 5, y0 + 17], fixed(n, 0), "soft", 12, "end")),
    text("said-left", [plane.x + half / 2, half / 2 - 22], "error left", "soft", 12),
    text("said-of", [plane.x + half / 2, half / 2 - 6], "answering 0: 100 %", "soft", 12),
    bold(text("left", [plane.x + half / 2, half / 2 + 20], percent(left), "ink", 22)),
    disc("ring", ring, 9, "none", { stroke: "var(--ae-ink)", "stroke-width": 2 }),
    text("wanted", [ring[0], ring[1] + 24], "wanted", "ink", 13),
  ];
}

// What is missing, from a point of the plane: dashes that stop at the ring.
function missing(plane, point) {
  const [ring, end] = [onPlane(plane, WANTED), onPlane(plane, point)];
  const near = Math.hypot(end[0] - ring[0], end[1] - ring[1]);
  if (near < 11 || Math.max(...point.map(Math.abs)) > plane.edge) return [];
  const tip = end.map((value, axis) => value + (ring[axis] - value) * (1 - 10 / near));
  return [line("missing", [end, tip], "ink", { "stroke-dasharray": "3 4" })];
}

// An arrow for each head, and for two their sum.
function arrowMarks(plane, { at }, { total }) {
  const [start, ring, end] = [[0, 0], WANTED, total].map((point) => onPlane(plane, point));
  const inside = Math.min(1, plane.edge / Math.max(...total.map(Math.abs), plane.edge));
  const seen = onPlane(plane, total.map((value) => value * inside)); // a long sum ends at the edge
  const whole = at.length === 2 && inside === 1;
  const marks = missing(plane, total);
  at.forEach((point, head) => {
    const from = onPlane(plane, point);
    const look = { "stroke-dasharray": "2 3", "stroke-opacity": 0.7 };
    if (whole) marks.push(line(`side${head}`, [from, end], "o-fill", look));
    marks.push(line(`head${head}`, [start, from], "o-fill", { "stroke-width": 2.5 }));
  });
  if (at.length === 2) marks.push(line("sum", [start, seen], "o-fill", { "stroke-width": 4 }));
  if (!whole) return marks;
  marks.push(disc("end", end, 6, "o-fill"));
  const near = Math.hypot(end[0] - ring[0], end[1] - ring[1]);
  if (near > 40) marks.push(text("sum-name", [end[0] - 11, end[1] + 4], "answer", "ink", 12, "end"));
  return marks;
}

// Two heads, one after the other: where the second ends is the answer. Their names stand on two sides.
function chainMarks(plane, { at }, { total }) {
  const corners = [[0, 0], at[0], total].map((point) => onPlane(plane, point));
  const looks = [{ "stroke-width": 9, "stroke-opacity": 0.45 }, { "stroke-width": 3 }];
  return [
    ...missing(plane, total),
    ...looks.flatMap((look, head) => {
      const [[x, y], [right, low]] = [corners[head], corners[head + 1]];
      const side = (head === 0 ? -1 : 1) * (right < x ? -1 : 1) / Math.hypot(right - x, low - y);
      const middle = [(x + right) / 2 + 28 * (y - low) * side, (y + low) / 2 + 13 * (right - x) * side + 4];
      return [
        line(`head${head}`, [[x, y], [right, low]], "o-fill", look),
        text(`head-name${head}`, middle, NAMES[head], "o", 12),
      ];
    }),
    disc("end", corners[2], 6, "o-fill"),
  ];
}

// A row for each head: a bar of length 1, cut into its two weights, and its factor.
function headMarks([x, y, w], { used }) {
  const long = w - 76;
  return used.flatMap(({ weights, factor }, head) => {
    const [top, cut] = [y + 12 + 46 * head, weights[0] * long];
    const share = (city) => fixed(weights[city], 2);
    const name = used.length < 2 ? "weights" : NAMES[head];
    return [
      text(`name${head}`, [x + long / 2, top], name, "soft", 12),
      text(`by${head}`, [x + w, top], "factor", "soft", 12, "end"),
      text(`share${head}-lisbon`, [x, top], `Lisbon ${share(0)}`, "p", 13, "start"),
      text(`share${head}-oslo`, [x + long, top], `Oslo ${share(1)}`, "p", 13, "end"),
      rect(`bar${head}-lisbon`, [x, top + 6, cut, 15], "p-fill"),
      rect(`bar${head}-oslo`, [x + cut, top + 6, long - cut, 15], "p-fill", 0.35),
      bold(text(`factor${head}`, [x + w, top + 18.5], `× ${fixed(factor, 2)}`, "ink", 14, "end")),
    ];
  });
}

// Six days: what the two cities report, what is wanted (outlined) and what comes out (filled).
function dayMarks([x, y, w], { lisbon, oslo }, { wanted, answer }) {
  const label = 54;
  const step = (w - label) / lisbon.length;
  const zero = y + 159;
  const unit = 58 / HIGHEST;
  const heights = { lisbon: y + 66, oslo: y + 84, wanted: y + 241, answer: y + 259 };
  const name = (key, words, colour) => text(`row-${key}`, [x, heights[key]], words, colour, 13, "start");
  const upright = (middle, wide, value) => {
    const tall = clamp(value, HIGHEST) * unit;
    return [middle - wide / 2, zero - Math.max(tall, 0), wide, Math.abs(tall)];
  };
  const marks = [
    name("lisbon", "Lisbon", "v"),
    name("oslo", "Oslo", "v"),
    name("wanted", "wanted", "ink"),
    name("answer", "answer", "o"),
    text("days", [x, zero + 4], "six days", "soft", 12, "start"),
    line("zero", [[x + label - 6, zero], [x + w, zero]], "line"),
  ];
  lisbon.forEach((report, day) => {
    const middle = x + label + step * (day + 0.5);
    const number = (key, value, colour) =>
      text(`${key}${day}`, [middle, heights[key]], value, colour, 13);
    const outline = { stroke: "var(--ae-ink)", "stroke-width": 1.25 };
    marks.push(
      number("lisbon", fixed(report, 0), "v"),
      number("oslo", fixed(oslo[day], 0), "v"),
      rect(`out${day}`, upright(middle, 14, answer[day]), "o-fill"),
      rect(`want${day}`, upright(middle, 24, wanted[day]), "none", 1, outline),
      number("wanted", fixed(wanted[day], 0), "ink"),
      number("answer", fixed(answer[day], 1), "o"),
    );
  });
  return marks;
}

// What the picture says, in words.
export function sentence(state, given) {
  const { used, total, left } = compute(state, given);
  const said = `${percent(left)} of the error is left`;
  if (given.state === "signs") {
    const [signs, oslo] = [used.map(signed), used.map(({ weights }) => fixed(weights[1], 1))];
    return (
      `Factors ${signs.join(" and ")}, weights on Oslo ${oslo.join(" and ")}: ${said}. ` +
      "With both heads on Lisbon it is 50 %."
    );
  }
  const of = (value, city) => `${fixed(Math.abs(value), 2)} × ${city}`;
  const sum =
    `${total[0] < 0 ? "−" : ""}${of(total[0], "Lisbon")} ` +
    `${total[1] < 0 ? "−" : "+"} ${of(total[1], "Oslo")}`;
  return `${sum}: ${said}. Your best: ${percent(Math.min(state.best, left))}.`;
}

const signed = ({ factor }) => `${factor < 0 ? "−" : "+"}${fixed(Math.abs(factor), 1)}`;

// How the heads stand at first; of "signs", the factors are those that this name has.
const fresh = ({ at, factors }, signs = "equal") => ({
  ...{ at: factors ? factors[signs].map((factor) => [factor, 0]) : at.map((point) => [...point]) },
  ...{ active: 0, moved: false, best: Infinity, signs },
});

// The first state as a still, with the heads as dots.
export function first(given, width) {
  const state = fresh(given);
  const now = picture(state, width, given);
  if (given.state !== "signs") {
    state.at.forEach((point, head) => {
      now.marks.push(disc(`handle${head}`, onPlane(now.plane, point), 9, "o-fill"));
    });
  }
  return now;
}

function build(host, given) {
  const state = fresh(given);
  const parts = stage("Plane: how much of Lisbon's report is in the answer, and how much of Oslo's");
  const reset = h("button", { type: "button", onclick: () => draw(GLIDE, fresh(given, state.signs)) }, "Reset");
  const controls = given.state === "signs" ? signControls(given, state, draw) : [];
  let plane;

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const now = picture(state, parts.svg.clientWidth, given);
    plane = now.plane;
    parts.show(now, ms);
    handles.forEach((handle, head) => place(handle, head));
    controls.forEach((one) => one.follow(state));
    const { used, left } = compute(state, given);
    const list = used.map(({ weights, factor }, head) =>
      fill("{name}: weights {a} on Lisbon, {b} on Oslo, times {m}. ", {
        ...{ name: NAMES[head], a: fixed(weights[0], 2), b: fixed(weights[1], 2) },
        m: fixed(factor, 2),
      }),
    );
    state.best = Math.min(state.best, left);
    parts.said.textContent = sentence(state, given);
    parts.speak(list.join("") + parts.said.textContent);
    host.dataset.state = JSON.stringify({ ...state, ...compute(state, given) });
  }

  function place(handle, head) {
    const [x, y] = onPlane(plane, state.at[head]);
    handle.style.transform = `translate(${x}px, ${y}px)`;
    handle.classList.toggle("ae-fresh", !state.moved);
    handle.lastChild.textContent = state.at.length === 2 ? NAMES[head] : state.moved ? "" : "drag";
    const [right] = state.at[head];
    const outward = right > 0.8 || (right < 0 && right > -0.8); // its name must stay on the plane
    handle.lastChild.setAttribute("x", outward ? -13 : 13);
    handle.lastChild.setAttribute("text-anchor", outward ? "end" : "start");
    handle.setAttribute("aria-valuenow", state.at[head][0]);
    handle.setAttribute(
      "aria-valuetext",
      `${fixed(state.at[head][0], 2)} of Lisbon, ${fixed(state.at[head][1], 2)} of Oslo`,
    );
  }

  const move = (head, point) => {
    state.at[head] = kept(point);
    draw(0, { active: head, moved: true });
  };
  const pointed = (event) => {
    const box = parts.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const half = plane.side / 2;
    return [(x - plane.x - half) / plane.unit, (half - y) / plane.unit];
  };
  const dragged = given.state === "signs" ? [] : state.at;
  const handles = dragged.map((_, head) => buildHandle(head, move, pointed, () => state.at[head]));
  parts.front.append(...handles);
  // A click beside a head brings it there; a finger that moves on scrolls the page.
  parts.svg.addEventListener("click", (event) => {
    const point = pointed(event);
    const inside = point.every((value) => Math.abs(value) <= plane.edge);
    if (handles.length && inside && !event.target.closest(".ae-handle")) move(state.active, point);
  });
  const row = h("div", { class: "ae-controls" }, ...controls.slice(0, 1).map(({ node }) => node), reset);
  const slides = controls.slice(1).map(({ node }) => node);
  const nodes = [parts.svg, parts.said, parts.spoken, row];
  if (slides.length) nodes.splice(3, 0, h("div", { class: "ae-slides" }, ...slides));
  return { nodes, draw };
}

// Which signs the factors have, and how much of each head's weight is on Oslo.
function signControls(given, state, draw) {
  const words = { equal: "equal signs", opposite: "opposite signs" };
  const which = choices("Factors", words, (signs) => draw(GLIDE, fresh(given, signs)));
  const moves = NAMES.map((name, head) =>
    slide(
      `${name} on Oslo`,
      [0, 1, 0.1],
      ({ at }) => weigh(at[head]).weights[1],
      (weight) => {
        const { factor } = weigh(state.at[head]);
        state.at[head] = [factor * (1 - weight), factor * weight];
        draw(0, { active: head, moved: true });
      },
      (weight) => fixed(weight, 1),
    ),
  );
  return [{ node: which.node, follow: () => which.press(state.signs) }, ...moves];
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// The dot of a head: mouse, finger and arrow keys move it.
function buildHandle(head, move, pointed, where) {
  const handle = h(
    "g",
    {
      ...{ class: "ae-handle", tabindex: 0, role: "slider", "aria-label": NAMES[head] },
      ...{ "aria-valuemin": -FAR, "aria-valuemax": FAR },
      ontouchstart: (event) => event.preventDefault(), // the finger drags, the page stays
      onpointerdown: (event) => handle.setPointerCapture(event.pointerId, handle.focus()),
      onpointermove: (event) => handle.hasPointerCapture(event.pointerId) && move(head, pointed(event)),
      onkeydown: (event) => {
        const step = STEPS[event.key];
        if (!step) return;
        event.preventDefault();
        const size = event.shiftKey ? 0.01 : 0.1;
        move(head, where().map((value, axis) => value + size * step[axis]));
      },
    },
    h("circle", { r: 22, class: "ae-reach" }),
    h("circle", { r: 9 }),
    h("text", { x: 13, y: -12 }),
  );
  return handle;
}

if (globalThis.document) mount("difference", build);
