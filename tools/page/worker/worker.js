// Python of one page. In: {code, name, kept, stub}; kept: the functions that the reader kept, by name, each
// with its code; stub: the chapter's code of an answer that was changed, of which nothing of before stays.
// Out: {share} of what is fetched, then {ready} or {failed}; then for each code {kind, text} as it prints,
// {kind: "figure", svgs} as it draws, {kind: "keep", part, text} for a function to be kept, and {done, error,
// status} at its end. {needed: the code of each cell above, and of one more; given: the chapter's own code of
// each} is answered by {done, needed}: which of them must run before that one, by their numbers (slice.py).
// One code or question at a time: the page waits for {done}.
// {model: "minilm"} is for minilm.js, {model: "judge"} for judge.js and other {model} for model.js, fetched
// when they are first asked.
import { loadPyodide } from "./pyodide.mjs";

const here = new URL("./", import.meta.url).href;
const options = new URL(import.meta.url).searchParams; // course: its zip; bytes: all that is fetched
const course = new URL(options.get("course"), here).href;
const LIMIT = 20000; // characters that one run may print
const FOLDER = "/home/pyodide/my_attention";

const HELPER = `
import ast, linecache, os, sys, traceback
import numpy
from pyodide.code import eval_code

os.chdir("/home/pyodide")
sys.stdout.reconfigure(line_buffering=True)
_cells = {"__name__": "__main__"}
_texts = {}
_ran = []
_ABSENT = """
Python in the page has NumPy and the NumPy part of attention_src. For PyTorch, language models and other
plots, open the chapter's notebook (the buttons at the top of the page)."""

def _file(name, code):
    # A cell that was changed gets another name, so that functions of before keep their lines.
    texts = _texts.setdefault(name, [])
    if code not in texts:
        texts.append(code)
    version = texts.index(code) + 1
    return name if version == 1 else f"{name}, version {version}"

def _read(code, given):
    # What does not parse stands for what the chapter has there. It never ran, so it runs, and says why.
    try:
        ast.parse(code)
        return code
    except SyntaxError:
        return f"{given}\\n# Something else that does not parse."

def _needed(codes, given):
    from slice import needed
    *above, code = map(_read, codes, given)
    return needed(above, code, _ran, set(given))

def _forget(stub):
    # The names that an answer is to make: its new code may make others, or none.
    for node in ast.parse(stub).body:
        blank = isinstance(node, ast.Assign) and getattr(node.value, "value", None) is ...
        for name in [t.id for t in node.targets] if blank else [getattr(node, "name", "")]:
            if name in _cells:
                del _cells[name]
                _ran.append(f"del {name}")

def _run(code, name, stub):
    _forget(stub)
    _ran.append(code)
    name = _file(name, code)
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        value = eval_code(code, _cells, filename=name)
    except BaseException as error:
        _ran[-1] += "\\n# It raised an error."  # hence it is run again where it is needed
        tb = error.__traceback__
        while tb and not tb.tb_frame.f_code.co_filename.startswith("cell "):
            tb = tb.tb_next
        text = "".join(traceback.format_exception(type(error), error, tb))
        return text + _ABSENT if isinstance(error, ImportError) else text, True, ""
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    if value is None or hasattr(value, "_ipython_display_"):
        return "", False, str(getattr(value, "status", ""))
    return repr(value), False, ""
`;

let printed = 0;
function write(kind, text) {
  if (printed > LIMIT) return;
  printed += text.length;
  postMessage({ kind, text: printed > LIMIT ? `${text.slice(0, LIMIT)}\n… more than can be shown\n` : text });
}
// One SVG, or two: a wide one and a narrow one. It counts as a thousand characters.
function figure(...svgs) {
  if (printed > LIMIT) return;
  printed += 1000;
  postMessage(printed > LIMIT ? { kind: "err", text: "… more than can be shown\n" } : { kind: "figure", svgs });
}
function keep(part, text) {
  postMessage({ kind: "keep", part, text });
}
function handler(kind) {
  const decoder = new TextDecoder();
  return {
    isatty: false,
    write(bytes) {
      write(kind, decoder.decode(bytes, { stream: true }));
      return bytes.length;
    },
  };
}

