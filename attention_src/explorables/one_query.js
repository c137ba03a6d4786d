// The explorable "one query": drag it among four keys and follow it to the price that it hears; or
// all three guests at once, a row each.

import { choices, fixed, h, mount } from "./dom.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, fill, line, path, rect, stage, text } from "./scene.js";

const [LOW, HIGH] = [-1, 2.5]; // how far a query may go, along each axis
const [EDGE, SPAN] = [-1.35, 4.1]; // where the plane begins, and how much of it is drawn
const GLIDE = 350; // ms
const LETTERS = ["q₁", "q₂", "q₃"];

// All that one query meets on its way: what the picture shows, and nothing else.
export function attend(q, { keys, prices }) {
  const dots = keys.map((key) => key[0] * q[0] + key[1] * q[1]);
  const scores = dots.map((dot) => dot / Math.sqrt(2)); // d_k = 2
  const weights = softmax(scores);
  const parts = weights.map((weight, j) => weight * prices[j]);
  return { dots, scores, weights, parts, output: sum(parts) };
}

export const compute = ({ queries }, given) => ({ rows: queries.map((q) => attend(q, given)) });

// On a phone there is room for three digits: .598 and −.71.
const shorter = (narrow) => (words) => (narrow ? words.replace(/^(−?)0\./, "$1.") : words);

// Three digits: those of a small weight begin later.
const weightText = (weight) => fixed(weight, weight < 0.0995 ? 4 : 3);

// The picture: { marks, width, height, plane, areas }. state: { queries, active, all, lit }. areas
// are where a reader points at a thing: [x, y, width, height] for each.
export function picture(state, width, given) {
  const narrow = width < 600;
  const { rows } = compute(state, given);
  const view = { ...given, ...state, rows, narrow, width, i: state.active };
  const shown = state.all ? matrices(view) : columns(view);
  const plane = { ...shown.plane, unit: shown.plane.side / SPAN };
  const marks = [...planeMarks(view, plane), ...shown.marks];
  return { marks, width, height: narrow ? 580 : 378, plane, areas: shown.areas };
}

export const first = (given, width) => picture(fresh(given), width, given);
const fresh = ({ guests }) => ({
  queries: guests.map((q) => [...q]),
  ...{ active: 0, all: false, lit: 1, moved: false },
});

const onPlane = ({ x, y, side, unit }, [a, b]) => [
  x + (a - EDGE) * unit,
  y + side - (b - EDGE) * unit,
];

