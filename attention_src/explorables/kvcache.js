// The explorable "kvcache": what the caches of published models take, and how many fit a card.

import { h, mount } from "./dom.js";
import { button, figure, pick, row, slide } from "./figure.js";
import { bold, isNarrow, rect, text } from "./scene.js";

const BITS = [16, 8, 4, 2];
const CARDS = [8, 4, 2, 1];
const GLIDE = 200; // ms
const LINE = 19; // pixels of a model's line

const chosen = ({ model }, { models }) => models.find(({ name }) => name === model);

// What a setting takes, in bytes. Scales of rounded numbers are left out.
export function compute(state, given) {
  const { card, n_cards, tokens, texts, bits, weightBits } = state;
  const { numbers, parameters } = chosen(state, given);
  const token = (numbers * bits) / 8;
  const text = token * tokens;
  const weights = (parameters * weightBits) / 8;
  const memory = given.cards[card] * n_cards;
  const fits = Math.max(0, Math.floor((memory - weights) / text));
  return { token, text, weights, memory, fits, all: text * texts };
}

// 10737418240 → "10.7 GB": three digits.
export function bytes(x) {
  const [unit, size] = [["PB", 1e15], ["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(
    ([, s]) => x >= s,
  ) ?? ["bytes", 1];
  const value = x / size;
  return `${value >= 99.95 ? Math.round(value) : value.toFixed(value >= 9.995 ? 1 : 2)} ${unit}`;
}

const whole = (x) => x.toLocaleString("en-US");

// The picture: what the setting takes; the memory as a bar; and the same text in the other models.
export function picture(state, width, given) {
  const narrow = isNarrow(width);
  const wide = narrow ? width : width / 2 - 14;
  const others = narrow ? [0, 180, width] : [width - wide, 16, wide];
  const marks = [...sizeMarks(wide, state, given), ...modelMarks(others, state, given)];
  return { marks, width, height: others[1] + 20 + LINE * given.models.length };
}

function sizeMarks(width, state, given) {
  const { token, text: one, all, weights, memory } = compute(state, given);
  const texts = state.texts === 1 ? "all" : whole(state.texts);
  const lines = [
    ["token", "one token leaves", token],
    ["text", "one text takes", one],
    ["all", `${texts} texts take`, all, "k"],
    ["weights", "the weights take", weights, "score"],
    ["memory", "the memory holds", memory, "ink"],
  ];
  const most = Math.max(memory, weights + all);
  const long = (size) => (width * size) / most;
  return [
    ...lines.flatMap(([key, words, size, colour], n) => {
      const y = 16 + 24 * n;
      const swatch = key === "memory" ? [4, y - 11, 2, 14] : [0, y - 10, 11, 11];
      return [
        ...(colour ? [rect(`of-${key}`, swatch, colour, 1, { rx: key === "memory" ? 0 : 2 })] : []),
        text(`words-${key}`, [20, y], words, colour === "k" ? "k" : "ink", 14, "start"),
        text(`size-${key}`, [width, y], bytes(size), "ink", 14, "end"),
      ];
    }),
    rect("track", [0, 128, width, 22], "surface", 1, { rx: 3 }),
    rect("bar-weights", [0, 128, long(weights), 22], "score"),
    rect("bar-cache", [long(weights), 128, long(all), 22], "k-fill"),
    rect("bar-memory", [Math.max(0, long(memory) - 2), 124, 2, 30], "ink"),
  ];
}

// A bar for each model's cache of one text of this length.
function modelMarks([x, y, width], { model, tokens, bits }, { models }) {
  const size = ({ numbers }) => (numbers * bits * tokens) / 8;
  const most = Math.max(...models.map(size));
  const said = `one text of ${whole(tokens)} tokens, ${bits} bits`;
  return [
    text("of-text", [x, y], said, "soft", 12.5, "start"),
    ...models.flatMap((one, n) => {
      const line = y + 22 + LINE * n;
      const mark = (key, at, words, anchor) => {
        const made = text(`${key}${n}`, [at, line], words, "ink", 12.5, anchor);
        return one.name === model ? bold(made) : made;
      };
      const long = ((width - 176) * size(one)) / most;
      const shade = one.name === model ? 1 : 0.5;
      return [
        mark("model", x, one.name, "start"),
        rect(`bar${n}`, [x + 108, line - 10, long, 12], "k-fill", shade, { rx: 2 }),
        mark("takes", x + 114 + long, bytes(size(one)), "start"),
      ];
    }),
  ];
}

// What fits, what a token leaves, and where these figures stand.
export function sentence(state, given) {
  const { numbers, layers, heads, width, trained, source } = chosen(state, given);
  const kept = heads
    ? `${heads} ${heads === 1 ? "head" : "heads"} × 2 × ${width}`
    : `${width}, a latent vector`;
  const long = state.tokens > trained ? ` Made for ${whole(trained)} tokens.` : "";
  return (
    `${answer(state, compute(state, given))} ${whole(numbers)} numbers a token: ` +
    `${layers} layers × ${kept}.${long} Figures: ${source}.`
  );
}

function answer({ card, n_cards, texts }, { weights, memory, fits }) {
  const one = n_cards === 1;
  const where = one ? `one ${card}` : `${n_cards} ${card}`;
  if (weights > memory) return `The weights alone do not fit into ${where}.`;
  const such = fits === 1 ? "1 such text" : `${whole(fits)} such texts`;
  const asked = texts > fits ? `, not ${whole(texts)}` : "";
  return `Beside the weights, ${where} ${one ? "has" : "have"} room for ${such}${asked}.`;
}

const spoken = (state, given) =>
  `${answer(state, compute(state, given))} One text takes ${bytes(compute(state, given).text)}.`;

const fresh = ({ model, card, n_tokens }) => ({
  ...{ model, card, n_cards: 2, tokens: n_tokens, texts: 1, bits: 16, weightBits: 16 },
});
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const choice = (label, key, options) =>
    pick(
      label,
      options.map((one) => [one]),
      (now) => now[key],
      (value) => set({ [key]: typeof options[0] === "number" ? Number(value) : value }, GLIDE),
    );
  const power = (label, key, least, most) =>
    slide(
      label,
      [least, most, 1],
      (now) => Math.log2(now[key]),
      (value) => set({ [key]: 2 ** value }),
      (value) => whole(2 ** value),
    );
  const choices = [
    choice("model", "model", given.models.map(({ name }) => name)),
    choice("bits of a weight", "weightBits", BITS),
    choice("card", "card", Object.keys(given.cards)),
    choice("how many", "n_cards", CARDS),
    choice("bits of a number in the cache", "bits", BITS),
  ];
  const slides = [power("tokens in a text", "tokens", 10, 20), power("texts at once", "texts", 0, 10)];
  const { set, draw, nodes } = figure(host, given, {
    label: "What the cache takes, and what the memory holds",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken, controls: [...choices, ...slides] },
  });
  const again = button("Start over", () => set(fresh(given), GLIDE));
  const above = row(...choices.map((one) => one.node), again);
  const sliders = h("div", { class: "ae-slides" }, ...slides.map((one) => one.node));
  return { nodes: [above, sliders, ...nodes], draw };
}

if (globalThis.document) mount("kvcache", build);
