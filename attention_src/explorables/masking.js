// The explorable "masking": a model calls each toss of a coin, and the reader hides cells from it.
// Row i is what it looks at after toss i; column 0 is the start, column j + 1 is toss j.

import { choices, fixed, mount } from "./dom.js";
import { button, figure, place, row } from "./figure.js";
import { buildGrid } from "./grid.js";
import { softmax, sum } from "./numbers.js";
import { bold, disc, isNarrow, path, rect, text } from "./scene.js";

const [OF_START, OF_HEADS] = [15, 30]; // scores; all others are 0
const HEADS_FROM = -0.5; // an output above this is a call of heads
const GLIDE = 250; // ms
const TOP = 48; // where the rows begin
const START = 0; // the column that is always seen
const WAYS = { before: "−∞ before the softmax", after: "0 after it" };

const read = (coins) => [...coins].map((coin) => (coin === "H" ? 1 : 0));
const every = (n, rule) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n + 1 }, (_, j) => rule(i, j)));
const nothing = (n) => every(n, () => true);
const future = (n) => every(n, (i, j) => j <= i + 1);

// All that follows from the state { round, mask, way }. The last toss has no next one.
export function compute({ round, mask, way }, { rounds }) {
  const tosses = read(rounds[round]);
  const values = [-1, ...tosses.map((toss) => 2 * toss - 1)];
  const weights = tosses.map((_, i) => {
    const next = (toss, j) => (j === i + 1 ? OF_HEADS * toss : 0);
    const scores = [OF_START, ...tosses.map(next)];
    if (way === "after") return softmax(scores).map((weight, j) => (mask[i][j] ? weight : 0));
    return softmax(scores.map((score, j) => (mask[i][j] ? score : -Infinity)));
  });
  const outputs = weights.map((list) => sum(list.map((weight, j) => weight * values[j])));
  const calls = outputs.map((output) => (output > HEADS_FROM ? 1 : 0));
  const right = tosses.slice(1).map((toss, i) => calls[i] === toss);
  return { tosses, weights, outputs, calls, right, sums: weights.map(sum) };
}

const share = (right) => right.filter(Boolean).length;

// The picture; places are where a reader presses: [x, y, width, height] for heads and cells.
export function picture(state, width, given) {
  const now = compute(state, given);
  const narrow = isNarrow(width);
  const n = now.tosses.length;
  const [left, tall, ofCall] = narrow ? [30, 29, 44] : [92, 28, 78];
  const ofSum = given.state === "after" ? (narrow ? 36 : 56) : 0;
  const wide = Math.min((width - left - ofCall - ofSum) / (n + 1), narrow ? 34 : 48);
  const heads = Array.from({ length: n + 1 }, (_, j) => [left + j * wide + 1, 0, wide - 2, TOP - 3]);
  const cells = every(n, (i, j) => [left + j * wide + 1, TOP + i * tall + 1, wide - 2, tall - 2]);
  const end = left + wide * (n + 1);
  const marks = [
    ...headMarks(heads, narrow, now),
    ...cellMarks(cells, state, now),
    ...rowMarks(cells, [end, ofSum, ofCall], narrow, now),
  ];
  return { marks, places: { heads, cells }, width, height: TOP + n * tall + 2 };
}

function headMarks(heads, narrow, { tosses }) {
  const size = narrow ? 11.5 : 13;
  return heads.flatMap(([x, , wide], j) => {
    const middle = x + wide / 2;
    if (j === 0) return [text("start", [middle, narrow ? 11 : 35], "start", "k", size)];
    const heads = tosses[j - 1] === 1;
    const edge = { stroke: `var(--ae-${heads ? "k-fill" : "line"})`, "stroke-width": 2 };
    return [
      text(`number${j - 1}`, [middle, 11], `${j - 1}`, "k", size),
      disc(`coin${j - 1}`, [middle, 31], Math.min(wide / 2 - 1, 12), "bg", edge),
      bold(text(`face${j - 1}`, [middle, 35.5], heads ? "H" : "T", "v", size)),
    ];
  });
}

function cellMarks(cells, { mask }, { weights }) {
  const edge = { rx: 3, stroke: "var(--ae-line)" };
  return cells.flatMap((list, i) =>
    list.flatMap(([x, y, wide, tall], j) => {
      const seen = mask[i][j];
      const cell = rect(`cell${i}-${j}`, [x, y, wide, tall], seen ? "p-fill" : "surface", seen ? weights[i][j] : 1, edge);
      if (seen) return [cell];
      const [right, low, middle, half] = [x + wide - 2, y + tall - 2, x + wide / 2, y + tall / 2];
      const strokes = [
        [[x + 2, half], [middle, y + 2]],
        [[x + 2, low], [right, y + 2]],
        [[middle, low], [right, half]],
      ];
      const d = strokes.map(([from, to]) => `M${from.join(" ")} L${to.join(" ")}`).join(" ");
      return [cell, path(`hidden${i}-${j}`, d, "soft", { "stroke-opacity": 0.6 })];
    }),
  );
}