// The keys, each with its weight as an area; the queries; and the shadow of one key on a query.
function planeMarks(view, plane) {
  const { names, keys, queries, axes, rows, i, lit, all } = view;
  const at = (point) => onPlane(plane, point);
  const q = queries[i];
  const [x0, y0] = at([0, 0]);
  const { x, y, side, unit } = plane;
  const small = unit < 42; // there is no room for numbers
  const marks = [
    line(
      "axis0",
      [
        [x, y0],
        [x + side, y0],
      ],
      "line",
    ),
    line(
      "axis1",
      [
        [x0, y],
        [x0, y + side],
      ],
      "line",
    ),
    text(
      "sweet",
      [x + side, y0 + (all ? (small ? 15 : 31) : 47)],
      `${axes[0]} →`,
      "soft",
      12,
      "end",
    ),
    text("wooden", [x0 + 7, y + 10], `${axes[1]} ↑`, "soft", 12, "start"),
  ];
  for (const tick of small ? [] : [-1, 1, 2]) {
    const [[a], [, b]] = [at([tick, 0]), at([0, tick])];
    marks.push(
      path(`ticks${tick}`, `M${a} ${y0 - 3} V${y0 + 3} M${x0 - 3} ${b} H${x0 + 3}`, "soft"),
      text(`tick0${tick}`, [a, y0 + 16], fixed(tick, 0), "soft", 11),
      text(`tick1${tick}`, [x0 - 7, b + 4], fixed(tick, 0), "soft", 11, "end"),
    );
  }
  const length = Math.hypot(...q);
  const foot = q.map((value) => (length ? (value * rows[i].dots[lit]) / length ** 2 : 0));
  if (length) {
    // As far as the plane goes, on both sides.
    const ends = [1, -1].map((way) => {
      const reach = q.map((value) =>
        value ? ((value * way > 0 ? EDGE + SPAN : EDGE) / value) * way : 99,
      );
      return at(q.map((value) => value * way * Math.min(...reach)));
    });
    marks.push(line("through", ends, "q", { "stroke-opacity": 0.5, "stroke-dasharray": "2 4" }));
  }
  marks.push(
    line("shadow", [[x0, y0], at(foot)], "k-fill", { "stroke-width": 9, "stroke-opacity": 0.5 }),
    line("drop", [at(keys[lit]), at(foot)], "k", { "stroke-dasharray": "3 3" }),
  );
  keys.forEach((key, j) => {
    const r = 0.42 * unit * Math.sqrt(rows[i].weights[j]);
    marks.push(disc(`share${j}`, at(key), r, "p-fill", { "fill-opacity": 0.4 }));
  });
  queries.forEach((other, n) => {
    if (!all && n !== i) return;
    const [a, b] = at(other);
    const opacity = n === i ? 1 : 0.55;
    const name = all ? LETTERS[n] : view.moved ? "q" : "drag q";
    const words = all ? name : `${name} (${other.map((value) => fixed(value, 1)).join(", ")})`;
    const right = other[0] < 1;
    const high = other[1] > 0.4 ? -15 : Math.abs(other[1]) < 0.4 ? 31 : 26;
    const above = other[0] ? 5 : 9; // on the axis, its number stands there as well
    const spot = all ? [a - 11, b - above] : [right ? a - 4 : a + 12, b + high];
    const label = bold(
      haloed(text(`letter${n}`, spot, words, "q", 14, right && !all ? "start" : "end")),
    );
    label[2].opacity = opacity;
    marks.push(
      line(
        `query${n}`,
        [
          [x0, y0],
          [a, b],
        ],
        "q-fill",
        { "stroke-width": 4, opacity },
      ),
      disc(`tip${n}`, [a, b], 9, "q-fill", { stroke: "var(--ae-bg)", "stroke-width": 2, opacity }),
      label,
    );
  });
  keys.forEach((key, j) => {
    const [a, b] = at(key);
    const up = key[0] > 0;
    const near = !all && q[1] > 0.4 && Math.hypot(q[0] - key[0], q[1] - key[1]) < 0.6;
    const spot = up ? [a, near ? b + 23 : b - 13] : [a + 14, b + 5];
    const name = haloed(
      text(`name${j}`, spot, names[j], "k", small ? 11 : 13, up ? "middle" : "start"),
    );
    marks.push(
      line(
        `key${j}`,
        [
          [x0, y0],
          [a, b],
        ],
        "k-fill",
        { "stroke-width": j === lit ? 2.5 : 1.5 },
      ),
      disc(`point${j}`, [a, b], 4, "k-fill", { stroke: "var(--ae-bg)", "stroke-width": 1 }),
      j === lit ? bold(name) : name,
    );
  });
  return marks;
}

const haloed = (mark) =>
  Object.assign(mark[2], { stroke: "var(--ae-bg)", "stroke-width": 4, "paint-order": "stroke" }) &&
  mark;

// Where q · k of the lit key comes from: from its coordinates, and from its shadow on the query.
function origin({ names, keys, queries, rows, i, lit, all }, spots) {
  const [q, k] = [queries[i], keys[lit]];
  const dot = rows[i].dots[lit];
  const length = Math.hypot(...q);
  const products = q.map((value, c) => `${fixed(value, 1)} × ${fixed(k[c], 1)}`);
  const lines = [
    [
      `${all ? LETTERS[i] : "q"} · ${names[lit]}`,
      `= ${products[0]}`,
      `+ ${products[1]}`,
      `= ${fixed(dot, 2)}`,
    ],
    [
      `${names[lit]} along q`,
      `${fixed(length ? dot / length : 0, 2)} (drawn thick)`,
      `× ${fixed(length, 2)} (length of q)`,
      `= ${fixed(dot, 2)}`,
    ],
  ];
  return lines.flatMap((group, n) =>
    group.map((words, at) => {
      const [x, y] = spots[n];
      const mark = text(`from${n}${at}`, [x, y + 16 * at], words, at ? "soft" : "k", 12, "start");
      return at ? mark : bold(mark);
    }),
  );
}

