// The explorable "sentence72": a real encoder's 72 heads on a sentence, then on the reader's own.
// The model is fetched when a reader asks for it; until then what was recorded is shown.

import { choices, h, mount } from "./dom.js";
import { MOST, ownSentence } from "./own_sentence.js";
import { COUNT, label } from "./places.js";
import { stage } from "./scene.js";
import { saidOfAll, saidOfHead, saidOfSilence } from "./sentence72_heads.js";
import { bytes, weightsOf } from "./sentence72_model.js";
import { picture, readout } from "./sentence72_picture.js";
import { frame, slider } from "./slider.js";

const GLIDE = 300; // ms
const KINDS = { weight: "weight", size: "size of what it adds" };
const VOICES = { speaks: "speaks", zero: "silent: 0", mean: "silent: its mean" };

// What was recorded, as a view; see places.js.
export const unpack = ({ text, tokens, weights, lengths }) => ({
  ...{ text, tokens, cosine: 1, lengths: new Float32Array(bytes(lengths)) },
  weights: weightsOf(weights),
});

// levels: steps of strength in the small maps; the enlarged ones have none.
const fresh = ({ head }) => ({
  ...{ kind: "weight", head, levels: 8, cell: null, silent: null, live: false },
});

// The first state as a still: a file, so what is faint is left out.
export function first(given, width) {
  const { marks, ...size } = picture(unpack(given), { ...fresh(given), levels: 4 }, width);
  return { marks: marks.filter(([, , look]) => !(look["fill-opacity"] < 0.03)), ...size };
}

// Half-precision numbers, of which JavaScript has no array everywhere.
function halves(coded) {
  return Array.from(new Uint16Array(bytes(coded)), (bits) => {
    const [sign, power, rest] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    return sign * (power ? 2 ** (power - 25) * (1024 + rest) : 2 ** -24 * rest);
  });
}

function build(host, given) {
  const state = fresh(given);
  let [whole, view] = [unpack(given), unpack(given)];
  let places;

  const parts = stage("72 attention maps, and one of them enlarged");
  const all = h("p", { class: "ae-caption ae-all" });
  const kinds = choices("What the maps show", KINDS, (kind) => draw(GLIDE, { kind }));
  const voices = choices("The enlarged head", VOICES, silence);

  const own = ownSentence(host, given.text, { change: (live) => draw(0, { live }), read });

  // Heads and cells: each a slider for the arrow keys, and for mouse and finger the place itself.
  const heads = h("rect", { ...slider("Head", COUNT), onclick: pickHead, onkeydown: walkHeads });
  const cells = h("rect", {
    ...{ ...slider("Cell", MOST * MOST), onclick: pickCell, onkeydown: walkCells },
    onpointermove: (event) => event.pointerType === "mouse" && pickCell(event),
    onpointerleave: (event) => event.pointerType === "mouse" && draw(0, { cell: null }),
  });
  parts.front.append(heads, cells);

  function pickHead(event) {
    const { x, y, wide, high } = places.wall;
    const [a, b] = pointed(event);
    const [column, row] = [Math.floor((a - x) / wide), Math.floor((b - y) / high)];
    choose(12 * Math.min(Math.max(row, 0), 5) + Math.min(Math.max(column, 0), 11));
  }
  function walkHeads(event) {
    const { head } = state;
    const [row, column] = [head - (head % 12), head % 12];
    const steps = {
      ...{ ArrowRight: row + ((column + 1) % 12), ArrowLeft: row + ((column + 11) % 12) },
      ...{ ArrowDown: (head + 12) % COUNT, ArrowUp: (head + 60) % COUNT },
    };
    const next = steps[event.key];
    if (next !== undefined) event.preventDefault(choose(next));
  }
  const choose = (head) => draw(GLIDE, { head, cell: null });

  function pickCell(event) {
    const { x, y, side, tall, gap, n } = places.maps;
    const [a, b] = pointed(event);
    const right = a - x > side + gap / 2;
    const at = [((b - y) / tall) * n, ((a - x - (right ? side + gap : 0)) / side) * n];
    if (at.every((value) => 0 <= value && value < n)) draw(0, { cell: at.map(Math.floor) });
  }
  function walkCells(event) {
    const n = view.tokens.length;
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, n - 1], ArrowDown: [1, 0], ArrowUp: [n - 1, 0] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const { cell } = state; // the first key shows where one is
    draw(0, { cell: cell ? cell.map((at, axis) => (at + step[axis]) % n) : [1, 0] });
  }
  const pointed = (event) => {
    const box = parts.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  let wanted = null; // the silence that was asked for; state has that of the view
  function silence(by) {
    wanted = by === "speaks" ? null : { head: state.head, by };
    own.again();
  }

  // The sentence with all heads, and, if one is silent, without it.
  async function read(ask) {
    const found = await ask([]);
    const silent = wanted;
    const less = silent ? await ask([[silent.head, instead(silent)]]) : found;
    const show = () => {
      [whole, view] = [found, less];
      draw(GLIDE, { cell: null, silent });
    };
    return { found: less, show };
  }
  const means = halves(given.means);
  const instead = ({ head, by }) =>
    by === "zero" ? Array(32).fill(0) : means.slice(32 * head, 32 * head + 32);

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    places = picture(view, state, parts.svg.clientWidth);
    parts.show(places, ms);
    const { wall, maps } = places;
    frame(heads, [wall.x, wall.y, 12 * wall.wide, 6 * wall.high], state.head, saidOfHead(view, state.head));
    const { cell, head, silent } = state;
    const n = view.tokens.length;
    const off = silent?.head === head;
    const at = cell ? cell[0] * n + cell[1] : 0;
    frame(cells, [maps.x, maps.y, 2 * maps.side + maps.gap, maps.tall], at, readout(view, head, cell, off));
    kinds.press(state.kind);
    voices.press(off ? silent.by : "speaks");
    voices.node.querySelectorAll("button").forEach((one) => (one.disabled = !state.live));
    all.textContent = saidOfAll(view);
    const then = silent ? ` ${saidOfSilence(whole, view, silent)}` : "";
    parts.said.textContent = saidOfHead(view, head) + then;
    parts.speak(cell ? readout(view, head, cell, off) : parts.said.textContent);
    const { tokens, cosine } = view;
    host.dataset.state = JSON.stringify({ ...state, tokens, cosine, name: label(head) });
  }

  const controls = h("div", { class: "ae-controls" }, kinds.node, voices.node);
  return { nodes: [own.form, controls, parts.svg, all, parts.said, parts.spoken], draw };
}

if (globalThis.document) mount("sentence72", build);
