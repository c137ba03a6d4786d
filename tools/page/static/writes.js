// A model that writes in the page ({writes}): its file is fetched with the first press, then Python
// in the page (run-here.js) computes token by token, on the functions of the cells above if it may.
(() => {
  const MOST = 100; // tokens
  const start = (box) => {
    const { model, mb, own } = box.dataset;
    if (!model || !window.pagePython) return;
    const form = box.querySelector("form");
    const { prompt, yours } = form.elements;
    const [go, stop] = box.querySelectorAll("button");
    const bar = box.querySelector("progress");
    const status = box.querySelector("[role=status]");
    const text = box.querySelector(".model-text");
    const label = "Write";
    let count, since, asking, failed;
    let [slow, none] = ["", ""]; // the model without its product; a reader without functions
    go.textContent = `${label}: fetch ${Number(mb) + Number(window.pagePython.mb)} MB, once`;
    go.disabled = false;

    const say = (words) => {
      failed = false;
      status.textContent = words.trim();
    };
    // An error is about the code that raised it: it goes when a cell is changed.
    const fail = (words) => {
      say(words);
      failed = true;
    };
    document.addEventListener("input", ({ target }) => {
      if (failed && target.matches(".run-code")) say("");
    });
    const warn = () => (box.querySelector(".model-warning").textContent = `${slow} ${none}`.trim());
    const rate = () => (count > 1 ? `, ${(((count - 1) * 1000) / (performance.now() - since)).toFixed(1)} a second` : "");
    const hear = {
      fetching({ done, total }) {
        bar.hidden = false;
        bar.value = done / total;
        // All forms of the page share the model.
        if (done === total)
          for (const each of document.querySelectorAll(".model-ways button:first-child")) each.textContent = label;
        say(`${Math.round(done / 1e6)} of ${mb} MB`);
      },
      warning({ text: words }) {
        slow = words;
        warn();
      },
      note({ text: words }) {
        none = words;
        warn();
      },
      token({ text: piece }) {
        if (!count) since = performance.now(); // of the first token, which reads the prompt as well
        count++;
        bar.hidden = true;
        text.append(piece);
        say(`${count} tokens${rate()}`);
      },
      done({ error, halted }) {
        if (error) fail(error);
        else say(`${halted ? "Stopped" : "Done"}: ${count} tokens${rate()}.`);
      },
    };

    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!stop.hidden) return;
      if (!prompt.value.trim()) return say("Type a beginning first.");
      count = 0;
      none = "";
      warn();
      say("");
      text.replaceChildren(Object.assign(document.createElement("b"), { textContent: prompt.value }));
      [go.hidden, stop.hidden] = [true, false];
      stop.focus();
      const folder = new URL(model, document.baseURI).href;
      const question = { model: "write", folder, prompt: prompt.value, most: MOST, own: yours.checked ? own : "" };
      try {
        asking = window.pagePython.ask(box, question, (data) => hear[data.model](data), say);
        await asking.done;
      } catch (problem) {
        fail(String(problem.message ?? problem));
      }
      [go.hidden, stop.hidden, bar.hidden] = [false, true, true];
      go.focus();
    });
    stop.addEventListener("click", () => asking.halt());
  };
  addEventListener("DOMContentLoaded", () => document.querySelectorAll(".model-writes").forEach(start));
})();