async function load() {
  const archive = fetch(course).then((answer) => {
    if (!answer.ok) throw new Error(`${answer.status} for ${course}`);
    return answer.arrayBuffer();
  });
  archive.catch(() => {}); // awaited below
  const python = await loadPyodide({
    indexURL: here,
    packageBaseUrl: here, // otherwise a package that is not here would be sought elsewhere
    packages: ["numpy"],
    stdout() {},
  });
  python.unpackArchive(await archive, "zip", { extractDir: "/lib/python3.13/site-packages" });
  python.registerJsModule("page", { figure, keep }); // for IPython.display and exercises.keep
  python.setStdin({ error: true });
  python.setStdout(handler("out"));
  python.setStderr(handler("err"));
  python.runPython(HELPER);
  return python;
}

// Where exercises/keep.py looks: what the browser keeps now, whatever was there.
function layOut(FS, kept) {
  FS.mkdirTree(FOLDER);
  for (const file of FS.readdir(FOLDER)) if (file.endsWith(".py")) FS.unlink(`${FOLDER}/${file}`);
  for (const [part, { code }] of Object.entries(kept)) FS.writeFile(`${FOLDER}/${part}.py`, code);
}

// Undefined if that cannot be said, as of code that is nested too deep.
function answered(python, ...codes) {
  const ask = python.globals.get("_needed");
  const given = codes.map((each) => python.toPy(each));
  try {
    const found = ask(...given);
    const numbers = found.toJs();
    found.destroy();
    return numbers;
  } catch {
    return undefined;
  } finally {
    for (const each of given) each.destroy();
    ask.destroy();
  }
}

// A worker named "tells" says how much has come. Another leaves answers as they are, since a browser keeps
// compiled code for those alone.
const plain = fetch;
if (self.name === "tells") {
  let bytes = 0;
  const transform = (part, way) => {
    postMessage({ share: Math.min((bytes += part.length) / options.get("bytes"), 1) });
    way.enqueue(part);
  };
  self.fetch = async (...asked) => {
    const answer = await plain(...asked);
    return new Response(answer.body.pipeThrough(new TransformStream({ transform })), answer);
  };
}

const loading = load();
const loaded = (message) => {
  self.fetch = plain;
  postMessage(message);
};
loading.then(
  () => loaded({ ready: true }),
  (error) => loaded({ failed: error.message || String(error) }),
);

let model;
async function answer(data) {
  if (data.model === "minilm") {
    const { fetchMiniLM } = await import("./minilm.js");
    return fetchMiniLM(await loading, data.folder);
  }
  if (data.model === "judge") {
    const { judge } = await import("./judge.js");
    return judge(await loading, data);
  }
  if (data.model === "halt") return (await model)?.halt();
  model ??= import("./model.js");
  const { prepare, write } = await model;
  model.ready ??= prepare(await loading) ?? true;
  await write(data);
}

onmessage = async ({ data }) => {
  if (data.model) return answer(data).catch(({ message }) => postMessage({ model: "done", error: message }));
  const { code, name, kept, stub } = data;
  const python = await loading;
  if (data.needed) return postMessage({ done: true, needed: answered(python, data.needed, data.given) });
  const run = python.globals.get("_run");
  printed = 0;
  layOut(python.FS, kept);
  try {
    const result = run(code, name, stub);
    const [text, error, status] = result.toJs();
    result.destroy();
    run.destroy();
    if (text) write(error ? "error" : "value", text);
    postMessage({ done: true, error, status });
  } catch (error) {
    // Python itself gave up, as it does when recursion fills the browser's stack.
    postMessage({ done: true, error: true, fatal: true, text: String(error.message || error) });
  }
};
