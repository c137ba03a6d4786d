// A line to type a sentence into, for explorables that bring MiniLM. The model is fetched with a
// press, and not before.

import { h } from "./dom.js";
import { workerAt } from "./sentence72_model.js";

const PAUSE = 250; // ms after the last key before the model runs
export const MOST = 16; // tokens: more do not fit into a picture

// words: what the line holds at first. change(live) is called when the model is there or gone;
// read(ask), when there is a sentence to read: ask(silent) gives what the model makes of it, and
// read gives { found, show }. show() is called if no newer sentence came in the meantime.
export function ownSentence(host, words, { change, read }) {
  const { model: folder, mb } = host.dataset;
  let model, timer;
  let newest = 0;

  const field = h("input", {
    ...{ type: "text", value: words, maxlength: 120, spellcheck: "false", disabled: "" },
    ...{ autocomplete: "off", "aria-label": `Your sentence, at most ${MOST} tokens`, oninput: later },
  });
  const go = h("button", { type: "submit" }, `Your own sentence: fetch ${mb} MB`);
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Fetched" });
  const stop = h("button", { type: "button", onclick: () => halt("") }, "Stop");
  const status = h("span", { class: "ae-caption", role: "status" });
  const begin = (event) => event.preventDefault(folder && fetchModel());
  const ways = h("span", { class: "ae-ways" }, go, status, bar, stop);
  const form = h("form", { class: "ae-controls ae-own", onsubmit: begin }, field, ways);
  if (!folder) status.textContent = "On the course’s site: a sentence of your own.";
  offer(false);

  function offer(fetching) {
    [go.hidden, bar.hidden, stop.hidden] = [!folder || Boolean(model), !fetching, !fetching];
  }
  function turn(live) {
    field.disabled = !live;
    if (live) field.focus();
    offer(false);
    change(live);
  }
  async function fetchModel() {
    if (model) return;
    try {
      model = workerAt(new URL(folder, document.baseURI).href);
      offer(true);
      await model.load(({ done, total }) => {
        bar.value = done / total;
        status.textContent = `${Math.round(done / 1e6)} of ${mb} MB`;
      });
      turn(true);
      await again();
    } catch (error) {
      const served = location.protocol === "file:" ? "open the page with make serve" : "";
      halt(`Not fetched: ${served || error.message}.`);
    }
  }
  function halt(why) {
    model?.stop();
    model = null;
    status.textContent = why;
    turn(false);
  }
  function later() {
    clearTimeout(timer);
    timer = setTimeout(again, PAUSE);
  }

  // Read the sentence. A newer question wins.
  async function again() {
    const [asked, text] = [++newest, field.value];
    if (!text.trim()) return;
    try {
      const { found, show } = await read((silent) => model.ask({ text, silent, most: MOST }));
      if (asked !== newest) return;
      const cut = found.text.split(" ").length < text.trim().split(/\s+/).length;
      status.textContent = cut ? `Read up to “${found.text.split(" ").at(-1)}”` : `${found.ms.toFixed(0)} ms`;
      show();
    } catch (error) {
      if (asked === newest) status.textContent = error.message;
    }
  }
  return { form, again };
}
