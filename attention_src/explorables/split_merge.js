// The explorable "split_merge": a table of tokens is cut into heads, rightly beside wrongly.

import { choices, h, mount } from "./dom.js";
import { bold, fill, path, rect, stage, text } from "./scene.js";

const GLIDE = 500; // ms
const STEPS = ["x", "reshape", "swapaxes", "merge"];
const WAYS = ["right", "wrong"];
const range = (n) => [...Array(n).keys()];

// The line of code of each step of a way, the shape that it gives, and what its axes are.
export function lines(way, heads, { tokens: { length: n }, columns }) {
  const width = columns / heads;
  const x = ["x", `(${n}, ${columns})`, "token, column"];
  const shape = `(${heads}, ${n}, ${width})`;
  const wrong = [`x.reshape(${heads}, ${n}, ${width})`, shape, "meant: head, token, column"];
  const cut = `x.reshape(${n}, ${heads}, ${width})`;
  return way === "right"
    ? [
        x,
        [cut, `(${n}, ${heads}, ${width})`, "token, head, column"],
        [`${cut}.swapaxes(0, 1)`, shape, "head, token, column"],
        [`heads.swapaxes(0, 1).reshape(${n}, ${columns})`, ...x.slice(1)],
      ]
    : [x, wrong, wrong, [`heads.reshape(${n}, ${columns})`, ...x.slice(1)]];
}

export const compute = ({ heads }, given) => ({
  lines: WAYS.map((way) => lines(way, heads, given)),
});

// Where the number that lies at `at` in memory is found in heads: [head, row, column].
export function place(at, way, heads, { tokens, columns }) {
  const [n, width] = [tokens.length, columns / heads];
  const column = at % width;
  if (way === "wrong") return [Math.floor(at / (n * width)), Math.floor(at / width) % n, column];
  return [Math.floor((at % columns) / width), Math.floor(at / columns), column];
}

// Where the rows of a head begin in memory.
export function begins(head, way, heads, given) {
  const rows = [];
  for (const at of range(given.tokens.length * given.columns)) {
    const [found, row, column] = place(at, way, heads, given);
    if (found === head && !column) rows[row] = at;
  }
  return rows;
}

// The picture: { marks, width, height, areas }. state: { heads, step, lit }. areas are where a
// reader points at a head: [way, head, x, y, width, height].
export function picture(state, width, given) {
  const narrow = width < 600;
  const across = narrow ? width : (width - 28) / 2;
  const tall = narrow ? 18 : 22;
  const high = 114 + 2 * tall * given.tokens.length;
  const panels = WAYS.map((way, n) => {
    const [x, y] = narrow ? [0, n * (high + 18)] : [n * (across + 28), 0];
    return panel(given, state, way, { x, y, across, tall });
  });
  return {
    marks: panels.flatMap((one) => one.marks),
    areas: panels.flatMap((one) => one.areas),
    width,
    height: narrow ? 2 * high + 18 : high,
  };
}
export const first = (given, width) => picture(given.start, width, given);

// One way: its code, x, and the heads below it.
function panel(given, { heads, step, lit }, way, { x, y, across, tall }) {
  const { tokens, columns, words } = given;
  const [n, run] = [tokens.length, columns / heads];
  const names = 44; // room for words, left and right
  const loose = 22; // room between heads
  const wide = (across - 2 * names - loose) / columns;
  const gap = heads > 1 ? Math.min(loose / (heads - 1), 12) : 0;
  const pad = heads > 4 ? 1 : 2;
  const left = x + names;
  const tops = { x: y + 64, heads: y + 64 + n * tall + 42 };
  const [code, ...shape] = lines(way, heads, given)[step];
  const inHeads = way === "right" ? step === 2 : step === 1 || step === 2;
  const cut = way === "right" && step === 1;
  const size = Math.min(13, 0.46 * wide);
  const key = (name) => `${way}-${name}`;
  const inTable = (at) => {
    const column = at % columns;
    const moved = cut ? gap * Math.floor(column / run) : 0;
    return [left + column * wide + moved, tops.x + Math.floor(at / columns) * tall];
  };
  const headLeft = (head) => left + head * (gap + run * wide);
  const inHead = (at) => {
    const [head, row, column] = place(at, way, heads, given);
    return [headLeft(head) + column * wide, tops.heads + row * tall];
  };
  const cell = (name, at, [a, b], opacity) => {
    const token = Math.floor(at / columns);
    const box = [a + 0.75, b + 0.75, wide - 1.5, tall - 1.5];
    const label = `${tokens[token][0]}${at % columns}`;
    const spot = [a + wide / 2, b + tall / 2 + 0.36 * size];
    const colour = opacity < 0.3 ? "soft" : opacity < 0.7 ? "ink" : "on";
    const word = text(key(`${name}-word${at}`), spot, label, colour, size);
    return [rect(key(`${name}${at}`), box, `t${token}`, opacity, { rx: 2 }), word];
  };
  const row = (name, top, i, side, words, colour) => {
    const a = side === "end" ? left - 6 : left + columns * wide + gap * (heads - 1) + 6;
    return text(key(`${name}${i}`), [a, top + (i + 0.5) * tall + 4], words, colour, 13, side);
  };
  const starts = begins(lit, way, heads, given);
  const cells = range(n * columns);
  const isLit = (at) => place(at, way, heads, given)[0] === lit;
  const mono = text(key("code"), [x, y + 32], code, "ink", 13, "start");
  mono[2]["font-family"] = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
  const marks = [
    bold(text(key("title"), [x, y + 13], words[way], "ink", 14, "start")),
    mono,
    text(key("shape"), [x, y + 50], shape.join(" "), "soft", 12, "start"),
    ...tokens.map((token, i) => row("token", tops.x, i, "end", token, "ink")),
    ...cells.flatMap((at) => cell("from", at, inTable(at), inHeads && isLit(at) ? 0.7 : 0.2)),
  ];
  const areas = range(heads).map((head) => {
    const box = [headLeft(head) - pad, tops.heads - pad, run * wide + 2 * pad, n * tall + 2 * pad];
    const look = head === lit && inHeads ? { "stroke-width": 2 } : { "stroke-dasharray": "3 3" };
    const [a, b, c, d] = [box[0], box[1], box[0] + box[2], box[1] + box[3]];
    const middle = (a + c) / 2;
    const name = text(
      key(`head${head}`),
      [middle, tops.heads - 8],
      heads > 4 ? `${head}` : `head ${head}`,
      head === lit ? "ink" : "soft",
      12,
    );
    marks.push(
      path(key(`frame${head}`), `M${a} ${b} H${c} V${d} H${a} Z`, head === lit ? "ink" : "line", {
        "stroke-width": 1,
        "stroke-dasharray": "none",
        ...look,
      }),
      head === lit ? bold(name) : name,
    );
    return [way, head, ...box];
  });
  marks.push(
    text(key("meant"), [left - 6, tops.heads - 8], "meant", "soft", 12, "end"),
    ...tokens.map((token, i) => row("meant", tops.heads, i, "end", token, "ink")),
    ...cells.flatMap((at) => {
      return cell("cell", at, inHeads ? inHead(at) : inTable(at), inHeads && !isLit(at) ? 0.45 : 1);
    }),
  );
  if (inHeads) {
    const mark = row("is-", tops.heads, -0.5, "start", "is", "soft");
    mark[2].y = tops.heads - 8;
    // Names beside both heads would be read as those of the nearer one.
    const whose = row("is-whose", tops.heads, -0.5, "start", `head ${lit}`, "soft");
    whose[2].y = tops.heads - 22;
    marks.push(
      mark,
      whose,
      ...starts.map((at, i) => {
        const token = tokens[Math.floor(at / columns)];
        const word = row("is", tops.heads, i, "start", token, "ink");
        return starts[i] === i * columns + lit * run ? word : bold(word);
      }),
    );
  }
  return { marks, areas };
}

