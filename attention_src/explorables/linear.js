// The explorable "linear": a cache that grows, a state that does not, and what each says for a key.

import { choices, fixed, h, mount } from "./dom.js";
import { button, figure, pick, row } from "./figure.js";
import { softmax, sum } from "./numbers.js";
import { bold, isNarrow, line, rect, text } from "./scene.js";

const MAPS = {
  "none": (x) => x,
  "elu + 1": (x) => x.map((a) => (a > 0 ? a + 1 : Math.exp(a))),
  "relu": (x) => x.map((a) => Math.max(a, 0)),
};
const RULES = ["sum", "decay", "delta"];
const BYTES = 2; // for a number, as in float16
const GLIDE = 250; // ms
const LINE = 25; // pixels of a row

const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
const times = (a, factor) => a.map((x) => x * factor);
const plus = (a, b) => a.map((x, i) => x + b[i]);
const short = (x) => (Number.isInteger(x) ? fixed(x, 0) : fixed(x, 1));

// Softmax over all keys that were kept.
function fromCache(tokens, query, scale) {
  const weights = softmax(tokens.map(({ key }) => scale * dot(query, key)));
  return tokens.reduce((o, { value }, j) => plus(o, times(value, weights[j])), [0, 0, 0]);
}

// The features of a key or query; the delta rule wants length 1.
function features(x, { map, rule }) {
  const phi = MAPS[map](x);
  return rule === "delta" ? times(phi, 1 / (Math.hypot(...phi) || 1)) : phi;
}

// The state after these tokens: a row for each channel of the key. With features that are divided
// by the sum of the weights, values end with a 1, and the last column is that sum.
function written(tokens, choice) {
  const divides = choice.map !== "none" && choice.rule !== "delta";
  const width = tokens[0].value.length + divides;
  let state = tokens[0].key.map(() => Array(width).fill(0));
  for (const { key, value } of tokens) {
    const phi = features(key, choice);
    const v = divides ? [...value, 1] : value;
    const held = read(state, phi);
    const added = choice.rule === "delta" ? plus(v, times(held, -1)) : v;
    const kept = choice.rule === "decay" ? choice.decay : 1;
    state = state.map((row, i) => plus(times(row, kept), times(added, phi[i])));
  }
  return { state, divides };
}

const read = (state, phi) =>
  state.reduce((o, row, i) => plus(o, times(row, phi[i])), Array(state[0].length).fill(0));

function fromState({ state, divides }, query, choice) {
  const o = read(state, features(query, choice));
  if (!divides) return o;
  const total = o.at(-1);
  return o.slice(0, -1).map((x) => (total === 0 ? 0 : x / total));
}

// All that follows from the state { seen, asked, map, rule }.
export function compute(state, given) {
  const now = { ...given, ...state };
  const tokens = now.tokens.slice(0, now.seen);
  const query = now.tokens.find(({ name }) => name === now.asked).key;
  const last = tokens.findLast(({ name }) => name === now.asked);
  const memory = written(tokens, now);
  const numbers = tokens.length * (query.length + tokens[0].value.length);
  return {
    ...{ state: memory.state, right: last ? last.value : null },
    cacheSays: fromCache(tokens, query, now.scale),
    stateSays: fromState(memory, query, now),
    cacheBytes: BYTES * numbers,
    stateBytes: BYTES * memory.state.length * memory.state[0].length,
  };
}

export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const found = compute(state, given);
  const cache = narrow ? [0, 14, width] : [0, 14, 0.52 * width];
  const low = 14 + LINE * (given.tokens.length + 2);
  const right = 0.52 * width + 22;
  const memory = narrow ? [0, low + 8, width] : [right, 14, width - right];
  const answers = narrow ? low + LINE * 6 + 34 : low + 20;
  const marks = [
    ...cacheMarks(cache, state, given),
    ...stateMarks(memory, found.state),
    ...answerMarks([answers, width], state, found),
  ];
  return { marks, width, height: answers + 2 * LINE + 8 };
}

const title = (key, x, y, words) => bold(text(key, [x, y], words, "ink", 13, "start"));

// A row for each token that came; rows to come keep their room.
function cacheMarks([x, y, width], { seen, asked }, { tokens }) {
  const step = (width - 50) / 7;
  const column = (c) => x + 50 + (c + 0.5) * step;
  const at = (n) => y + 4 + LINE * n;
  const marks = [
    title("cache", x, y, "Cache: a row a token"),
    text("cache-name", [x, at(1)], "name", "soft", 12.5, "start"),
    text("cache-key", [column(1.5), at(1)], "key", "k", 12.5),
    text("cache-value", [column(5), at(1)], "value", "v", 12.5),
  ];
  tokens.forEach(({ name, key, value }, i) => {
    const here = i < seen;
    const low = at(i + 2);
    const look = here && name === asked ? 0.1 : 0;
    marks.push(
      rect(`row${i}`, [x - 4, low - 17, width + 4, LINE - 1], "ink", look, { rx: 4 }),
      text(`name${i}`, [x, low], here ? name : "…", here ? "ink" : "soft", 13, "start"),
      ...[...key, ...value].map((number, c) => {
        const colour = !here ? "soft" : c < 4 ? "k" : "v";
        return text(`cache${i}-${c}`, [column(c), low], here ? short(number) : "·", colour, 13);
      }),
    );
  });
  return marks;
}

