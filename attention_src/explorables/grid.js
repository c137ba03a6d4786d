// The grid of the explorable "masking": places in a picture, to paint with pointer or keyboard.

import { h } from "./dom.js";

// A place that is a button: a click, Enter or the space bar press it.
function pressable(press) {
  return h("rect", {
    ...{ class: "ae-thing", role: "button", tabindex: -1, rx: 4, onclick: press },
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press();
    },
  });
}

// heads for the columns, and cells[i][j], in a group.
export function buildGrid(rows, columns, { toggleColumn, paint, isVisible }) {
  const [down, across] = [rows, columns].map((n) => [...Array(n).keys()]);
  const heads = across.map((j) => pressable(() => toggleColumn(j)));
  const cells = down.map((i) => across.map((j) => pressable(() => paint(i, j, !isVisible(i, j)))));
  const group = h("g", { class: "ae-cells" }, ...heads, ...cells.flat());
  paintByPointer(group, cells, isVisible, paint);
  moveByArrows(group, [heads, ...cells]);
  return { group, heads, cells };
}

// Drag with mouse, pen or finger: the first cell decides between showing and hiding. Nothing is
// painted before the pointer reaches a second cell, so a finger may still scroll the page, and a
// plain click or tap stays a click on the cell.
function paintByPointer(group, cells, isVisible, paint) {
  let start = null;
  let painted = false;
  const find = (node) => {
    const i = cells.findIndex((row) => row.includes(node));
    return i < 0 ? null : [i, cells[i].indexOf(node)];
  };
  group.addEventListener("pointerdown", (event) => {
    const at = find(event.target);
    start = at && event.button === 0 ? { at, visible: !isVisible(...at) } : null;
    painted = false;
  });
  group.addEventListener("pointermove", (event) => {
    const at = start && find(document.elementFromPoint(event.clientX, event.clientY));
    if (!at || (!painted && String(at) === String(start.at))) return;
    // A finger that leaves the row first scrolls the page, which may begin only after some pixels.
    if (!painted && event.pointerType === "touch" && at[0] !== start.at[0]) return (start = null);
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
  group.addEventListener("click", swallow, true);
}

// One stop for Tab; the arrow keys, Home and End move inside the grid.
function moveByArrows(group, rows) {
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const all = rows.flat();
  const stopAt = (place) => {
    all.forEach((other) => other.setAttribute("tabindex", other === place ? 0 : -1));
  };
  stopAt(rows[1][0]);
  all.forEach((one) => one.addEventListener("focus", () => stopAt(one)));
  group.addEventListener("keydown", (event) => {
    const i = rows.findIndex((row) => row.includes(event.target));
    if (i < 0) return;
    const j = rows[i].indexOf(event.target);
    let next = null;
    if (event.key in STEPS) next = rows[i + STEPS[event.key][0]]?.[j + STEPS[event.key][1]];
    else if (event.key === "Home") next = rows[i][0];
    else if (event.key === "End") next = rows[i].at(-1);
    else return;
    event.preventDefault();
    next?.focus();
  });
}
