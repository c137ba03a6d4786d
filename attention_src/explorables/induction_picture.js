// The picture of "induction": the text, the letters before below it, what is found, and the guess.

import { fixed } from "./dom.js";
import { look } from "./induction_model.js";
import { bold, disc, fill, isNarrow, line, path, rect, text } from "./scene.js";

export const ROW = { text: 64, before: 126, query: 208 }; // the tops of three rows of tiles
export const TALL = 32; // a tile, in pixels
const RANKS = 5; // guesses that are shown
const SEEN = 0.005; // weights from here on are drawn
const LATER = 0.35; // the opacity of places that the letter which asks does not see
export const percent = (share, digits = 0) => `${fixed(100 * share, digits)} %`;

// Where things stand, in pixels. On a phone the guess stands below.
function places(width, { most }) {
  const narrow = isNarrow(width);
  const step = Math.min((narrow ? width : width - 204) / (most + 1), 60);
  const x = narrow ? 0 : (most + 1) * step + 24;
  const guess = { x, y: narrow ? 270 : 64, wide: Math.min(width - x, narrow ? 400 : 240) };
  const middles = [...Array(most + 1).keys()].map((j) => (j + 0.5) * step);
  return { step, middles, tile: Math.min(step - 4, 44), guess, height: narrow ? 428 : 252 };
}

// state: { text, at, silent }. at: where a reader points at a place.
export function picture(state, width, given) {
  const at = places(width, given);
  const seen = look(state, given);
  const marks = [
    ...steps(state, seen, given),
    ...names(state, at, given),
    ...[...seen.tokens].flatMap((_, j) => fade(j > state.at, column(j, state, seen, at, given))),
    ...finds(state, seen, at),
    ...guesses(state, seen, at, given),
  ];
  return { marks, width, height: at.height, at };
}

// What each of the two heads does now.
function steps({ at, silent }, { tokens, found }, { words }) {
  const two = silent.includes("induction") ? "two_silent" : found.length ? "two" : "two_rests";
  const one = silent.includes("previous") ? "one_silent" : "one";
  return [one, two].map((name, i) => {
    const colour = name.endsWith("silent") ? "soft" : "ink";
    const said = fill(words[name], { letter: tokens[at] });
    return text(`step${i}`, [0, 14 + 20 * i], said, colour, 13, "start");
  });
}

// What induction takes the three rows as; the last stands beside its only tile.
function names({ at: here }, { middles, tile }, { words }) {
  const x = middles[here];
  const left = here > 2;
  const beside = [left ? x - tile / 2 - 6 : x + tile / 2 + 6, ROW.query + TALL / 2 + 4];
  return [
    text("values", [0, ROW.text - 6], words.values, "v", 12, "start"),
    text("keys", [0, ROW.before - 6], words.keys, "k", 12, "start"),
    text("asks", beside, words.query, "q", 12, left ? "end" : "start"),
  ];
}

// A letter in a frame. strong: the part of its full colour that it has.
function tile(key, x, top, letter, [name, frame, thick], strong, wide) {
  const look = { rx: 4, stroke: `var(--ae-${frame})`, "stroke-width": thick };
  return [
    rect(`${key}-tile`, [x - wide / 2, top, wide, TALL], `${name}-fill`, 0.06 + 0.34 * strong, look),
    text(key, [x, top + TALL / 2 + 5.5], letter, "ink", 16),
  ];
}

function fade(later, marks) {
  for (const [, , look] of later ? marks : []) look.opacity = LATER * (look.opacity ?? 1);
  return marks;
}

