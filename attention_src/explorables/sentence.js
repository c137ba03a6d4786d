// The explorable "sentence": one head of a real encoder on a sentence, then on the reader's own. The
// large one is sentence72; what a view is, places.js says.

import { choices, h, mount } from "./dom.js";
import { MOST, ownSentence } from "./own_sentence.js";
import { label, largest, percent, quoted, range, shares, short, weight, words } from "./places.js";
import { bold, isNarrow, path, rect, stage, text } from "./scene.js";
import { weightsOf } from "./sentence72_model.js";
import { frame, slider } from "./slider.js";

const GLIDE = 250; // ms
const [TOP, TALL] = [22, 240]; // pixels: the headings, and all rows

export const unpack = ({ tokens, weights }) => ({ tokens, weights: weightsOf(weights) });

// Of all heads' weights those of a few, in their order.
export function few({ tokens, weights }, heads) {
  const size = tokens.length ** 2;
  const parts = heads.map((head) => weights.slice(head * size, (head + 1) * size));
  return { tokens, weights: Float32Array.from(parts.flatMap((part) => [...part])) };
}

const row = (view, head, i) => range(view.tokens.length).map((j) => weight(view, head, i, j));

// The word whose weight on another word is largest.
export function strongest(view, head) {
  const rest = (i) => words(view).map((j) => (j === i ? 0 : weight(view, head, i, j)));
  const best = words(view).map((i) => Math.max(...rest(i)));
  return 1 + best.indexOf(Math.max(...best));
}

// What is said about a word, and about the head.
export function said(view, { head, query }, name) {
  const p = row(view, head, query);
  const [one, two] = range(p.length).sort((a, b) => p[b] - p[a]);
  const to = (j) => `${percent(p[j])} to ${quoted(view.tokens[j])}`;
  const then = p[two] < 0.005 ? "" : `, ${to(two)}`;
  const all = shares(view, "weight", head);
  const place = largest(all);
  const over = `On average over the words, ${place} gets ${percent(all[place])}.`;
  return `From ${quoted(view.tokens[query])}, ${name} gives ${to(one)}${then}. ${over}`;
}

// The line above the picture: what the picked word does under the head.
export function finding(view, { head, query }, name) {
  const p = row(view, head, query);
  const best = p.indexOf(Math.max(...p));
  const [from, to] = [query, best].map((i) => quoted(short(view.tokens[i])));
  return `In one head of a real model, ${name}, ${from} gives ${percent(p[best])} of its weight to ${to}.`;
}

// Where everything stands, from left to right: words that look, lines, words looked at, bars.
function layout(width, n) {
  const [names, lines] = isNarrow(width) ? [70, 62] : [92, Math.round(0.34 * width)];
  const [from, to] = [names + 6, names + 6 + lines];
  const bars = to + names + 2;
  const high = Math.min(Math.floor(TALL / n), 32);
  return { from, to, bars, full: width - bars - 40, high, size: Math.min(isNarrow(width) ? 13 : 15, high - 2) };
}

