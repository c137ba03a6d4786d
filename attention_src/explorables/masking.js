// The explorable "masking": paint who may look at whom; each row's weights renormalise.

import { fixed, mount } from "./dom.js";
import { button, figure, place, row } from "./figure.js";
import { buildGrid } from "./grid.js";
import { softmax, sum } from "./numbers.js";
import { bold, isNarrow, line, rect, text } from "./scene.js";

// visible(i, j, n): may query i look at key j? The twins are in attention_src/attention/masks.py.
const PRESETS = {
  everything: { visible: () => true, about: "Every query may look at every key." },
  causal: {
    visible: (i, j) => j <= i,
    about: "Causal: no query looks at a key that comes after it.",
  },
  "sliding window": {
    visible: (i, j) => j <= i && j > i - 3,
    about: "Sliding window: causal, and only the last three keys, one's own included.",
  },
  prefix: {
    visible: (i, j) => j <= i || j < 3,
    about: "Prefix: the first three keys are open to all, the rest is causal.",
  },
  padding: {
    visible: (i, j, n) => j < n - 2,
    about: "Padding: as if the last two keys were filler. It hides columns, not rows.",
  },
  documents: {
    visible: (i, j) => Math.floor(i / 3) === Math.floor(j / 3),
    about: "Documents: two texts of three tokens share one row; neither looks into the other.",
  },
};

const GLIDE = 200; // ms
const fromRule = (rule, n) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => rule(i, j, n)));

// All that follows from the state { mask, row }: the weights, and which preset the mask is.
export function compute({ mask }, { scores }) {
  const hide = (list, i) => list.map((score, j) => (mask[i][j] ? score : -Infinity));
  const same = (rule) => `${fromRule(rule, mask.length)}` === `${mask}`;
  const preset = Object.keys(PRESETS).find((name) => same(PRESETS[name].visible));
  return { weights: scores.map((list, i) => softmax(hide(list, i))), preset: preset ?? null };
}

// The picture; places are where a reader presses: [x, y, width, height] for heads, queries, cells.
export function picture(state, width, given) {
  const { tokens } = given;
  const narrow = isNarrow(width);
  const [left, right, tall, top] = narrow ? [36, 30, 44, 32] : [56, 44, 48, 32];
  const wide = Math.min((width - left - right) / tokens.length, 90);
  const box = (i, j) => [left + j * wide + 1, top + i * tall + 1, wide - 2, tall - 2];
  const places = {
    heads: tokens.map((_, j) => [left + j * wide + 1, 0, wide - 2, top - 2]),
    queries: tokens.map((_, i) => [0, top + i * tall + 1, left - 4, tall - 2]),
    cells: tokens.map((_, i) => tokens.map((_, j) => box(i, j))),
  };
  const end = left + wide * tokens.length + right / 2 + 2;
  const marks = gridMarks(places, end, narrow ? 13 : 14, state, given);
  return { marks, places, width, height: top + tall * tokens.length + 4 };
}

function gridMarks({ heads, queries, cells }, end, size, { mask, row: current }, { tokens, scores }) {
  const { weights } = compute({ mask }, { scores });
  const sums = weights.map((list) => `${Number(sum(list).toFixed(9))}`);
  return [
    text("keys", [0, 10], "key →", "k", 12, "start"),
    text("queries", [0, 25], "query ↓", "q", 12, "start"),
    text("sums", [end, 18], "sum", "soft", 12.5),
    ...tokens.map((token, j) => text(`key${j}`, [heads[j][0] + heads[j][2] / 2, 18], token, "k", size)),
    ...tokens.flatMap((token, i) => {
      const middle = queries[i][1] + queries[i][3] / 2;
      const name = text(`query${i}`, [0, middle + 5], token, "q", size, "start");
      const blind = !mask[i].some(Boolean);
      const total = text(`sum${i}`, [end, middle + 5], sums[i], blind ? "ink" : "soft", 13);
      return [i === current ? bold(name) : name, blind ? bold(total) : total];
    }),
    ...cells.flatMap((list, i) =>
      list.flatMap(([x, y, wide, tall], j) => {
        const seen = mask[i][j];
        const key = `${i}-${j}`;
        const spot = (down) => [x + wide / 2, y + down];
        const edge = { rx: 4, stroke: "var(--ae-line)" };
        const shade = seen ? 0.6 * weights[i][j] : 1;
        const weight = text(`weight${key}`, spot(19), seen ? weights[i][j].toFixed(2) : "0", seen ? "ink" : "soft", size);
        return [
          rect(`cell${key}`, [x, y, wide, tall], seen ? "p-fill" : "surface", shade, edge),
          line(`out${key}`, [[x + 4, y + tall - 4], [x + wide - 4, y + 4]], "line", { opacity: seen ? 0 : 1 }),
          bold(weight),
          text(`score${key}`, spot(36), fixed(scores[i][j], 1), seen ? "ink" : "soft", 12),
        ];
      }),
    ),
  ];
}