// A place: its letter, which `induction` takes as a value, and below it what `previous` wrote, which
// it compares with. Between them the arrow along which that came.
function column(j, { at: here, silent }, { tokens, before, weights, p }, at, { words }) {
  const x = at.middles[j];
  const used = silent.includes("induction") ? 0 : (p[j] ?? 0);
  const taken = j ? used : 0; // the start sign's value is 0
  const framed = (name, part) => (part > SEEN ? [name, name, 2] : [name, "line", 1]);
  const top = j === here ? ["v", "q", 2.5] : framed("v", taken);
  const marks = [
    ...tile(`text${j}`, x, ROW.text, tokens[j], top, taken, at.tile),
    ...tile(`before${j}`, x, ROW.before, before[j], framed("k", used), used, at.tile),
  ];
  if (j === 0) marks.push(text("rest", [x, ROW.before + 20.5], words.rest, "ink", 12));
  if (j < 2) return marks;
  const opacity = silent.includes("previous") ? 0 : weights.previous[j][j - 1];
  const look = { "stroke-width": 1.5, opacity };
  const way = [[at.middles[j - 1] + 3, ROW.text + TALL + 4], [x - 3, ROW.before - 4]];
  const [[a, b], [c, d]] = way;
  const long = Math.hypot(c - a, d - b);
  const [u, v] = [(c - a) / long, (d - b) / long];
  const tip = [[c - 7 * u - 4 * v, d - 7 * v + 4 * u], [c, d], [c - 7 * u + 4 * v, d - 7 * v - 4 * u]];
  return [...marks, line(`copy${j}`, way, "k", look), line(`copy-tip${j}`, tip, "k", look)];
}

// From the letter that asks to the places that `induction` finds: as thick as the weight.
function finds({ at: here, silent }, { tokens, p }, at) {
  const off = silent.includes("induction");
  const [x, foot] = [at.middles[here], ROW.before + TALL + 3];
  const marks = p.flatMap((weight, j) => {
    const to = at.middles[j];
    const opacity = weight > SEEN && !off ? 1 : 0;
    const way = `M${x} ${ROW.query} C${x} ${foot + 18} ${to} ${ROW.query - 14} ${to} ${foot}`;
    // The number stands where its line does not.
    const [side, dx, dy] = j ? ["end", -5, 14] : ["start", 12, 7];
    const number = text(`weight${j}`, [to + dx, foot + dy], percent(weight), "p", 12, side);
    number[2].opacity = opacity;
    return [
      path(`find${j}`, way, "p", { "stroke-width": 1.5 + 3 * weight, opacity }),
      disc(`find-end${j}`, [to, foot], 3.5, "p", { opacity }),
      number,
    ];
  });
  const look = ["q", off ? "line" : "q", 2];
  return [...marks, ...tile("query", x, ROW.query, tokens[here], look, off ? 0 : 0.3, at.tile)];
}

// The likeliest letters, and which came.
function guesses({ at: here }, { tokens, chances }, at, { letters, words }) {
  const { x, y, wide } = at.guess;
  const [title, long] = [fill(words.guess, { letter: tokens[here] }), wide - 76];
  const marks = [bold(text("guess", [x, y + 6], title, "ink", 13, "start"))];
  const ranked = [...letters].map((letter, i) => [letter, chances[i]]);
  ranked.sort((a, b) => (Math.abs(b[1] - a[1]) < 1e-9 ? 0 : b[1] - a[1]));
  ranked.slice(0, RANKS).forEach(([letter, chance], rank) => {
    const top = y + 18 + 24 * rank;
    marks.push(
      text(`guess-${letter}`, [x + 6, top + 14], letter, "ink", 15),
      rect(`guess-room-${letter}`, [x + 18, top + 2, long, 15], "surface", 1, { rx: 2 }),
      rect(`guess-bar-${letter}`, [x + 18, top + 2, long * chance, 15], "score", 1, { rx: 2 }),
      text(`guess-share-${letter}`, [x + wide, top + 14], percent(chance, 1), "ink", 13, "end"),
    );
  });
  const came = tokens[here + 1];
  const loss = came && fixed(-Math.log(chances[letters.indexOf(came)]), 2);
  const said = came ? fill(words.came, { came, loss }) : words.open;
  return [...marks, text("came", [x, y + 18 + 24 * RANKS + 16], said, "soft", 13, "start")];
}
