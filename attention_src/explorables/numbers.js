// Sums and the softmax: the twin of the function of that name in attention_src/softmax/reference.py.

export const sum = (x) => x.reduce((total, value) => total + value, 0);

// The maximum, or 0 where there is nothing but -Infinity: subtracting it can then not make NaN.
export function highest(x) {
  const m = Math.max(...x);
  return m === -Infinity ? 0 : m;
}

export function softmax(x) {
  const m = highest(x);
  const e = x.map((score) => Math.exp(score - m));
  const l = sum(e) || 1; // 0 only if every score is -Infinity: then all weights are 0
  return e.map((value) => value / l);
}
