// What weights are like: the twin of entropy_bits in attention_src/softmax/reference.py.
// test_drawn_softmax.py compares their numbers.

import { sum } from "./numbers.js";

export function entropyBits(p) {
  return sum(p.map((weight) => (weight > 0 ? -weight * Math.log2(weight) : 0)));
}
