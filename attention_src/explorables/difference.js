// The explorable "difference": what one head, or two, can make of Lisbon's and Oslo's reports.
// A point of the plane says how much of each city's report is in the answer: (1, −1) is wanted.

import { choices, fixed, h, mount } from "./dom.js";
import { bold, disc, fill, isNarrow, line, rect, stage, text } from "./scene.js";

const EDGE = 1.45; // where the plane ends
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

// A head's weights, and the factor that W_O gives it.
export function weigh([x, y]) {
  const factor = x + y;
  return { weights: factor === 0 ? [0.5, 0.5] : [x / factor, y / factor], factor };
}

// All that the picture shows. state: { heads, at }: how many, and where each of them is.
export function compute({ heads, at }, { lisbon, oslo }) {
  const used = at.slice(0, heads);
  const total = [0, 1].map((axis) => used.reduce((sum, point) => sum + point[axis], 0));
  const wanted = lisbon.map((value, day) => value - oslo[day]);
  const answer = lisbon.map((value, day) => total[0] * value + total[1] * oslo[day]);
  const square = (list) => list.reduce((sum, value) => sum + value ** 2, 0);
  const left = square(answer.map((value, day) => value - wanted[day])) / square(wanted);
  return { used: used.map(weigh), total, wanted, answer, left };
}

const percent = (share) => `${Math.round(100 * share)} %`;

// The picture: { marks, plane, width, height }.
export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const side = narrow ? Math.min(width, 300) : Math.min(0.44 * width, 316);
  const plane = { x: narrow ? (width - side) / 2 : 0, side, unit: side / 2 / EDGE };
  const now = compute(state, given);
  const room = narrow ? [0, side + 26, width] : [side + 26, 0, width - side - 26];
  const marks = [...planeMarks(plane, state, now), ...headMarks(room, now), ...dayMarks(room, given, now)];
  return { marks, plane, width, height: narrow ? side + 26 + 312 : 316 };
}

export const onPlane = ({ x, side, unit }, point) => [
  x + side / 2 + unit * point[0],
  side / 2 - unit * point[1],
];

// The plane: two corners that no head can reach, the heads' arrows, their sum, and what is missing.
function planeMarks(plane, { heads, at }, { total, left }) {
  const spot = (...point) => onPlane(plane, point);
  const [right, low] = spot(EDGE, -EDGE);
  const [x0, y0] = spot(0, 0);
  const half = plane.side / 2;
  const ring = spot(...WANTED);
  const end = spot(...total);
  const inside = Math.min(1, EDGE / Math.max(...total.map(Math.abs), EDGE));
  const seen = spot(...total.map((value) => value * inside)); // a long sum ends at the edge
  const near = Math.hypot(end[0] - ring[0], end[1] - ring[1]);
  const reach = Math.max(1 - 10 / near, 0); // the dashes stop at the ring
  const tip = end.map((value, axis) => value + (ring[axis] - value) * reach);
  const marks = [
    rect("below", [x0, y0, half, half], "surface"),
    rect("above", [plane.x, 0, half, half], "surface"),
    line("across", [[plane.x, y0], [right, y0]], "line"),
    line("up", [[x0, 0], [x0, low]], "line"),
    text("of-lisbon", [right - 2, y0 - 7], "Lisbon →", "v", 13, "end"),
    text("of-oslo", [x0 - 7, 12], "Oslo ↑", "v", 13, "end"),
    ...[-1, 1].flatMap((n) => [
      line(`tick-x${n}`, [spot(n, 0.04), spot(n, -0.04)], "soft"),
      line(`tick-y${n}`, [spot(-0.04, n), spot(0.04, n)], "soft"),
      text(`number-x${n}`, [spot(n, 0)[0], y0 + (n > 0 ? 17 : -8)], fixed(n, 0), "soft", 12),
      text(`number-y${n}`, [x0 - 9, spot(0, n)[1] + 4], fixed(n, 0), "soft", 12, "end"),
    ]),
    text("said-left", [plane.x + half / 2, half / 2 - 22], "error left", "soft", 12),
    text("said-of", [plane.x + half / 2, half / 2 - 6], "answering 0: 100 %", "soft", 12),
    bold(text("left", [plane.x + half / 2, half / 2 + 20], percent(left), "ink", 22)),
    text("needs", [right - 4, low - 6], "would need a minus", "soft", 12, "end"),
    disc("ring", ring, 9, "none", { stroke: "var(--ae-ink)", "stroke-width": 2 }),
    text("wanted", [ring[0], ring[1] + 24], "wanted", "ink", 13),
  ];
  if (near > 11 && inside === 1) marks.push(line("missing", [end, tip], "ink", { "stroke-dasharray": "3 4" }));
  at.slice(0, heads).forEach((point, head) => {
    const from = spot(...point);
    if (heads === 2 && inside === 1) {
      const look = { "stroke-dasharray": "2 3", "stroke-opacity": 0.7 };
      marks.push(line(`side${head}`, [from, end], "o-fill", look));
    }
    marks.push(line(`head${head}`, [[x0, y0], from], "o-fill", { "stroke-width": 2.5 }));
  });
  if (heads === 2) marks.push(line("sum", [[x0, y0], seen], "o-fill", { "stroke-width": 4 }));
  if (heads === 2 && inside === 1) {
    marks.push(disc("end", end, 6, "o-fill"));
    if (near > 40) marks.push(text("sum-name", [end[0] - 11, end[1] + 4], "answer", "ink", 12, "end"));
  }
  return marks;
}

