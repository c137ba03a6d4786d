// The explorable "linear": a cache that grows, a state that does not, and what each says for a key.

import { fixed, h, mount, speaker } from "./dom.js";

const MAPS = {
  "none": (x) => x,
  "elu + 1": (x) => x.map((a) => (a > 0 ? a + 1 : Math.exp(a))),
  "relu": (x) => x.map((a) => Math.max(a, 0)),
};
const RULES = ["sum", "decay", "delta"];
const BYTES = 2; // for a number, as in float16

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const times = (a, factor) => a.map((x) => x * factor);
const plus = (a, b) => a.map((x, i) => x + b[i]);
const short = (x) => (Number.isInteger(x) ? fixed(x, 0) : fixed(x, 1));

// Softmax over all keys that were kept.
function fromCache(tokens, query, scale) {
  const scores = tokens.map(({ key }) => scale * dot(query, key));
  const most = Math.max(...scores);
  const weights = scores.map((s) => Math.exp(s - most));
  const sum = weights.reduce((a, b) => a + b, 0);
  return tokens.reduce(
    (o, { value }, j) => plus(o, times(value, weights[j] / sum)),
    [0, 0, 0],
  );
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
  const sum = o.at(-1);
  return o.slice(0, -1).map((x) => (sum === 0 ? 0 : x / sum));
}

function compute(now) {
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

function build(host, given) {
  const fresh = () => ({ ...given, map: "none", rule: "sum" });
  const now = fresh();
  const parts = {};
  const set = (change) => {
    Object.assign(now, change);
    draw(host, now, parts);
  };
  const last = given.tokens.length;
  const button = (words, onclick) => h("button", { type: "button", onclick }, words);
  const choose = (name, options) => {
    const node = h(
      "select",
      { onchange: () => set({ [name]: node.value }) },
      ...options.map((one) => h("option", { value: one }, one)),
    );
    return node;
  };
  parts.next = button("Next token", () => set({ seen: now.seen + 1 }));
  parts.back = button("Back", () => set({ seen: now.seen - 1 }));
  parts.map = choose("map", Object.keys(MAPS));
  parts.rule = choose("rule", RULES);
  const names = [...new Set(given.tokens.map(({ name }) => name))];
  parts.names = names.map((name) => button(name, () => set({ asked: name })));
  for (const name of ["cache", "state", "answers"]) parts[name] = h("table", { class: `ae-${name}` });
  parts.sentence = h("p", { class: "ae-sentence" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  const row = (...nodes) => h("div", { class: "ae-controls" }, ...nodes);
  set({});
  return [
    row(parts.next, parts.back, button("All", () => set({ seen: last })), button("Reset", () => set(fresh()))),
    row(h("label", {}, "Rule ", parts.rule), h("label", {}, "Feature map ", parts.map)),
    h("div", { class: "ae-memories" }, parts.cache, parts.state),
    h("div", { class: "ae-controls ae-ask" }, h("span", {}, "Ask for"), ...parts.names),
    parts.answers,
    parts.sentence,
    spoken,
  ];
}

function draw(host, now, parts) {
  const found = compute(now);
  parts.next.disabled = now.seen === now.tokens.length;
  parts.back.disabled = now.seen === 1;
  parts.map.value = now.map;
  parts.rule.value = now.rule;
  for (const one of parts.names) one.setAttribute("aria-pressed", one.textContent === now.asked);
  drawCache(parts.cache, now);
  drawState(parts.state, found.state);
  const sentence = drawAnswers(parts.answers, now, found);
  parts.sentence.textContent = sentence;
  parts.speak(sentence);
  const { tokens, scale, decay, ...chosen } = now;
  host.dataset.state = JSON.stringify({ ...chosen, ...found });
}

const th = (words, scope, more = {}) => h("th", { scope, ...more }, words);

// A row for each token that came; rows to come keep their room.
function drawCache(table, { tokens, seen, asked }) {
  const body = tokens.map(({ name, key, value }, i) => {
    const here = i < seen;
    const className = !here ? "ae-later" : name === asked ? "ae-asked" : "";
    const cell = (kind) => (x) => h("td", { class: kind }, here ? short(x) : "·");
    return h(
      "tr",
      { class: className },
      th(here ? name : "…", "row"),
      ...key.map(cell("ae-k")),
      ...value.map(cell("")),
    );
  });
  const head = h("tr", {}, th("name", "col"), th("key", "col", { colspan: 4 }), th("value", "col", { colspan: 3 }));
  table.replaceChildren(h("caption", {}, "Cache: a row a token"), h("thead", {}, head), h("tbody", {}, ...body));
}

function drawState(table, state) {
  const most = Math.max(1, ...state.flat().map(Math.abs));
  const shade = (x) => `--weight:${((100 * Math.abs(x)) / most).toFixed(0)}%`;
  const body = state.map((row, i) =>
    h(
      "tr",
      {},
      th(`key ${i + 1}`, "row"),
      ...row.map((x) => h("td", { style: shade(x) }, short(x))),
    ),
  );
  const columns = state[0].map((_, c) => th(c < 3 ? `value ${c + 1}` : "weights", "col"));
  const head = h("tr", {}, th("channel", "col"), ...columns);
  table.replaceChildren(h("caption", {}, "State: always this size"), h("thead", {}, head), h("tbody", {}, ...body));
}

function drawAnswers(table, { asked, rule }, found) {
  const off = (says) => Math.max(...says.map((x, i) => Math.abs(x - found.right[i])));
  const error = (says) => (found.right ? fixed(off(says), 1) : "–");
  const line = (name, says, bytes) =>
    h(
      "tr",
      {},
      th(name, "row"),
      h("td", {}, says.map((x) => fixed(x, 1)).join("  ")),
      h("td", {}, error(says)),
      h("td", {}, String(bytes)),
    );
  const head = ["memory", `says for ${asked}`, "error", "bytes"].map((words) => th(words, "col"));
  table.replaceChildren(
    h("thead", {}, h("tr", {}, ...head)),
    h(
      "tbody",
      {},
      line("cache, softmax", found.cacheSays, found.cacheBytes),
      line(`state, ${rule}`, found.stateSays, found.stateBytes),
    ),
  );
  if (!found.right) return `${asked} has not been written yet.`;
  const right = found.right.join(" ");
  const state = off(found.stateSays);
  return `Right: ${right}. The cache is off by ${error(found.cacheSays)}, the state by ${fixed(state, 1)}.`;
}

mount("linear", build);
