// "Is my attention right?": code that was typed, chosen or came with a link is judged by Python in the page
// (run-here.js) when the button is pressed, and not before. The address tells what is in the field: nothing, one's
// own code; #try=…, an example of the page; #z=…, the code of a link, which no server is sent. What is
// said of a code is shown as text and never as HTML: it may be a stranger's.
(() => {
  const box = document.querySelector("#judge");
  if (!box || !window.pagePython) return;
  const LONGEST = 20000; // characters of a code, as in store.js
  const PATIENCE = 60; // s that judging may take; what never returns is ended then
  const HEADS = {
    right: "Right",
    fragile: "Right, but fragile",
    wrong: "Wrong",
    "not judged": "Not judged",
  };
  const LEVELS = { wrong: "Likely cause", fragile: "Fragile", note: "To know" };
  const ABSENT = /^\s*(?:import|from)\s+(torch|jax|flax|tensorflow|keras|mlx|triton|einops|transformers)\b/m;
  const form = box.querySelector("form");
  const { source, kind } = form.elements;
  const verdict = box.querySelector(".judge-verdict");
  const came = box.querySelector(".judge-came");
  const make = (tag, more, ...children) => {
    const made = Object.assign(document.createElement(tag), more);
    made.append(...children);
    return made;
  };

  // --- What may be in the field -------------------------------------------------------------

  const own = { name: "", hash: "", given: "" };
  const examples = [...document.querySelectorAll(".judge-example")].map((fold) => {
    const title = (fold.querySelector(".admonition-title, summary") ?? fold).textContent.trim();
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    return { name, title, hash: `#try=${name}`, given: fold.querySelector("pre").textContent.trimEnd() };
  });
  let linked; // what came with the address, if anything did
  let now = own;
  const menu = make("optgroup", { label: "Examples" });
  menu.append(...examples.map(({ name, title }) => new Option(title, name)));
  source.append(menu);

  // Said above the code, where a phone shows it.
  const warn = (words) => Object.assign(came, { textContent: words, hidden: !words });

  // The reader's own version of it, kept in this browser under what was given.
  const open = (what) => {
    what.kept ??= window.course?.typed?.of(what.given);
    what.text ??= what.kept?.code ?? what.given;
    [now, cell.given, cell.kept] = [what, what.given, what.kept];
    source.value = what.name;
    warn(what === linked ? "This code came with the link. Read it first: it runs when you press." : "");
    clear();
    cell.show(what.text);
  };

  // --- Links that carry code ----------------------------------------------------------------

  const through = async (bytes, stream) =>
    new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();
  const toText = (bytes) =>
    btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(""))
      .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const toBytes = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));

  async function linkTo(code) {
    const bytes = new TextEncoder().encode(code);
    const packed = await through(bytes, new CompressionStream("deflate-raw"));
    const asked = new URLSearchParams({ z: toText(packed) });
    if (kind.value) asked.set("kind", kind.value);
    return `${location.href.split("#")[0]}#${asked}`;
  }

  // {code, kind} of an address, undefined if it has none; throws if it is damaged.
  async function read(hash) {
    const asked = new URLSearchParams(hash.slice(1));
    const packed = asked.get("z");
    if (!packed) return undefined;
    const bytes = await through(toBytes(packed), new DecompressionStream("deflate-raw"));
    const code = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (code.length > LONGEST) throw new Error("too long");
    return { code, kind: asked.get("kind") ?? "" };
  }

  // Shows what the address asks for. Nothing runs.
  async function follow() {
    const example = examples.find(({ hash }) => location.hash === hash);
    if (example) return open(example);
    let asked;
    try {
      asked = await read(location.hash);
    } catch {
      open(own);
      return warn("The code in this link is damaged, or longer than 20,000 characters.");
    }
    if (!asked) return open(own);
    if (linked?.given !== asked.code) linked = { name: "link", given: asked.code };
    linked.hash = location.hash;
    if (![...source.options].some(({ value }) => value === "link"))
      source.add(new Option("the code of this link", "link"));
    open(linked);
    kind.value = [...kind.options].some(({ value }) => value === asked.kind) ? asked.kind : "";
  }

  async function copy() {
    const code = cell.code();
    if (!code.trim()) return say("There is no code yet.");
    if (code.length > LONGEST) return say("This is longer than 20,000 characters: too long for a link.");
    const link = await linkTo(code);
    try {
      await navigator.clipboard.writeText(link);
      say("Copied. Whoever opens the link sees this code, and can judge it in turn.");
    } catch {
      history.replaceState(null, "", link);
      say("The address of this page holds your code now: copy it from there.");
    }
  }

  // --- The verdict --------------------------------------------------------------------------

  const clear = () => {
    verdict.hidden = true;
    verdict.replaceChildren();
    delete verdict.dataset.stale;
  };
  const lessonLink = (slug) => {
    const href = /^[\w-]+$/.test(slug) && `${slug}.html`;
    const known = href && document.querySelector(`nav a[href="${href}"]`);
    return known ? make("a", { href }, known.textContent.trim()) : document.createTextNode(slug);
  };

  // A bug of "It happened", by its title; that page knows in which chapter it is.
  let bugs;
  async function toBug(link, title) {
    bugs ??= fetch(link.href)
      .then((answer) => answer.text())
      .then((text) => [...new DOMParser().parseFromString(text, "text/html").querySelectorAll(".bugs a")]);
    const found = (await bugs).find((each) => title.startsWith(each.textContent.trim()));
    if (found) link.setAttribute("href", found.getAttribute("href"));
  }
  const bugLink = (title) => {
    const link = make("a", { href: "bugs.html" }, title);
    toBug(link, title).catch(() => {}); // then it leads to all of them
    return link;
  };

  const finding = ({ key, level, says, case: shown, lesson, happened }) => {
    const more = [];
    if (lesson) more.push("Lesson: ", lessonLink(lesson), ". ");
    if (happened) more.push("It happened: ", bugLink(happened), ".");
    const title = make("p", {}, make("strong", {}, `${LEVELS[level] ?? level}: ${key}. `), says);
    const made = make("li", { className: `judge-${level}` }, title);
    if (shown) made.append(make("pre", { tabIndex: 0 }, shown));
    if (more.length) made.append(make("p", { className: "judge-more" }, ...more));
    return made;
  };

  function show(report) {
    const { verdict: what, name, kind: as, why, convention = {}, findings = [], words, seconds } = report;
    clear();
    verdict.dataset.verdict = what;
    const about = name ? [": ", make("code", {}, name), ...(as ? [`, judged as ${as}`] : [])] : [];
    verdict.append(make("p", { className: "judge-head" }, make("strong", {}, HEADS[what] ?? what), ...about));
    if (what === "not judged" && why) verdict.append(make("p", {}, why));
    const found = Object.entries(convention).filter(([title]) => title !== "framework"); // here it is NumPy
    if (findings.length) verdict.append(make("ul", { className: "judge-findings" }, ...findings.map(finding)));
    if (found.length) {
      const rows = found.map(([title, value]) => [make("dt", {}, title), make("dd", {}, String(value))]);
      verdict.append(make("p", { className: "judge-more" }, "What was found out about how it is called:"), make("dl", {}, ...rows.flat()));
    }
    if (words) {
      const text = make("pre", { tabIndex: 0 }, words);
      verdict.append(make("details", {}, make("summary", {}, "The same as text"), text));
    }
    verdict.hidden = false;
    verdict.scrollIntoView({ block: "nearest" }); // from its head, if not all of it fits
    say(seconds ? `Done, in ${seconds.toFixed(1)} s.` : "Done.");
  }

  const refuse = (why, name) => show({ verdict: "not judged", why, name });
  const named = (code) => [...code.matchAll(/^(?:def|class)\s+(\w+)/gm)].pop()?.[1] ?? "my_attention";

  // --- Judging ------------------------------------------------------------------------------

  let asking, timers, late;
  const patience = () => Number(box.dataset.patience ?? PATIENCE);
  const say = (words) => cell.status && (cell.status.textContent = words.trim());

  async function press() {
    if (cell.busy) return;
    const code = cell.code();
    clear();
    if (!code.trim()) {
      cell.field.focus();
      return say("Paste a function first, or choose an example.");
    }
    if (code.length > LONGEST) return say("This is longer than 20,000 characters. Paste the function alone.");
    const absent = code.match(ABSENT)?.[1];
    if (absent)
      return refuse(`The page has NumPy alone, and this imports ${absent}. On your machine: `
        + `python -m attention_src.judge my_file.py:${named(code)}`);
    cell.begin();
    late = false;
    let report;
    const hear = (data) => {
      if (data.model === "verdict") report = data.report;
      if (data.model === "done" && data.error)
        report = { verdict: "not judged", why: `Python gave up (${data.error}). It starts again with the next press.` };
      if (data.model !== "begun") return;
      say("Judging …");
      const end = () => {
        late = true;
        asking.halt();
      };
      const tell = () => say(`Judging … at most ${patience()} s. Stop ends it.`);
      timers = [setTimeout(tell, 5000), setTimeout(end, 1000 * patience())];
    };
    const starts = (words) => say(words || "Judging …");
    try {
      asking = window.pagePython.ask(box, { model: "judge", code, kind: kind.value, own: "" }, hear, starts);
      await asking.done;
      show(report);
    } catch (problem) {
      if (late) refuse(`It had not ended after ${patience()} seconds. Does a loop never stop?`);
      else say(String(problem.message ?? problem));
    }
    timers?.forEach(clearTimeout);
    cell.end();
  }

  const cell = {
    box,
    code: () => cell.field.value,
    edited() {
      now.text = cell.field.value;
      if (!verdict.hidden) verdict.dataset.stale = "";
    },
    stop() {
      say("Stopping …");
      asking?.halt();
    },
  };
  const bar = form.querySelector(".run-bar");
  const go = window.runButton(bar, "Is it right?", cell);
  const link = window.runButton(bar, "Copy link to this code", cell);
  go.addEventListener("click", press);
  link.addEventListener("click", copy);
  form.addEventListener("submit", (event) => event.preventDefault());
  box.querySelector(".judge-without").hidden = true;
  form.hidden = false;
  cell.given = "";
  window.openEditor(cell, "", press, cell.stop);
  cell.field.placeholder = "def attention(q, k, v, mask=None):\n    …";
  source.addEventListener("change", () => {
    const chosen = [own, ...examples, linked].find((what) => what?.name === source.value);
    history.replaceState(null, "", location.href.split("#")[0] + chosen.hash);
    kind.value = "";
    say("");
    open(chosen);
  });
  kind.addEventListener("change", cell.edited);
  addEventListener("hashchange", follow);
  follow();
})();
