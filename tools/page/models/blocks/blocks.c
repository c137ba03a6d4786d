// y = x w, with w in the blocks of a GGUF file, for Python in the page: attention_src/models/
// smollm2/in_numpy/blocks.py calls it. x [n, d_in], y [n, d_out]; row r of w gives y[:, r].
//
// A few rows of x: as whole numbers, against the codes as they are. More: two rows of w become
// float32, and meet four rows of x at a time. d_in is a multiple of 32; scratch has room for
// 4 d_in floats.
#include <stdint.h>
#include <wasm_simd128.h>

typedef v128_t V;
#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define LOAD wasm_v128_load
#define ADD wasm_f32x4_add
#define MUL wasm_f32x4_mul
#define FEW 3  // rows of x, at most, that are taken as whole numbers

enum { Q4_1, Q8_0 };  // how w is stored
INLINE int bytes_of(int kind) { return kind == Q4_1 ? 20 : 34; }

INLINE float from_bits(uint32_t bits) {
  union { uint32_t bits; float number; } both = {bits};
  return both.number;
}
INLINE uint32_t to_bits(float number) {
  union { float number; uint32_t bits; } both = {number};
  return both.bits;
}
INLINE float half(const uint8_t *p) {  // float16, little-endian; subnormal numbers come out right
  uint32_t bits = p[0] | p[1] << 8;
  float size = from_bits((bits & 0x7fff) << 13) * 0x1p112f;
  return from_bits(to_bits(size) | (bits & 0x8000) << 16);
}
INLINE float sum(V v) {
  return (wasm_f32x4_extract_lane(v, 0) + wasm_f32x4_extract_lane(v, 1)) +
         (wasm_f32x4_extract_lane(v, 2) + wasm_f32x4_extract_lane(v, 3));
}

// The 32 codes of a block, eight to a register, as 16-bit numbers.
INLINE void codes(int kind, const uint8_t *p, V *to) {
  if (kind == Q4_1) {
    V both = LOAD(p + 4), low = wasm_v128_and(both, wasm_i8x16_splat(15)), high = wasm_u8x16_shr(both, 4);
    to[0] = wasm_u16x8_extend_low_u8x16(low), to[1] = wasm_u16x8_extend_high_u8x16(low);
    to[2] = wasm_u16x8_extend_low_u8x16(high), to[3] = wasm_u16x8_extend_high_u8x16(high);
  } else {
    V first = LOAD(p + 2), last = LOAD(p + 18);
    to[0] = wasm_i16x8_extend_low_i8x16(first), to[1] = wasm_i16x8_extend_high_i8x16(first);
    to[2] = wasm_i16x8_extend_low_i8x16(last), to[3] = wasm_i16x8_extend_high_i8x16(last);
  }
}

// 32 numbers of x, x = unit (2^15 high + low), where unit is a power of two: 30 bits, more than
// float32 has, and a product of 16-bit numbers is one instruction for eight of them.
typedef struct {
  int16_t high[32], low[32];
  float unit, sum;
} Whole;

INLINE void to_whole(const float *x, Whole *to) {
  V most = wasm_f32x4_splat(0), total = most;
  for (int i = 0; i < 32; i += 4) {
    most = wasm_f32x4_max(most, wasm_f32x4_abs(LOAD(x + i)));  // NaN stays
    total = ADD(total, LOAD(x + i));
  }
  uint32_t power = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t bits = (uint32_t)((int32_t *)&most)[i] >> 23;
    if (bits > power) power = bits;
  }
  to->sum = sum(total);
  if (power < 28) power = 28;  // below 2^-99 nothing counts
  to->unit = power < 255 ? from_bits((power - 28) << 23) : from_bits(0x7fc00000);  // NaN
  V into = wasm_f32x4_splat(from_bits((282 - power) << 23));  // |x| < 2^(power - 126)
  for (int i = 0; i < 32; i += 8) {
    V a = wasm_i32x4_trunc_sat_f32x4(MUL(LOAD(x + i), into));  // 1 / unit
    V b = wasm_i32x4_trunc_sat_f32x4(MUL(LOAD(x + i + 4), into));
    V rest = wasm_i32x4_splat(0x7fff);
    wasm_v128_store(to->high + i, wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(a, 15), wasm_i32x4_shr(b, 15)));
    wasm_v128_store(to->low + i, wasm_i16x8_narrow_i32x4(wasm_v128_and(a, rest), wasm_v128_and(b, rest)));
  }
}

