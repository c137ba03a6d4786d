// The few things that every explorable needs to build its part of the page.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = ["svg", "path", "line", "circle", "text", "g"];

// h("button", { type: "button", onclick }, "Reset"): an element with attributes and children.
export function h(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.includes(tag)
    ? document.createElementNS(SVG, tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Minus signs as wide as digits are, so that columns of numbers stay put.
export const fixed = (value, digits) => value.toFixed(digits).replace("-", "−");

// Weights: an exact zero is "0", a small one is "0.000".
export const shown = (weight, digits) => (weight === 0 ? "0" : weight.toFixed(digits));

// A live region that waits until the reader pauses, so that dragging is not read out step by step.
export function speaker(node) {
  let timer;
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => (node.textContent = text), 400);
  };
}

// Replace the static picture of each explorable of this name. A notebook may run the script a
// moment before it puts the output on the page: hence the second look.
export function mount(name, build, looks = 60) {
  const waiting = document.querySelectorAll(`[data-explorable="${name}"]:not([data-ready])`);
  for (const host of waiting) {
    const body = host.querySelector(".ae-body");
    const nodes = build(host, JSON.parse(host.dataset.given));
    body.replaceChildren(...nodes);
    host.dataset.ready = "yes";
  }
  if (!waiting.length && looks) requestAnimationFrame(() => mount(name, build, looks - 1));
}
