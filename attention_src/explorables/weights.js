// From scores to weights: each rule is the twin of a function in attention_src/softmax/reference.py
// of the same name. test_drawn_softmax.py compares their numbers.

import { highest, sum } from "./numbers.js";

export function hardmax(x) {
  const best = x.map((score) => (score === highest(x) ? 1 : 0));
  return best.map((value) => value / sum(best)); // equal maxima share
}

export function sigmoid(x) {
  return x.map((score) => 1 / (1 + Math.exp(-score)));
}

// p_j = max(x_j - theta, 0), with the one theta that makes the sum 1.
export function sparsemax(x) {
  const z = x.map((score) => score - highest(x));
  const ordered = [...z].sort((a, b) => b - a);
  let theta = 0;
  ordered.forEach((score, i) => {
    // If the i + 1 largest were the support, this would be their threshold.
    const candidate = (sum(ordered.slice(0, i + 1)) - 1) / (i + 1);
    if (candidate < score) theta = candidate;
  });
  return z.map((score) => Math.max(score - theta, 0));
}

// p_j = max(x_j / 2 - theta, 0)^2, with the one theta that makes the sum 1.
export function entmax15(x) {
  const z = x.map((score) => (score - highest(x)) / 2);
  const ordered = [...z].sort((a, b) => b - a);
  let theta = 0;
  ordered.forEach((score, i) => {
    const part = ordered.slice(0, i + 1);
    const mean = sum(part) / part.length;
    const spread = sum(part.map((value) => (value - mean) ** 2));
    const candidate = mean - Math.sqrt(Math.max(1 - spread, 0) / part.length);
    if (candidate < score) theta = candidate;
  });
  return z.map((score) => Math.max(score - theta, 0) ** 2);
}

export function entropyBits(p) {
  return sum(p.map((weight) => (weight > 0 ? -weight * Math.log2(weight) : 0)));
}
