// Code cells that run in the page. Nothing is fetched before a button is pressed; then a worker
// (tools/runhere) runs Python. Cells further up run first, quietly, so that each finds its names.
(() => {
  const base = document.currentScript.src;
  const { python: address, mb } = document.querySelector("article").dataset;
  if (!address) return;
  const LOST = "Python stopped. It starts again with the next press.";
  const cells = [];
  let worker, job;
  let queue = Promise.resolve(); // one cell at a time
  let era = 0; // a stop ends everything that was asked for before it

  function start() {
    if (worker) return worker.ready;
    if (location.protocol === "file:")
      return Promise.reject("Python cannot start in a page opened as a file. Serve the site: make serve");
    const mine = new Worker(new URL(address, base), { type: "module" });
    mine.ready = new Promise((resolve, reject) => {
      const fail = (why) => reject(`Python could not be loaded. ${why ?? ""}`);
      mine.giveUp = reject;
      mine.onerror = (event) => fail(event.message);
      mine.onmessage = ({ data }) => {
        if (data.ready) resolve();
        else if (data.failed) fail(data.failed);
        else if (data.done) job.done(data);
        else job.write(data);
      };
    });
    mine.ready.catch(() => mine === worker && forget()); // the next press tries again
    worker = mine;
    return worker.ready;
  }

  function forget() {
    worker?.terminate();
    worker?.giveUp("Stopped.");
    worker = undefined;
    for (const cell of cells) cell.ran = undefined;
  }

  // The only way to end `while True: pass`: a new Python, in which earlier cells run again.
  function stop() {
    era++;
    forget();
    job?.done({ error: true, stopped: true });
    start().catch(() => {});
  }

  function execute(cell, write) {
    const code = cell.code();
    return new Promise((resolve) => {
      job = {
        write,
        done(result) {
          job = undefined;
          cell.ran = result.stopped ? undefined : code;
          cell.endless = result.stopped && code !== cell.given ? code : undefined;
          if (result.fatal) forget();
          resolve(result);
        },
      };
      worker.postMessage({ code, name: `cell ${cell.number}` });
    });
  }

  async function perform(cell, mine) {
    const current = () => mine === era;
    const say = (text) => (cell.status.textContent = text);
    say(worker ? "" : `Loading Python (${mb} MB, once) …`);
    await start();
    for (const earlier of cells.slice(0, cell.number - 1)) {
      const code = earlier.code();
      if (!current()) return say("Stopped.");
      if (earlier.checks || earlier.ran === code || earlier.endless === code) continue;
      say("Running the cells above …");
      const { error, stopped } = await execute(earlier, () => {});
      if (error && !stopped) cell.note(`Cell ${earlier.number}, further up, raised an error.\n`);
    }
    if (!current()) return say("Stopped.");
    say("Running …");
    const result = await execute(cell, cell.write);
    if (result.fatal) cell.write({ kind: "error", text: `${result.text}\n${LOST}` });
    if (result.stopped) return say("Stopped. The cells above run again when they are needed.");
    say(result.error ? "An error." : "Done.");
    if (result.status === "passed" && cell.exercise)
      document.dispatchEvent(
        new CustomEvent("exercise-passed", { detail: { id: cell.exercise } }),
      );
  }

  function press(cell) {
    if (cell.busy) return;
    cell.begin();
    const mine = era;
    const turn = queue.then(() => (mine === era ? perform(cell, mine) : undefined));
    queue = turn.catch((problem) => (cell.status.textContent = String(problem))).then(cell.end);
  }

  const make = (tag, className, more) => Object.assign(document.createElement(tag), { className, ...more });

  // One button per cell; all else is made when it is pressed.
  function prepare(box, exercise) {
    const given = box.querySelector(".cell_input pre").textContent.trimEnd();
    const checks = /^(assert )?check_\w+\(/m.test(given);
    const cell = { number: cells.length + 1, given, exercise, checks, code: () => given };
    const bar = make("div", "run-bar");
    const go = button(bar, "Run here", cell);
    go.addEventListener("click", () => {
      const blank = /raise NotImplementedError|=\s*\.\.\.\s*[,)\n]/.test(given);
      const first = !cell.field;
      if (first) open(box, bar, go, cell);
      if (first && blank) cell.field.focus(); // for the reader to fill in
      else press(cell);
    });
    box.querySelector(".cell_input").append(bar);
    cells.push(cell);
  }

  function button(bar, textContent, cell) {
    const made = make("button", "run-button", { type: "button", textContent });
    made.setAttribute("aria-label", `${textContent}: cell ${cell.number}`);
    bar.append(made);
    return made;
  }

  function open(box, bar, go, cell) {
    const { given, number } = cell;
    const input = box.querySelector(".cell_input");
    const field = make("textarea", "run-code", { value: given, spellcheck: false, autocomplete: "off" });
    const halt = button(bar, "Stop", cell);
    const reset = button(bar, "Reset", cell);
    const status = make("span", "run-status", { role: "status" });
    const yours = make("div", "run-yours", { hidden: true });
    const out = make("pre", "", { tabIndex: 0 });
    let timer;

    field.setAttribute("autocapitalize", "off");
    field.setAttribute("aria-label", `Code of cell ${number}. Control and Enter run it.`);
    out.setAttribute("role", "region");
    out.setAttribute("aria-label", `Your output of cell ${number}`);
    yours.setAttribute("aria-live", "polite");
    yours.append(make("p", "run-label", { textContent: "Yours" }), out);
    halt.hidden = true;
    bar.append(status);
    bar.before(field);
    box.append(yours);
    input.classList.add("run-open");
    input.firstElementChild.hidden = true;

    const write = ({ kind, text }) => {
      yours.hidden = false;
      out.append(make("span", /err/.test(kind) ? "run-error" : "", { textContent: text }));
    };
    Object.assign(cell, {
      field,
      status,
      write,
      code: () => field.value,
      note: (text) => write({ kind: "err", text }),
      begin() {
        cell.busy = true;
        go.setAttribute("aria-disabled", "true");
        out.textContent = "";
        timer = setTimeout(() => (halt.hidden = false), 300);
        status.textContent = "Waiting …";
      },
      end() {
        cell.busy = false;
        go.removeAttribute("aria-disabled");
        clearTimeout(timer);
        halt.hidden = true;
        yours.hidden = !out.textContent;
      },
    });

    // The only way that leaves Ctrl+Z working.
    const insert = (text) => {
      field.focus();
      document.execCommand("insertText", false, text);
    };
    const changed = () => {
      field.rows = field.value.split("\n").length;
      reset.hidden = field.value === given;
    };
    changed();
    field.addEventListener("input", changed);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey || event.shiftKey) return press(cell);
      const line = field.value.slice(0, field.selectionStart).split("\n").pop();
      insert("\n" + line.match(/^ */)[0] + (/:\s*(#.*)?$/.test(line) ? "    " : ""));
    });
    halt.addEventListener("click", () => {
      stop();
      go.focus();
    });
    reset.addEventListener("click", () => {
      field.select();
      insert(given);
      yours.hidden = true;
      out.textContent = status.textContent = "";
      go.focus();
    });
  }

  let exercise;
  for (const found of document.querySelectorAll("div.exercise[id], article h2, article div.cell")) {
    if (found.matches("h2")) exercise = undefined;
    else if (found.matches(".exercise")) exercise = found.id;
    else if (!found.matches(".tag_notebook-only") && found.querySelector(".cell_input pre"))
      prepare(found, exercise);
  }
})();