// What stands beside each row: after which toss it is, the sum of its weights, and the call.
function rowMarks(cells, [end, ofSum, ofCall], narrow, { calls, right, sums }) {
  const size = narrow ? 12 : 13;
  const [atSum, atCall] = [end + ofSum, end + ofSum + (narrow ? 10 : 16)];
  const tally = end + ofSum + ofCall;
  return [
    ...(narrow ? [text("after", [0, 35], "after", "q", 11.5, "start")] : []),
    ...(ofSum ? [text("sums", [atSum, 35], "sum", "soft", size, "end")] : []),
    text("calls", [tally, 11], "called", "soft", size, "end"),
    bold(text("score", [tally, 35], `${share(right)} of ${right.length}`, "ink", narrow ? 12.5 : 16, "end")),
    ...cells.flatMap(([[, y, , tall]], i) => {
      const middle = y + tall / 2;
      const call = narrow ? "TH"[calls[i]] : ["tails", "heads"][calls[i]];
      const said = i < right.length ? call : "?";
      const tick = [[tally - 14, middle], [tally - 9, middle + 5], [tally - 1, middle - 6]];
      const cross = [[tally - 12, middle - 5], [tally - 2, middle + 5], [tally - 7, middle], [tally - 2, middle - 5], [tally - 12, middle + 5]];
      const drawn = right[i] ? tick : cross;
      return [
        text(`query${i}`, [0, middle + 4.5], narrow ? `${i}` : `after toss ${i}`, "q", size, "start"),
        ...(ofSum ? [text(`sum${i}`, [atSum, middle + 4.5], fixed(sums[i], 2), "p", size, "end")] : []),
        text(`call${i}`, [atCall, middle + 4.5], said, i < right.length ? "o" : "soft", size, "start"),
        ...(i < right.length
          ? [path(`${right[i] ? "tick" : "cross"}${i}`, "M" + drawn.map((at) => at.join(" ")).join(" L"), "ink", { "stroke-width": 2 })]
          : []),
      ];
    }),
  ];
}

export function sentence(state, given) {
  const { right, weights, sums } = compute(state, given);
  const called = `${share(right)} of ${right.length} called right`;
  const all = state.of > right.length ? `; under this mask, ${state.hits} of ${state.of} so far` : "";
  if (given.state !== "after") return `${called}${all}.`;
  const hidden = weights.flatMap((list, i) => list.filter((_, j) => !state.mask[i][j]));
  const most = hidden.length ? `The largest hidden weight is ${Math.max(...hidden)}. ` : "";
  const [least, ...others] = sums.map((value) => fixed(value, 2)).sort();
  const last = others.at(-1);
  const rows = least === last ? `Each row's sum is ${last}.` : `Sums of the rows: ${least} to ${last}.`;
  return `${called}${all}. ${most}${rows}`;
}

// A round that begins, or a mask that is new: its calls are counted from here.
function counted(state, given) {
  const { right } = compute(state, given);
  return { ...state, hits: share(right), of: right.length };
}

const fresh = (given) => {
  const after = given.state === "after";
  const n = given.rounds[0].length;
  const mask = after ? future(n) : nothing(n);
  return counted({ round: 0, mask, way: after ? "after" : "before" }, given);
};
export const first = (given, width) => picture(fresh(given), width, given);

// The state after the next toss: what was called before counts on.
export function tossed({ round, mask, way, hits, of }, given) {
  const next = counted({ round: (round + 1) % given.rounds.length, mask, way }, given);
  return { ...next, hits: hits + next.hits, of: of + next.of };
}

function build(host, given) {
  const n = given.rounds[0].length;
  const change = (part, ms) => set(counted({ ...state, ...part }, given), ms);
  // The mask with every pair for which changes(i, j) holds as it is wanted.
  const changed = (changes, wanted) =>
    state.mask.map((list, i) => list.map((old, j) => (changes(i, j) ? wanted : old)));
  const isVisible = (i, j) => state.mask[i][j];
  const grid = buildGrid(n, n + 1, {
    isVisible,
    toggleColumn(column) {
      if (column === START) return;
      change({ mask: changed((_, j) => j === column, !state.mask.some((list) => list[column])) });
    },
    paint(row, column, visible) {
      if (column === START || isVisible(row, column) === visible) return;
      change({ mask: changed((i, j) => i === row && j === column, visible) });
    },
  });

  for (const list of [grid.heads, ...grid.cells]) list[START].setAttribute("aria-disabled", true);

  function follow({ round, mask, way }, { places }) {
    const { weights } = compute({ round, mask, way }, given);
    const keys = ["the start", ...Array.from({ length: n }, (_, j) => `toss ${j}`)];
    grid.heads.forEach((head, j) => {
      const seen = mask.some((list) => list[j]);
      const offer = j === START ? "always seen" : `${seen ? "hide it" : "show it"} everywhere`;
      name(head, places.heads[j], `${keys[j]}: ${offer}`);
    });
    grid.cells.forEach((list, i) =>
      list.forEach((cell, j) => {
        const weight = fixed(weights[i][j], 2);
        name(cell, places.cells[i][j], `after toss ${i}, ${keys[j]}, weight ${weight}`);
        cell.setAttribute("aria-pressed", mask[i][j]);
      }),
    );
  }

  const after = given.state === "after";
  const ways = choices("How it is hidden", WAYS, (way) => change({ way }, GLIDE));
  const { state, set, draw, front, nodes } = figure(host, given, {
    label: "What the model looks at after each toss",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence },
    controls: [{ follow }, { follow: ({ way }) => ways.press(way) }],
  });
  front.append(grid.group);
  const again = button("Toss again", () => set(tossed(state, given), GLIDE));
  const clear = after
    ? button("Hide the future", () => change({ mask: future(n) }, GLIDE))
    : button("Hide nothing", () => change({ mask: nothing(n) }, GLIDE));
  return { nodes: [row(...(after ? [ways.node] : []), again, clear), ...nodes], draw };
}

function name(node, box, words) {
  place(node, box);
  node.setAttribute("aria-label", words);
}

if (globalThis.document) mount("masking", build);