// One row of w and one of x. The sums of products fit into float32 exactly.
INLINE float one(int kind, const Whole *x, const uint8_t *p, int n_blocks) {
  V total = wasm_f32x4_splat(0);
  float minima = 0;
  for (int b = 0; b < n_blocks; b++, x++, p += bytes_of(kind)) {
    V c[4], high = wasm_i32x4_splat(0), low = high;
    codes(kind, p, c);
    for (int i = 0; i < 4; i++) {
      high = wasm_i32x4_add(high, wasm_i32x4_dot_i16x8(c[i], LOAD(x->high + 8 * i)));
      low = wasm_i32x4_add(low, wasm_i32x4_dot_i16x8(c[i], LOAD(x->low + 8 * i)));
    }
    V both = ADD(MUL(wasm_f32x4_convert_i32x4(high), wasm_f32x4_splat(0x1p15f)), wasm_f32x4_convert_i32x4(low));
    total = ADD(total, MUL(both, wasm_f32x4_splat(half(p) * x->unit)));
    if (kind == Q4_1) minima += half(p + 2) * x->sum;
  }
  return sum(total) + minima;
}

// A row of w as float32.
INLINE void floats(int kind, const uint8_t *p, int n_blocks, float *to) {
  for (int b = 0; b < n_blocks; b++, to += 32, p += bytes_of(kind)) {
    V c[4], scale = wasm_f32x4_splat(half(p)), minimum = wasm_f32x4_splat(kind == Q4_1 ? half(p + 2) : 0);
    codes(kind, p, c);
    for (int i = 0; i < 4; i++) {
      V first = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(c[i]));
      V last = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(c[i]));
      wasm_v128_store(to + 8 * i, ADD(MUL(first, scale), minimum));
      wasm_v128_store(to + 8 * i + 4, ADD(MUL(last, scale), minimum));
    }
  }
}

// T rows of x and R rows of float32 w.
INLINE void tile(int T, int R, float *y, const float *x, const float *w, int d_in, int d_out) {
  V total[8], a[4];
  for (int i = 0; i < T * R; i++) total[i] = wasm_f32x4_splat(0);
  for (int k = 0; k < d_in; k += 4) {
    for (int i = 0; i < T; i++) a[i] = LOAD(x + i * d_in + k);
    for (int j = 0; j < R; j++) {
      V b = LOAD(w + j * d_in + k);
      for (int i = 0; i < T; i++) total[i * R + j] = ADD(total[i * R + j], MUL(a[i], b));
    }
  }
  for (int i = 0; i < T; i++)
    for (int j = 0; j < R; j++) y[i * d_out + j] = sum(total[i * R + j]);
}

INLINE void few(int kind, float *y, const float *x, const uint8_t *w, Whole *whole, int n, int d_in, int d_out) {
  int n_blocks = d_in / 32;
  for (int i = 0; i < n * n_blocks; i++) to_whole(x + 32 * i, whole + i);
  for (int r = 0; r < d_out; r++, w += n_blocks * bytes_of(kind))
    for (int t = 0; t < n; t++) y[t * d_out + r] = one(kind, whole + t * n_blocks, w, n_blocks);
}
INLINE void many(int kind, float *y, const float *x, const uint8_t *w, float *rows, int n, int d_in, int d_out) {
  int n_blocks = d_in / 32, width = n_blocks * bytes_of(kind);
  for (int r = 0; r < d_out; r += 2, w += 2 * width) {
    int pair = r + 1 < d_out, t = 0;
    floats(kind, w, n_blocks, rows);
    if (pair) floats(kind, w + width, n_blocks, rows + d_in);
    for (; t + 4 <= n; t += 4)
      if (pair) tile(4, 2, y + t * d_out + r, x + t * d_in, rows, d_in, d_out);
      else tile(4, 1, y + t * d_out + r, x + t * d_in, rows, d_in, d_out);
    for (; t < n; t++)
      if (pair) tile(1, 2, y + t * d_out + r, x + t * d_in, rows, d_in, d_out);
      else tile(1, 1, y + t * d_out + r, x + t * d_in, rows, d_in, d_out);
  }
}

EXPORT void q4_1(float *y, const float *x, const uint8_t *w, void *scratch, int n, int d_in, int d_out) {
  if (n <= FEW) few(Q4_1, y, x, w, scratch, n, d_in, d_out);
  else many(Q4_1, y, x, w, scratch, n, d_in, d_out);
}
EXPORT void q8_0(float *y, const float *x, const uint8_t *w, void *scratch, int n, int d_in, int d_out) {
  if (n <= FEW) few(Q8_0, y, x, w, scratch, n, d_in, d_out);
  else many(Q8_0, y, x, w, scratch, n, d_in, d_out);
}
