// A place in a picture that is a slider for the arrow keys, and for mouse and finger the place itself.

export const slider = (name, count) => ({
  ...{ class: "ae-thing", tabindex: 0, role: "slider", "aria-label": name },
  ...{ "aria-valuemin": 0, "aria-valuemax": count - 1 },
});

// Where it stands, its value, and that value in words.
export function frame(node, [x, y, width, height], value, words) {
  for (const [name, size] of Object.entries({ x, y, width, height })) node.setAttribute(name, size);
  node.setAttribute("aria-valuenow", value);
  node.setAttribute("aria-valuetext", words);
}
