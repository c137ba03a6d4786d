// The explorable "erase": eight tokens to press, which no head then sees, and how far the vector of
// their sentence turns. All 256 cases are recorded. Two states: "gone", where what is erased leaves
// its rows short, and "share", where the other tokens may share it.

import { choices, fixed, h, mount } from "./dom.js";
import { button, figure, place, row } from "./figure.js";
import { bold, disc, isNarrow, line, path, rect, text } from "./scene.js";

const NEAR = 10; // degrees
const FULL = { gone: 0.6, share: 1 }; // the share whose bar is as high as there is room
const GLIDE = 250; // ms
const KINDS = { leave: "left short", stretch: "sum to 1 again" };

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;
const has = (erased, j) => ((erased >> j) & 1) === 1;

// All that follows from the state { erased, kind, best }: erased has bit j set where token j is
// gone, and best is the largest share that went while the vector turned by less than 10°.
export function compute({ erased, kind }, { weights, turned, stretched, shares }) {
  const out = weights.map((_, j) => has(erased, j));
  const gone = weights.reduce((sum, weight, j) => sum + (out[j] ? weight : 0), 0);
  const stretch = kind === "stretch";
  const left = stretch ? shares[erased] : weights.map((weight, j) => (out[j] ? 0 : weight));
  return { out, gone, left, angle: (stretch ? stretched : turned)[erased] };
}

// The state after token j was pressed.
export function toggled({ erased, kind, best }, j, given) {
  return kept({ erased: erased ^ (1 << j), kind, best }, given);
}

function kept(state, given) {
  const { gone, angle } = compute(state, given);
  return { ...state, best: angle < NEAR ? Math.max(state.best, gone) : state.best };
}

// The picture; places are where a reader presses: [x, y, width, height], a token each.
export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const radius = narrow ? 118 : Math.min(0.27 * width, 176);
  const dial = narrow
    ? { middle: [width / 2 - radius, 138], radius, right: width }
    : { middle: [width - radius - 86, 226], radius, right: width };
  const bars = narrow
    ? { left: 0, top: 166, low: 268, wide: width }
    : { left: 0, top: 26, low: 226, wide: width - radius - 116 };
  const now = compute(state, given);
  const each = bars.wide / now.out.length;
  const places = now.out.map((_, j) => [bars.left + j * each, bars.top - 18, each, bars.low - bars.top + 56]);
  const marks = [...dialMarks(dial, narrow, now, given), ...barMarks(bars, each, now, given)];
  return { marks, places, width, height: narrow ? 308 : 264 };
}

// A quarter of a circle: the sentence as it was points right, and the arrow is as it is now.
function dialMarks({ middle, radius, right }, narrow, { angle, gone }, { dog }) {
  const [x, y] = middle;
  const at = (turn, far) => {
    const a = (turn * Math.PI) / 180;
    return [x + far * Math.cos(a), y - far * Math.sin(a)];
  };
  const round = (end, far) => Array.from({ length: 31 }, (_, i) => at((end * i) / 30, far));
  const [tip, left, other] = [at(angle, radius), at(angle + 3.4, radius - 15), at(angle - 3.4, radius - 15)];
  const size = narrow ? 12.5 : 13;
  const notch = (key, turn) => line(key, [at(turn, radius - 9), at(turn, radius + 9)], "ink", { "stroke-width": 2 });
  return [
    path("near", `M${middle.join(" ")} L${round(NEAR, radius).map((point) => point.join(" ")).join(" L")}z`, "none", {
      fill: "var(--ae-surface)",
    }),
    line("arc", round(90, radius), "line", { "stroke-width": 1.5 }),
    line("was", [middle, at(0, radius)], "soft", { "stroke-dasharray": "4 4" }),
    text("was-name", [at(0, radius)[0], y + 17], "as it was", "soft", size, "end"),
    notch("notch", NEAR),
    text("notch-name", [at(NEAR, radius + 13)[0], at(NEAR, radius + 13)[1] + 4], `${NEAR}°`, "ink", size, "start"),
    notch("dog", dog),
    text("dog-name", [at(dog, radius + 13)[0], at(dog, radius + 13)[1] + 1], "dog for cat", "ink", size, "start"),
    line("arrow", [middle, tip], "o-fill", { "stroke-width": 4 }),
    path("head", `M${[tip, left, other].map((point) => point.join(" ")).join(" L")}z`, "o-fill", {
      fill: "var(--ae-o-fill)",
    }),
    disc("middle", middle, 4, "ink"),
    bold(text("angle", [right, narrow ? 18 : 40], `${fixed(angle, 1)}°`, "o", 20, "end")),
    text("gone", [right, narrow ? 35 : 60], `${percent(gone)} erased`, "p", size, "end"),
  ];
}