export function sentence(state, given) {
  const { tokens } = given;
  const { weights, preset } = compute(state, given);
  const seen = state.mask.flat().filter(Boolean).length;
  const about = preset
    ? PRESETS[preset].about
    : `Your own mask: ${seen} of ${tokens.length ** 2} pairs may look.`;
  return `${about} ${rowText(tokens, state, weights)}`;
}

// What happens in the row that was changed last, or in those that see nothing.
function rowText(tokens, state, weights) {
  const blind = tokens.filter((_, i) => !state.mask[i].some(Boolean));
  if (blind.length) {
    const who = blind.map((token) => `“${token}”`).join(", ");
    return `${who} may look at nothing: all weights are 0, so the output is 0, and nothing is NaN.`;
  }
  const i = state.row;
  const terms = tokens
    .map((token, j) => `${token} ${weights[i][j].toFixed(2)}`)
    .filter((_, j) => state.mask[i][j]);
  return `“${tokens[i]}” looks at ${terms.join(", ")}.`;
}

const fresh = ({ tokens: { length: n } }) => ({
  mask: fromRule(PRESETS.causal.visible, n),
  row: n - 1,
});
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const { tokens, scores } = given;
  const n = tokens.length;
  const presets = Object.entries(PRESETS).map(([name, { visible }]) =>
    button(name, () => set({ mask: fromRule(visible, n) }, GLIDE)),
  );
  // The mask with every pair for which changes(i, j) holds as it is wanted.
  const changed = (changes, wanted) =>
    state.mask.map((list, i) => list.map((old, j) => (changes(i, j) ? wanted : old)));
  const isVisible = (i, j) => state.mask[i][j];
  const grid = buildGrid(n, {
    isVisible,
    // The sentence below the grid follows the row that the reader points at.
    point: (row) => row !== state.row && set({ row }),
    toggleRow: (row) =>
      set({ row, mask: changed((i) => i === row, !state.mask[row].some(Boolean)) }),
    toggleColumn: (column) =>
      set({ mask: changed((_, j) => j === column, !state.mask.some((list) => list[column])) }),
    paint(row, column, visible) {
      if (isVisible(row, column) === visible && state.row === row) return;
      set({ row, mask: changed((i, j) => i === row && j === column, visible) });
    },
  });

  function follow({ mask }, { places }) {
    const { weights, preset } = compute({ mask }, given);
    presets.forEach((one) => one.setAttribute("aria-pressed", one.textContent === preset));
    grid.heads.forEach((head, j) => {
      const seen = mask.some((list) => list[j]);
      name(head, places.heads[j], `key ${tokens[j]}: ${seen ? "hide it from" : "show it to"} all queries`);
    });
    grid.queries.forEach((query, i) => {
      const seen = mask[i].some(Boolean);
      name(query, places.queries[i], `query ${tokens[i]}: ${seen ? "hide" : "show"} all its keys`);
    });
    grid.cells.forEach((list, i) =>
      list.forEach((cell, j) => {
        const weight = mask[i][j] ? weights[i][j].toFixed(2) : "0";
        const about = `query ${tokens[i]}, key ${tokens[j]}, weight ${weight}, score `;
        name(cell, places.cells[i][j], about + fixed(scores[i][j], 1));
        cell.setAttribute("aria-pressed", mask[i][j]);
      }),
    );
  }

  const { state, set, draw, front, nodes } = figure(host, given, {
    label: "Who may look at whom",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence, controls: [{ follow }] },
  });
  front.append(grid.group);
  const masks = row(...presets);
  masks.setAttribute("role", "group");
  masks.setAttribute("aria-label", "Masks to start from");
  return { nodes: [masks, ...nodes], draw };
}

function name(node, box, words) {
  place(node, box);
  node.setAttribute("aria-label", words);
}

if (globalThis.document) mount("masking", build);
