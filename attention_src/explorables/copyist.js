// The explorable "copyist": a word of a length to choose, and how three networks write it down.

import { h, mount } from "./dom.js";
import { figure, slide } from "./figure.js";
import { bold, disc, isNarrow, line, path, rect, text } from "./scene.js";

export const keys = (n) => [...Array(n).keys()];
const NAMES = ["none of the three", "one of the three", "two of the three", "all three"];

// What the networks wrote, whether each letter is right, and their shares of words of that length.
export function copied({ length }, given) {
  const word = given.words[length - given.least];
  const written = given.written[length - given.least];
  const right = written.map((text) => keys(length).map((i) => text[i] === word[i]));
  const shares = given.shares.map((each) => each[length - given.least]);
  return { word, written, right, shares };
}

// And the numbers of the first network's vector.
export const compute = (state, given) => ({
  ...copied(state, given),
  vector: given.states[state.length - given.least],
});

// Where things stand. On a phone the chart is below the letters.
export function places(width) {
  const narrow = isNarrow(width);
  const left = narrow ? width : Math.min(0.6 * width, 470);
  const name = narrow ? 22 : 66;
  const step = Math.min((left - name) / 12, 30);
  const tall = narrow ? 25 : 29;
  const chart = narrow ? [30, 228, width - 40, 66] : [left + 46, 22, width - left - 60, 188];
  return { narrow, name, step, tall, chart, height: narrow ? 326 : 250 };
}

export function picture(state, width, given) {
  const at = places(width);
  const now = compute(state, given);
  const marks = [
    ...readMarks(now.word, at),
    ...funnelMarks(now, at),
    ...now.written.flatMap((_, i) => writtenMarks(i, now, at, 112)),
    ...chartMarks(state.length, given, at),
  ];
  return { marks, width, height: at.height };
}

// A row of letters in boxes, from (name, y) on.
export function tiles(key, word, y, { name, step, tall }, look) {
  return keys(word.length).flatMap((i) => {
    const x = name + i * step;
    const [colour, strength, more] = look(i);
    return [
      rect(`${key}-tile${i}`, [x + 1, y, step - 3, tall - 4], colour, strength, { rx: 3, ...more }),
      text(`${key}-letter${i}`, [x + step / 2 - 0.5, y + tall / 2 + 3], word[i], "ink", 15),
    ];
  });
}

// A word beside a row; on a phone only what is short has room.
export const side = (key, y, words, { narrow, tall }, brief = "") =>
  text(key, [0, y + tall / 2 + 3], narrow ? brief : words, "soft", 13, "start");

export const readMarks = (word, at) => [
  side("read", 16, "read", at),
  text("reads", [at.name, 11], at.narrow ? "read" : "", "soft", 12, "start"),
  ...tiles("read", word, 16, at, () => ["score", 0.25]),
];

// All letters run into one strip of cells, whatever their number: the numbers of the first network.
function funnelMarks({ word, vector }, { narrow, name, step, tall }) {
  const [top, low] = [16 + tall, 74];
  const wide = 4.5 * step;
  const cell = wide / vector.length;
  const all = keys(vector.length).map((c) => {
    const shade = 0.15 + 0.85 * Math.abs(vector[c]);
    return rect(`cell${c}`, [name + c * cell, low, cell - 0.5, 14], "k-fill", shade);
  });
  const end = name + word.length * step;
  const sides = `M${name} ${top} L${name} ${low - 2} H${name + wide} L${end} ${top} Z`;
  return [
    path("funnel", sides, "none", { fill: "var(--ae-k-fill)", "fill-opacity": 0.14 }),
    ...all,
    text("vector", [name + wide + 8, low + 11], `${narrow ? "" : "one vector of "}52 numbers`, "k", 13, "start"),
    text("writes", [name, low + 33], narrow ? "written" : "", "soft", 12, "start"),
  ];
}

// What network i has written: a wrong letter has a frame and is struck through.
export function writtenMarks(i, { written, right }, at, top) {
  const y = top + i * at.tall;
  const wrong = { stroke: "var(--ae-ink)", "stroke-width": 1.5, "stroke-dasharray": "3 2" };
  const struck = keys(right[i].length).filter((j) => !right[i][j]);
  return [
    side(`name${i}`, y, i ? "" : "written", at, ""),
    ...tiles(`row${i}`, written[i], y, at, (j) =>
      right[i][j] ? ["q-fill", 0.28, {}] : ["none", 1, wrong],
    ),
    ...struck.map((j) => {
      const [x, middle] = [at.name + j * at.step, y + at.tall / 2 - 2];
      const ends = [[x + 3, middle + 6], [x + at.step - 5, middle - 6]];
      return line(`row${i}-struck${j}`, ends, "ink", { "stroke-width": 1.5 });
    }),
  ];
}

// Of new words, how many came back whole: three dots a length, the present length ringed.
export function chartMarks(length, { least, most, shares }, { chart }, colour = "k-fill") {
  const [x, y, wide, high] = chart;
  const column = (n) => x + (wide * (n - least)) / (most - least);
  const up = (share) => y + high * (1 - share / 100);
  const counts = keys(most - least + 1).map((i) => i + least);
  return [
    text("chart", [x - 26, y - 10], "new strings copied whole, %", "soft", 12.5, "start"),
    rect("now", [column(length) - 9, y - 4, 18, high + 24], "ink", 0.1, { rx: 4 }),
    ...[0, 50, 100].flatMap((share) => [
      line(`level${share}`, [[x - 4, up(share)], [x + wide + 4, up(share)]], "line"),
      text(`share${share}`, [x - 9, up(share) + 4], `${share}`, "soft", 12, "end"),
    ]),
    ...counts.map((n) => {
      const mark = text(`length${n}`, [column(n), y + high + 16], `${n}`, "soft", 12);
      return n === length ? bold(mark) : mark;
    }),
    text("letters", [x + wide + 4, y + high + 31], "letters", "soft", 12, "end"),
    ...shares.flatMap((each, i) =>
      each.map((share, at) => {
        const look = { "fill-opacity": at + least === length ? 1 : 0.45 };
        return disc(`dot${i}-${at}`, [column(at + least) + 2.5 * (i - 1), up(share)], 3.2, colour, look);
      }),
    ),
  ];
}

export const said = (shares) => {
  if (shares.every((share) => share === 0)) return "none";
  if (shares.every((share) => share < 0.5)) return "less than 1 %";
  const [a, b, c] = shares.map((share) => share.toFixed(0));
  return `${a}, ${b} and ${c} %`;
};

export function sentence(state, given) {
  const { word, right, shares } = compute(state, given);
  const whole = right.filter((letters) => letters.every(Boolean)).length;
  const back = `“${word}”: ${NAMES[whole]} came back right.`;
  return `${back} Of 500 new strings of ${state.length} letters they copied ${said(shares)}.`;
}

export function spoken(state, given) {
  const { written } = compute(state, given);
  return `Written: ${written.join(", ")}. ${sentence(state, given)}`;
}

export const first = (given, width) => picture(given.start, width, given);

export const lengths = ({ least, most }, change) =>
  slide("letters", [least, most, 1], ({ length }) => length, change, (value) => `${value}`);

function build(host, given) {
  const change = (length) => set({ length }, 200);
  const slider = lengths(given, change);
  const { set, draw, nodes } = figure(host, given, {
    label: "A word, read into one vector, and what three networks wrote from it",
    start: given.start,
    ...{ picture, sentence, compute, spoken, controls: [slider] },
  });
  return { nodes: [h("div", { class: "ae-slides" }, slider.node), ...nodes], draw };
}

if (globalThis.document) mount("copyist", build);
