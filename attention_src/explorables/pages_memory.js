// Texts in one memory: what pages_memory.py says, for the page.

const keys = (n) => [...Array(n).keys()];

// What the memory holds after some events: each text's length, and its table of pages or the first
// slot of its room; who waits; the users of each page; the free pages, the next one last; what was
// copied in the last event; each slot's kind, owners and place in its texts.
export function run({ events, size, policy }, { slots, texts, newest }) {
  const paged = policy === "pages";
  const [length, table, waits, copied] = [{}, {}, {}, []];
  const users = Array(paged ? slots / size : 0).fill(0);
  const free = [...users.keys()].reverse(); // taken from the end: page 0 first
  const taken = (name) => (paged ? size : texts[name].limit); // slots that a text takes at once

  function memory() {
    const all = Array(slots).fill(["free", ""]);
    for (const name in table) {
      const n = taken(name);
      keys(table[name].length * n).forEach((j) => {
        const slot = table[name][Math.floor(j / n)] * (paged ? n : 1) + (j % n);
        const kind = j < length[name] ? "token" : paged ? "tail" : "reserved";
        all[slot] = [kind, all[slot][1] + name, j];
      });
    }
    return all;
  }

  // A free page, or the first slot of a gap that is long enough; or nothing.
  const take = (name) =>
    paged ? free.pop() : gaps(memory()).find(([, n]) => n >= taken(name))?.[0];

  function write(name) {
    const [mine, full] = [table[name], length[name] % taken(name) === 0];
    const shared = !full && users[mine.at(-1)] > 1;
    delete waits[name];
    if (full || shared) {
      const place = take(name);
      if (place === undefined) return (waits[name] = length[name]);
      if (shared) {
        users[mine.at(-1)] -= 1;
        copied.push([name, mine.pop(), place]);
      }
      if (paged) users[place] = 1;
      mine.push(place);
    }
    length[name] += 1;
  }

  function begin(name, n) {
    [length[name], table[name]] = [0, []];
    for (let i = 0; i < n; i++) write(name);
    if (length[name]) return;
    end(name);
    waits[name] = n;
  }

  function like(old) {
    if (!paged) return begin(newest, length[old]);
    [length[newest], table[newest]] = [length[old], [...table[old]]];
    for (const page of table[newest]) users[page] += 1;
  }

  function end(name) {
    for (const page of (paged && table[name]) || []) if (!--users[page]) free.push(page);
    for (const one of [length, table, waits]) delete one[name];
  }

  let steps = 0;
  for (const name in texts) if (texts[name].prompt) begin(name, texts[name].prompt);
  for (const event of events) {
    const [what, name] = event.split(" ");
    copied.length = 0;
    if (what === "end") end(name);
    if (what === "like" && name in length && !(newest in { ...length, ...waits })) like(name);
    if (what === "next") {
      steps += 1;
      for (const [one, { limit, every }] of Object.entries(texts)) {
        if (length[one] < limit && steps % every === 0) write(one);
      }
    }
    for (const one in waits) if (!(one in length)) begin(one, waits[one]);
  }
  const all = memory();
  if (!paged) {
    for (const [start, n] of gaps(all)) {
      if (n < texts[newest].limit) all.fill(["hole", ""], start, start + n);
    }
  }
  return { length, table, waits, users, free, copied, slots: all };
}

// First slot and length of each gap.
export const gaps = (all) =>
  [...all.map(([kind]) => kind[0]).join("").matchAll(/[fh]+/g)].map((one) => [one.index, one[0].length]);
