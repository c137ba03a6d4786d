// The explorable "copyist_looks": where a copyist with attention looks as it writes a letter.

import { chartMarks, copied, keys, lengths, places, readMarks, said, side, writtenMarks } from "./copyist.js";
import { h, mount } from "./dom.js";
import { figure, slide } from "./figure.js";
import { line, rect } from "./scene.js";

const TOP = 112; // of what is written

// What was written, and the weights of the present step of the first network.
export function compute(state, given) {
  const weights = given.weights[state.length - given.least][state.step];
  const largest = weights.indexOf(Math.max(...weights));
  return { ...copied(state, given), weights, largest };
}

export function picture(state, width, given) {
  const at = places(width);
  const now = compute(state, given);
  const marks = [
    ...readMarks(now.word, at),
    ...lookMarks(state, now, at),
    ...now.written.flatMap((_, i) => writtenMarks(i, now, at, TOP)),
    ...chartMarks(state.length, given, at, "p-fill"),
  ];
  return { marks, width, height: at.height };
}

// From the letter that is being written to every letter read, as thick as the weights.
function lookMarks({ step: here }, { word, weights }, at) {
  const { name, step, tall } = at;
  const middle = (i) => name + (i + 0.5) * step - 0.5;
  const [low, high] = [TOP - 4, 16 + tall + 8];
  const box = [name + here * step - 0.5, TOP - 2, step, tall];
  return [
    ...keys(word.length).flatMap((j) => [
      rect(`state${j}`, [name + j * step + 3, high - 10, step - 7, 7], "k-fill", 0.8, { rx: 2 }),
      line(`look${j}`, [[middle(here), low], [middle(j), high]], "p-fill", {
        "stroke-width": Math.max(14 * (weights[j] / 100), 0.4),
        "stroke-opacity": 0.75,
      }),
    ]),
    side("states", 37, "states", at),
    rect("here", box, "none", 1, { stroke: "var(--ae-p)", "stroke-width": 2.5, rx: 4 }),
  ];
}

export function sentence(state, given) {
  const { word, written, weights, largest, shares } = compute(state, given);
  const most = weights[largest].toFixed(0);
  const letter = `the “${word[largest]}” of place ${largest}`;
  const look = `Writing “${written[0][state.step]}” at step ${state.step}: ${most} % of the weight is on ${letter}.`;
  return `${look} Of 500 new strings of ${state.length} letters the three copied ${said(shares)}.`;
}

const spoken = (state, given) => `Written: ${compute(state, given).written.join(", ")}. ${sentence(state, given)}`;

export const first = (given, width) => picture(given.start, width, given);

function build(host, given) {
  const change = (length) => set({ length, step: Math.min(state.step, length - 1) }, 200);
  const move = (step) => set({ step: Math.min(step, state.length - 1) }, 150);
  const letter = slide("step", [0, given.most - 1, 1], ({ step }) => step, move, (step) => `${step}`);
  const controls = [lengths(given, change), letter];
  const { state, set, draw, nodes } = figure(host, given, {
    label: "A word, where a network looks as it writes it, and what three networks wrote",
    start: given.start,
    ...{ picture, sentence, compute, spoken, controls },
  });
  return { nodes: [h("div", { class: "ae-slides" }, ...controls.map((one) => one.node)), ...nodes], draw };
}

if (globalThis.document) mount("copyist_looks", build);
