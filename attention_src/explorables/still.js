// A still: a picture of marks as an SVG file, for print, notebooks and places that run no scripts.
// stills.py calls this with Node; no page loads it.

import { plain } from "./scene.js";

// The colours of stills: readable on white and on black, because a still does not know its page.
const PRINT = {
  ...{ q: "#0072b2", k: "#d55e00", v: "#009e73", p: "#7a5fc7", o: "#cc79a7" },
  ...{ "q-fill": "#0072b2", "k-fill": "#d55e00", "v-fill": "#009e73", "p-fill": "#7a5fc7" },
  ...{ "o-fill": "#cc79a7", ink: "#767676", soft: "#767676", line: "#a3a9b0", bg: "none" },
  ...{ surface: "none", score: "#767676", on: "#1b1d20" },
  ...{ t0: "#cfd3d8", t1: "#f0df63", t2: "#8f98a3", t3: "#d9b78e", t4: "#b2b84d" },
};
// What SVG takes for granted.
const USUAL = { opacity: 1, "fill-opacity": 1, "font-weight": 400, "text-anchor": "start" };
const escape = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;");

function colour(_, name) {
  if (!(name in PRINT)) throw new Error(`--ae-${name} has no colour in print: add it to still.js`);
  return PRINT[name];
}

// What a style sheet says as well: marks that look alike then share a class.
const LOOK = /^(fill|stroke|font|text|paint|opacity)/;

export function still({ marks, width, height }) {
  const looks = [];
  const shapes = marks
    .filter(([, , { opacity }]) => opacity !== 0)
    .map(([, tag, attributes, words = ""]) => {
      const list = Object.entries(attributes).filter(([name, value]) => USUAL[name] !== value);
      const look = list
        .filter(([name]) => LOOK.test(name))
        .map(([name, value]) => `${name}:${plain(value)}${name === "font-size" ? "px" : ""}`)
        .join(";")
        .replace(/var\(--ae-([a-z0-9-]+)\)/g, colour);
      if (!looks.includes(look)) looks.push(look);
      const places = list
        .filter(([name]) => !LOOK.test(name))
        .map(([name, value]) => ` ${name}="${plain(value)}"`);
      const start = `<${tag} class="m${looks.indexOf(look)}"${places.join("")}`;
      return start + (words ? `>${escape(words)}</${tag}>` : "/>");
    });
  const rules = looks.map((look, n) => `.m${n}{${look}}`).join("\n");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}" font-family="system-ui, sans-serif" ` +
    `style="font-variant-numeric: tabular-nums">\n<style>\n${rules}\n</style>\n` +
    `${shapes.join("\n")}\n</svg>\n`
  );
}
