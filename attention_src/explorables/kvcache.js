// The explorable "kvcache": what the caches of published models take, and how many fit a card.

import { h, mount, speaker } from "./dom.js";

const BITS = { 16: "16", 8: "8", 4: "4", 2: "2" };
const CARDS = { 1: "1", 2: "2", 4: "4", 8: "8" };

// What a setting takes, in bytes. Scales of rounded numbers are left out.
export function count({ models, cards }, { model, card, n_cards, tokens, texts, bits, weightBits }) {
  const chosen = models.find((one) => one.name === model);
  const token = (chosen.numbers * bits) / 8;
  const text = token * tokens;
  const weights = (chosen.parameters * weightBits) / 8;
  const memory = cards[card] * n_cards;
  const fits = Math.max(0, Math.floor((memory - weights) / text));
  return { chosen, token, text, weights, memory, fits, all: text * texts };
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

function build(host, given) {
  const { model, card, n_tokens: tokens } = given;
  const fresh = { model, card, n_cards: 2, tokens, texts: 1, bits: 16, weightBits: 16 };
  const state = { ...fresh };
  const parts = {};
  const set = (change) => {
    Object.assign(state, change);
    draw(host, given, state, parts);
  };
  const same = (names) => Object.fromEntries(names.map((name) => [name, name]));
  const pick = (key, label, options, read = Number) => {
    const entries = Object.entries(options).sort((a, b) => read === Number && b[0] - a[0]);
    const select = h(
      "select",
      { onchange: () => set({ [key]: read(select.value) }) },
      ...entries.map(([value, words]) => h("option", { value }, words)),
    );
    parts[key] = select;
    return h("label", {}, `${label} `, select);
  };
  const slide = (key, label, least, most) => {
    const shown = h("strong");
    const input = h("input", { type: "range", min: least, max: most, step: 1, "aria-label": label });
    input.addEventListener("input", () => set({ [key]: 2 ** Number(input.value) }));
    parts[key] = { input, shown };
    return h("div", { class: "ae-dial" }, h("span", {}, `${label}: `, shown), input);
  };
  const row = (...children) => h("div", { class: "ae-controls ae-kv-choices" }, ...children);
  const names = given.models.map((one) => one.name);
  const choices = row(
    pick("model", "model", same(names), String),
    pick("weightBits", "bits of a weight", BITS),
    pick("card", "card", same(Object.keys(given.cards)), String),
    pick("n_cards", "how many", CARDS),
    pick("bits", "bits of a number in the cache", BITS),
    h("button", { type: "button", onclick: () => set(fresh) }, "Start over"),
  );
  const sliders = row(
    slide("tokens", "tokens in a text", 10, 20),
    slide("texts", "texts at once", 0, 10),
  );
  const cell = (name) => {
    parts[name] = h("td", { class: "ae-number" });
    return parts[name];
  };
  const line = (label, name, kind = "") =>
    h("tr", {}, h("th", { scope: "row", class: kind }, label), cell(name));
  parts.allLabel = h("th", { scope: "row", class: "ae-k ae-kv-of-cache" });
  const table = h(
    "table",
    { class: "ae-kv-table" },
    h("caption", { class: "ae-spoken" }, "What the cache takes"),
    h(
      "tbody",
      {},
      line("one token leaves", "token"),
      line("one text takes", "text"),
      h("tr", {}, parts.allLabel, cell("all")),
      line("the weights take", "weights", "ae-kv-of-weights"),
      line("the memory holds", "memory", "ae-kv-of-memory"),
    ),
  );
  parts.bar = ["weights", "cache", "card"].map((kind) => h("div", { class: `ae-kv-${kind}` }));
  const bar = h("div", { class: "ae-bar ae-kv-bar", "aria-hidden": "true" }, ...parts.bar);
  parts.answer = h("p", { class: "ae-entropy" });
  parts.formula = h("p", { class: "ae-sentence" });
  parts.source = h("p", { class: "ae-caption" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  set({});
  const below = [parts.answer, parts.formula, parts.source, spoken];
  return [choices, sliders, table, bar, ...below];
}

function draw(host, given, state, parts) {
  const now = count(given, state);
  const { chosen, token, text, weights, memory, fits, all } = now;
  for (const key of ["model", "card", "n_cards", "bits", "weightBits"]) {
    parts[key].value = state[key];
  }
  for (const key of ["tokens", "texts"]) {
    parts[key].input.value = Math.log2(state[key]);
    parts[key].input.setAttribute("aria-valuetext", whole(state[key]));
    parts[key].shown.textContent = whole(state[key]);
  }
  parts.allLabel.textContent = `${state.texts === 1 ? "all" : whole(state.texts)} texts take`;
  for (const [name, size] of Object.entries({ token, text, all, weights, memory })) {
    parts[name].textContent = bytes(size);
  }
  const widest = Math.max(memory, weights + all);
  const [forWeights, forCache, border] = parts.bar;
  forWeights.style.width = `${(100 * weights) / widest}%`;
  forCache.style.width = `${(100 * all) / widest}%`;
  border.style.left = `max(0px, ${(100 * memory) / widest}% - 2px)`;
  parts.answer.textContent = answer(state, now);
  const kept = chosen.heads
    ? `${chosen.heads} ${chosen.heads === 1 ? "head" : "heads"} × 2 × ${chosen.width}`
    : `${chosen.width}, a latent vector`;
  const numbers = `${whole(chosen.numbers)} numbers a token: ${chosen.layers} layers × ${kept}.`;
  const long = state.tokens > chosen.trained ? ` Made for ${whole(chosen.trained)} tokens.` : "";
  parts.formula.textContent = numbers + long;
  parts.source.textContent = `Figures: ${chosen.source}.`;
  parts.speak(`${parts.answer.textContent} One text takes ${bytes(text)}.`);
  host.dataset.state = JSON.stringify({ ...state, token, text, weights, memory, fits, all });
}

function answer({ card, n_cards, texts }, { weights, memory, fits }) {
  const one = n_cards === 1;
  const where = one ? `one ${card}` : `${n_cards} ${card}`;
  if (weights > memory) return `The weights alone do not fit into ${where}.`;
  const such = fits === 1 ? "1 such text" : `${whole(fits)} such texts`;
  const asked = texts > fits ? `, not ${whole(texts)}` : "";
  return `Beside the weights, ${where} ${one ? "has" : "have"} room for ${such}${asked}.`;
}

mount("kvcache", build);
