// The explorable "masking": paint who may look at whom; each row's weights renormalise.

import { softmax } from "./weights.js";
import { fixed, h, mount, speaker } from "./dom.js";

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
    visible: (i, j) => i < 3 === j < 3,
    about: "Documents: two texts of three tokens share one row; neither looks into the other.",
  },
};

function build(host, given) {
  const { tokens, scores } = given;
  const n = tokens.length;
  const fromRule = (rule) => scores.map((row, i) => row.map((_, j) => rule(i, j, n)));
  const state = { mask: fromRule(PRESETS.causal.visible), row: n - 1, focus: [0, 0] };
  const parts = { speak: null, cells: [], heads: [], queries: [], sums: [] };
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
  const paint = (i, j, visible) => {
    if (state.mask[i][j] === visible && state.row === i) return;
    state.row = i;
    state.mask[i][j] = visible;
    redraw();
  };

  const table = h("table", { class: "ae-grid", role: "grid", "aria-label": "Who may look at whom" });
  parts.heads = tokens.map((token, j) => gridButton(() => toggleColumn(j), token));
  parts.queries = tokens.map((token, i) => gridButton(() => toggleRow(i), token));
  parts.cells = scores.map((row, i) =>
    row.map((_, j) => gridButton(() => paint(i, j, !state.mask[i][j]), h("b"), h("small"))),
  );
  parts.sums = tokens.map(() => h("td", { class: "ae-sum" }));
  const corner = h("td", { class: "ae-corner" });
  corner.append(h("span", { class: "ae-q" }, "query ↓"), h("span", { class: "ae-k" }, "key →"));
  table.append(
    h("thead", {}, h("tr", {}, corner, ...parts.heads.map((head) => h("th", { scope: "col" }, head)),
      h("th", { scope: "col", class: "ae-sum" }, "sum"))),
    h("tbody", {}, ...tokens.map((_, i) =>
      h("tr", {}, h("th", { scope: "row" }, parts.queries[i]),
        ...parts.cells[i].map((cell) => h("td", {}, cell)), parts.sums[i]))),
  );
  // The sentence below the grid follows the row that the reader points at.
  const follow = (event) => {
    const i = event.target.closest("tbody tr")?.sectionRowIndex;
    if (i === undefined || i === state.row) return;
    state.row = i;
    redraw();
  };
  table.addEventListener("pointerover", follow);
  table.addEventListener("focusin", follow);
  paintByPointer(table, parts.cells, state, paint);
  moveByArrows(table, [[null, ...parts.heads], ...parts.cells.map((row, i) => [parts.queries[i], ...row])]);

  parts.about = h("p", { class: "ae-sentence" });
  parts.row = h("p", { class: "ae-entropy" });
  parts.spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(parts.spoken);
  redraw();
  return [
    h("div", { class: "ae-controls", role: "group", "aria-label": "Masks to start from" }, ...parts.presets),
    table,
    h("p", { class: "ae-caption" }, "Large: the weight. Small: the score, which never changes. ",
      "Tap or drag over cells; tap a token for its whole row or column. ",
      "With the keyboard: arrow keys and Space."),
    parts.about,
    parts.row,
    parts.spoken,
  ];
}

const gridButton = (onclick, ...children) =>
  h("button", { type: "button", tabindex: -1, onclick }, ...children);

// Drag with mouse, pen or finger: the first cell decides between showing and hiding.
function paintByPointer(table, cells, state, paint) {
  const find = (node) => {
    const button = node?.closest?.("td button");
    for (const [i, row] of cells.entries()) {
      const j = row.indexOf(button);
      if (j >= 0) return [i, j];
    }
    return null;
  };
  let visible = null;
  let painted = false;
  table.addEventListener("pointerdown", (event) => {
    const at = find(event.target);
    if (!at || event.button !== 0) return;
    visible = !state.mask[at[0]][at[1]];
    painted = true;
    event.target.releasePointerCapture?.(event.pointerId);
    paint(...at, visible);
  });
  table.addEventListener("pointermove", (event) => {
    if (visible === null) return;
    const at = find(document.elementFromPoint(event.clientX, event.clientY));
    if (at) paint(...at, visible);
  });
  const stop = () => (visible = null);
  window.addEventListener("pointerup", stop);
  table.addEventListener("pointercancel", stop);
  // The click that follows a painting pointer must not toggle the cell back.
  table.addEventListener("click", (event) => {
    if (painted && event.detail && find(event.target)) event.stopPropagation();
    painted = false;
  }, true);
}

// One stop for Tab; the arrow keys, Home and End move inside the grid.
function moveByArrows(table, rows) {
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const all = rows.flat().filter(Boolean);
  const stopAt = (button) => {
    all.forEach((other) => (other.tabIndex = other === button ? 0 : -1));
  };
  stopAt(rows[1][1]);
  table.addEventListener("focusin", (event) => stopAt(event.target));
  table.addEventListener("keydown", (event) => {
    const i = rows.findIndex((row) => row.includes(event.target));
    if (i < 0) return;
    const j = rows[i].indexOf(event.target);
    let next = null;
    if (event.key in STEPS) next = rows[i + STEPS[event.key][0]]?.[j + STEPS[event.key][1]];
    else if (event.key === "Home") next = rows[i].find(Boolean);
    else if (event.key === "End") next = rows[i].at(-1);
    else return;
    event.preventDefault();
    next?.focus();
  });
}

const maskedSoftmax = (scores, mask) => softmax(scores.map((s, j) => (mask[j] ? s : -Infinity)));

function draw(host, { tokens, scores }, state, parts) {
  const n = tokens.length;
  const weights = scores.map((row, i) => maskedSoftmax(row, state.mask[i]));
  weights.forEach((row, i) => {
    row.forEach((weight, j) => drawCell(parts.cells[i][j], tokens[i], tokens[j], scores[i][j], weight, state.mask[i][j]));
    const seen = state.mask[i].some(Boolean);
    parts.sums[i].textContent = seen ? "1" : "0";
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

function drawCell(button, query, key, score, weight, visible) {
  button.setAttribute("aria-pressed", visible);
  button.setAttribute(
    "aria-label",
    `query ${query}, key ${key}: ${visible ? `weight ${weight.toFixed(2)}` : "hidden"}, score ${score.toFixed(1)}`,
  );
  button.style.setProperty("--weight", weight);
  button.firstChild.textContent = visible ? weight.toFixed(2) : "0";
  button.lastChild.textContent = fixed(score, 1);
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