// One query: a column for each key, read from top to bottom, and the parts stacked beside the last
// row.
function columns(view) {
  const { names, keys, prices, narrow, width, rows, i, lit } = view;
  const row = rows[i];
  const short = shorter(narrow);
  const side = narrow ? Math.min(224, width - 122) : Math.min(0.35 * width, 300);
  const [x, y] = narrow ? [0, 250] : [side + 8, 0];
  const tight = width < 400; // digits stand close
  const label = narrow ? 47 : 56;
  const step = (width - x - label - (narrow ? Math.min(0.32 * width, 128) : 140)) / 4;
  const bar = Math.min(0.68 * step, 44);
  const unit = narrow ? 10 : 13; // pixels for a score of 1
  const tall = narrow ? { weight: 42, part: 78 } : { weight: 54, part: 96 };
  const scores = y + 40 + 4.45 * unit; // no score is larger than 4.42, or less than −1.77
  const digits = scores + 1.8 * unit + 14;
  const weights = digits + 26 + tall.weight;
  const parts = weights + 42 + tall.part;
  const places = row.output < 9.995 ? 3 : 2;
  const top = [5, 10, 20, 40].find((price) => row.output <= price);
  const left = (j) => x + label + step * (j + 0.5) - bar / 2;
  const end = left(3) + bar;
  const base = (key, height, to) =>
    line(
      `base-${key}`,
      [
        [left(0) - 6, height],
        [to, height],
      ],
      "line",
    );
  const name = (key, height, words, colour) =>
    text(`step-${key}`, [x + label - 4, height], words, colour, narrow ? 12 : 13, "end");
  const stack = end + (step - bar) / 2 + (tight ? 13 : narrow ? 4 : 14);
  const small = tight ? 11 : narrow ? 12 : 13;
  const marks = [
    rect("lit", [left(lit) - (step - bar) / 2 + 1, y, step - 2, parts + 20 - y], "surface", 1, {
      rx: 4,
    }),
    base("score", scores, end + 6),
    base("weight", weights, end + 6),
    base("part", parts, stack + bar + 4),
    name("bars", scores, "score"),
    name("dot", digits, "q · k", "soft"),
    name("score", digits + 17, "÷ √2"),
    name("weight", weights + 15, "softmax", "p"),
    name("price", weights + 32, "× price", "v"),
    name("sum", parts + 16, "sum", "o"),
    line(
      "scale",
      [
        [left(0) - 10, parts - tall.part],
        [left(0) - 6, parts - tall.part],
        [left(0) - 6, parts],
      ],
      "line",
    ),
    text("top", [left(0) - 13, parts - tall.part + 5], `${top}`, "soft", 11, "end"),
    text("zero", [left(0) - 13, parts + 2], "0", "soft", 11, "end"),
  ];
  const beside = width < 330 ? 4 : 5;
  let level = parts;
  let low = parts + 16;
  names.forEach((thing, j) => {
    const middle = left(j) + bar / 2;
    const score = row.scores[j] * unit;
    const weight = row.weights[j] * tall.weight;
    const part = (row.parts[j] / top) * tall.part;
    const share = `${thing} ${fixed((100 * row.parts[j]) / row.output, tight ? 0 : 1)} %`;
    level -= part;
    low = Math.min(low - 12, level + part / 2 + 4);
    const sign = (j < 3 ? middle + step / 2 : (end + stack) / 2) + (narrow ? 1 : 0);
    const head = text(`column${j}`, [middle, y + 13], thing, "k");
    marks.push(
      j === lit ? bold(head) : head,
      text(`at${j}`, [middle, y + 29], `(${keys[j].join(", ")})`, "soft", 12),
      rect(
        `score${i}${j}`,
        [left(j), scores - Math.max(score, 0), bar, Math.abs(score)],
        "score",
        0.75,
      ),
      text(`dots${j}`, [middle, digits], fixed(row.dots[j], 2), "soft"),
      text(`scores${i}${j}`, [middle, digits + 17], fixed(row.scores[j], 3)),
      rect(`weight${i}${j}`, [left(j), weights - weight, bar, weight], "p-fill"),
      text(`weights${i}${j}`, [middle, weights + 15], short(weightText(row.weights[j])), "p"),
      text(`price${j}`, [middle, weights + 32], `× ${prices[j]}`, "v"),
      rect(`part${j}`, [left(j), parts - part, bar, part], "v-fill"),
      text(
        `parts${j}`,
        [middle, parts + 16],
        short(fixed(row.parts[j], places)),
        "v",
        small,
      ),
      text(`sign${j}`, [sign, parts + 16], j < 3 ? "+" : "=", "soft", Math.min(small, 12)),
      rect(`stack${i}${j}`, [stack, level, bar, part], "v-fill", 1, {
        stroke: "var(--ae-bg)",
        "stroke-width": 0.75,
      }),
      text(`share${i}${j}`, [stack + bar + beside, low], share, "v", width < 330 ? 10 : 11, "start"),
    );
  });
  marks.push(
    bold(
      text(
        `output${i}`,
        [stack + bar / 2, parts + 16],
        fixed(row.output, places),
        "o",
        small,
      ),
    ),
    rect("answer", [stack, level, bar, parts - level], "none", 1, {
      stroke: "var(--ae-o)",
      "stroke-width": 1.5,
    }),
    bold(text("output", [stack + bar / 2, Math.min(level, low) - 9], "output", "o")),
    ...origin(
      view,
      narrow
        ? [
            [side + 8, 60],
            [side + 8, 140],
          ]
        : [
            [4, side + 24],
            [0.45 * side + 4, side + 24],
          ],
    ),
  );
  const areas = names.map((_, j) => [left(j) - (step - bar) / 2, y, step, parts + 20 - y]);
  return { marks, areas, plane: { x: 0, y: 0, side } };
}

