// Code cells that run in the page. Nothing is fetched before a button is pressed; then a worker
// (tools/page) runs Python. Cells further up that a cell needs run first, quietly.
// On the next pages of that visit Python starts by itself as soon as a button comes near.
(() => {
  const base = document.currentScript.src;
  const { python: address, mb } = document.querySelector("article").dataset;
  if (!address) return;
  const LOST = "Python stopped. It starts again with the next press.";
  // What a check found, in words that are shown.
  const FOUND = {
    passed: "✓ Passed",
    wrong: "Not yet",
    unfinished: "Not finished yet",
    "not started": "Not started",
  };
  const RUN = "Run here";
  const PATIENCE = 2000; // ms until a stop that is not answered ends Python
  const FILL_IN = "Fill in, then press again.";
  const isBlank = (code) => /raise NotImplementedError|=\s*\.\.\.\s*([,)#\n]|$)/.test(code);
  const cells = [];
  const { typed } = window.course ?? {}; // what the reader wrote; absent if its script did not arrive
  let worker, job, asked;
  let fetched; // whether the browser has MiniLM
  let queue = Promise.resolve(); // one cell at a time
  let era = 0; // a stop ends everything that was asked for before it

  // Whether this visit has had this very Python, so that the browser has its files. Where the session
  // keeps nothing, each page's Python waits for a press.
  const VISIT = "attention-course-python";
  const hadPython = () => {
    try { return sessionStorage.getItem(VISIT) === address; } catch { return false; }
  };
  const rememberPython = () => {
    try { sessionStorage.setItem(VISIT, address); } catch { /* blocked or full */ }
  };

  const online = (why) => (navigator.onLine ? why : "This device is offline.");

  // Where a stranger's code may run, the page has a policy by which it reaches this site alone. The worker
  // inherits it only if it comes from a blob.
  const sealed = document.querySelector('meta[http-equiv="Content-Security-Policy"]');
  const script = (href) => {
    if (!sealed) return href;
    const begin = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
    return URL.createObjectURL(begin);
  };

  function start() {
    if (worker) return worker.ready;
    if (location.protocol === "file:")
      return Promise.reject("Python cannot start in a page opened as a file. Serve the site: make serve");
    const name = hadPython() ? "" : "tells";
    const mine = new Worker(script(new URL(address, base).href), { type: "module", name });
    mine.ready = new Promise((resolve, reject) => {
      const fail = (why) => reject(`Python could not be loaded. ${online(why ?? "")}`);
      mine.giveUp = reject;
      mine.onerror = (event) => fail(event.message);
      mine.onmessage = ({ data }) => {
        if (data.ready) {
          mine.runs = true;
          rememberPython();
          label();
          resolve();
        } else if (data.failed) fail(data.failed);
        else if (data.share) mine.told?.(data.share);
        else if (data.model) asked?.hear(data);
        else if (!job) return; // what is printed or kept meanwhile belongs to no cell
        else if (data.done) job.done(data);
        else if (data.kind === "keep") job.write(keepPart(data));
        else job.write(data);
      };
    });
    mine.ready.catch(() => mine === worker && forget()); // the next press tries again
    worker = mine;
    return worker.ready;
  }

  // Python hands over a function that passed its check; the browser keeps it, or says why not.
  function keepPart({ part, text }) {
    const why = window.course ? window.course.keep(part, text) : "a script of this page is missing";
    if (why) return { kind: "err", text: `${part}: not kept, for ${why}.\n` };
    return { kind: "out", text: `${part}: kept in this browser\n` };
  }

  function forget() {
    worker?.terminate();
    worker?.giveUp("Stopped.");
    worker = undefined;
    asked?.lost();
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
    const stub = isAnswer(cell) && cell.ran !== code ? cell.given : "";
    cell.ran = code;
    return new Promise((resolve) => {
      job = {
        write,
        done(result) {
          job = undefined;
          cell.endless = result.stopped && code !== cell.given ? code : undefined;
          if (result.fatal) forget();
          if (result.status === "passed" && cell.exercise) {
            const detail = { id: cell.exercise };
            document.dispatchEvent(new CustomEvent("exercise-passed", { detail }));
            hideStored(cell);
          }
          resolve(result);
        },
      };
      worker.postMessage({ code, name: `cell ${cell.number}`, kept: window.course?.load().kept ?? {}, stub });
    });
  }

  // A cell of an exercise that the reader fills in. It is run before each check of it, and both before what
  // passed is kept, whatever ran before.
  const isAnswer = (cell) => cell.exercise && !cell.checks && !cell.keeps;
  const isOf = (cell, asks) =>
    asks?.exercise === cell.exercise && (isAnswer(cell) ? asks?.checks || asks?.keeps : cell.checks && asks?.keeps);

  // What Python's worker is asked that is no code; it is heard until it is done.
  function question(message, hear) {
    return new Promise((resolve, reject) => {
      const done = (data) => {
        if (data.model !== "done") return;
        resolve(data);
        if (data.fatal) forget();
      };
      asked = { hear: (data) => done(data, hear(data)), lost: () => reject("Stopped.") };
      worker.postMessage(message);
    }).finally(() => (asked = undefined));
  }

  // MiniLM, for the cells that need it: once in a worker. Its files are fetched once, ever.
  async function haveMiniLM({ folder, mb }, say) {
    if (worker.minilm) return;
    say("Fetching MiniLM …");
    const mine = worker;
    const { error } = await question({ model: "minilm", folder }, ({ done, total }) => {
      if (total) say(`Fetching MiniLM: ${Math.round(done / 1e6)} of ${mb} MB`);
    });
    if (error) throw `MiniLM could not be fetched. ${online(error)}`;
    fetched = mine.minilm = true;
    label();
    const list = listOf(folder);
    caches.open(LISTS).then((lists) => lists.add(list)).catch(() => {}); // no room, or no such store
  }

  // The list of MiniLM's files is kept at a press, apart from them. So a later page sees that all are
  // here, and fetches nothing for that.
  const LISTS = "minilm-lists";
  const listOf = (folder) => new URL("manifest.json", folder).href;
  async function lookForMiniLM(folder) {
    const list = await caches.match(listOf(folder), { cacheName: LISTS });
    if (!list) return;
    const names = [...(await list.text()).matchAll(/"name": *"([^"]+)"/g)];
    const kept = (await (await caches.open("minilm")).keys()).map(({ url }) => url.split("/").pop());
    fetched ||= names.every(([, name]) => kept.includes(name));
    label();
  }

  // A button that will fetch much says how much.
  function label() {
    for (const { minilm, name } of cells)
      if (minilm) name(fetched ? RUN : `${RUN}: fetch ${Number(minilm.mb) + (hadPython() ? 0 : Number(mb))} MB, once`);
  }

  // Those of the cells above that must run, so that this code finds all as if each had run in turn. Python
  // tells from the code that is in them now, the reader's own included, and from what it ran before; if it
  // cannot, all run. A cell that keeps is left out; those that need MiniLM run only before one that needs it
  // too; what the reader had to stop is not entered again.
  async function needs(above, code, asks) {
    const codes = [...above.map((cell) => cell.code()), code];
    const given = [...above.map((cell) => cell.given), asks?.given ?? code];
    const { needed } = await new Promise((done) => {
      job = { done };
      worker.postMessage({ needed: codes, given });
    });
    job = undefined;
    return above.filter((cell, i) => isOf(cell, asks) || (needed?.includes(i) ?? !cell.checks))
      .filter((cell) => !cell.keeps && (!cell.minilm || asks?.minilm))
      .filter((cell) => bars(cell, asks) || cell.endless !== cell.code());
  }

  // Whether nothing goes on after an error of that cell: what a model writes on, or a check judges.
  const bars = (cell, asks) => !asks || isOf(cell, asks);

  async function pythonRuns(say) {
    const starting = "Starting Python …";
    say(worker?.runs ? "" : hadPython() ? starting : `Loading Python (${mb} MB, once) …`);
    const ready = start();
    if (worker && !worker.runs)
      worker.told = (share) => say(share < 1 ? `Loading Python: ${Math.round(share * mb)} of ${mb} MB` : starting);
    await ready;
  }

  // Python, in which has run what a code needs, of a cell or of none; false if it was stopped meanwhile.
  async function readyFor(code, above, over, say, note, asks) {
    await pythonRuns((words) => over() || say(words));
    if (over()) return false;
    if (asks?.minilm) await haveMiniLM(asks.minilm, say);
    say("");
    const first = await needs(above, code, asks);
    for (const [i, cell] of first.entries()) {
      if (over()) return false;
      const one = first.length === 1;
      say(one ? "Running 1 cell above …" : `Running ${first.length} cells above: ${i + 1} of ${first.length} …`);
      if (cell.endless === cell.code()) throw { cell, text: "It had to be stopped." };
      const said = [];
      const { error, stopped, text } = await execute(cell, (part) => part.kind === "error" && said.push(part.text));
      if (!error || stopped) continue;
      if (bars(cell, asks)) throw { cell, text: text ?? said.join("") };
      note(`Cell ${cell.number}, further up, raised an error.\n`);
    }
    return !over();
  }

  // For a model that writes (writes.js): when the cells above a place have run that its code needs, its
  // worker is asked, and heard until it is done, or until halt() is called.
  window.pagePython = {
    mb,
    ask(place, message, hear, say) {
      const code = message.own;
      const mine = era;
      let begun, ended, halted, leave;
      const over = () => mine !== era || halted;
      const left = new Promise((_, reject) => (leave = () => reject("Stopped.")));
      const above = cells.filter(({ box }) => box.compareDocumentPosition(place) & 4); // 4: it follows
      const turn = queue.then(async () => {
        begun = true;
        const ready = !over() && await readyFor(code, above, over, say, say).catch((problem) => {
          if (!problem.cell) throw problem;
          throw `Cell ${problem.cell.number}, further up, raised an error. ${problem.text.trim().split("\n").pop()}`;
        });
        if (!ready) throw "Stopped.";
        await question(message, hear);
      });
      queue = turn.catch(() => {}).then(() => (ended = true));
      // Before its turn, and while Python is loading, nothing has to be ended. What does not end by
      // itself, a loop for example, ends with its Python.
      const halt = () => {
        halted = true;
        if (!begun || !worker?.runs) return leave();
        if (asked) worker.postMessage({ model: "halt" });
        setTimeout(() => ended || stop(), PATIENCE);
      };
      return { halt, done: Promise.race([turn, left]) };
    },
  };

  async function perform(cell, mine) {
    const say = (text) => (cell.status.textContent = text);
    const above = cells.slice(0, cell.number - 1);
    try {
      if (!(await readyFor(cell.code(), above, () => mine !== era, say, cell.note, cell))) return say("Stopped.");
    } catch (problem) {
      if (!problem.cell) throw problem;
      return refuse(cell, problem);
    }
    say("Running …");
    const result = await execute(cell, cell.write);
    if (result.fatal) cell.write({ kind: "error", text: `${result.text}\n${LOST}` });
    if (result.stopped) return say("Stopped. The cells above run again when they are needed.");
    say(FOUND[result.status] ?? (result.error ? "An error." : isBlank(cell.code()) ? FILL_IN : "Done."));
    cell.judge(result);
    if (result.error) cell.fault = cell;
  }

  // Of an answer that does not run nothing is judged and nothing kept: what it says is shown instead.
  function refuse(cell, { cell: answer, text }) {
    const not = cell.keeps ? "kept" : "judged";
    cell.write({ kind: "err", text: `Cell ${answer.number}, further up, raised an error: nothing is ${not}.\n` });
    cell.write({ kind: "error", text });
    cell.status.textContent = "An error.";
    cell.judge({ error: true });
    cell.fault = answer;
  }

  // An error is about the code that raised it: it goes when that is changed.
  const edited = (cell) => {
    for (const one of cells) if (one.fault === cell && !one.busy) one.wipe();
  };

  function press(cell) {
    if (cell.busy) return;
    cell.begin();
    cell.fault = undefined;
    const mine = era;
    const turn = queue.then(() => (mine === era ? perform(cell, mine) : undefined));
    queue = turn.catch((problem) => (cell.status.textContent = String(problem))).then(cell.end);
  }

  const make = (tag, className, more) => Object.assign(document.createElement(tag), { className, ...more });

  // One button per cell; the editor is made when it is pressed, or when the reader's code is kept.
  function prepare(box, exercise, minilm) {
    const given = box.querySelector(".cell_input pre").textContent.trimEnd();
    if (box.matches(".tag_setup")) // nothing to see: it runs with the first cell that is run
      return cells.push({ box, number: cells.length + 1, given, code: () => given });
    const checks = /^(assert )?check_\w+\(/m.test(given);
    const keeps = given.match(/^keep\(check_(\w+),/m)?.[1]; // the name under which it keeps
    const kept = typed?.of(given); // {code, keep} of this cell
    const number = cells.length + 1;
    const cell = { box, number, given, kept, exercise, checks, keeps, minilm, code: () => given };
    const bar = document.createElement("div");
    bar.className = "run-bar";
    const go = runButton(bar, RUN, cell);
    cell.name = (text) => nameButton(go, text, cell);
    cell.edited = () => edited(cell);
    const open = (code) => openEditor(cell, code, () => press(cell), stop);
    go.addEventListener("click", () => {
      const first = !cell.field;
      if (first) open(given);
      if (!first || !isBlank(given)) return press(cell);
      cell.field.focus();
      cell.status.textContent = FILL_IN;
    });
    box.querySelector(".cell_input").append(bar);
    cells.push(cell);
    if (kept?.code !== undefined) open(kept.code); // "" too: the reader emptied it
    if (checks || keeps) hideStored(cell);
  }

  let exercise;
  for (const found of document.querySelectorAll("div.exercise[id], article h2, article div.cell")) {
    if (found.matches("h2")) exercise = undefined;
    else if (found.matches(".exercise")) exercise = found.id;
    else if (!found.matches('[class*="tag_needs-"], .tag_explorable') && found.querySelector(".cell_input pre")) {
      const line = found.querySelector(".run-minilm"); // it needs MiniLM, which may be here
      const { model, mb } = line?.dataset ?? {};
      if (line && !model) continue;
      line?.remove();
      prepare(found, exercise, line && { folder: new URL(model, document.baseURI).href, mb });
    }
  }
  label();
  const one = cells.find(({ minilm }) => minilm);
  if (one && window.caches) lookForMiniLM(one.minilm.folder).catch(() => {});

  // Python before a press. Its start takes two seconds of processor time and memory, so not in a page
  // that is only opened, or is in the background. A press meanwhile waits for what is left of it.
  if (hadPython() && !navigator.connection?.saveData) {
    const idle = window.requestIdleCallback ?? setTimeout;
    const near = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      near.disconnect();
      idle(() => start().catch(() => {})); // if it fails, a press tries again, and says why
    }, { rootMargin: "100% 0px" });
    for (const { box } of cells) near.observe(box);
    const judge = document.querySelector("#judge");
    if (judge) near.observe(judge);
  }
})();
