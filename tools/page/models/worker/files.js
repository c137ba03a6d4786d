// The files of the weights, for both that read them: the worker beside this, and the page's Python
// (tools/page/worker). What one of them fetched, the browser keeps for the other.

// The browser's own store, if there is one. A file's key in it is its name, a hash, in place of its
// address: a later version of the site has the same weights in another folder.
const opened = () => self.caches?.open("minilm").catch(() => null);
const key = ({ name }) => `https://minilm.invalid/${name}`; // no such host: nothing is fetched there

// A file by its name, from the store if it was here before.
export async function file(folder, one, told = () => {}) {
  const { name } = one;
  const store = await opened();
  const kept = await store?.match(key(one));
  const answer = kept || (await fetch(new URL(name, folder)));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  const copy = store && !kept ? answer.clone() : null;
  const parts = [];
  const reader = answer.body.getReader();
  for (let part; !(part = await reader.read()).done; ) {
    parts.push(part.value);
    told(part.value.length);
  }
  if (copy) await store.put(key(one), copy).catch(() => {}); // no room: then it is fetched again
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// What makes up a file of safetensors, in its order.
export const parts = ({ header, chunks, blocks, rest }) => [header, ...chunks, ...blocks, rest];

// Delete what is kept of other weights.
export async function tidy(manifest) {
  const store = await opened();
  const known = new Set([...parts(manifest), manifest.vocabulary].map(key));
  for (const { url } of (await store?.keys()) || []) if (!known.has(url)) await store.delete(url);
}
