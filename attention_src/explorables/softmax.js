// The explorable "softmax": scores as bars to drag, a rule and a temperature, the weights they give.

import { softmax } from "./numbers.js";
import { entmax15, entropyBits, hardmax, sigmoid, sparsemax } from "./weights.js";
import { COLD, drawChart, HOT, temperatureUnder } from "./chart.js";
import { fixed, h, mount, shown, speaker } from "./dom.js";

const RULES = {
  softmax: softmax,
  "entmax-1.5": entmax15,
  sparsemax: sparsemax,
  hardmax: hardmax,
  sigmoid: sigmoid,
};
const LIMIT = 8; // scores lie between -LIMIT and LIMIT
const STEP = 1.05; // one press of an arrow key changes the temperature by this factor
const STEPS = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
};

const weigh = (state, temperature) =>
  RULES[state.rule](state.scores.map((score) => score / temperature));

function build(host, given) {
  const fresh = () => ({ rule: "softmax", temperature: 1, scores: [...given.scores] });
  const state = fresh();
  const parts = { rows: h("div", { class: "ae-rows" }) };
  const redraw = () => draw(host, given.labels, state, parts);
  const change = (update) => () => {
    update();
    drawRows(given.labels, state, parts, redraw);
    redraw();
  };
  const controls = buildControls(state, fresh, parts, change);
  const thermostat = buildThermostat(given.labels, state, parts, redraw);
  parts.sentence = h("p", { class: "ae-sentence" });
  parts.entropy = h("p", { class: "ae-entropy" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(spoken);
  drawRows(given.labels, state, parts, redraw);
  redraw();
  return [controls, parts.rows, parts.sentence, parts.entropy, ...thermostat, spoken];
}

// The rule, and buttons that change the scores together.
function buildControls(state, fresh, parts, change) {
  parts.rule = h(
    "select",
    { onchange: change(() => (state.rule = parts.rule.value)) },
    ...Object.keys(RULES).map((name) => h("option", { value: name }, name)),
  );
  const button = (text, update) => h("button", { type: "button", onclick: change(update) }, text);
  const shift = (by) => () =>
    (state.scores = state.scores.map((score) => Math.round(10 * (score + by)) / 10));
  parts.fewer = button("Remove key", () => state.scores.pop());
  parts.more = button("Add key", () => state.scores.push(0));
  parts.up = button("All +1", shift(1));
  parts.down = button("All −1", shift(-1));
  const reset = button("Reset", () => Object.assign(state, fresh()));
  return h(
    "div",
    { class: "ae-controls" },
    h("label", {}, "Rule ", parts.rule),
    parts.fewer,
    parts.more,
    parts.up,
    parts.down,
    reset,
  );
}

// The chart with the temperature's slider under it: the handle stands below the chart's line.
function buildThermostat(labels, state, parts, redraw) {
  const set = (temperature) => {
    state.temperature = Math.min(Math.max(temperature, COLD), HOT);
    redraw();
  };
  parts.temperature = h("input", {
    type: "range",
    min: Math.log10(COLD),
    max: Math.log10(HOT),
    step: "any",
    "aria-label": "temperature",
    oninput: () => set(10 ** parts.temperature.value),
    onkeydown: (event) => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      set(state.temperature * STEP ** STEPS[event.key]);
    },
  });
  parts.temperatureText = h("strong");
  parts.chart = h("svg", {
    class: "ae-chart",
    role: "img",
    "aria-label": "Weight of each key from cold to hot temperatures",
    onpointerdown: (event) => set(temperatureUnder(event, parts.chart)),
    onpointermove: (event) => event.buttons && set(temperatureUnder(event, parts.chart)),
  });
  new ResizeObserver(redraw).observe(parts.chart);
  return [
    h("p", { class: "ae-caption" }, "Weights at temperature ", parts.temperatureText),
    parts.chart,
    parts.temperature,
    h(
      "div",
      { class: "ae-ends" },
      h("span", {}, "← cold: the winner takes all"),
      h("span", {}, "hot: all alike →"),
    ),
  ];
}

// One row a key: its score as a bar to drag, its weight as a bar to read.
function drawRows(labels, state, parts, redraw) {
  parts.keys = state.scores.map((score, j) => {
    const value = h("span", { class: "ae-number" });
    const slider = h("input", {
      type: "range",
      class: "ae-score",
      min: -LIMIT,
      max: LIMIT,
      step: 0.1,
      "aria-label": `score of ${labels[j]}`,
      oninput: () => {
        state.scores[j] = Number(slider.value);
        redraw();
      },
    });
    return {
      slider,
      value,
      bar: h("div", { class: "ae-fill" }),
      weight: h("span", { class: "ae-number" }),
    };
  });
  const head = h("div", { class: "ae-row ae-head", "aria-hidden": "true" });
  head.append(h("span", {}, "key"), h("span", {}, "score: drag it"), h("span", {}, "weight"));
  parts.rows.replaceChildren(
    head,
    ...parts.keys.map((key, j) =>
      h(
        "div",
        { class: "ae-row" },
        h("span", { class: "ae-key" }, labels[j]),
        key.slider,
        key.value,
        h("div", { class: "ae-bar", "aria-hidden": "true" }, key.bar),
        key.weight,
      ),
    ),
  );
}

function draw(host, labels, state, parts) {
  const weights = weigh(state, state.temperature);
  parts.keys.forEach((key, j) => {
    const score = state.scores[j];
    const place = (score + LIMIT) / (2 * LIMIT);
    key.slider.value = score;
    key.slider.style.setProperty("--from", Math.min(place, 0.5));
    key.slider.style.setProperty("--to", Math.max(place, 0.5));
    key.value.textContent = fixed(score, 1);
    key.bar.style.width = `${100 * weights[j]}%`;
    key.weight.textContent = shown(weights[j], 3);
  });
  parts.rule.value = state.rule;
  parts.fewer.disabled = state.scores.length <= 4;
  parts.more.disabled = state.scores.length >= labels.length;
  parts.up.disabled = Math.max(...state.scores) > LIMIT - 1;
  parts.down.disabled = Math.min(...state.scores) < 1 - LIMIT;
  const degrees = fixed(state.temperature, 2);
  parts.temperature.value = Math.log10(state.temperature);
  parts.temperature.setAttribute("aria-valuetext", degrees);
  parts.temperatureText.textContent = degrees;
  parts.sentence.textContent = remark(labels, state, weights);
  parts.entropy.textContent = entropyText(weights);
  const list = weights.map((weight, j) => `${labels[j]} ${shown(weight, 3)}`).join(", ");
  parts.speak(`${state.rule} at temperature ${degrees}: ${list}. ${parts.entropy.textContent}`);
  drawChart(parts.chart, labels, state.temperature, (t) => weigh(state, t));
  host.dataset.state = JSON.stringify({ ...state, weights, entropyBits: entropyBits(weights) });
}

function entropyText(weights) {
  const total = weights.reduce((a, b) => a + b, 0);
  if (Math.abs(total - 1) > 1e-9) {
    return `The weights sum to ${total.toFixed(3)}, not to 1: they have no entropy.`;
  }
  const bits = entropyBits(weights);
  const most = Math.log2(weights.length);
  return `Entropy ${bits.toFixed(2)} of at most ${most.toFixed(2)} bits: like ${(2 ** bits).toFixed(1)} keys.`;
}

// What to notice in the present state.
function remark(labels, state, weights) {
  const zeros = labels.filter((_, j) => weights[j] === 0);
  if (state.rule === "sigmoid") return "Each key is judged alone, by its own score. None competes.";
  if (state.rule === "hardmax") return "The highest score takes all. Temperature changes nothing.";
  if (zeros.length) return `Exactly 0: ${zeros.join(", ")}.`;
  if (state.rule === "softmax") return "Each weight is positive, however low the score.";
  return "No weight is exactly 0 here. Lower the temperature, or one score.";
}

mount("softmax", build);
