// A picture is a list of marks: [key, tag, attributes, words, parent]. One function of the state and
// the width makes the list; the list makes the live figure here, and its still in still.js.

import { h, speaker } from "./dom.js";

const NUMBER = /-?\d+(?:\.\d+)?/g;
const skeleton = (value) => value.replace(NUMBER, "#");

// A way from one value of an attribute to another: its numbers move if nothing else differs.
function way(from, to) {
  if (from === undefined || skeleton(from) !== skeleton(to)) return () => to;
  const starts = from.match(NUMBER);
  return (t) => {
    let i = 0;
    if (t === 1) return to;
    return to.replace(NUMBER, (end) => {
      const start = Number(starts[i++]);
      return (start + (end - start) * t).toFixed(2);
    });
  };
}

// show(marks, ms): what is no longer there fades out first, what stays glides to its new place, and
// what is new fades in last, or comes out of its parent. A call during a glide starts from where it
// finds the marks. Later marks lie on top of earlier ones.
export function scene(group) {
  const held = new Map();
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let frame = 0;
  return (marks, ms = 0) => {
    cancelAnimationFrame(frame);
    const length = calm.matches ? 0 : ms;
    const moves = [];
    const move = (mark, name, value, pace = (t) => t) => {
      if (mark.now[name] === value) return;
      moves.push([mark, name, way(length ? mark.now[name] : undefined, value), pace]);
    };
    const leaving = new Set(held.keys());
    const fresh = marks.some(([key]) => !held.has(key));
    for (const [key, tag, attributes, words, parent] of marks) {
      leaving.delete(key);
      const late = !held.has(key) && !parent && ((t) => Math.max(2 * t - 1, 0));
      if (!held.has(key)) {
        const now = length ? { ...held.get(parent)?.now, opacity: "0" } : {};
        held.set(key, { node: h(tag, { ...now, "data-key": key }), now });
      }
      const mark = held.get(key);
      if (mark.words !== words) mark.node.textContent = mark.words = words;
      const all = { opacity: 1, ...attributes };
      for (const name of Object.keys(mark.now)) {
        if (!(name in all)) mark.node.removeAttribute(name, delete mark.now[name]);
      }
      for (const [name, value] of Object.entries(all)) {
        move(mark, name, plain(value), late || undefined);
      }
    }
    if (fresh) group.append(...marks.map(([key]) => held.get(key).node));
    for (const key of leaving) move(held.get(key), "opacity", "0", (t) => Math.min(3 * t, 1));
    const start = performance.now();
    const step = (time) => {
      const t = length ? Math.min(Math.max((time - start) / length, 0), 1) : 1;
      for (const [mark, name, at, pace] of moves) {
        const paced = pace(t);
        mark.now[name] = at(paced * paced * (3 - 2 * paced));
        mark.node.setAttribute(name, mark.now[name]);
      }
      if (t < 1) frame = requestAnimationFrame(step);
      else for (const key of leaving) held.get(key).node.remove(held.delete(key));
    };
    step(start);
  };
}

// What a figure of marks consists of: the svg, in which marks lie behind and handles in front, the
// sentence below it, and what is read out. show(picture, ms) draws { marks, width, height }.
export function stage(label) {
  const back = h("g", { "aria-hidden": "true" });
  const front = h("g");
  const svg = h("svg", { class: "ae-scene", role: "group", "aria-label": label }, back, front);
  const said = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  const draw = scene(back);
  const show = ({ marks, width, height }, ms) => {
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    draw(marks, ms);
  };
  return { svg, front, said, spoken, show, speak: speaker(spoken) };
}

// Words of the author with numbers of the state: fill("{a} of 4", { a: 3 }) is "3 of 4".
export const fill = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// Below this width of the svg, pictures put one thing below the other: as explorable.css does.
export const isNarrow = (width) => width < 520;

// Shapes. Colours are names of CSS variables, "q" or "ink", so that both themes and print work.
const paint = (name) => (name === "none" ? name : `var(--ae-${name})`);

// An attribute as it is written: two decimals are enough.
export const plain = (value) =>
  `${value}`.replace(/-?\d+\.\d+(e-\d+)?/g, (x) => Math.round(x * 100) / 100);

export const rect = (key, [x, y, width, height], colour, opacity = 1, more = {}, parent) => [
  key,
  "rect",
  { x, y, width, height, fill: paint(colour), "fill-opacity": opacity, ...more },
  undefined,
  parent,
];

export const path = (key, d, stroke, more) => [
  key,
  "path",
  { d, fill: "none", stroke: paint(stroke), ...more },
];

export const line = (key, points, stroke, more) =>
  path(key, "M" + points.map((point) => point.join(" ")).join(" L"), stroke, more);

export const disc = (key, [cx, cy], r, colour, more) => [
  key,
  "circle",
  { cx, cy, r, fill: paint(colour), ...more },
];

// anchor: "start", "middle" or "end" of the words is at the point.
export const text = (key, [x, y], words, colour = "ink", size = 13, anchor = "middle", parent) => [
  key,
  "text",
  { x, y, fill: paint(colour), "font-size": size, "font-weight": 400, "text-anchor": anchor },
  words,
  parent,
];
export const bold = (mark) => (mark[2]["font-weight"] = 700) && mark;
