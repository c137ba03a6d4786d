// The planted model, as attention_src/models/planted/model.py has it: two layers of four heads.

import { softmax, sum } from "./numbers.js";

const zeros = (rows, columns) => [...Array(rows)].map(() => Array(columns).fill(0));
const keys = (n) => [...Array(n).keys()];

// x W, for a matrix whose numbers other than 0 stand in runs: a value that is repeated down a
// diagonal (step 1) or down a column (step 0).
export function times(x, runs, columns) {
  const out = zeros(x.length, columns);
  for (const [row, column, step, count, value] of runs) {
    for (const c of keys(count)) {
      x.forEach((from, i) => (out[i][column + step * c] += from[row + c] * value));
    }
  }
  return out;
}

// What the model makes of a text, "^" first. silent: roles of heads whose output is set to 0. Returns
// the weights of each head [n][i + 1]; before, the letter that head `previous` wrote at each place,
// or ""; and chances [n][27] of the letter that comes next.
export function run(text, silent, { letters, parts, width, inside, heads, unembedding }) {
  let x = zeros(text.length, width);
  [...text].forEach((letter, i) => {
    x[i][parts.token + letters.indexOf(letter)] = 1;
    x[i][parts.position + i] = 1;
  });
  const weights = {};
  const attend = ({ role, q, k, v, o }) => {
    const [queries, found, values] = [q, k, v].map((w) => times(x, w, inside));
    weights[role] = queries.map((query, i) =>
      softmax(found.slice(0, i + 1).map((key) => sum(key.map((a, c) => a * query[c])))),
    ); // causal; the scale is in w_q
    if (silent.includes(role)) return zeros(text.length, width);
    const mean = (p) => keys(inside).map((c) => sum(p.map((weight, j) => weight * values[j][c])));
    return times(weights[role].map(mean), o, width);
  };
  const add = (layer) => {
    const added = heads.filter((head) => head.layer === layer).map(attend);
    x = x.map((row, i) => row.map((value, c) => value + sum(added.map((one) => one[i][c]))));
  };
  add(0);
  const before = x.map((row) => {
    const written = row.slice(parts.previous, parts.previous + letters.length);
    return letters[written.findIndex((value) => value > 0.5)] ?? "";
  });
  add(1);
  return { weights, before, chances: times(x, unembedding, letters.length).map(softmax) };
}

// The same at one place, for the state { text, at, silent }: also the weights p of head `induction`
// there, and which places have the letter that it looks for before them.
export function look({ text, at, silent }, given) {
  const tokens = "^" + text;
  const { weights, before, chances } = run(tokens, silent, given);
  const found = keys(at + 1).filter((j) => before[j] === tokens[at]);
  return { weights, before, tokens, found, p: weights.induction[at], chances: chances[at] };
}

// The likeliest letters: several where they are equally likely.
export function tops(chances, { letters }) {
  const most = Math.max(...chances);
  return [...letters].filter((_, i) => most - chances[i] < 1e-9);
}
