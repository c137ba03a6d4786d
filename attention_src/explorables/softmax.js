// The explorable "softmax": scores as bars to drag, a rule and a temperature, the weights they give.

import { entmax15, entropyBits, hardmax, sigmoid, softmax, sparsemax } from "./weights.js";
import { fixed, h, mount, shown, speaker } from "./dom.js";

const RULES = {
  softmax: softmax,
  "entmax-1.5": entmax15,
  sparsemax: sparsemax,
  hardmax: hardmax,
  sigmoid: sigmoid,
};
const LIMIT = 8; // scores lie between -LIMIT and LIMIT
const COLD = 0.05; // the temperatures at the two ends of the slider
const HOT = 50;
const CURVE_POINTS = 120;
const CHART_HEIGHT = 165;
const TICKS = [0.1, 1, 10];
const EDGE = 8; // half the slider's handle: the chart's ends lie above the slider's

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
  parts.reset = button("Reset", () => Object.assign(state, fresh()));
  const controls = h(
    "div",
    { class: "ae-controls" },
    h("label", {}, "Rule ", parts.rule),
    parts.fewer,
    parts.more,
    parts.up,
    parts.down,
    parts.reset,
  );

  parts.sentence = h("p", { class: "ae-sentence" });
  parts.entropy = h("p", { class: "ae-entropy" });
  parts.spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  parts.speak = speaker(parts.spoken);
  parts.chart = h("svg", { class: "ae-chart", role: "img" });
  parts.temperature = h("input", {
    type: "range",
    min: Math.log10(COLD),
    max: Math.log10(HOT),
    step: "any",
    "aria-label": "temperature",
    oninput: () => setTemperature(10 ** parts.temperature.value),
    onkeydown: (event) => stepTemperature(event),
  });
  parts.temperatureText = h("strong");
  const setTemperature = (temperature) => {
    state.temperature = Math.min(Math.max(temperature, COLD), HOT);
    redraw();
  };
  // With step "any" a key press has no size of its own: 5 % a press.
  const stepTemperature = (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    setTemperature(state.temperature * 1.05 ** steps[event.key]);
  };
  const pointAt = (event) => {
    if (!event.buttons) return;
    const box = parts.chart.getBoundingClientRect();
    setTemperature(temperatureAt((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE)));
  };
  parts.chart.addEventListener("pointerdown", pointAt);
  parts.chart.addEventListener("pointermove", pointAt);
  new ResizeObserver(() => drawChart(given.labels, state, parts)).observe(parts.chart);

  drawRows(given.labels, state, parts, redraw);
  redraw();
  return [
    controls,
    parts.rows,
    parts.sentence,
    parts.entropy,
    h("p", { class: "ae-caption" }, "Weights at temperature ", parts.temperatureText),
    parts.chart,
    parts.temperature,
    h(
      "div",
      { class: "ae-ends" },
      h("span", {}, "← cold: the winner takes all"),
      h("span", {}, "hot: all alike →"),
    ),
    parts.spoken,
  ];
}

const temperatureAt = (place) => COLD * (HOT / COLD) ** place;
const placeOf = (temperature) => Math.log(temperature / COLD) / Math.log(HOT / COLD);

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
    return { slider, value, bar: h("div", { class: "ae-fill" }), weight: h("span", { class: "ae-number" }) };
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
  drawChart(labels, state, parts);
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

// Each key's weight at every temperature, and a line at the present one.
function drawChart(labels, state, parts) {
  const width = parts.chart.clientWidth || 600;
  const x = (temperature) => EDGE + placeOf(temperature) * (width - 2 * EDGE);
  const y = (weight) => 8 + (1 - weight) * (CHART_HEIGHT - 32);
  const curve = Array.from({ length: CURVE_POINTS + 1 }, (_, i) => temperatureAt(i / CURVE_POINTS));
  const rows = curve.map((temperature) => weigh(state, temperature));
  const paths = state.scores.map((_, j) =>
    h("path", {
      d: "M" + rows.map((p, i) => `${x(curve[i]).toFixed(1)},${y(p[j]).toFixed(1)}`).join("L"),
      class: "ae-curve",
    }),
  );
  const here = x(state.temperature);
  const weights = weigh(state, state.temperature);
  const left = here > width * 0.7; // labels go to the side that has room
  const places = spread(weights.map(y), 14, y(0) + 4);
  const marks = weights.flatMap((weight, j) => [
    h("circle", { cx: here, cy: y(weight), r: 4, class: "ae-dot" }),
    h(
      "text",
      { x: here + (left ? -9 : 9), y: places[j] + 4, "text-anchor": left ? "end" : "start" },
      labels[j],
    ),
  ]);
  const axis = (attributes, at, text) => [
    h("line", { class: "ae-axis", ...attributes }),
    h("text", { class: "ae-tick", ...at }, text),
  ];
  const grid = [0, 1].flatMap((weight) =>
    axis({ x1: EDGE, x2: width - EDGE, y1: y(weight), y2: y(weight) }, { x: 0, y: y(weight) + 4 }, weight),
  );
  const ticks = TICKS.flatMap((t) =>
    axis(
      { x1: x(t), x2: x(t), y1: y(1), y2: y(0) + 5 },
      { x: x(t), y: CHART_HEIGHT - 4, "text-anchor": "middle" },
      t,
    ),
  );
  const cursor = h("line", { x1: here, x2: here, y1: 0, y2: y(0) + 6, class: "ae-cursor" });
  parts.chart.setAttribute("aria-label", "Weight of each key from cold to hot temperatures");
  parts.chart.replaceChildren(...grid, ...ticks, ...paths, cursor, ...marks);
}

// Heights for labels near these heights, at least `gap` apart and none below `bottom`.
function spread(heights, gap, bottom) {
  const order = heights.map((_, j) => j).sort((a, b) => heights[a] - heights[b]);
  const places = [...heights];
  for (let i = 1; i < order.length; i++) {
    places[order[i]] = Math.max(places[order[i]], places[order[i - 1]] + gap);
  }
  let limit = bottom;
  for (const j of order.reverse()) {
    places[j] = Math.min(places[j], limit);
    limit = places[j] - gap;
  }
  return places;
}

mount("softmax", build);
