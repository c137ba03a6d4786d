// Where heads look, from numbers alone. A view is { tokens, weights: [heads n n], lengths: [heads n] }
// of one sentence; lengths are ‖v_j W_O‖. sentence72.py does the same.

export const COUNT = 72;
export const label = (head) => `L${Math.floor(head / 12)}H${head % 12}`;
export const range = (n) => [...Array(n).keys()];
export const words = ({ tokens }) => range(tokens.length).slice(1, -1);
export const percent = (share) => `${Math.round(100 * share)} %`;
export const add = (list) => list.reduce((total, value) => total + value, 0);

// The weight p from token i to token j; and the size of what it adds, p ‖v W_O‖.
export const weight = ({ tokens, weights }, head, i, j) =>
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

// A token as it stands in a sentence, and where there is little room.
export const quoted = (token) => (token.startsWith("[") ? token : `“${token}”`);
export const short = (token) => (token.length > 9 ? `${token.slice(0, 8)}…` : token);
