// From the files that weights.py wrote to a model that minilm.js can run.

import { readVocabulary } from "./wordpiece.js";

const D = 384;
const PARTS = {
  ...{ query: "attention.self.query", key: "attention.self.key", value: "attention.self.value" },
  ...{ output: "attention.output.dense", outputNorm: "attention.output.LayerNorm" },
  ...{ inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm" },
};

// Every float16 number there is, as a table: reading a weight is then a look-up.
const HALF = Float32Array.from({ length: 65536 }, (_, bits) => {
  const [sign, power, rest] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  return sign * (power ? 2 ** (power - 25) * (1024 + rest) : 2 ** -24 * rest);
});
function floats(bytes, at, count) {
  const bits = new Uint16Array(bytes, at, count);
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) out[i] = HALF[bits[i]]; // Float32Array.from takes much longer
  return out;
}

// get(file, told) fetches { name, bytes } as a Uint8Array; told(bytes) hears of what arrives. The
// chunks come two at a time, straight into their place.
export async function load(manifest, get, progress = () => {}) {
  const data = new Uint8Array(manifest.bytes);
  const total = manifest.bytes + manifest.vocabulary.bytes;
  let done = 0;
  const told = (bytes) => progress((done += bytes), total);
  let at = 0;
  const waiting = manifest.chunks.map((file) => ({ file, at: (at += file.bytes) - file.bytes }));
  const lane = async () => {
    for (let next; (next = waiting.shift()); ) data.set(await get(next.file, told), next.at);
  };
  const [vocabulary] = await Promise.all([get(manifest.vocabulary, told), lane(), lane()]);
  return {
    ...build(manifest, data.buffer),
    ids: readVocabulary(new TextDecoder().decode(vocabulary)),
    tokenRow: tokenRows(manifest, data.buffer, get),
  };
}

function build({ tensors }, bytes) {
  const read = (name) => floats(bytes, ...tensors[name]);
  const both = (name) => ({ weight: read(`${name}.weight`), bias: read(`${name}.bias`) });
  const part = (layer, name) => [name, both(`encoder.layer.${layer}.${PARTS[name]}`)];
  const layers = [0, 1, 2, 3, 4, 5].map((layer) =>
    Object.fromEntries(Object.keys(PARTS).map((name) => part(layer, name))),
  );
  const embeddings = {
    position: read("embeddings.position_embeddings.weight"),
    segment: read("embeddings.token_type_embeddings.weight").slice(0, D), // one text: segment 0
    norm: both("embeddings.LayerNorm"),
  };
  return { layers, embeddings };
}

// The embedding of a token: from the start, or from its block, fetched when it is first needed.
function tokenRows({ tensors, common, block, blocks }, bytes, get) {
  const held = new Map();
  const [start] = tensors["embeddings.word_embeddings.weight"];
  return async (id) => {
    if (id < common) return floats(bytes, start + 2 * D * id, D);
    const number = Math.floor((id - common) / block);
    if (!held.has(number)) held.set(number, (await get(blocks[number])).slice().buffer);
    return floats(held.get(number), 2 * D * (id - common - block * number), D);
  };
}
