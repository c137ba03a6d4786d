// The few things that every explorable needs to build its part of the page.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = ["svg", "g", "rect", "path", "circle", "text"];

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

// Minus signs as wide as digits are, so that columns of numbers stay put; and no "−0.00".
export const fixed = (value, digits) =>
  value
    .toFixed(digits)
    .replace(/^-(?=[0.]*$)/, "")
    .replace("-", "−");

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

// Buttons of which one is pressed: options maps a value to its words. choose(value) is called when
// a reader presses one; press(value) shows which one is.
export function choices(label, options, choose) {
  const buttons = Object.entries(options).map(([value, words]) =>
    h("button", { type: "button", value, onclick: () => choose(value) }, words),
  );
  const node = h("div", { class: "ae-choices", role: "group", "aria-label": label }, ...buttons);
  const press = (value) =>
    buttons.forEach((one) => one.setAttribute("aria-pressed", one.value === String(value)));
  return { node, press };
}

// Replace the static picture of each explorable of this name, once it is near the window: to build it
// lays out its part of the page. build returns nodes, or { nodes, draw }: draw() is then called when
// they stand in the page, and when their width changes. A notebook may run the script a moment before
// it puts the output on the page: hence the second look.
export function mount(name, build, looks = 60) {
  const waiting = document.querySelectorAll(`[data-explorable="${name}"]:not([data-ready])`);
  const near = new IntersectionObserver(
    (seen) => {
      for (const { target, isIntersecting } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        replace(target, build);
      }
    },
    { rootMargin: "100% 0px" },
  );
  for (const host of waiting) near.observe(host);
  if (!waiting.length && looks) requestAnimationFrame(() => mount(name, build, looks - 1));
}

function replace(host, build) {
  if (host.dataset.ready) return; // a second script of that name was here first
  const place = host.querySelector(".ae-live") ?? host.querySelector(".ae-body");
  const built = build(host, JSON.parse(host.dataset.given));
  const still = h("div", { class: "ae-paper" }, ...place.childNodes); // for paper
  place.replaceChildren(...(built.nodes ?? built), still);
  host.dataset.ready = "yes";
  if (built.draw) follow(place, built.draw);
}

// An output may be folded away, and then it has no width; on paper its still stands in its place.
function follow(place, draw) {
  const paper = matchMedia("print");
  let width = 0;
  const fit = () => {
    if (paper.matches || !place.clientWidth || place.clientWidth === width) return;
    width = place.clientWidth;
    draw();
  };
  fit();
  new ResizeObserver(fit).observe(place);
}
