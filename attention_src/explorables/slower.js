// The explorable "slower": a text that is written without a store, and what its next token costs.

import { fixed, h, mount } from "./dom.js";
import { button, figure, row, slide } from "./figure.js";
import { sum } from "./numbers.js";
import { bold, disc, isNarrow, line, path, rect, text } from "./scene.js";

const MOST = 2.2; // seconds at which the plot ends
const TOP = 54;
const FOOT = 186; // of the plot, in pixels
const RIBBON = 196;
const TALL = 246;

// The seconds of the next token after n tokens, on a straight line between two that were recorded.
export function seconds(n, { lengths, took }) {
  const i = Math.max(lengths.findIndex((length) => length >= n), 1);
  const part = (n - lengths[i - 1]) / (lengths[i] - lengths[i - 1]);
  return took[i - 1] + part * (took[i] - took[i - 1]);
}

const ends = ({ lengths }) => [lengths[0], lengths.at(-1)];
const counted = (from, to) => [...Array(to - from).keys()].map((i) => from + i);

// next: seconds for the next token; total: for all that were written so far.
export function compute({ n }, given) {
  const written = counted(ends(given)[0], n);
  return { next: seconds(n, given), total: sum(written.map((m) => seconds(m, given))) };
}

const watch = (total) => `${Math.floor(total / 60)}:${`${Math.floor(total % 60)}`.padStart(2, "0")}`;

export function picture(state, width, given) {
  const { n } = state;
  const { next, total } = compute(state, given);
  const [least, most] = ends(given);
  const [left, right] = [38, width - 12];
  const x = (m) => left + ((right - left) * (m - least)) / (most - least);
  const y = (s) => FOOT - ((FOOT - TOP) * s) / MOST;
  const curve = [...given.lengths.filter((m) => m < n), n].map((m) => [x(m), y(seconds(m, given))]);
  const shape = curve.map((point) => point.join(" ")).join(" L");
  const under = ([at]) => Math.round(least + ((most - least) * (at - left)) / (right - left));
  const narrow = isNarrow(width);
  const marks = [
    text("next-name", [left, 13], "next token", "soft", 13, "start"),
    bold(text("next", [left, 40], `${fixed(next, 2)} s`, "o", 24, "start")),
    text("watch-name", [right, 13], narrow ? "stopwatch" : "stopwatch, minutes : seconds", "soft", 13, "end"),
    bold(text("watch", [right, 40], watch(total), "ink", 24, "end")),
    ...[0, 1, 2].flatMap((s) => [
      line(`grid${s}`, [[left, y(s)], [right, y(s)]], s === 1 ? "ink" : "line", s === 1 ? { "stroke-dasharray": "5 4" } : {}),
      text(`tick${s}`, [left - 6, y(s) + 4.5], `${s} s`, s === 1 ? "ink" : "soft", 12.5, "end"),
    ]),
    text("goal", [left + 6, y(1) - 7], "a second for one token", "ink", 13, "start"),
    path("area", `M${x(least)} ${FOOT} L${shape} V${FOOT} Z`, "none", { fill: "var(--ae-o-fill)", "fill-opacity": 0.25 }),
    line("curve", curve, "o-fill", { "stroke-width": 3 }),
    disc("point", curve.at(-1), 4.5, "o-fill"),
    line("up", [[x(n), RIBBON], curve.at(-1)], "soft"),
    rect("ribbon", [left, RIBBON, right - left, 8], "surface", 1, { rx: 4, stroke: "var(--ae-line)" }),
    rect("text", [left, RIBBON, x(n) - left, 8], "o-fill", 1, { rx: 4 }),
    disc("marker", [x(n), RIBBON + 4], 10, "o-fill", { stroke: "var(--ae-bg)", "stroke-width": 2 }),
    ...(n < 200 ? [bold(text("drag", [x(n) + 16, RIBBON + 9], "drag", "o", 13, "start"))] : []),
    text("words", [right, TALL - 10], last(given.words.split("|").slice(0, n).join(""), (right - left) / 8), "ink", 14, "end"),
  ];
  return { marks, pad: { area: [0, TOP, width, TALL - TOP - 26], under, sideways: true }, width, height: TALL };
}

// The end of a text, as much as there is room for, from the beginning of a word.
const last = (words, room) => words.length <= room ? words : `…${words.slice(-room).replace(/^\S*/, "")}`;

// Ten seconds and more are whole ones, and then minutes.
function spent(total) {
  if (total < 10) return `${fixed(total, 1)} s`;
  return total < 60 ? `${Math.round(total)} s` : `${fixed(total / 60, 1)} minutes`;
}

const grouped = (n) => n.toLocaleString("en-US");

export function sentence(state, given) {
  const { next, total } = compute(state, given);
  const before = state.n - ends(given)[0];
  const said = `After ${grouped(state.n)} tokens the next takes ${fixed(next, 2)} s`;
  if (before < 2) return `${said}.`;
  return `${said}; all but the ${ends(given)[0]} given took ${spent(total)}.`;
}

const fresh = ({ n }) => ({ n });
export const first = (given, width) => picture(fresh(given), width, given);

function build(host, given) {
  const [least, most] = ends(given);
  const kept = (n) => ({ n: Math.min(Math.max(n, least), most) });
  const place = slide("tokens so far", [least, most, 1], ({ n }) => n, (n) => set(kept(n)), grouped);
  const follow = ({ n }) => {
    write.disabled = n >= most; // nothing is left to write
    if (write.disabled) stop();
  };
  const { state, set, draw, nodes } = figure(host, given, {
    label: "Seconds that the next token takes, after the tokens so far",
    start: fresh(given),
    ...{ picture, sentence, compute, spoken: sentence, controls: [place, { follow }] },
    drag: kept,
  });

  // The text goes on at the pace that was recorded, until it ends or the button is pressed again.
  let timer;
  function stop() {
    clearTimeout(timer);
    timer = undefined;
    write.textContent = "Write";
  }
  function go() {
    if (state.n >= most) return stop();
    timer = setTimeout(() => go(set(kept(state.n + 1))), 1000 * seconds(state.n, given));
  }
  function press() {
    if (timer) return stop();
    write.textContent = "Stop";
    go();
  }
  const write = button("Write", press);
  const reset = button("Reset", () => set(fresh(given), 200, stop()));
  return { nodes: [...nodes, h("div", { class: "ae-slides" }, place.node), row(write, reset)], draw };
}

if (globalThis.document) mount("slower", build);