// A row for each channel of the key, a column for each of the value; darker means larger.
function stateMarks([x, y, width], state) {
  const most = Math.max(1, ...state.flat().map(Math.abs));
  const step = (width - 50) / state[0].length;
  const column = (c) => x + 50 + (c + 0.5) * step;
  const at = (n) => y + 4 + LINE * n;
  const heads = state[0].map((_, c) =>
    text(`column${c}`, [column(c), at(1)], c < 3 ? `value ${c + 1}` : "weights", "v", 12.5),
  );
  const cells = state.flatMap((row, i) => [
    text(`channel${i}`, [x, at(i + 2)], `key ${i + 1}`, "k", 12.5, "start"),
    ...row.flatMap((number, c) => {
      const box = [column(c) - step / 2 + 1, at(i + 2) - 17, step - 2, LINE - 2];
      return [
        rect(`cell${i}-${c}`, box, "p-fill", 0.5 * (Math.abs(number) / most), { rx: 4 }),
        text(`state${i}-${c}`, [column(c), at(i + 2)], short(number), "ink", 13),
      ];
    }),
  ]);
  return [title("state", x, y, "State: always this size"), ...heads, ...cells];
}

const off = (says, right) => Math.max(...says.map((x, i) => Math.abs(x - right[i])));

// What both say, how far it is from what was written last, and the bytes they take.
function answerMarks([y, width], { asked, rule }, found) {
  const { right, cacheSays, stateSays, cacheBytes, stateBytes } = found;
  const places = [0, Math.min(0.36 * width, 150), Math.max(width - 70, 0.6 * width), width];
  const anchors = ["start", "start", "end", "end"];
  const put = (key, n, words, colour) =>
    words.map((word, c) => text(`${key}${c}`, [places[c], y + LINE * n], word, colour, 13, anchors[c]));
  const says = (key, n, name, numbers, bytes) => {
    const error = right ? fixed(off(numbers, right), 1) : "–";
    return put(key, n, [name, numbers.map((x) => fixed(x, 1)).join("\u2002"), error, `${bytes}`], "ink");
  };
  return [
    line("under", [[0, y + 6], [width, y + 6]], "line"),
    ...put("head", 0, ["memory", `says for ${asked}`, "error", "bytes"], "soft"),
    ...says("of-cache", 1, "cache, softmax", cacheSays, cacheBytes),
    ...says("of-state", 2, `state, ${rule}`, stateSays, stateBytes),
  ];
}

export function sentence(state, given) {
  const { right, cacheSays, stateSays } = compute(state, given);
  if (!right) return `${state.asked} has not been written yet.`;
  const [cache, fixedSize] = [cacheSays, stateSays].map((says) => fixed(off(says, right), 1));
  return `Right: ${right.join(" ")}. The cache is off by ${cache}, the state by ${fixedSize}.`;
}

const fresh = ({ seen, asked }) => ({ seen, asked, map: "none", rule: "sum" });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const { tokens } = given;
  const step = (by) => () => set({ seen: state.seen + by }, GLIDE);
  const [next, back] = [button("Next token", step(1)), button("Back", step(-1))];
  const ends = (now) => {
    next.disabled = now.seen === tokens.length;
    back.disabled = now.seen === 1;
  };
  const choice = (label, key, options) =>
    pick(label, options.map((one) => [one]), (now) => now[key], (one) => set({ [key]: one }, GLIDE));
  const controls = [choice("Rule", "rule", RULES), choice("Feature map", "map", Object.keys(MAPS))];
  const names = Object.fromEntries(tokens.map(({ name }) => [name, name]));
  const who = choices("Ask for", names, (asked) => set({ asked }));
  const { state, set, draw, nodes } = figure(host, given, {
    label: "A cache that grows, a state that does not, and what each says",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence },
    controls: [...controls, { follow: ends }, { follow: ({ asked }) => who.press(asked) }],
  });
  const all = button("All", () => set({ seen: tokens.length }, GLIDE));
  const reset = button("Reset", () => set(fresh(given), GLIDE));
  const lists = row(...controls.map((one) => one.node));
  const ask = row(h("span", {}, "Ask for"), who.node);
  return { nodes: [row(next, back, all, reset), lists, ask, ...nodes], draw };
}

if (globalThis.document) mount("linear", build);