// A row for each head: a bar of length 1, cut into its two weights, and the factor of W_O.
function headMarks([x, y, w], { used }) {
  const long = w - 76;
  return used.flatMap(({ weights, factor }, head) => {
    const [top, cut] = [y + 12 + 46 * head, weights[0] * long];
    const share = (city) => fixed(weights[city], 2);
    const name = used.length < 2 ? "weights" : `weights of ${NAMES[head]}`;
    return [
      text(`name${head}`, [x + long / 2, top], name, "soft", 12),
      text(`by${head}`, [x + w - 9, top], "W", "soft", 12, "end"),
      text(`by${head}-o`, [x + w, top + 3], "O", "soft", 9, "end"),
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
  const zero = y + 205;
  const unit = 58 / HIGHEST;
  const heights = { lisbon: y + 112, oslo: y + 130, wanted: y + 287, answer: y + 305 };
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
  const of = (value, city) => `${fixed(Math.abs(value), 2)} × ${city}`;
  const sign = (value) => (value < 0 ? "−" : "");
  const said =
    `The answer is ${sign(total[0])}${of(total[0], "Lisbon")} ` +
    `${total[1] < 0 ? "−" : "+"} ${of(total[1], "Oslo")}. Error left: ${percent(left)}.`;
  if (left > 1.0001) return `${said} Always answering 0 would be better.`;
  if (used.length === 1 && left < 0.5001) return `${said} One head gets no further.`;
  if (left < 0.0001) return `${said} One head brings the plus, the other the minus.`;
  return said;
}

const fresh = ({ at }) => ({ heads: 1, at: at.map((point) => [...point]), active: 0, moved: false });

// The first state as a still, with the head as a dot.
export function first(given, width) {
  const state = fresh(given);
  const now = picture(state, width, given);
  const spot = onPlane(now.plane, state.at[0]);
  now.marks.push(disc("handle", spot, 9, "o-fill"));
  return now;
}

function build(host, given) {
  const state = fresh(given);
  const parts = stage("Plane: how much of Lisbon's report is in the answer, and how much of Oslo's");
  const count = choices("Heads", { 1: "one head", 2: "two heads" }, (value) =>
    draw(GLIDE, { heads: Number(value), active: Number(value) - 1 }),
  );
  const reset = h("button", { type: "button", onclick: () => draw(GLIDE, fresh(given)) }, "Reset");
  let plane;

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const now = picture(state, parts.svg.clientWidth, given);
    plane = now.plane;
    parts.show(now, ms);
    handles.forEach((handle, head) => place(handle, head));
    count.press(state.heads);
    const { used } = compute(state, given);
    const list = used.map(({ weights, factor }, head) =>
      fill("{name}: weights {a} on Lisbon, {b} on Oslo, times {m}. ", {
        ...{ name: NAMES[head], a: fixed(weights[0], 2), b: fixed(weights[1], 2) },
        m: fixed(factor, 2),
      }),
    );
    parts.said.textContent = sentence(state, given);
    parts.speak(list.join("") + parts.said.textContent);
    host.dataset.state = JSON.stringify({ ...state, ...compute(state, given) });
  }

  function place(handle, head) {
    const [x, y] = onPlane(plane, state.at[head]);
    handle.style.transform = `translate(${x}px, ${y}px)`;
    handle.style.display = head < state.heads ? "" : "none";
    handle.classList.toggle("ae-fresh", !state.moved);
    handle.lastChild.textContent = state.heads === 2 ? NAMES[head] : state.moved ? "" : "drag";
    const outward = state.at[head][0] > 0.6; // its name must stay on the plane
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
  const handles = given.at.map((_, head) => buildHandle(head, move, pointed, () => state.at[head]));
  parts.front.append(...handles);
  // A click beside a head brings it there; a finger that moves on scrolls the page.
  parts.svg.addEventListener("click", (event) => {
    const point = pointed(event);
    const inside = point.every((value) => Math.abs(value) <= EDGE);
    if (inside && !event.target.closest(".ae-handle")) move(state.active, point);
  });
  const controls = h("div", { class: "ae-controls" }, count.node, reset);
  return { nodes: [controls, parts.svg, parts.said, parts.spoken], draw };
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
