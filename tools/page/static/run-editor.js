// The editor of one cell that runs in the page: its field, its buttons, and what it printed.
(() => {
  const make = (tag, className, more) => Object.assign(document.createElement(tag), { className, ...more });

  window.nameButton = (button, textContent, cell) => {
    button.textContent = textContent;
    button.setAttribute("aria-label", cell.number ? `${textContent}: cell ${cell.number}` : textContent);
  };
  window.runButton = (bar, textContent, cell) => {
    const made = make("button", "run-button", { type: "button" });
    nameButton(made, textContent, cell);
    bar.append(made);
    return made;
  };

  // The chapter's own output of a check says "not started", that of a cell that keeps "nothing to
  // keep yet": untrue once there is the reader's.
  const isDone = ({ checks, exercise, keeps }) => {
    const { passed = {}, kept = {} } = window.course?.load() ?? {};
    return checks ? exercise in passed : keeps in kept;
  };
  window.hideStored = (cell, hidden = isDone(cell)) => {
    const stored = cell.box.querySelector(":scope > .cell_output");
    if ((cell.checks || cell.keeps) && stored) stored.hidden = hidden;
  };

  const SHAPES = /^(svg|g|path|rect|circle|text|tspan|defs|clipPath|pattern)$/;
  let figures = 0;

  // A figure that Python drew, one SVG or a wide and a narrow one: its shapes, and nothing that acts.
  const drawing = (svgs) => {
    const box = make("div", "drawing");
    for (const [i, text] of svgs.entries()) {
      const own = text.replace(/( id="|url\(#)/g, `$1run${++figures}-`); // ids are unique in a page
      const { documentElement: svg } = new DOMParser().parseFromString(own, "image/svg+xml");
      for (const part of svg.querySelectorAll("*")) if (!SHAPES.test(part.localName)) part.remove();
      for (const part of [svg, ...svg.querySelectorAll("*")])
        for (const { name } of [...part.attributes]) if (/^on|href$/i.test(name)) part.removeAttribute(name);
      if (svg.localName !== "svg") continue;
      const place = svgs.length === 1 ? box : box.appendChild(make("div", i ? "drawing-narrow" : "drawing-wide"));
      place.append(svg);
    }
    return box;
  };

  // What the reader has under the code: shown as soon as something is printed.
  const output = (cell) => {
    const yours = make("div", "run-yours", { hidden: true });
    const label = make("p", "run-label");
    const out = make("pre", "", { tabIndex: 0 });
    out.setAttribute("role", "region");
    out.setAttribute("aria-label", `Your output of cell ${cell.number}`);
    yours.setAttribute("aria-live", "polite");
    yours.append(label, out);
    cell.box.append(yours);
    const judge = ({ status, error } = {}) => {
      const verdict = status === "passed" ? "passed" : status || error ? "open" : "";
      yours.dataset.verdict = verdict;
      const said = status && (verdict === "passed" ? ": passed" : ": not yet");
      label.textContent = `Yours${said || ""}`;
    };
    const write = ({ kind, text, svgs }) => {
      yours.hidden = false;
      if (svgs) out.append(drawing(svgs));
      else out.append(make("span", /err/.test(kind) ? "run-error" : "", { textContent: text }));
    };
    const clear = () => {
      out.textContent = "";
      judge();
    };
    const settle = () => {
      yours.hidden = !out.hasChildNodes();
      if (!yours.hidden) window.hideStored(cell, true);
    };
    clear();
    return { judge, write, clear, settle };
  };

  // Keys of the field. Tab is left alone: by it one who uses the keyboard comes in and out again.
  const keys = (field, press) => {
    // execCommand is the only way that leaves Ctrl+Z working.
    const insert = (text) => document.execCommand(text ? "insertText" : "delete", false, text);
    const before = () => field.value.slice(0, field.selectionStart).split("\n").pop();
    const shift = (change) => {
      const from = field.selectionStart - before().length;
      const end = field.value.indexOf("\n", Math.max(field.selectionEnd - 1, from));
      const to = end < 0 ? field.value.length : end;
      const old = field.value.slice(from, to);
      const text = old.split("\n").map(change).join("\n");
      if (text === old) return;
      const caret = Math.max(field.selectionStart + text.length - old.length, from);
      const many = old.includes("\n");
      field.setSelectionRange(from, to);
      insert(text);
      if (many) field.setSelectionRange(from, from + text.length);
      else field.setSelectionRange(caret, caret);
    };
    const acts = {
      Enter() {
        const line = before();
        insert("\n" + line.match(/^ */)[0] + (/:\s*(#.*)?$/.test(line) ? "    " : ""));
      },
      "]": () => shift((line) => line && `    ${line}`),
      "[": () => shift((line) => line.replace(/^ {1,4}/, "")),
      Backspace() {
        field.setSelectionRange(field.selectionStart - 4, field.selectionStart);
        insert("");
      },
    };
    field.addEventListener("keydown", (event) => {
      const { key } = event, control = event.ctrlKey || event.metaKey;
      const run = key === "Enter" && (control || event.shiftKey);
      const indent = "[]".includes(key) && control && !event.altKey; // AltGr types the bracket itself
      const plain = !control && !event.shiftKey && !event.altKey;
      const dedent = key === "Backspace" && plain && field.selectionStart === field.selectionEnd
        && /^( {4})+$/.test(before());
      if (event.isComposing || !(key === "Enter" || indent || dedent)) return;
      event.preventDefault();
      if (run) press();
      else acts[key]();
    });
    return insert;
  };

  // Replace a cell's code by a field that holds `code`, and give the cell what a run needs.
  window.openEditor = (cell, code, press, stop) => {
    const { box, number } = cell;
    const input = box.querySelector(".cell_input"), bar = input.querySelector(".run-bar");
    const field = make("textarea", "run-code", { value: code, spellcheck: false, autocomplete: "off" });
    const [go] = bar.children;
    const halt = window.runButton(bar, "Stop", cell);
    const reset = window.runButton(bar, "Reset", cell);
    const mine = code === cell.given ? "" : "Your code, kept in this browser.";
    const status = make("span", "run-status", { role: "status", textContent: mine });
    // Apart from the status, which a run overwrites: it holds for as long as it is so.
    const lost = make("span", "run-lost", { role: "status" });
    const hint = make("span", "run-keys", { textContent: "Ctrl+Enter runs, Ctrl+] indents" });
    const { judge, write, clear, settle } = output(cell);
    let timer, lines;

    for (const name of ["autocapitalize", "autocorrect"]) field.setAttribute(name, "off");
    field.setAttribute("aria-label", `${number ? `Code of cell ${number}` : "Your code"}. Control and Enter run it, Control and ] indent.`);
    hint.setAttribute("aria-hidden", true);
    halt.hidden = true;
    bar.append(status, lost, hint);
    bar.before(field);
    input.classList.add("run-open");
    input.firstElementChild.hidden = true;

    Object.assign(cell, {
      field,
      status,
      write,
      judge,
      code: () => field.value,
      show(text) {
        field.value = text;
        lines = 0;
        changed();
      },
      note: (text) => write({ kind: "err", text }),
      wipe() {
        clear();
        settle();
        window.hideStored(cell);
        status.textContent = "";
      },
      begin() {
        cell.busy = true;
        go.setAttribute("aria-disabled", "true");
        clear();
        timer = setTimeout(() => (halt.hidden = false), 300);
        status.textContent = "Waiting …";
      },
      end() {
        cell.busy = false;
        go.removeAttribute("aria-disabled");
        clearTimeout(timer);
        halt.hidden = true;
        settle();
      },
    });

    const changed = () => {
      const now = field.value.split("\n").length;
      reset.hidden = field.value === cell.given;
      if (now === lines) return;
      field.rows = lines = now;
      field.style.height = "";
      // As tall as its lines, and where one is too long, as the scroll bar below them.
      const frame = field.offsetHeight - field.clientHeight;
      if (frame) field.style.height = `${field.scrollHeight + frame}px`;
    };
    changed();
    const insert = keys(field, press);
    const told = (why) => (lost.textContent = why && `Not kept: ${why}.`);
    field.addEventListener("input", () => {
      changed();
      // What was said was about other code.
      if (!cell.busy) status.textContent = "";
      cell.edited();
      cell.kept?.keep(field.value, told);
    });
    halt.addEventListener("click", () => {
      stop();
      go.focus();
    });
    reset.addEventListener("click", () => {
      field.focus();
      field.select();
      insert(cell.given);
      cell.wipe();
      go.focus();
    });
  };
})();
