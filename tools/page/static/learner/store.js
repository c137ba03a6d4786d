// What the reader did, kept in this browser alone: one key, versioned. Where storage is blocked the
// page works and forgets (layout.html puts a store that lives as long as the page in its place).
// What is stored or imported is trusted only after `checked`: an import with damage is refused, and of
// what is stored only the damaged entries are lost.
window.course = (() => {
  const key = "attention-course", version = 1;
  const root = new URL("../../", document.currentScript.src);
  const page = document.documentElement.dataset.page;
  const longest = 20000; // characters of one cell's code, or of one function that is kept
  const empty = () => ({ version, read: {}, passed: {}, predictions: {}, code: {}, kept: {} });
  const newer = ["code", "kept"]; // records from before have no such part

  const label = /^[\w:.-]{1,80}$/, place = /^[\w-]+(\/[\w-]+)*$/, day = /^\d{4}-\d\d-\d\d$/;
  const isObject = (x) => typeof x === "object" && x !== null && !Array.isArray(x);
  const isPrediction = (p) => isObject(p) && place.test(p.page ?? "") && typeof p.right === "boolean"
    && [null, 0, 1, 2, 3].includes(p.choice) && [null, 0, 1, 2].includes(p.sure)
    && (p.choice === null) === (p.sure === null) && [undefined, true].includes(p.retired);
  const cell = /^[0-9a-f]{14}(-\d{1,3})?$/; // see typed.js
  const isCode = ([id, text]) => cell.test(id) && typeof text === "string" && text.length <= longest;
  const partName = /^[a-z_]{1,40}$/; // as in exercises/keep.py; Python's file bears it
  const isKept = (k) => isObject(k) && place.test(k.page ?? "") && day.test(k.day)
    && typeof k.code === "string" && k.code.length <= longest;
  const parts = {
    read: ([name, date]) => place.test(name) && day.test(date),
    passed: ([name, date]) => label.test(name) && day.test(date),
    predictions: ([name, given]) => label.test(name) && isPrediction(given),
    code: ([name, cells]) => place.test(name) && isObject(cells),
    kept: ([name, given]) => partName.test(name) && isKept(given),
  };

  const refuse = (why) => { throw new Error(why); };
  const sound = (entries, ok, refused) =>
    Object.fromEntries(Object.entries(entries).filter((entry) => ok(entry) || refused(entry[0])));

  // A copy of `data` with nothing in it that we do not know; throws where it is not ours. What is
  // damaged is left out after `damaged` was told, which throws unless one gives another.
  const checked = (data, damaged = refuse) => {
    if (!isObject(data)) refuse("it is not a record of this course");
    if (data.version !== version) refuse(`its version is ${data.version}, not ${version}`);
    const at = (part) => (name) => damaged(`its part “${part}” is damaged at “${name.slice(0, 80)}”`);
    const copy = empty();
    for (const [part, ok] of Object.entries(parts)) {
      if (newer.includes(part) && !(part in data)) continue;
      if (!isObject(data[part])) damaged(`its part “${part}” is missing`);
      else copy[part] = sound(data[part], ok, at(part));
    }
    for (const [name, cells] of Object.entries(copy.code)) {
      copy.code[name] = sound(cells, isCode, () => at("code")(name));
      if (!Object.keys(copy.code[name]).length) delete copy.code[name];
    }
    return copy;
  };
  const load = () => {
    try { return checked(JSON.parse(localStorage.getItem(key)), () => false); } catch { return empty(); }
  };
  // Whether it will be there tomorrow: not where storage is full or blocked.
  const save = (data) => {
    try {
      localStorage.setItem(key, JSON.stringify(data));
      return localStorage instanceof Storage;
    } catch { return false; }
  };
  const change = (edit) => {
    const data = load();
    edit(data);
    return save(data);
  };
  const blocked = "this browser’s storage is full or blocked";

  // All answers open, for who teaches or reads a second time: not a record of what one did, so it has
  // a key of its own, and stays in this browser when the record is exported, imported or erased.
  const openKey = "attention-course-open";
  const isOpen = () => { try { return localStorage.getItem(openKey) === "yes"; } catch { return false; } };
  const open = (yes) => {
    try { localStorage.setItem(openKey, yes ? "yes" : "no"); } catch { /* then they stay as they are */ }
    document.dispatchEvent(new Event("answers-opened"));
  };
  const openButton = () => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "open-all";
    const say = () => { button.textContent = isOpen() ? "Close all answers" : "Open all answers"; };
    button.title = "Opens what the questions of all chapters hide, in this browser. Your own answers stay.";
    button.addEventListener("click", () => open(!isOpen()));
    document.addEventListener("answers-opened", say);
    addEventListener("storage", say); // another tab of this browser
    say();
    return button;
  };

  // Keep a function that passed its check, for other pages; gives "", or why it is not kept.
  const keep = (name, code) => {
    if (code.length > longest) return "it is too long";
    return change((data) => { data.kept[name] = { page, day: today(), code }; }) ? "" : blocked;
  };
  const forget = (name) => change((data) => { delete data.kept[name]; });

  const erase = () => { try { localStorage.removeItem(key); } catch { /* nothing is kept */ } };
  const today = () => {
    const now = new Date();
    return new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
  };

  // The chapters with their exercises and predictions: loaded when somebody asks. A script, because
  // pages opened from a disk may not fetch.
  let contents;
  const chapters = () => contents ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = new URL("_static/learner/contents.js", root);
    script.onload = () => done(window.course.contents);
    script.onerror = failed;
    document.head.append(script);
  });
  return {
    root, page, longest, blocked, load, change, save, checked, keep, forget, erase, today, chapters, isOpen, openButton,
  };
})();
