// A field to type a sentence into, for explorables that bring MiniLM. The model is fetched with a
// press or with the first key, and not before.

import { h } from "./dom.js";
import { workerAt } from "./sentence72_model.js";

const LISTS = "minilm-lists"; // as in run-here.js
const HERE = "Your own sentence: the model is here";
const PAUSE = 250; // ms after the last key before the model runs
export const MOST = 16; // tokens: more do not fit into a picture

// Whether this browser keeps all of the model: the list of its files is kept with them.
async function isHere(folder) {
  const list = await globalThis.caches?.match(new URL(`${folder}manifest.json`, document.baseURI), { cacheName: LISTS });
  if (!list) return false;
  const { chunks, vocabulary } = await list.json();
  const kept = (await (await caches.open("minilm")).keys()).map(({ url }) => url.split("/").pop());
  return [...chunks, vocabulary].every(({ name }) => kept.includes(name));
}

// words: what the field holds at first. change(live) is called when the model is there or gone;
// read(ask), when there is a sentence to read: ask(silent) gives what the model makes of it, and
// read gives { found, show }. show() is called if no newer sentence came in the meantime.
export function ownSentence(host, words, { change, read }) {
  const { model: folder, mb } = host.dataset;
  let model, timer, live;
  let begun = false; // by a press or a key; after a stop or an error a key alone begins nothing
  let newest = 0;

  // Of several lines, so that all of the sentence is seen; it is one line all the same.
  const field = h("textarea", {
    ...{ rows: 3, maxlength: 120, spellcheck: "false", autocomplete: "off", oninput: typed, onkeydown: enter },
    ...{ "aria-label": `Your sentence, at most ${MOST} tokens` },
  }, words);
  field.disabled = !folder;
  const go = h("button", { type: "submit" }, `Your own sentence: fetch ${mb} MB`);
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Fetched" });
  const stop = h("button", { type: "button", onclick: () => halt("") }, "Stop");
  const status = h("span", { class: "ae-caption", role: "status" });
  const begin = (event) => event.preventDefault(folder && fetchModel());
  const ways = h("span", { class: "ae-ways" }, go, status, bar, stop);
  const form = h("form", { class: "ae-controls ae-own", onsubmit: begin }, field, ways);
  if (!folder) status.textContent = "On the course’s site: a sentence of your own.";
  else isHere(folder).then((here) => here && (go.textContent = HERE), () => {}); // or it cannot be known
  offer(false);

  function offer(fetching) {
    [go.hidden, bar.hidden, stop.hidden] = [!folder || Boolean(model), !fetching, !fetching];
  }
  function turn(on) {
    const stopped = document.activeElement === stop;
    live = on;
    offer(false);
    if (stopped) (on ? field : go).focus(); // who typed, or went elsewhere, is left there
    change(on);
  }
  async function fetchModel() {
    if (model) return;
    begun = true;
    try {
      model = workerAt(new URL(folder, document.baseURI).href);
      const pressed = document.activeElement === go;
      offer(true);
      if (pressed) stop.focus();
      await model.load(({ done, total }) => {
        bar.value = done / total;
        status.textContent = `${Math.round(done / 1e6)} of ${mb} MB`;
      });
      turn(true);
      await again();
    } catch (error) {
      const away = !navigator.onLine && "this device is offline";
      const served = location.protocol === "file:" && "open the page with make serve";
      halt(`Not fetched: ${served || away || error.message}.`);
    }
  }
  function halt(why) {
    model?.stop();
    model = null;
    status.textContent = why;
    turn(false);
  }
  function typed() {
    if (field.value.includes("\n")) field.value = field.value.replaceAll("\n", " "); // it was pasted
    clearTimeout(timer);
    if (live) timer = setTimeout(again, PAUSE);
    else if (!begun) fetchModel(); // it is read when the model is there
  }
  function enter(event) {
    if (event.key === "Enter" && !event.isComposing) event.preventDefault(form.requestSubmit());
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
