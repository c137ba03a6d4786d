// A plane with a point to drag, and sliders: shared by "retrieval" and "gradient".
// A plane is { width, height, unit, origin, reach }: its size in its own units, how many of them
// are 1, where 0 lies among them, and how far the point may go, as reach.x and reach.y.

import { h } from "./dom.js";

const within = (value, [low, high]) => Math.min(Math.max(value, low), high);

// The nearest point that the plane's point may be at.
export const kept = ({ reach }, [x, y]) => [within(x, reach.x), within(y, reach.y)];

// Where a point is drawn.
export const drawnAt = ({ origin, unit }, [x, y]) => [origin.x + unit * x, origin.y - unit * y];

// An empty plane. drag(point) is called while a pointer is down on it.
export function buildPlane(plane, label, drag) {
  const move = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = plane.width / box.width;
    const x = ((event.clientX - box.left) * scale - plane.origin.x) / plane.unit;
    const y = (plane.origin.y - (event.clientY - box.top) * scale) / plane.unit;
    drag(kept(plane, [x, y]));
  };
  const svg = h("svg", {
    class: "ae-plane",
    viewBox: `0 0 ${plane.width} ${plane.height}`,
    role: "img",
    "aria-label": label,
    onpointerdown: (event) => {
      svg.setPointerCapture(event.pointerId);
      move(event);
    },
    onpointermove: (event) => event.buttons && move(event),
  });
  return svg;
}

export function slider(label, [min, max], step, change) {
  const number = h("span", { class: "ae-number" });
  const input = h("input", {
    type: "range",
    ...{ min, max, step },
    oninput: () => change(Number(input.value)),
  });
  return { number, input, node: h("label", { class: "ae-slide" }, label, input, number) };
}

export function showSlider(slide, value, text) {
  slide.input.value = value;
  slide.input.setAttribute("aria-valuetext", text);
  slide.number.textContent = text;
}
