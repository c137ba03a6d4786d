// The code that the reader typed into cells, kept in this browser. A cell is known by a digest of the
// code that its chapter gives: where that changed, what was written for the old cell stays away.
course.typed = (() => {
  const { page } = course;
  const before = course.load().code[page] ?? {};
  const met = {};
  const unsaved = new Map(); // a cell's digest: its code, and whom to tell whether it was kept
  let timer;

  // 53 bits (cyrb53, by bryc, public domain): crypto.subtle would make the page wait.
  const digest = (text) => {
    let a = 0xdeadbeef, b = 0x41c6ce57;
    for (let i = 0; i < text.length; i++) {
      a = Math.imul(a ^ text.charCodeAt(i), 2654435761);
      b = Math.imul(b ^ text.charCodeAt(i), 1597334677);
    }
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    return (4294967296 * (2097151 & b) + (a >>> 0)).toString(16).padStart(14, "0");
  };

  // Storage is written in one go, a moment after the last key.
  const flush = () => {
    clearTimeout(timer);
    if (!unsaved.size) return;
    const kept = course.change((data) => {
      const cells = { ...data.code[page] };
      for (const [id, { text }] of unsaved) {
        if (text === null) delete cells[id];
        else cells[id] = text;
      }
      delete data.code[page];
      if (Object.keys(cells).length) data.code[page] = cells;
    });
    for (const { text, told } of unsaved.values()) {
      told(kept || text === null ? "" : course.blocked);
    }
    unsaved.clear();
  };
  addEventListener("pagehide", flush);
  addEventListener("visibilitychange", () => document.hidden && flush()); // a phone may end it now

  // The next cell of the page: its code of before, if any, and how to keep what it becomes.
  const of = (given) => {
    const plain = digest(given);
    met[plain] = (met[plain] ?? 0) + 1;
    const id = met[plain] > 1 ? `${plain}-${met[plain]}` : plain; // the same code once more
    // `told` hears why the text is not kept, or "" once it is.
    const keep = (text, told) => {
      if (text.length > course.longest) {
        flush(); // what was typed before this: its success is not that of this text
        return told("it is too long");
      }
      unsaved.set(id, { text: text === given ? null : text, told });
      clearTimeout(timer);
      timer = setTimeout(flush, 400);
    };
    return { code: before[id], keep };
  };
  return { of };
})();