// A bar for each token, and a dashed outline where it was if the token is erased.
function barMarks({ left, top, low, wide }, each, { out, left: shares }, { tokens, weights, state }) {
  const tall = (share) => ((low - top) * share) / FULL[state];
  const tight = each < 46;
  const size = tight ? 12 : 13;
  return [
    line("ground", [[left, low], [left + wide, low]], "line"),
    ...tokens.flatMap((token, j) => {
      const middle = left + (j + 0.5) * each;
      const half = Math.min(each / 2 - 3, 20);
      const high = tall(out[j] ? weights[j] : shares[j]);
      const under = low + (tight && j % 2 ? 33 : 17);
      const outline = { stroke: "var(--ae-p-fill)", "stroke-dasharray": "3 3", rx: 2 };
      const name = text(`name${j}`, [middle, under], token, out[j] ? "soft" : "k", tight ? (each < 38 ? 11 : 12) : 14);
      const reach = Math.min(3.4 * token.length + 3, each / 2 - 1);
      return [
        rect(`bar${j}`, [middle - half, low - high, 2 * half, high], out[j] ? "none" : "p-fill", 1, out[j] ? outline : { rx: 2 }),
        text(`share${j}`, [middle, low - high - 5], out[j] ? "0" : `${Math.round(100 * shares[j])}`, out[j] ? "soft" : "p", size),
        out[j] ? name : bold(name),
        ...(out[j]
          ? [line(`struck${j}`, [[middle - reach, under - 4], [middle + reach, under - 4]], "ink", { "stroke-width": 2 })]
          : []),
      ];
    }),
    text("unit", [left + wide, top - 6], "% of all weight", "soft", size, "end"),
  ];
}

export function sentence(state, given) {
  const { out, gone, angle } = compute(state, given);
  const names = given.names.filter((_, j) => out[j]);
  const turns = `the vector turns by ${fixed(angle, 1)}°.`;
  const list = names.length > 4 ? `${names.length} of ${out.length} tokens` : names.join(", ");
  const best = given.state === "gone" ? ` The most within ${NEAR}° so far: ${percent(state.best)}.` : "";
  if (!names.length) return `Nothing is erased.${best}`;
  if (names.length === out.length) return `All tokens are erased: no head hands anything over, and ${turns}${best}`;
  if (state.kind === "leave") return `Erased: ${list}. ${percent(gone)} of the weight is gone; ${turns}${best}`;
  return `Erased: ${list}. The others share the ${percent(gone)}; ${turns}`;
}

const fresh = (given) => kept({ erased: given.erased, kind: given.kind, best: 0 }, given);
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const press = (j) => set(toggled(state, j, given), GLIDE);
  const things = given.names.map((name, j) =>
    h("rect", {
      ...{ class: "ae-thing", tabindex: 0, role: "button", "aria-label": `erase ${name}`, rx: 4 },
      onclick: () => press(j),
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        press(j);
      },
    }),
  );
  const follow = ({ erased }, { places }) =>
    things.forEach((thing, j) => {
      place(thing, places[j]);
      thing.setAttribute("aria-pressed", has(erased, j));
    });
  const kinds = choices("What becomes of the rows", KINDS, (kind) => set({ kind }, GLIDE));
  const { state, set, draw, front, nodes } = figure(host, given, {
    label: "Eight tokens, their shares of all weight, and how far the sentence's vector turns",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence },
    controls: [{ follow }, { follow: ({ kind }) => kinds.press(kind) }],
  });
  front.append(...things);
  const none = button("Erase nothing", () => set(kept({ ...state, erased: 0 }, given), GLIDE));
  return { nodes: [...nodes, row(given.state === "share" ? kinds.node : none)], draw };
}

if (globalThis.document) mount("erase", build);
