// The explorable "pages": texts that grow in one memory, in reserved rooms or on pages.

import { choices, h, mount } from "./dom.js";
import { hold } from "./hold.js";
import { gaps, run } from "./pages_memory.js";
import { bold, fill, isNarrow, path, rect, stage, text } from "./scene.js";

const [GLIDE, HOLD] = [400, 700]; // ms of a change, and between two steps of a held button
const LONGEST = 16; // tokens in a line
const ANY = "-"; // any text, in the list of kinds
// The colour of a text; what stands for any text has none of its own.
const hue = (name) => (name === ANY ? "soft" : `t${"ABCD".indexOf(name) + 1}`);
const percent = (n, of) => `${Math.round((100 * n) / of)} %`;
const many = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
const count = ({ slots }, ...kinds) => slots.filter(([kind]) => kinds.includes(kind)).length;
const wasted = (now) => count(now, "reserved", "tail", "hole");

// Where things stand, in pixels. A slot is as wide in a text's line as in memory, but on a phone.
function places(width, { slots }) {
  const narrow = isNarrow(width);
  const pitch = width / slots;
  const lane = narrow ? (width - 110) / LONGEST : pitch;
  const side = 20 + LONGEST * lane; // where the words beside a line begin
  const wide = narrow ? width / LONGEST - 1 : 25;
  const panel = narrow ? [0, 338] : [side + 104, 0];
  const small = narrow ? 11.5 : 12.5; // size of type where two digits have little room
  return { narrow, small, width, pitch, lane, side, wide, panel, height: narrow ? 520 : 326 };
}
const [TABLE, MEMORY, UNDER] = [178, 240, 274]; // heights
const line = (texts, name) => 24 + 30 * Object.keys(texts).indexOf(name);

// The picture. state: { events, size, policy, chosen }.
export function picture(state, width, given) {
  const at = places(width, given);
  const now = run(state, given);
  const parts = [lanes, cells, pieces, arrows, panel];
  const marks = parts.flatMap((part) => part(state, now, at, given));
  return { marks, width, height: at.height };
}

export const first = (given, width) => picture(given.start, width, given);

const put = (key, x, y, said, colour = "soft", anchor = "start", size = 12.5) =>
  text(key, [x, y], said, colour, size, anchor);

// A line for each text: its name, and how it is. The chosen one has a band.
function lanes({ policy, chosen, events }, now, { side }, { texts, words }) {
  const marks = [put("lanes", 20, 15, words[`${policy}_lanes`])];
  for (const name in texts) {
    const [top, n] = [line(texts, name), now.length[name]];
    const grows = n === texts[name].limit ? fill(words.longest, { n }) : many(n, "token");
    const gone = events.includes(`end ${name}`) ? words.ended : words.absent;
    const said = name in now.waits ? words.waits : n ? grows : gone;
    const lit = name === chosen;
    if (lit) marks.push(rect("chosen", [0, top - 4, side + 90, 29], "ink", 0.08, { rx: 4 }));
    const letter = put(name, 5, top + 16, name, "ink");
    marks.push(lit ? bold(letter) : letter, put(`is${name}`, side + 7, top + 16, said));
  }
  return marks;
}

// Each slot of the memory, and once more in the lines of its texts. Tokens glide when a page is
// copied, and when the page size changes. A shared token has the hues of both texts.
function cells(state, now, { pitch, lane, narrow }, { texts }) {
  return now.slots.flatMap(([kind, owners, j], slot) => {
    const key = (one) => (kind === "token" ? one + j : `slot${slot}`);
    const lines = [...owners].flatMap((name) => {
      const box = [20 + j * lane + 0.75, line(texts, name) + 2, lane - 1.5, 17];
      return cell(box, kind, owners, (one) => `${name}${j}-${kind}${one}`);
    });
    const box = [slot * pitch + 0.75, MEMORY + 2, pitch - 1.5, 30];
    const letter = (one, i) => {
      const y = MEMORY + 17 + (i - (owners.length - 1) / 2) * 15 + 4;
      return put(`letter${key(one)}`, (slot + 0.5) * pitch, y, one, "on", "middle", 11.5);
    };
    const letters = narrow || kind !== "token" ? [] : [...owners].map(letter);
    return [...lines, ...cell(box, kind, owners, key), ...letters];
  });
}

function cell([x, y, wide, tall], kind, owners, key) {
  if (kind === "token") {
    const part = tall / owners.length;
    return [...owners].map((one, i) =>
      rect(key(one), [x, y + i * part, wide, part], hue(one), 1, {}, key(owners[0])),
    );
  }
  const colour = owners ? hue(owners[0]) : kind === "free" ? "line" : "soft";
  const dashes = kind === "reserved" ? "2 2" : "none";
  const look = { rx: 1, stroke: `var(--ae-${colour})`, "stroke-dasharray": dashes };
  const box = [x + 0.5, y + 0.5, wide - 1, tall - 1];
  const marks = [rect(key(owners), box, colour, kind === "tail" ? 0.35 : 0, look)];
  const hatch = `M${x} ${y + tall} L${x + wide} ${y}`;
  return kind === "hole" ? [...marks, path(`${key(owners)}-hole`, hatch, "soft")] : marks;
}

