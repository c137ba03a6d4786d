// The explorable "induction": one head writes the letter before, another looks for it.

import { h, mount } from "./dom.js";
import { look, run, tops } from "./induction_model.js";
import { percent, picture, ROW, TALL } from "./induction_picture.js";
import { sum } from "./numbers.js";
import { fill, stage } from "./scene.js";

const GLIDE = 300; // ms
const MANY = 4; // more letters than these are counted, not named; and as many heads or more

export const first = (given, width) => picture(given.start, width, given);

// All that follows from the state.
export function compute({ text, silent }, given) {
  const { weights, chances } = run("^" + text, silent, given);
  return { weights, chances };
}

// What the picture says, in the maker's words: what `induction` finds, and then what is guessed.
export function sentence(state, given) {
  const [now, whole] = [state, { ...state, silent: [] }].map((one) => look(one, given));
  return `${finding(state, now, whole, given)} ${guessing(state, now, whole, given)}`;
}

function finding({ at, silent }, { tokens, found, p }, whole, { words }) {
  const lost = silent.includes("previous") && whole.found.length;
  const rests = at === 0 ? "nothing" : lost ? "blind" : "rests";
  const key = silent.includes("induction") ? "deaf" : found.length ? "finds" : rests;
  return fill(words[key], {
    ...{ letter: tokens[at], at, all: at + 1, found: found.length },
    weight: percent(sum(found.map((j) => p[j]))),
    taken: listed([...new Set(found.map((j) => tokens[j]))], words.and),
  });
}

function guessing({ silent }, now, whole, given) {
  const { words, letters, heads } = given;
  const [guess, before] = [now, whole].map((one) => tops(one.chances, given));
  const first = letters.indexOf(before[0]);
  const [left, share] = [now, whole].map((one) => percent(one.chances[first], 1));
  const kept = guess.join() === before.join();
  const key = !silent.length ? "alone" : !kept ? "other" : left === share ? "same" : "less";
  const each = (chance) => (guess.length > 1 && kept ? fill(words.each, { share: chance }) : chance);
  const many = guess.length > MANY && fill(words.many, { many: guess.length });
  const names = heads.map(({ role }) => role).filter((role) => silent.includes(role));
  const several = names.length > MANY - 1 && fill(words.several, { some: names.length });
  return fill(words[key], {
    ...{ was: before[0], now: each(left), share: each(share), before: share, count: heads.length },
    ...{ heads: several || joined(names, words.and), tops: many || listed(guess, words.or) },
  });
}

const joined = (all, last) => all.join(", ").replace(/, ([^,]*)$/, ` ${last} $1`);
const listed = (letters, last) => joined(letters.map((letter) => `“${letter}”`), last);

function build(host, given) {
  const { letters, most, heads, words } = given;
  const state = { ...given.start };
  const { svg, front, said, spoken, show, speak } = stage(words.label);

  function draw(ms = 0, change = {}) {
    Object.assign(state, change);
    const now = picture(state, svg.clientWidth, given);
    show(now, ms);
    if (field.value !== state.text) field.value = state.text;
    switches.forEach((one) => one.setAttribute("aria-pressed", state.silent.includes(one.value)));
    showPlaces(now.at);
    said.textContent = sentence(state, given);
    speak(said.textContent);
    host.dataset.state = JSON.stringify({ ...state, ...compute(state, given) });
  }

  const clean = (typed) =>
    [...typed.toLowerCase()].filter((letter) => letters.indexOf(letter) > 0).slice(0, most).join("");
  const type = (text) => draw(GLIDE, { text, at: text.length });
  const field = h("input", {
    ...{ type: "text", size: most + 2, spellcheck: "false", autocapitalize: "off" },
    ...{ autocomplete: "off", "aria-label": words.text, oninput: () => type(clean(field.value)) },
  });
  const reset = () => draw(GLIDE, given.start);
  const write = h(
    "div",
    { class: "ae-controls" },
    ...[h("span", {}, `${words.text} ^`), field],
    h("button", { type: "button", onclick: reset }, words.reset),
  );

  const turn = (role) => {
    const { silent } = state;
    const left = silent.filter((one) => one !== role);
    draw(GLIDE, { silent: left.length < silent.length ? left : [...silent, role] });
  };
  const switches = heads.map(({ role }) =>
    h("button", { type: "button", value: role, onclick: () => turn(role) }, role),
  );
  const groups = [0, 1].map((layer) => {
    const label = fill(words.layer, { layer });
    const look = { class: "ae-layer", role: "group", "aria-label": `${words.silence}, ${label}` };
    return h("div", look, h("span", {}, label), ...switches.filter((_, i) => heads[i].layer === layer));
  });

  // A place is chosen by pressing it, or with the arrow keys.
  const spots = [...Array(most + 1).keys()].map((at) => {
    const pick = () => draw(GLIDE, { at });
    return h("rect", { class: "ae-thing", role: "button", rx: 4, onclick: pick, onkeydown: walk });
  });
  function walk(event) {
    const { text, at } = state;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: text.length }[event.key];
    const enter = event.key === "Enter" || event.key === " ";
    if (to === undefined && !enter) return;
    event.preventDefault();
    const next = enter ? spots.indexOf(event.target) : Math.min(Math.max(to, 0), text.length);
    draw(GLIDE, { at: next });
    spots[next].focus();
  }
  function showPlaces({ middles, step }) {
    const tokens = "^" + state.text;
    spots.forEach((spot, at) => {
      spot.style.display = at < tokens.length ? "" : "none";
      if (at >= tokens.length) return;
      const look = {
        ...{ x: middles[at] - step / 2, y: ROW.text, width: step, height: ROW.before + TALL - ROW.text },
        ...{ "aria-label": fill(words.place, { at, letter: tokens[at] }), "aria-pressed": at === state.at },
        tabindex: at === state.at ? 0 : -1,
      };
      for (const [name, value] of Object.entries(look)) spot.setAttribute(name, value);
    });
  }

  front.append(...spots);
  const silence = h("div", { class: "ae-controls ae-silence" }, h("span", {}, words.silence), ...groups);
  return { nodes: [write, silence, svg, said, spoken], draw };
}

if (globalThis.document) mount("induction", build);
