// A figure of marks that the browser's own controls change, and a pointer.

import { fixed, h, shown } from "./dom.js";
import { rect, stage, text } from "./scene.js";

// What a figure consists of, from pure functions of (state, given): picture, sentence, compute, and
// spoken, which is what is read out. controls are { node, follow(state, picture) }: follow shows the
// state. A picture may have a pad, { area, under, sideways }: where a pointer is held on this area,
// drag(under([x, y]), state) is the change; sideways: only x counts.
export function figure(host, given, { label, start, picture, sentence, compute, spoken, controls, drag }) {
  const state = { ...start };
  const { svg, front, said, spoken: heard, show, speak } = stage(label);
  const pad = h("rect", { class: "ae-pad", "aria-hidden": "true" });
  let under;
  let sideways;

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const now = picture(state, svg.clientWidth, given);
    show(now, ms);
    if (now.pad) {
      ({ under, sideways } = now.pad);
      place(pad, now.pad.area);
    }
    controls.forEach((one) => one.follow(state, now));
    said.textContent = sentence(state, given);
    speak(spoken(state, given));
    host.dataset.state = JSON.stringify({ ...state, ...compute(state, given) });
  }

  const move = (event) => {
    const box = svg.getBoundingClientRect();
    draw(0, drag(under([event.clientX - box.left, event.clientY - box.top]), state));
  };
  // Inside an svg, touch-action does not keep the page from scrolling. On a pad that is dragged to
  // the sides alone, the svg's touch-action lets a finger scroll it up and down.
  pad.addEventListener("touchstart", (event) => sideways || event.preventDefault());
  pad.addEventListener("pointerdown", (event) => {
    pad.setPointerCapture(event.pointerId);
    move(event);
  });
  pad.addEventListener("pointermove", (event) => event.buttons && move(event));
  if (drag) front.append(pad);
  const set = (change, ms) => draw(ms, change);
  return { state, set, draw, front, nodes: [svg, said, heard] };
}

export function place(node, [x, y, width, height]) {
  for (const [name, size] of Object.entries({ x, y, width, height })) node.setAttribute(name, size);
}

export const row = (...nodes) => h("div", { class: "ae-controls" }, ...nodes);

export const button = (words, onclick) => h("button", { type: "button", onclick }, words);

// A list to choose from; of(state) is the present one.
export function pick(label, options, of, choose) {
  const each = options.map(([value, words = `${value}`]) => h("option", { value }, words));
  const select = h("select", { onchange: () => choose(select.value) }, ...each);
  const node = h("label", {}, `${label} `, select);
  return { node, follow: (state) => (select.value = of(state)) };
}

// A slider with its number: of(state) is where it stands, and words(value) how that is written.
export function slide(label, [min, max, step], of, change, words = (value) => fixed(value, 2)) {
  const number = h("span", { class: "ae-number" });
  const oninput = () => change(Number(input.value));
  const input = h("input", { type: "range", min, max, step, "aria-label": label, oninput });
  const node = h("label", { class: "ae-slide" }, label, input, number);
  const follow = (state) => {
    input.value = of(state);
    number.textContent = words(of(state));
    input.setAttribute("aria-valuetext", number.textContent);
  };
  return { node, follow };
}

// A slider for each coordinate of the query of the state now(): change(query) gets the moved one.
export function coordinates(labels, { x, y }, step, now, change, words) {
  return [x, y].map((range, i) => {
    const move = (value) => change(now().query.with(i, value));
    return slide(labels[i], [...range, step], ({ query }) => query[i], move, words);
  });
}

// The temperature, by its power of ten.
export const temperatures = (powers, set) =>
  slide(
    "temperature",
    powers,
    ({ temperature }) => Math.log10(temperature),
    (power) => set({ temperature: 10 ** power }),
    (power) => fixed(10 ** power, 2),
  );

// A key's row: what it holds, its weight, a note [words, colour], one of these two last, and the
// weight as a bar below.
export function shelf(j, [x, y, width], label, value, weight, [words, colour], noteIsLast) {
  const [first, last] = [x + width - (noteIsLast ? 92 : 52), x + width];
  const [note, share] = noteIsLast ? [last, first] : [first, last];
  return [
    text(`label${j}`, [x, y + 12], label, "k", 13, "start"),
    text(`holds${j}`, [x + 56, y + 12], `holds ${value}`, "ink", 13, "start"),
    text(`note${j}`, [note, y + 12], words, colour, 13, "end"),
    text(`weight${j}`, [share, y + 12], shown(weight, 3), "p", 13, "end"),
    rect(`track${j}`, [x, y + 20, width, 12], "surface", 1, { rx: 3 }),
    rect(`bar${j}`, [x, y + 20, width * weight, 12], "p-fill", 1, { rx: 3 }),
  ];
}

// A plane of { width, height, unit, origin, reach }: its size in its own units, how many of them are
// 1, where 0 lies among them, and how far a point may go. It stands at (x, y), so many times as large.
export function plane({ width, height, unit, origin, reach }, [x, y], scale) {
  const at = ([a, b]) => [x + scale * (origin.x + unit * a), y + scale * (origin.y - unit * b)];
  const under = ([a, b]) =>
    kept({ reach }, [((a - x) / scale - origin.x) / unit, (origin.y - (b - y) / scale) / unit]);
  return { at, pad: { area: [x, y, scale * width, scale * height], under } };
}

const within = (value, [low, high]) => Math.min(Math.max(value, low), high);

// The nearest point that a plane's point may be at.
export const kept = ({ reach }, [x, y]) => [within(x, reach.x), within(y, reach.y)];