// Pages or rooms, in the lines and in memory, with their numbers; the users of a page; what is free.
function pieces({ policy, size }, now, { lane, pitch, small }, { texts, words }) {
  const paged = policy === "pages";
  const marks = [];
  const look = { rx: 3, stroke: "var(--ae-soft)" };
  const piece = (key, ...box) => marks.push(rect(key, box, "none", 1, look));
  const place = (key, start, n) => piece(`piece${key}`, start * pitch, MEMORY, n * pitch, 34);
  const under = (key, x, line, said, colour) =>
    marks.push(put(key, x, UNDER + 16 * line, said, colour, "middle"));
  Object.entries(now.table).forEach(([name, list]) => {
    const n = paged ? size : texts[name].limit;
    list.forEach((entry, j) => {
      const [x, y] = [20 + j * n * lane, line(texts, name)];
      piece(`${name}page${j}`, x, y, n * lane, 21);
      const middle = x + (Math.min(n, 2) * lane) / 2;
      if (n * lane <= 16) return;
      const number = put(`${name}entry${j}`, middle, y + 15, `${entry}`, "on", "middle", small);
      const halo = { stroke: `var(--ae-${hue(name)})`, "stroke-width": 4, "paint-order": "stroke" };
      Object.assign(number[2], halo); // it stands on the gap between two cells
      marks.push(number);
    });
    if (paged) return;
    place(name, list[0], n);
    under(`number${name}`, (list[0] + n / 2) * pitch, 1, `${list[0]}`);
  });
  const every = Math.ceil(17 / (size * pitch)); // pages to a number: it needs room
  now.users.forEach((n, page) => {
    const x = (page + 0.5) * size * pitch;
    const copied = now.copied.some(([, , copy]) => copy === page);
    const said = copied ? words.copy : n > 1 && every === 1 ? fill(words.users, { n }) : "";
    place(page, page * size, size);
    if (page % every === 0) under(`number${page}`, x, 1, `${page}`);
    under(`users${page}`, x, 2, said, "ink");
  });
  const list = [...now.free].reverse();
  const more = list.length > 6 ? ` … (${list.length})` : "";
  const said = fill(words.free, { list: list.slice(0, 6).join(" ") + more || words.none });
  return paged ? [...marks, put("free", 0, UNDER + 48, said)] : marks;
}

// The chosen text's block table, and an arrow to each of its pages.
function arrows({ chosen, policy, size }, now, { pitch, wide, width, narrow, small }, { words }) {
  const list = now.table[chosen] ?? [];
  const kind = words[list.length ? `${policy}_table` : "no_table"];
  const marks = [put("table", 0, TABLE + (narrow ? -7 : 15), fill(kind, { text: chosen }), "ink", "start", 13)];
  const goals = list.map((entry) => (entry + 0.5) * pitch * (policy === "pages" ? size : 1));
  const step = wide + (narrow ? 1 : 5);
  const middle = goals.reduce((sum, x) => sum + x, 0) / goals.length;
  const most = width - list.length * step;
  const left = Math.max(narrow ? 0 : 150, Math.min(middle - (width - most) / 2, most));
  list.forEach((entry, i) => {
    const [x, to, end] = [left + i * step, goals[i], MEMORY - 3];
    const from = `M${x + wide / 2} ${TABLE + 21} C${x + wide / 2} ${TABLE + 40}`;
    const tip = `M${to - 3.5} ${end - 6} L${to} ${end} L${to + 3.5} ${end - 6}`;
    const look = { rx: 3, stroke: `var(--ae-${hue(chosen)})` };
    marks.push(
      path(`arrow${i}`, `${from} ${to} ${end - 19} ${to} ${end} ${tip}`, "soft"),
      rect(`entry${i}`, [x, TABLE, wide, 21], hue(chosen), 0.3, look),
      put(`word${i}`, x + wide / 2, TABLE + 15, `${entry}`, "ink", "middle", small),
    );
  });
  return marks;
}