export function picture(view, { head, query }, width) {
  const n = view.tokens.length;
  const { from, to, bars, full, high, size } = layout(width, n);
  const middle = (i) => TOP + (i + 0.5) * high;
  const base = (i) => Math.round(middle(i) + 0.36 * size);
  const marks = [
    text("from", [from - 6, 12], "from", "q", 12, "end"),
    text("to", [to + 6, 12], "to", "k", 12, "start"),
    text("weight", [bars, 12], "weight", "p", 12, "start"),
    rect("picked", [0.5, TOP + query * high, from - 1, high], "surface", 1, { rx: 4 }),
  ];
  const bend = (i, j) => {
    const [a, b, half] = [middle(i), middle(j), (from + to) / 2];
    return `M${from} ${a} C${half} ${a} ${half} ${b} ${to} ${b}`;
  };
  // The picked word's lines lie on those of the others.
  for (const i of [...range(n).filter((one) => one !== query), query]) {
    row(view, head, i).forEach((p, j) => {
      const [least, strength] = i === query ? [0.01, 1] : [0.15, 0.25];
      const look = { "stroke-width": Math.round(12 * p + 1) / 2, "stroke-opacity": strength };
      if (p >= least) marks.push(path(`line${i}-${j}`, bend(i, j), "p-fill", look));
    });
  }
  row(view, head, query).forEach((p, j) => {
    const word = short(view.tokens[j]);
    const one = text(`from${j}`, [from - 6, base(j)], word, "q", size, "end");
    marks.push(j === query ? bold(one) : one);
    marks.push(text(`to${j}`, [to + 6, base(j)], word, "k", size, "start"));
    const top = TOP + j * high + 3;
    marks.push(rect(`back${j}`, [bars, top, full, high - 6], "surface"));
    marks.push(rect(`bar${j}`, [bars, top, full * p, high - 6], "p-fill"));
    marks.push(text(`number${j}`, [width, base(j)], p.toFixed(2), "ink", Math.min(size, 13), "end"));
  });
  return { marks, width, height: TOP + TALL, reach: [0, TOP, (from + to) / 2, n * high] };
}

const fresh = (view) => ({ head: 0, query: strongest(view, 0), live: false });

// The first state as a still: a file, so without surfaces, which have no colour in print, and
// without what is faint.
export function first(given, width) {
  const view = unpack(given);
  const { marks, height } = picture(view, fresh(view), width);
  const faint = (look) => look.width < 3 || look["stroke-width"] < 1 || look.fill === "var(--ae-surface)";
  return { marks: marks.filter(([, , look]) => !faint(look)), width, height };
}

function build(host, given) {
  let view = unpack(given);
  const state = fresh(view);
  const names = given.heads.map(label);
  // Words of a chapter's own stay.
  const body = host.querySelector(".ae-body");
  const line = body.querySelector(".ae-question span");
  const follows = line.textContent === finding(view, state, names[state.head]);

  const parts = stage("Words, and the words at which one head looks from each");
  const own = ownSentence(host, given.text, { change: (live) => draw(0, { live }), read });
  const heads = choices("Head", { ...names }, (head) => draw(GLIDE, { head: Number(head) }));
  const rows = h("rect", {
    ...{ ...slider("Word", MOST), onclick: pick, onkeydown: walk },
    onpointermove: (event) => event.pointerType === "mouse" && pick(event),
  });
  parts.front.append(rows);

  function pick(event) {
    const { top, height } = rows.getBoundingClientRect();
    const n = view.tokens.length;
    const query = Math.min(Math.max(Math.floor(((event.clientY - top) / height) * n), 0), n - 1);
    if (query !== state.query) draw(GLIDE, { query });
  }
  function walk(event) {
    const n = view.tokens.length;
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: n - 1, ArrowLeft: n - 1 }[event.key];
    if (step) event.preventDefault(draw(GLIDE, { query: (state.query + step) % n }));
  }

  // The word that was picked stays so if it still stands in its place.
  async function read(ask) {
    const found = await ask([]);
    const show = () => {
      const before = view.tokens[state.query];
      view = few(found, given.heads);
      draw(GLIDE, view.tokens[state.query] === before ? {} : { query: strongest(view, state.head) });
    };
    return { found, show };
  }

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const drawn = picture(view, state, parts.svg.clientWidth);
    parts.show(drawn, ms);
    heads.press(state.head);
    parts.said.textContent = said(view, state, names[state.head]);
    if (follows) {
      line.textContent = finding(view, state, names[state.head]);
      body.setAttribute("aria-label", line.textContent);
    }
    frame(rows, drawn.reach, state.query, parts.said.textContent);
    parts.speak(parts.said.textContent);
    const weights = row(view, state.head, state.query);
    host.dataset.state = JSON.stringify({ ...state, tokens: view.tokens, weights });
  }

  const head = h("div", { class: "ae-controls" }, h("span", { class: "ae-caption" }, "Head"), heads.node);
  return { nodes: [own.form, head, parts.svg, parts.said, parts.spoken], draw };
}

if (globalThis.document) mount("sentence", build);
