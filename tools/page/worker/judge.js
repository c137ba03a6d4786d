// Judges code that a reader pasted (attention_src.judge), in Python's worker. In: {model: "judge", code, kind}.
// Out: {model: "begun"} once the judge is there, {model: "verdict", report}, then {model: "done"}. What the code
// prints is not shown.
const HELPER = `
def judge_pasted(code, kind):
    import contextlib, io, json
    from attention_src.judge import judge_source

    class Nowhere(io.TextIOBase):
        def writable(self):
            return True

        def write(self, text):
            return len(text)

    with contextlib.redirect_stdout(Nowhere()), contextlib.redirect_stderr(Nowhere()):
        try:
            return judge_source(code, kind=kind or None).to_json()
        except BaseException as error:
            why = f"{type(error).__name__}: {error}"[:500]
            return json.dumps({"verdict": "not judged", "why": why})
`;

let ask;
export function judge(python, { code, kind }) {
  if (!ask) {
    const space = python.toPy({});
    python.runPython(`${HELPER}\nimport attention_src.judge`, { globals: space });
    ask = space.get("judge_pasted");
  }
  postMessage({ model: "begun" });
  let report;
  try {
    report = JSON.parse(ask(code, kind));
  } catch (error) {
    // Python itself gave up, as it does when recursion fills the browser's stack.
    return postMessage({ model: "done", error: String(error.message || error), fatal: true });
  }
  postMessage({ model: "verdict", report });
  postMessage({ model: "done" });
}