// All queries: a row each, in matrices that meet as they are multiplied: S below Kᵀ, O below V.
function matrices(view) {
  const { names, keys, prices, queries, narrow, width, rows, i, lit } = view;
  const gap = narrow ? 7 : 14;
  const start = narrow ? 18 : 26;
  const wide = (width - start - 3 * gap) / 11;
  const tall = narrow ? 30 : 38;
  const size = narrow ? 11 : 13;
  const top = narrow ? 274 : 36;
  const first = top + 4 * tall + (narrow ? 38 : 26); // the first row of Q, S, P and O
  const kTop = first - (narrow ? 8 : 12) - 2 * tall;
  const at = {
    q: [start, first],
    s: [start + 2 * wide + gap, first],
    p: [start + 6 * wide + 2 * gap, first],
    o: [start + 10 * wide + 3 * gap, first],
    k: [start + 2 * wide + gap, kTop],
    v: [start + 10 * wide + 3 * gap, top],
  };
  const cell = (name, column, row) => [at[name][0] + column * wide, at[name][1] + row * tall];
  const inside = (name, column, row) => {
    const [a, b] = cell(name, column + 0.5, row + 0.4);
    return [a, b + 0.36 * size];
  };
  const short = shorter(narrow);
  // A cell's level: a share of its height.
  const filled = (name, column, row, low, high) => {
    const [a, b] = cell(name, column, row + 1);
    const full = tall - 2;
    return [a + 1, b - 1 - high * full, wide - 2, (high - low) * full];
  };
  const grid = (name, rows, columns, words, colour, label) => {
    const [left, above] = at[name];
    const [right, low] = cell(name, columns, rows);
    let d = "";
    for (let n = 0; n <= rows; n++) d += `M${left} ${above + n * tall} H${right} `;
    for (let n = 0; n <= columns; n++) d += `M${left + n * wide} ${above} V${low} `;
    const middle = (left + right) / 2;
    return [
      path(`grid-${name}`, d, "line"),
      bold(text(`name-${name}`, [middle, label], words, colour)),
      text(`shape-${name}`, [middle, label + 16], `(${rows}, ${columns})`, "soft", 12),
    ];
  };
  const head = (key, name, j) => {
    const [a, b] = cell(name, j + 0.5, 0);
    const mark = text(key, [a, b - 6], names[j], "k", narrow ? 11 : 13);
    if (narrow)
      Object.assign(mark[2], { "text-anchor": "start", transform: `rotate(-52 ${a} ${b - 6})` });
    return j === lit ? bold(mark) : mark;
  };
  const frame = (key, name, columns, rows) => {
    const [a, b] = cell(name, columns[0], rows[0]);
    const [c, d] = cell(name, columns[1], rows[1]);
    return path(key, `M${a} ${b} H${c} V${d} H${a} Z`, "ink", { "stroke-width": 2 });
  };
  const below = first + 3 * tall + 18;
  const marks = [
    rect("band", [0, first + i * tall, width, tall], "q-fill", 0.14),
    ...grid("q", 3, 2, "Q", "q", below),
    ...grid("k", 2, 4, "Kᵀ", "k", kTop - (narrow ? 58 : 42)),
    ...grid("s", 3, 4, "S = QKᵀ / √2", "ink", below),
    ...grid("p", 3, 4, narrow ? "P = softmax" : "P = softmax(S)", "p", below),
    ...grid("v", 4, 1, "V", "v", top - 24),
    ...grid("o", 3, 1, narrow ? "O" : "O = PV", "o", below),
  ];
  names.forEach((thing, j) => {
    const [left, height] = inside("v", 0, j);
    marks.push(
      head(`column${j}`, "k", j),
      head(`over${j}`, "p", j),
      text(`price${j}`, [left, height], `${prices[j]}`, "v", size),
      text(`row${j}`, [left - wide / 2 - 6, height], thing, "k", narrow ? 11 : 13, "end"),
      ...keys[j].map((value, r) =>
        text(`k${j}${r}`, inside("k", j, r), fixed(value, 1), "k", size),
      ),
    );
  });
  rows.forEach((row, n) => {
    // A number or a level, which comes out of the one of the query that was shown alone.
    const number = (name, j, spot, words, colour = "ink") =>
      text(`${name}${n}${j}`, spot, short(words), colour, size, "middle", `${name}${i}${j}`);
    const level = (name, j, box, colour, opacity) =>
      rect(`${name}${n}${j}`, box, colour, opacity, {}, `${name}${i}${j}`);
    let total = 0;
    names.forEach((_, j) => {
      const next = total + row.parts[j] / 40;
      marks.push(
        number("scores", j, inside("s", j, n), fixed(row.scores[j], narrow ? 2 : 3)),
        level("weight", j, filled("p", j, n, 0, row.weights[j]), "p-fill", 0.4),
        number(
          "weights",
          j,
          inside("p", j, n),
          narrow ? fixed(row.weights[j], 3) : weightText(row.weights[j]),
        ),
        level("stack", j, filled("o", 0, n, total, next), "v-fill", 0.5),
      );
      total = next;
    });
    marks.push(
      number(
        "output",
        "",
        inside("o", 0, n),
        fixed(row.output, row.output < 9.995 ? 2 : narrow ? 1 : 2),
        "ink",
      ),
      ...queries[n].map((value, r) =>
        text(`q${n}${r}`, inside("q", r, n), fixed(value, 1), "q", size),
      ),
      text(`guest${n}`, [start - 4, inside("q", 0, n)[1]], LETTERS[n], "q", 13, "end"),
    );
  });
  const side = narrow ? Math.min(224, width - 122) : Math.min(at.k[0] - 8, first - 12);
  marks.push(
    frame("lit-q", "q", [0, 2], [i, i + 1]),
    frame("lit-k", "k", [lit, lit + 1], [0, 2]),
    frame("lit-s", "s", [lit, lit + 1], [i, i + 1]),
    ...origin(
      view,
      narrow
        ? [
            [side + 8, 60],
            [side + 8, 140],
          ]
        : [
            [at.p[0], 16],
            [at.p[0], 96],
          ],
    ),
  );
  const areas = names.map((_, j) => [...cell("k", j, 0), wide, 2 * tall]);
  return { marks, areas, plane: { x: 0, y: 0, side } };
}

