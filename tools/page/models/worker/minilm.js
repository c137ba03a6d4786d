// MiniLM's forward pass on typed arrays. all-MiniLM-L6-v2: 6 layers of 12 heads, d_model = 384,
// d_k = d_v = 32. Heads are numbered 0 to 71: head h of layer l is 12 l + h. What is the same in
// attention_src/models/minilm/model.py reads like its equations there; here it is made fast.

const [HEADS, D, D_HEAD] = [12, 384, 32];
const EPSILON = 1e-12;

// y[n, out] = x[n, in] wᵀ + b. Four rows of x meet two rows of w at a time, so that each number
// read serves several products. x and y have rows to spare: n is rounded up to a multiple of four.
function linear(x, n, { weight, bias }) {
  const out = bias.length;
  const size = weight.length / out;
  const y = new Float64Array((n + (-n & 3)) * out);
  const four = new Float64Array(4 * size); // x[0, 0], x[1, 0], x[2, 0], x[3, 0], x[0, 1], …
  for (let i = 0; i < n; i += 4) {
    for (let r = 0; r < 4; r++) {
      for (let k = 0; k < size; k++) four[4 * k + r] = x[(i + r) * size + k];
    }
    for (let o = 0; o < out; o += 2) pair(four, weight, bias, o, size, y, i * out + o, out);
  }
  return y;
}

function pair(four, w, b, o, size, y, at, out) {
  let s0 = b[o], s1 = s0, s2 = s0, s3 = s0;
  let t0 = b[o + 1], t1 = t0, t2 = t0, t3 = t0;
  for (let k = 0, r = o * size, i = 0; k < size; k++, r++, i += 4) {
    const x0 = four[i], x1 = four[i + 1], x2 = four[i + 2], x3 = four[i + 3];
    const v = w[r], u = w[r + size];
    s0 += v * x0; s1 += v * x1; s2 += v * x2; s3 += v * x3;
    t0 += u * x0; t1 += u * x1; t2 += u * x2; t3 += u * x3;
  }
  [s0, s1, s2, s3].forEach((value, row) => (y[at + row * out] = value));
  [t0, t1, t2, t3].forEach((value, row) => (y[at + row * out + 1] = value));
}

// x + more, each row brought to mean 0 and variance 1, then scaled and shifted; in place.
function addNorm(x, more, n, { weight, bias }) {
  for (let i = 0; i < n * D; i += D) {
    let [mean, square] = [0, 0];
    for (let c = 0; c < D; c++) mean += (x[i + c] += more ? more[i + c] : 0) / D;
    for (let c = 0; c < D; c++) square += (x[i + c] -= mean) ** 2 / D;
    const scale = 1 / Math.sqrt(square + EPSILON);
    for (let c = 0; c < D; c++) x[i + c] = x[i + c] * scale * weight[c] + bias[c];
  }
  return x;
}

// The error function, to 1e-10: four terms of Taylor's series about the nearest of a table of
// values, which its own series gives, or far out a continued fraction.
const STEP = 1 / 32;
const SCALE = 2 / Math.sqrt(Math.PI);
const TABLE = Float64Array.from({ length: 6 / STEP + 1 }, (_, i) => {
  const x = i * STEP;
  if (x > 2.5) {
    let tail = 0;
    for (let k = 60; k > 0; k--) tail = k / 2 / (x + tail);
    return 1 - (SCALE * Math.exp(-x * x)) / 2 / (x + tail);
  }
  let [term, total] = [x, x];
  for (let k = 1; k < 60; k++) total += (term *= (-x * x) / k) / (2 * k + 1);
  return SCALE * total;
});
const SLOPE = TABLE.map((_, i) => SCALE * Math.exp(-((i * STEP) ** 2)));

export function erf(x) {
  const a = Math.abs(x);
  if (a >= 6) return Math.sign(x);
  const i = Math.round(a / STEP);
  const c = i * STEP;
  const d = a - c;
  const third = (2 * c * c - 1) / 3 - (d * (2 * c * c - 3) * c) / 6;
  const value = TABLE[i] + SLOPE[i] * d * (1 - d * (c - d * third));
  return x < 0 ? -value : value;
}
const gelu = (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2));

// One head: softmax(q kᵀ / √d) into p[n, n], and its average of the values into o[n, 384].
function attend([q, k, v], n, head, p, o) {
  const from = head * D_HEAD;
  for (let i = 0; i < n; i++) {
    let [most, total] = [-Infinity, 0];
    for (let j = 0; j < n; j++) {
      let score = 0;
      for (let c = from; c < from + D_HEAD; c++) score += q[i * D + c] * k[j * D + c];
      p[i * n + j] = score / Math.sqrt(D_HEAD);
      most = Math.max(most, p[i * n + j]);
    }
    for (let j = 0; j < n; j++) total += p[i * n + j] = Math.exp(p[i * n + j] - most);
    for (let j = 0; j < n; j++) {
      p[i * n + j] /= total;
      for (let c = from; c < from + D_HEAD; c++) o[i * D + c] += p[i * n + j] * v[j * D + c];
    }
  }
}

// ‖v_j W_O‖ for each token: how long what a head hands over is, before the weight.
function lengths(v, n, head, w) {
  return Array.from({ length: n }, (_, j) => {
    let square = 0;
    for (let r = 0; r < D; r++) {
      let part = 0;
      for (let c = head * D_HEAD; c < (head + 1) * D_HEAD; c++) part += w[r * D + c] * v[j * D + c];
      square += part * part;
    }
    return Math.sqrt(square);
  });
}

const spare = (n) => (n + (-n & 3)) * D;

async function embedTokens(model, ids) {
  const x = new Float64Array(spare(ids.length));
  const { position, segment, norm } = model.embeddings;
  for (const [i, id] of ids.entries()) {
    const row = await model.tokenRow(id);
    for (let c = 0; c < D; c++) x[i * D + c] = row[c] + position[i * D + c] + segment[c];
  }
  return addNorm(x, null, ids.length, norm);
}

// The sentence's embedding: the mean of the last vectors, of length 1.
function pool(x, n) {
  const e = new Float64Array(D);
  for (let i = 0; i < n * D; i++) e[i % D] += x[i];
  const length = Math.hypot(...e);
  return e.map((value) => value / length);
}

// The whole pass: { weights: [72 n n], lengths: [72 n], embedding: [384] }. silent maps a head to
// the 32 numbers that stand in for what it brings to each token; what it would have brought is lost.
export async function run(model, ids, silent = new Map()) {
  const n = ids.length;
  let x = await embedTokens(model, ids);
  const weights = new Float32Array(model.layers.length * HEADS * n * n);
  const long = [];
  model.layers.forEach((w, layer) => {
    const qkv = [w.query, w.key, w.value].map((part) => linear(x, n, part));
    const o = new Float64Array(spare(n));
    for (let head = 0; head < HEADS; head++) {
      const at = (layer * HEADS + head) * n * n;
      attend(qkv, n, head, weights.subarray(at, at + n * n), o);
      long.push(...lengths(qkv[2], n, head, w.output.weight));
      const fill = silent.get(layer * HEADS + head);
      for (let i = 0; fill && i < n; i++) o.set(fill, i * D + head * D_HEAD);
    }
    x = addNorm(x, linear(o, n, w.output), n, w.outputNorm);
    const inner = linear(x, n, w.inner);
    for (let i = 0; i < inner.length; i++) inner[i] = gelu(inner[i]);
    x = addNorm(x, linear(inner, n, w.outer), n, w.outerNorm);
  });
  return { weights, lengths: Float32Array.from(long), embedding: pool(x, n) };
}
