// What can be said about 72 maps of one sentence, from numbers alone. A view is
// { tokens, weights: [72 n n], lengths: [72 n] }; lengths are ‖v_j W_O‖. sentence72.py does the same.

export const COUNT = 72;
export const label = (head) => `L${Math.floor(head / 12)}H${head % 12}`;
export const range = (n) => [...Array(n).keys()];
export const words = ({ tokens }) => range(tokens.length).slice(1, -1);
export const percent = (share) => `${Math.round(100 * share)} %`;
const add = (list) => list.reduce((total, value) => total + value, 0);

// The weight p from token i to token j; and the size of what it adds, p ‖v W_O‖.
const weight = ({ tokens, weights }, head, i, j) =>
  weights[(head * tokens.length + i) * tokens.length + j];
const size = (view, head, i, j) =>
  weight(view, head, i, j) * view.lengths[head * view.tokens.length + j];
export const amount = { weight, size };

// Where a head may look, seen from the word i: the places that count.
export const PLACES = {
  "[CLS]": () => [0],
  "[SEP]": ({ tokens }) => [tokens.length - 1],
  "the word itself": (view, i) => [i],
  "the word before": (view, i) => (i > 1 ? [i - 1] : []),
  "the word after": ({ tokens }, i) => (i < tokens.length - 2 ? [i + 1] : []),
  "the same word elsewhere": (view, i) =>
    words(view).filter((j) => j !== i && view.tokens[j] === view.tokens[i]),
  punctuation: (view) => words(view).filter((j) => !/[\p{L}\p{N}]/u.test(view.tokens[j])),
};

// How much of a head's rows lies on each place: of a word's row, as a mean over the words that have
// such a place.
export function shares(view, kind, head) {
  const rows = words(view).map((i) => {
    const row = range(view.tokens.length).map((j) => amount[kind](view, head, i, j));
    const all = add(row);
    return row.map((value) => value / all);
  });
  const found = {};
  for (const [place, where] of Object.entries(PLACES)) {
    const each = rows
      .map((row, k) => where(view, k + 1).map((j) => row[j]))
      .filter((list) => list.length)
      .map(add);
    if (each.length) found[place] = add(each) / each.length;
  }
  return found;
}
export const largest = (found) =>
  Object.keys(found).reduce((best, place) => (found[place] > found[best] ? place : best));

// What is said about all heads, and about one.
export function saidOfAll(view) {
  const [looks, takes] = Object.keys(amount).map(
    (kind) => range(COUNT).filter((head) => shares(view, kind, head)["[CLS]"] > 0.5).length,
  );
  return (
    `In this sentence ${looks} of 72 heads give more than half of their words’ weight to [CLS]; ` +
    `${takes || "none"} take${takes > 1 ? "" : "s"} more than half of what ` +
    `${takes > 1 ? "they add" : "it adds"} from there.`
  );
}

export function saidOfHead(view, head) {
  const [p, c] = Object.keys(amount).map((kind) => shares(view, kind, head));
  const [looks, brings] = [largest(p), largest(c)];
  const more = looks === brings ? "" : ` and ${percent(c[brings])} from ${brings}`;
  return (
    `${label(head)} gives ${percent(p[looks])} of its words’ weight to ${looks}; ` +
    `of what it adds, ${percent(c[looks])} comes from there${more}.`
  );
}

// How much of a head's weight went elsewhere, from one view to another: 0 nothing, 1 all of it.
export function shifted(view, other, head) {
  const all = range(view.tokens.length);
  const rows = words(view).map(
    (i) => add(all.map((j) => Math.abs(weight(view, head, i, j) - weight(other, head, i, j)))) / 2,
  );
  return add(rows) / rows.length;
}

// What one silent head does: how far the sentence's vector turns, and which head above changes most.
export function saidOfSilence(whole, view, { head, by }) {
  const turn = (Math.acos(Math.min(1, view.cosine)) * 180) / Math.PI;
  const instead = by === "zero" ? "output set to 0" : "output set to its mean";
  const start = `Without ${label(head)} (${instead}) the sentence’s vector turns by ${turn.toFixed(1)}°.`;
  const above = range(COUNT).slice(12 * (Math.floor(head / 12) + 1));
  if (!above.length) return start;
  const shift = above.map((one) => shifted(whole, view, one));
  const one = above[shift.indexOf(Math.max(...shift))];
  const [before, after] = [whole, view].map((each) => shares(each, "weight", one));
  const rise = Object.fromEntries(Object.keys(after).map((place) => [place, after[place] - before[place]]));
  const place = largest(rise);
  return (
    `${start} In the layers above, ${label(one)} changes most: ` +
    `${percent(before[place])} of its weight on ${place} became ${percent(after[place])}.`
  );
}
