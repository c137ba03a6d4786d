// A language model in the page's Python. Its file is fetched straight into Python's memory; then it
// writes, token by token, on the course's functions or on those of the page's cells.
// In: {model: "write", folder, prompt, most, own} and, at any time, {model: "halt"}. Out: {model} as
// "fetching" {done, total}, "warning" {text}, "note" {text}, "token" {text}, and at the end "done" {error,
// halted}.

const PRODUCT = "/home/pyodide/blocks.wasm";
const PYTHON = `
_raw = numpy.empty(0, numpy.uint8)

def _room(n_bytes):
    global _raw
    if len(_raw) != n_bytes:  # otherwise it is there from a fetch that was stopped
        _raw = numpy.empty(n_bytes, numpy.uint8)
    return _raw

def _load_model(product):
    global _model
    from attention_src.models.smollm2.in_numpy import blocks, weights
    try:
        blocks.use(product)
        said = ""
    except OSError:
        said = "Without the product by blocks: slower, and 750 MB of memory."
    _model = weights.load(_raw)
    return said

def _begin(prompt, most, own):
    global _next
    from attention_src.models.smollm2.in_numpy import own as parts, write
    if own and not isinstance(_cells.get(own), dict):
        raise NameError(f"no dict of functions named {own}: did its cell raise an error?")
    mine = _cells[own] if own else {}
    _next = write.write(_model, prompt, most, parts.on(mine) if mine else None).__next__
    if mine or not own:
        return ""
    return (f"{own} is empty, so the model writes on the course’s functions. What you keep at the end "
            "of an exercise gets there.")

def _in_words(f, *given):
    try:
        return f(*given), ""
    except StopIteration:
        return None, ""
    except Exception as error:
        return None, str(error)
`;

// The browser's own store, if there is one; a file's key in it is its name, which is its hash.
const opened = () => self.caches?.open("smollm2").catch(() => null);
const key = ({ name }) => `https://smollm2.invalid/${name}`; // no such host: nothing is fetched there

let python, call, loaded, halting;

export function prepare(given) {
  python = given;
  python.runPython(PYTHON);
  const inWords = python.globals.get("_in_words");
  call = (name, ...more) => {
    const f = python.globals.get(name);
    const answer = inWords(f, ...more);
    const [value, error] = answer.toJs();
    answer.destroy();
    f.destroy();
    if (error) throw new Error(error);
    return value;
  };
}

export function halt() {
  halting?.abort();
}

async function file(folder, one, signal) {
  const store = await opened();
  const kept = await store?.match(key(one));
  const answer = kept || (await fetch(new URL(one.name, folder), { signal }));
  if (!answer.ok) throw new Error(`${one.name}: ${answer.status}`);
  if (store && !kept) await store.put(key(one), answer.clone()).catch(() => {}); // no room: it is fetched again
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes.length !== one.bytes) throw new Error(`${one.name} has ${bytes.length} bytes of ${one.bytes}`);
  return bytes;
}

// Chunks, two on their way at a time, into one array of NumPy.
async function load(folder, signal) {
  const answer = await fetch(new URL("manifest.json", folder), { signal });
  if (!answer.ok) throw new Error(`manifest.json: ${answer.status}`);
  const { bytes, chunks, product } = await answer.json();
  const raw = python.globals.get("_room")(bytes);
  let at = 0, done = 0;
  const waiting = chunks.map((one) => ({ one, at: (at += one.bytes) - one.bytes }));
  const lane = async () => {
    for (let next; (next = waiting.shift()); ) {
      const data = await file(folder, next.one, signal);
      signal.throwIfAborted();
      const view = raw.getBuffer("u8"); // anew each time: Python's memory may have grown
      view.data.set(data, next.at);
      view.release();
      postMessage({ model: "fetching", done: (done += data.length), total: bytes });
    }
  };
  try {
    const [library] = await Promise.all([file(folder, product, signal), lane(), lane()]);
    python.FS.writeFile(PRODUCT, library);
  } finally {
    waiting.length = 0; // after an error the other lane goes no further
    raw.destroy();
  }
  const text = call("_load_model", PRODUCT);
  if (text) postMessage({ model: "warning", text });
  loaded = folder;
  const known = new Set([...chunks, product].map(key));
  const store = await opened();
  for (const { url } of (await store?.keys()) || []) if (!known.has(url)) await store.delete(url);
}

function offline(error) {
  throw navigator.onLine ? error : new Error("This device is offline.");
}

const rest = () => new Promise((resolve) => setTimeout(resolve)); // a halt may come in

export async function write({ folder, prompt, most, own }) {
  halting = new AbortController();
  const { signal } = halting;
  const end = { model: "done" };
  try {
    if (loaded !== folder) await load(folder, signal).catch(offline);
    const note = call("_begin", prompt, most, own);
    if (note) postMessage({ model: "note", text: note });
    for (let text; (text = call("_next")) !== undefined && text !== null; await rest()) {
      postMessage({ model: "token", text });
      if (signal.aborted) break;
    }
    await rest();
    end.halted = signal.aborted;
  } catch (error) {
    if (signal.aborted) end.halted = true;
    else end.error = error.message;
  }
  postMessage(end);
}
