// The explorable "sentence": pick a word, and see where a head of a real model looks from there.

import { h, mount, speaker } from "./dom.js";

function build(host, { tokens, heads }) {
  const names = Object.keys(heads);
  const state = { head: names[0], query: Math.floor((tokens.length - 1) / 2) };
  const change = (part) => {
    Object.assign(state, part);
    redraw();
  };
  const select = h(
    "select",
    { onchange: () => change({ head: select.value }) },
    ...names.map((name) => h("option", { value: name }, name)),
  );
  const words = tokens.map((token, i) => ({
    button: h("button", { type: "button", onclick: () => change({ query: i }) }, token),
    bar: h("div", { class: "ae-fill" }),
    number: h("span", { class: "ae-number" }),
  }));
  const sentence = h("p", { class: "ae-entropy" });
  const spoken = h("p", { class: "ae-spoken", "aria-live": "polite" });
  const speak = speaker(spoken);

  function redraw() {
    const weights = heads[state.head][state.query];
    words.forEach(({ button, bar, number }, j) => {
      button.setAttribute("aria-pressed", j === state.query);
      bar.style.setProperty("--weight", weights[j]);
      number.textContent = weights[j].toFixed(2);
    });
    const best = weights.indexOf(Math.max(...weights));
    const share = Math.round(100 * weights[best]);
    sentence.textContent = `From “${tokens[state.query]}”, ${share}% goes to “${tokens[best]}”.`;
    speak(sentence.textContent);
    host.dataset.state = JSON.stringify({ ...state, weights });
  }
  redraw();
  return [
    h("div", { class: "ae-controls" }, h("label", {}, "Head ", select)),
    h(
      "div",
      { class: "ae-words", role: "group", "aria-label": "Look from this word" },
      ...words.map(({ button, bar, number }) =>
        h("div", { class: "ae-word" }, number, h("div", { class: "ae-column" }, bar), button),
      ),
    ),
    sentence,
    spoken,
  ];
}

mount("sentence", build);
