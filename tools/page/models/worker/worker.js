// MiniLM beside the page. In: { number, folder }, to load it, and { number, text, silent, most }, a
// sentence of at most that many tokens. Out, with the same number: { done, total } on the way, then
// { ready } or what the sentence gave, or { error }.

import { file, tidy } from "./files.js";
import { load } from "./load.js";
import { run } from "./minilm.js";
import { tokenize } from "./wordpiece.js";

let model;
let whole = {}; // the last sentence, with all heads

async function open(folder, progress) {
  const answer = await fetch(new URL("manifest.json", folder));
  if (!answer.ok) throw new Error(`manifest.json: ${answer.status}`);
  const list = answer.clone();
  const manifest = await answer.json();
  model = await load(manifest, (one, told) => file(folder, one, told), progress);
  await tidy(manifest).catch(() => {}); // what stays only takes room
  await keepList(list).catch(() => {}); // no room, or no such store
  return { ready: true };
}

// The list of the files, so that a page sees that all of them are here without a request.
const keepList = async (list) => (await caches.open("minilm-lists")).put(list.url, list);

// As many words as fit.
function read(text, most) {
  const words = text.trim().split(/\s+/).slice(0, most);
  let found = tokenize(words.join(" "), model.ids);
  while (found.ids.length > most && words.length > 1) {
    words.pop();
    found = tokenize(words.join(" "), model.ids);
  }
  if (found.ids.length > most) throw new Error(`The first word has more than ${most - 2} pieces.`);
  if (found.ids.length < 3) throw new Error("No word to read."); // [CLS] and [SEP] alone
  return { ...found, text: words.join(" ") };
}

async function answer({ text, silent, most }) {
  const { ids, ...found } = read(text, most);
  const start = performance.now();
  const all = whole.text === found.text ? whole : { text: found.text, ...(await run(model, ids)) };
  whole = all;
  const less = silent.length ? await run(model, ids, new Map(silent)) : all;
  const cosine = less.embedding.reduce((sum, value, i) => sum + value * all.embedding[i], 0);
  const { weights, lengths } = less;
  return { ...found, weights, lengths, cosine, ms: performance.now() - start };
}

self.onmessage = async ({ data: { number, folder, ...question } }) => {
  const progress = (done, total) => postMessage({ number, done, total });
  try {
    postMessage({ number, ...(await (folder ? open(folder, progress) : answer(question))) });
  } catch (error) {
    postMessage({ number, error: error.message });
  }
};
