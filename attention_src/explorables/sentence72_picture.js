// The picture of 72 heads: the wall of all of them, and one enlarged, its weights beside the size
// of what it adds. A function of the state, of the numbers and of the width.

import { COUNT, amount, label, quoted, range, short } from "./places.js";
import { bold, line, path, rect, text } from "./scene.js";

const FULL = { weight: 1, size: 2 }; // what is drawn at full strength; more is not stronger
const FILL = { weight: "p-fill", size: "v-fill" };
const NAMES = { weight: "weight p", size: "size of what it adds" };

const strength = (kind, view, head, i, j) =>
  Math.min(amount[kind](view, head, i, j) / FULL[kind], 1);

// Where everything stands. From 760 pixels on the enlarged head is beside the wall.
export function layout(width, n) {
  const beside = width >= 760;
  const names = width < 460 ? 16 : 46;
  const wall = { x: names, y: 18, wide: ((beside ? 0.54 * width : width) - names) / 12 };
  wall.high = beside ? 40 : width < 460 ? 27 : 36;
  const [left, top] = beside ? [0.54 * width + 22, 0] : [0, wall.y + 6 * wall.high + 12];
  const [word, gap] = [width < 460 ? 48 : 60, width < 460 ? 8 : 14];
  const side = Math.min((width - left - word - gap) / 2, 270);
  const tall = beside ? 182 : width < 460 ? 150 : 200;
  const maps = { x: left + word, y: top + 84, side, tall, gap, n, top, left };
  return { wall, maps, beside, width, height: maps.y + tall + 26 };
}

export function picture(view, state, width) {
  const places = layout(width, view.tokens.length);
  const marks = [...wallMarks(view, state, places.wall), ...headMarks(view, state, places.maps)];
  return { marks, ...places };
}

// The cells of the small maps: all that are as strong are one path, in the whole wall. A run of
// cells in a row is a stroke as thick as the row.
function cells(view, { kind, silent, levels }, { x, y, wide, high }) {
  const n = view.tokens.length;
  const [step, thick] = [(wide - 4) / n, (high - 4) / n];
  const paths = range(levels + 1).map(() => "");
  for (const head of range(COUNT)) {
    if (silent?.head === head && kind === "size") continue;
    const [a, b] = [x + (head % 12) * wide + 2, y + Math.floor(head / 12) * high + 2];
    for (const i of range(n)) {
      const row = range(n).map((j) => Math.round(strength(kind, view, head, i, j) * levels));
      for (let j = 0, run = 1; j < n; j += run, run = 1) {
        while (row[j + run] === row[j]) run++;
        const spot = [a + j * step, b + (i + 0.5) * thick, run * step];
        const [left, middle, long] = spot.map((value) => Math.round(value * 10) / 10);
        paths[row[j]] += `M${left} ${middle}h${long}`;
      }
    }
  }
  return range(levels + 1)
    .filter((level) => level && paths[level])
    .map((level) => {
      const look = { "stroke-width": thick, "stroke-opacity": level / levels };
      return path(`wall-${kind}${level}`, paths[level], FILL[kind], look);
    });
}

function wallMarks(view, state, place) {
  const { head: chosen, silent } = state;
  const { x, y, wide, high } = place;
  const marks = [];
  const on = (same) => (same ? "ink" : "soft");
  for (const h of range(12)) {
    const name = h || x < 20 ? `${h}` : "head 0";
    marks.push(text(`column${h}`, [x + (h + 0.5) * wide, 12], name, on(h === chosen % 12), 12));
  }
  for (const l of range(6)) {
    const name = x < 20 ? `${l}` : `layer ${l}`;
    const spot = [0, y + (l + 0.5) * high + 4];
    marks.push(text(`layer${l}`, spot, name, on(l === Math.floor(chosen / 12)), 12, "start"));
  }
  const corner = (head) => [x + (head % 12) * wide, y + Math.floor(head / 12) * high];
  const box = (head) => {
    const [left, top] = corner(head).map((value) => (value + 2).toFixed(1));
    return `M${left} ${top}h${(wide - 4).toFixed(1)}v${high - 4}h${(4 - wide).toFixed(1)}z`;
  };
  const frames = { d: range(COUNT).map(box).join(""), fill: "var(--ae-surface)" };
  marks.push(["frames", "path", frames]);
  marks.push(...cells(view, state, place));
  if (silent) {
    const [a, b] = corner(silent.head);
    marks.push(line("off", [[a + 4, b + high - 4], [a + wide - 4, b + 4]], "ink"));
  }
  const [a, b] = corner(chosen);
  const frame = { stroke: "var(--ae-ink)", "stroke-width": 2, rx: 3 };
  marks.push(rect("chosen", [a + 0.5, b + 0.5, wide - 1, high - 1], "none", 1, frame));
  return marks;
}

function headMarks(view, { head, cell, silent }, { x, y, side, tall, gap, n, top, left }) {
  const [wide, high] = [side / n, tall / n];
  const off = silent?.head === head;
  const marks = [
    bold(text("head", [left, top + 12], label(head), "ink", 14, "start")),
    text("to", [x - 6, y - 21], "to", "k", 12, "end"),
    text("from", [x - 6, y - 6], "from", "q", 12, "end"),
  ];
  const rows = Math.min(12, high + 1);
  view.tokens.forEach((token, i) => {
    const spot = [x - 6, y + (i + 0.5) * high + 0.36 * rows];
    marks.push(text(`query${i}`, spot, short(token), "q", rows, "end"));
  });
  Object.keys(NAMES).forEach((kind, k) => {
    const start = x + k * (side + gap);
    const colour = kind === "weight" ? "p" : "v";
    const name = kind === "size" && side < 130 ? "size added" : NAMES[kind];
    marks.push(bold(text(`title-${kind}`, [start, top + 12], name, colour, 12, "start")));
    marks.push(rect(`back-${kind}`, [start, y, side, tall], "surface"));
    const columns = Math.min(12, wide + 1);
    view.tokens.forEach((token, j) => {
      const [a, b] = [start + (j + 0.5) * wide + 0.35 * columns, y - 5];
      const mark = text(`key-${kind}${j}`, [a, b], short(token), "k", columns, "start");
      mark[2].transform = `rotate(-90 ${a.toFixed(2)} ${b.toFixed(2)})`;
      marks.push(mark);
      for (const i of range(n)) {
        const value = off && kind === "size" ? 0 : strength(kind, view, head, i, j);
        marks.push(rect(`${kind}${i}-${j}`, [start + j * wide, y + i * high, wide, high], FILL[kind], value));
      }
    });
    if (cell) {
      const box = [start + cell[1] * wide - 0.5, y + cell[0] * high - 0.5, wide + 1, high + 1];
      const look = { stroke: "var(--ae-ink)", "stroke-width": 1.5 };
      marks.push(rect(`at-${kind}`, box, "none", 1, look));
    }
  });
  if (off) marks.push(text("silent", [x + 1.5 * side + gap, y + tall / 2], "silent", "ink", 13));
  marks.push(text("read", [left, y + tall + 18], readout(view, head, cell, off), "soft", 13, "start"));
  return marks;
}

// A cell in words.
export function readout(view, head, cell, off) {
  if (!cell) return "Point at a cell to read it.";
  const [from, to] = cell.map((at) => quoted(view.tokens[at]));
  const [p, c] = Object.keys(amount).map((kind) => amount[kind](view, head, ...cell));
  return `from ${from} to ${to}: weight ${p.toFixed(2)}, ${off ? "silent" : `size ${c.toFixed(2)}`}`;
}
