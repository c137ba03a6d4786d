// The grid of the explorable "masking": a table of buttons to paint with pointer or keyboard.

import { h } from "./dom.js";

// The table and its buttons: heads for the keys, queries for the rows, cells[i][j], and sums.
export function buildGrid(tokens, { toggleRow, toggleColumn, paint, isVisible }) {
  const table = h("table", {
    class: "ae-grid",
    role: "grid",
    "aria-label": "Who may look at whom",
  });
  const heads = tokens.map((token, j) => gridButton(() => toggleColumn(j), token));
  const queries = tokens.map((token, i) => gridButton(() => toggleRow(i), token));
  const cells = tokens.map((query, i) =>
    tokens.map((key, j) =>
      gridButton(
        () => paint(i, j, !isVisible(i, j)),
        unseen(`query ${query}, key ${key}, weight `),
        h("b"),
        unseen(", score "),
        h("small"),
      ),
    ),
  );
  const sums = tokens.map(() => h("td", { class: "ae-sum" }));
  const corner = h("td", { class: "ae-corner" });
  corner.append(h("span", { class: "ae-q" }, "query ↓"), h("span", { class: "ae-k" }, "key →"));
  table.append(
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        corner,
        ...heads.map((head) => h("th", { scope: "col" }, head)),
        h("th", { scope: "col", class: "ae-sum" }, "sum"),
      ),
    ),
    h(
      "tbody",
      {},
      ...tokens.map((_, i) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, queries[i]),
          ...cells[i].map((cell) => h("td", {}, cell)),
          sums[i],
        ),
      ),
    ),
  );
  paintByPointer(table, cells, isVisible, paint);
  moveByArrows(table, [[null, ...heads], ...cells.map((row, i) => [queries[i], ...row])]);
  return { table, heads, queries, cells, sums };
}

// Words for a screen reader, between numbers that everybody sees.
const unseen = (text) => h("span", { class: "ae-spoken" }, text);

const gridButton = (onclick, ...children) =>
  h("button", { type: "button", tabindex: -1, onclick }, ...children);

// Drag with mouse, pen or finger: the first cell decides between showing and hiding. Nothing is
// painted before the pointer reaches a second cell, so a finger may still scroll the page, and a
// plain click or tap stays a click on the button.
function paintByPointer(table, cells, isVisible, paint) {
  let start = null;
  let painted = false;
  const find = (node) => {
    const button = node?.closest("td button");
    const i = cells.findIndex((row) => row.includes(button));
    return i < 0 ? null : [i, cells[i].indexOf(button)];
  };
  table.addEventListener("pointerdown", (event) => {
    const at = find(event.target);
    start = at && event.button === 0 ? { at, visible: !isVisible(...at) } : null;
    painted = false;
  });
  table.addEventListener("pointermove", (event) => {
    const at = start && find(document.elementFromPoint(event.clientX, event.clientY));
    if (!at || (!painted && String(at) === String(start.at))) return;
    if (!painted) paint(...start.at, start.visible);
    painted = true;
    paint(...at, start.visible);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    window.addEventListener(end, () => (start = null));
  }
  // The click that ends a drag on its first cell must not toggle that cell once more.
  const swallow = (event) => {
    if (painted && event.detail) event.stopPropagation();
    painted = false;
  };
  table.addEventListener("click", swallow, true);
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
