// The explorable "masking": paint who may look at whom; each row's weights renormalise.

import { softmax } from "./numbers.js";
import { fixed, h, mount, speaker } from "./dom.js";
import { buildGrid } from "./grid.js";

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

function build(host, given) {
  const { tokens, scores } = given;
  const n = tokens.length;
  const fromRule = (rule) => scores.map((row, i) => row.map((_, j) => rule(i, j, n)));
  const state = { mask: fromRule(PRESETS.causal.visible), row: n - 1 };
  const parts = {};
  const redraw = () => draw(host, given, state, parts);

  parts.presets = Object.entries(PRESETS).map(([name, preset]) =>
    h(
      "button",
      {
        type: "button",
        onclick: () => {
          state.mask = fromRule(preset.visible);
          redraw();
        },
      },
      name,
    ),
  );
  const toggleRow = (i) => {
    state.row = i;
    state.mask[i].fill(!state.mask[i].some(Boolean));
    redraw();
  };
  const toggleColumn = (j) => {
    const visible = !state.mask.some((row) => row[j]);
    state.mask.forEach((row) => (row[j] = visible));
    redraw();
  };
  const isVisible = (i, j) => state.mask[i][j];
  const paint = (i, j, visible) => {
    if (isVisible(i, j) === visible && state.row === i) return;
    state.row = i;
    state.mask[i][j] = visible;
    redraw();
  };

  const grid = buildGrid(tokens, { toggleRow, toggleColumn, paint, isVisible });
  Object.assign(parts, grid);
  // The sentence below the grid follows the row that the reader points at.
  const follow = (event) => {
    const i = event.target.closest("tbody tr")?.sectionRowIndex;
    if (i === undefined || i === state.row) return;
    state.row = i;
    redraw();
  };
  grid.table.addEventListener("pointerover", follow);
  grid.table.addEventListener("focusin", follow);
  parts.about = h("p", { class: "ae-sentence" });
  parts.row = h("p", { class: "ae-entropy" });
  parts.spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(parts.spoken);
  redraw();
  return [
    h(
      "div",
      { class: "ae-controls", role: "group", "aria-label": "Masks to start from" },
      ...parts.presets,
    ),
    grid.table,
    h(
      "p",
      { class: "ae-caption" },
      "Large: the weight. Small: the score, which never changes. ",
      "Tap or drag over cells; tap a token for its whole row or column. ",
      "With the keyboard: arrow keys and Space.",
    ),
    parts.about,
    parts.row,
    parts.spoken,
  ];
}

const maskedSoftmax = (scores, mask) => softmax(scores.map((s, j) => (mask[j] ? s : -Infinity)));

function draw(host, { tokens, scores }, state, parts) {
  const n = tokens.length;
  const weights = scores.map((row, i) => maskedSoftmax(row, state.mask[i]));
  weights.forEach((row, i) => {
    row.forEach((weight, j) => drawCell(parts.cells[i][j], scores[i][j], weight, state.mask[i][j]));
    const seen = state.mask[i].some(Boolean);
    parts.sums[i].textContent = Number(row.reduce((a, b) => a + b, 0).toFixed(9));
    parts.sums[i].classList.toggle("ae-blind", !seen);
    parts.queries[i].classList.toggle("ae-current", i === state.row);
    label(parts.queries[i], `query ${tokens[i]}: ${seen ? "hide" : "show"} all its keys`);
  });
  parts.heads.forEach((head, j) => {
    const seen = state.mask.some((row) => row[j]);
    label(head, `key ${tokens[j]}: ${seen ? "hide it from" : "show it to"} all queries`);
  });
  const same = (rule) => state.mask.every((row, i) => row.every((v, j) => v === rule(i, j, n)));
  const names = Object.keys(PRESETS);
  const current = names.find((name) => same(PRESETS[name].visible));
  parts.presets.forEach((button, i) => button.setAttribute("aria-pressed", names[i] === current));
  const seen = state.mask.flat().filter(Boolean).length;
  parts.about.textContent = current
    ? PRESETS[current].about
    : `Your own mask: ${seen} of ${n * n} pairs may look.`;
  parts.row.textContent = rowText(tokens, state, weights);
  parts.speak(`${parts.about.textContent} ${parts.row.textContent}`);
  host.dataset.state = JSON.stringify({ mask: state.mask, weights, preset: current ?? null });
}

function label(button, text) {
  button.setAttribute("aria-label", text);
  button.title = text;
}

function drawCell(button, score, weight, visible) {
  button.setAttribute("aria-pressed", visible);
  button.style.setProperty("--weight", weight);
  button.querySelector("b").textContent = visible ? weight.toFixed(2) : "0";
  button.querySelector("small").textContent = fixed(score, 1);
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

mount("masking", build);