// The share that is wasted either way, and how many slots of each kind there are now.
function panel(state, now, { panel: [x, y], width }, given) {
  const { slots, kinds, words, texts, newest } = given;
  const wide = Math.min(width - x, 360);
  const marks = [
    put("wasted", x, y + 15, words.wasted),
    put("columns", x + wide, y + 79, fill(words.columns, given), "soft", "end"),
  ];
  ["pages", "reserve"].forEach((policy, i) => {
    const colour = policy === state.policy ? "ink" : "soft";
    const said = percent(wasted(run({ ...state, policy }, given)), slots);
    const left = x + i * (wide - 165);
    marks.push(
      bold(put(`${policy}-share`, left, y + 42, said, colour, "start", 24)),
      put(`${policy}-words`, left, y + 60, fill(words[`${policy}_share`], state), colour),
    );
  });
  kinds.forEach((kind, i) => {
    const [top, n] = [y + 85 + i * 18, count(now, kind)];
    const owner = i < 3 ? ANY : "";
    const colour = n ? "ink" : "soft";
    marks.push(
      ...cell([x, top, 13, 13], kind, owner, () => `key-${kind}`),
      put(`kind-${kind}`, x + 20, top + 11, fill(words.kinds[kind], texts[newest]), colour, "start", 13),
      put(`count-${kind}`, x + wide - 45, top + 11, `${n}`, colour, "end", 13),
      put(`part-${kind}`, x + wide, top + 11, percent(n, slots), "soft", "end", 13),
    );
  });
  return marks;
}

// All that follows from the state.
export const compute = run;

// What the picture says, in the maker's words.
export function sentence(state, given) {
  const { policy, size } = state;
  const { slots, words, texts, newest } = given;
  const now = run(state, given);
  const { users, copied, waits, table } = now;
  const { limit } = texts[newest];
  const tokens = count(now, "token");
  const say = (key, more) => fill(words[key], { ...{ slots, size, limit, tokens }, ...more });
  const names = (list) => [...list].join(" and ");
  const waiting = Object.keys(waits);
  const shared = now.slots.filter(([kind, owners]) => kind === "token" && owners.length > 1);
  if (!tokens) return say("empty");
  if (copied.length) {
    const [[name, old, copy]] = copied;
    const others = Object.keys(table).filter((one) => table[one].includes(old));
    return say("copied", { text: name, old, copy, others: names(others) });
  }
  if (waiting.length) {
    const gap = Math.max(0, ...gaps(now.slots).map(([, n]) => n));
    const free = count(now, "free", "hole");
    return say(`${policy}_wait`, { who: names(waiting), empty: slots - tokens, free, gap });
  }
  if (shared.length) {
    const pages = many(users.filter((n) => n > 1).length, "page");
    return say("shared", { who: names(shared[0][1]), n: many(shared.length, "token"), pages });
  }
  const [reserved, tail, hole] = ["reserved", "tail", "hole"].map((kind) => count(now, kind));
  if (policy === "reserve") return say("reserve", { reserved, hole });
  if (size === 1 || size === limit) return say(`pages_of_${size}`);
  const used = users.filter((n) => n).length;
  return say("pages", { used, most: many(size - 1, "slot"), tail });
}

function build(host, given) {
  const { words, sizes, newest } = given;
  const state = { ...given.start };
  const { svg, said, spoken, show, speak } = stage(words.label);

  function draw(ms = 0, more = {}) {
    Object.assign(state, more);
    const now = run(state, given);
    const { size, policy, chosen } = state;
    const begun = (name) => name in now.length || name in now.waits;
    show(picture(state, svg.clientWidth, given), ms);
    ways.press(policy);
    which.press(chosen);
    slider.value = sizes.indexOf(size);
    dial.textContent = many(size, "slot");
    slider.setAttribute("aria-valuetext", dial.textContent);
    end.textContent = fill(words.end, state);
    end.disabled = !begun(chosen);
    like.textContent = fill(words.like, { chosen, newest });
    like.disabled = !(chosen in now.length) || begun(newest);
    said.textContent = sentence(state, given);
    speak(`${said.textContent} ${words.wasted}: ${percent(wasted(now), given.slots)}.`);
    host.dataset.state = JSON.stringify({ ...state, ...now });
  }

  const set = (more) => draw(GLIDE, more);
  const add = (event) => set({ events: [...state.events, event] });
  const button = (onclick, name = "") => h("button", { type: "button", onclick }, name);
  const next = hold(() => add("next"), HOLD);
  next.append(words.next);
  const ways = choices(words.room, words.policies, (policy) => set({ policy }));
  const which = choices(words.text, words.texts, (chosen) => set({ chosen }));
  const [end, like] = ["end", "like"].map((what) => button(() => add(`${what} ${state.chosen}`)));
  const again = button(() => set(given.start), words.again);
  const oninput = () => set({ size: sizes[slider.value] });
  const slider = h("input", { type: "range", max: sizes.length - 1, "aria-label": words.size, oninput });
  const dial = h("strong");
  const sized = h("label", {}, `${words.size}: `, dial, slider);
  const row = (...nodes) => h("div", { class: "ae-controls ae-pages" }, ...nodes);
  const controls = row(next, again, ways.node, sized, row(which.node, end, like));
  return { nodes: [controls, svg, said, spoken], draw };
}

if (globalThis.document) mount("pages", build);
