// The chart of the explorable "softmax": weights from cold to hot temperatures.

import { h } from "./dom.js";

export const COLD = 0.05; // the temperatures at the two ends of the slider
export const HOT = 50;
const CURVE_POINTS = 120;
const CHART_HEIGHT = 165; // as in explorable.css
const TICKS = [0.1, 1, 10];
const EDGE = 8; // half the slider's handle: the chart's ends lie above the slider's

const temperatureAt = (place) => COLD * (HOT / COLD) ** place;
const placeOf = (temperature) => Math.log(temperature / COLD) / Math.log(HOT / COLD);

// The temperature at which a pointer stands.
export function temperatureUnder(event, svg) {
  const box = svg.getBoundingClientRect();
  return temperatureAt((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE));
}

// Each key's weight at every temperature, and a line at the present one. weigh(temperature) gives
// the weights.
export function drawChart(svg, labels, temperature, weigh) {
  const width = svg.clientWidth || 600;
  const x = (t) => EDGE + placeOf(t) * (width - 2 * EDGE);
  const y = (weight) => 8 + (1 - weight) * (CHART_HEIGHT - 32);
  const curve = Array.from({ length: CURVE_POINTS + 1 }, (_, i) => temperatureAt(i / CURVE_POINTS));
  const rows = curve.map(weigh);
  const weights = weigh(temperature);
  const paths = weights.map((_, j) =>
    h("path", {
      d: "M" + rows.map((p, i) => `${x(curve[i]).toFixed(1)},${y(p[j]).toFixed(1)}`).join("L"),
      class: "ae-curve",
    }),
  );
  const here = x(temperature);
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
    axis(
      { x1: EDGE, x2: width - EDGE, y1: y(weight), y2: y(weight) },
      { x: 0, y: y(weight) + 4 },
      weight,
    ),
  );
  const ticks = TICKS.flatMap((t) =>
    axis(
      { x1: x(t), x2: x(t), y1: y(1), y2: y(0) + 5 },
      { x: x(t), y: CHART_HEIGHT - 4, "text-anchor": "middle" },
      t,
    ),
  );
  const cursor = h("line", { x1: here, x2: here, y1: 0, y2: y(0) + 6, class: "ae-cursor" });
  svg.replaceChildren(...grid, ...ticks, ...paths, cursor, ...marks);
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
