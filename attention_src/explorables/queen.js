// The explorable "queen": how far along man − woman, and which words are then nearest.

import { choices, fixed, h, mount } from "./dom.js";
import { button, figure, row, slide } from "./figure.js";
import { bold, disc, isNarrow, line, rect, text } from "./scene.js";

const FAR = 2; // how often the difference is added at most
const SHOWN = 6; // words in the list
const [TRACK, TOP, STEP] = [34, 74, 29]; // where the line lies, the list begins, and a row's height
const RANKING = { all: "all words may win", rest: "leave out queen, woman, man" };

// The cosine of each word with queen + t (man − woman), from dot products; and the nearest first.
export function compute({ t, ranking }, { dots, steps, norms, queen, inputs, names }) {
  const [whole, both, step] = queen; // queen · queen, queen · step, step · step
  const length = Math.sqrt(whole + 2 * t * both + t * t * step);
  const cosines = names.map((_, j) => (dots[j] + t * steps[j]) / (norms[j] * length));
  const may = (j) => ranking === "all" || !inputs.includes(names[j]);
  const nearest = [...names.keys()].filter(may).sort((a, b) => cosines[b] - cosines[a]);
  return { cosines, nearest: nearest.slice(0, SHOWN) };
}

// The cosines of the list in two digits; in three where a neighbour has the same two.
function written({ cosines, nearest }) {
  const brief = nearest.map((j) => fixed(cosines[j], 2));
  const tied = (place) => [brief[place - 1], brief[place + 1]].includes(brief[place]);
  return nearest.map((j, place) => (tied(place) ? fixed(cosines[j], 3) : brief[place]));
}

export function picture(state, width, given) {
  const [left, right] = [12, width - 12];
  const x = (t) => left + ((right - left) * t) / FAR;
  const under = ([at]) => ({ t: (FAR * (at - left)) / (right - left) });
  return {
    marks: [...lineMarks(x, state.t, width), ...listMarks(width, state, given)],
    pad: { area: [0, 0, width, TOP - 16], under, sideways: true },
    width,
    height: TOP + SHOWN * STEP,
  };
}

function lineMarks(x, t, width) {
  const ends = [
    ["queen", 0, 0, "start"],
    ["− woman + man", 1, x(1), "middle"],
    ["twice as far", FAR, width, "end"],
  ];
  const apart = Math.min(Math.max(x(t), 20), width - 20);
  return [
    line("track", [[x(0), TRACK], [x(FAR), TRACK]], "line", { "stroke-width": 4 }),
    line("gone", [[x(0), TRACK], [x(t), TRACK]], "q-fill", { "stroke-width": 4 }),
    ...ends.flatMap(([words, amount, at, anchor]) => [
      line(`tick${amount}`, [[x(amount), TRACK - 7], [x(amount), TRACK + 7]], "soft"),
      text(`end${amount}`, [at, TRACK + 24], words, "q", 13, anchor),
    ]),
    disc("goal", [x(t), TRACK], 9, "q-fill", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    bold(text("drag", [apart, TRACK - 16], "drag", "q", 13)),
  ];
}

function listMarks(width, state, given) {
  const now = compute(state, given);
  const { cosines, nearest } = now;
  const numbers = written(now);
  const bar = isNarrow(width) ? 104 : 150;
  const room = width - bar - 48;
  return nearest.flatMap((j, place) => {
    const [y, name] = [TOP + place * STEP, given.names[j]];
    const input = given.inputs.includes(name);
    const label = text(`name-${name}`, [26, y + 17], name, "k", 15, "start");
    return [
      text(`place${place}`, [0, y + 17], `${place + 1}`, "soft", 13, "start"),
      name === "king" ? bold(label) : label,
      rect(`track-${name}`, [bar, y + 3, room, 19], "surface", 1, { rx: 3 }),
      rect(`bar-${name}`, [bar, y + 3, room * Math.max(cosines[j], 0), 19], "k-fill", input ? 0.4 : 1, { rx: 3 }),
      ...(input ? [text(`went-${name}`, [bar + 7, y + 17], "went in", "ink", 12, "start")] : []),
      text(`cosine-${name}`, [width, y + 17], numbers[place], "k", 14, "end"),
    ];
  });
}

export function sentence(state, given) {
  const now = compute(state, given);
  const numbers = written(now);
  const [one, two, three] = now.nearest.map((j, place) => `${given.names[j]} (${numbers[place]})`);
  return `At ${fixed(state.t, 2)} the nearest word is ${one}, then ${two} and ${three}.`;
}

const rounded = ({ t }) => ({ t: Math.min(Math.max(Math.round(t * 100) / 100, 0), FAR) });
const fresh = ({ t, ranking }) => ({ t, ranking });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const amount = slide("how far", [0, FAR, 0.01], ({ t }) => t, (t) => set({ t }));
  const { node, press } = choices("which words", RANKING, (ranking) => set({ ranking }, 300));
  const { set, draw, nodes } = figure(host, given, {
    label: "A line from queen along man − woman, and the six nearest words",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence },
    controls: [amount, { follow: ({ ranking }) => press(ranking) }],
    drag: rounded,
  });
  const slides = h("div", { class: "ae-slides" }, amount.node);
  const reset = button("Reset", () => set(fresh(given), 300));
  return { nodes: [...nodes, slides, row(node, reset)], draw };
}

if (globalThis.document) mount("queen", build);