// What the picture says, in the author's words.
export function sentence({ queries, active, all }, { names, prices, words, ...given }) {
  const rows = queries.map((q) => attend(q, { prices, ...given }));
  if (all) {
    return fill(words.all, { outputs: rows.map((row) => fixed(row.output, 2)).join(", ") });
  }
  const { weights, parts, output } = rows[active];
  const even = weights.map((weight) => Number(weight.toFixed(9))); // equal to the last digit
  const most = even.indexOf(Math.max(...even));
  const dear = prices.indexOf(Math.max(...prices));
  return fill(words[most === dear ? "same" : "apart"], {
    first: names[most],
    dear: names[dear],
    weight: fixed(100 * weights[most], 1),
    small: fixed(100 * weights[dear], 1),
    share: fixed((100 * parts[dear]) / output, 1),
    part: fixed(parts[dear], 2),
    output: fixed(output, 2),
  });
}

function build(host, given) {
  const state = fresh(given);
  const scene = stage("A plane with four keys, and what follows from a query");
  const { svg } = scene;
  const view = choices("Show", { false: "one guest", true: "all three guests" }, (value) =>
    draw(GLIDE, { all: value === "true" }),
  );
  const reset = h("button", { type: "button", onclick: () => draw(GLIDE, fresh(given)) }, "Reset");
  let plane;

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const now = picture(state, svg.clientWidth, given);
    plane = now.plane;
    scene.show(now, ms);
    host.dataset.view = Number(state.all);
    things.forEach((thing, j) => {
      const [x, y, width, height] = now.areas[j];
      for (const [name, value] of Object.entries({ x, y, width, height }))
        thing.setAttribute(name, value);
      thing.setAttribute("aria-pressed", j === state.lit);
    });
    handles.forEach((handle, i) => {
      const q = state.queries[i];
      handle.style.transform = `translate(${onPlane(plane, q).join("px, ")}px)`;
      handle.style.display = state.all || i === state.active ? "" : "none";
      handle.classList.toggle("ae-fresh", !state.moved && i === state.active);
      handle.setAttribute("aria-valuenow", q[0]);
      handle.setAttribute(
        "aria-valuetext",
        given.axes.map((axis, c) => `${axis} ${fixed(q[c], 1)}`).join(", "),
      );
    });
    view.press(state.all);
    scene.said.textContent = sentence(state, given);
    const { rows } = compute(state, given);
    const list = given.names.map(
      (name, j) => `${name} ${weightText(rows[state.active].weights[j])}`,
    );
    scene.speak(`Weights: ${list.join(", ")}. ${scene.said.textContent}`);
    host.dataset.state = JSON.stringify({ ...state, rows });
  }

  const move = (i, point) => {
    const kept = point.map((x) => Math.round(Math.min(Math.max(x, LOW), HIGH) * 10) / 10);
    state.queries[i] = kept;
    draw(0, { active: i, moved: true });
  };
  const start = (i, handle, event) => {
    handle.setPointerCapture(event.pointerId);
    draw(0, { active: i });
  };
  const pointed = (event) => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - plane.x, event.clientY - box.top - plane.y];
    return [x / plane.unit + EDGE, (plane.side - y) / plane.unit + EDGE];
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const handles = given.guests.map((_, i) => {
    const handle = h(
      "g",
      {
        ...{ class: "ae-handle", tabindex: 0, role: "slider", "aria-label": `query ${i + 1}` },
        ...{ "aria-valuemin": LOW, "aria-valuemax": HIGH },
        ontouchstart: (event) => event.preventDefault(), // the finger drags, the page stays
        onpointerdown: (event) => start(i, handle, event),
        onpointermove: (event) =>
          handle.hasPointerCapture(event.pointerId) && move(i, pointed(event)),
        onfocus: () => draw(0, { active: i }),
        onkeydown: (event) => {
          const step = STEPS[event.key];
          if (!step) return;
          event.preventDefault();
          move(
            i,
            state.queries[i].map((x, axis) => x + 0.1 * step[axis]),
          );
        },
      },
      h("circle", { r: 22 }),
    );
    return handle;
  });
  const light = (lit) => lit !== state.lit && draw(0, { lit });
  const things = given.names.map((name, j) =>
    h("rect", {
      ...{ class: "ae-thing", tabindex: 0, role: "button", "aria-label": name, rx: 4 },
      onpointerenter: () => light(j),
      onclick: () => light(j),
      onfocus: () => light(j),
    }),
  );
  scene.front.append(...things, ...handles);
  // A click or a tap beside the arrow brings it there; a finger that moves on scrolls the page.
  svg.addEventListener("click", (event) => {
    const point = pointed(event);
    const near = point.every((x) => x >= LOW && x <= HIGH);
    if (near && !event.target.closest(".ae-handle, .ae-thing")) move(state.active, point);
  });
  const controls = h("div", { class: "ae-controls" }, view.node, reset);
  return { nodes: [controls, svg, scene.said, scene.spoken], draw };
}

if (globalThis.document) mount("one_query", build);