const either = (words) => words.join(", ").replace(/, ([^,]*)$/, " or $1");

// What the picture says, in the author's words.
export function sentence({ heads, step, lit }, given) {
  const { tokens, columns, words } = given;
  const values = { n: tokens.length, columns, heads };
  if (step !== 2) return fill(words[STEPS[step]], values);
  if (heads === 1) return words.one;
  const run = columns / heads;
  const found = begins(lit, "wrong", heads, given);
  const token = (at) => Math.floor(at / columns);
  const piece = (row, from) => `x[${row}, ${from}:${from + run}]`;
  const bad = found.findIndex((at, row) => token(at) !== row); // the first row of a wrong token
  const lacks = tokens.filter((_, row) => !found.some((at) => token(at) === row));
  return fill(words.heads, {
    ...values,
    lit,
    name: `heads[${lit}, ${bad}]`,
    meant: piece(bad, lit * run),
    token: tokens[bad],
    found: piece(token(found[bad]), found[bad] % columns),
    other: tokens[token(found[bad])],
    lacks: either(lacks.map((token) => `“${token}”`)),
  });
}

function build(host, given) {
  const state = { ...given.start };
  const scene = stage("Tokens, and the heads that two ways make of them");
  let areas = [];

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const now = picture(state, scene.svg.clientWidth, given);
    scene.show(now, ms);
    ({ areas } = now);
    count.press(state.heads);
    steps.press(state.step);
    const { lines: all } = compute(state, given);
    scene.said.textContent = sentence(state, given);
    const shapes = all.map(
      (list, n) => `${WAYS[n]}: ${list[state.step].slice(0, 2).join(", shape ")}`,
    );
    scene.speak(`${shapes.join("; ")}. ${scene.said.textContent}`);
    host.dataset.state = JSON.stringify({ ...state, lines: all });
    showHeads();
  }

  // A head is lit by pointing at it, on either side; the keyboard finds the left ones.
  const spots = range(2 * Math.max(...given.counts)).map(() =>
    h("rect", { class: "ae-thing", role: "button", rx: 3 }),
  );
  function showHeads() {
    spots.forEach((spot, n) => {
      spot.style.display = areas[n] ? "" : "none";
      if (!areas[n]) return;
      const [way, head, x, y, width, height] = areas[n];
      const label = `${way}: head ${head}`;
      const pressed = head === state.lit;
      const look = { x, y, width, height, "aria-label": label, "aria-pressed": pressed };
      look.tabindex = way === "right" ? 0 : -1;
      for (const [name, value] of Object.entries(look)) spot.setAttribute(name, value);
      const light = () => head !== state.lit && draw(0, { lit: head });
      spot.onpointerenter = spot.onclick = spot.onfocus = light;
    });
  }

  const count = choices(
    "Number of heads",
    Object.fromEntries(given.counts.map((n) => [n, n])),
    (heads) => draw(GLIDE, { heads: Number(heads), lit: Math.min(state.lit || 1, heads - 1) }),
  );
  const steps = choices("Step", { ...STEPS }, (step) => draw(GLIDE, { step: Number(step) }));
  const group = (words, one) => h("span", { class: "ae-group" }, words, one.node);
  const controls = h("div", { class: "ae-controls" }, group("heads", count), group("step", steps));
  scene.front.append(...spots);
  return { nodes: [controls, scene.svg, scene.said, scene.spoken], draw };
}

if (globalThis.document) mount("split_merge", build);
