// The product for one type of number: NUMBER, of which LANES fit into a vector. See product.c.

// T rows of a, each `width` after the other, and R columns of b, laid out as rows.
INLINE void NAME(tile)(int T, int R, const NUMBER *a, Size width, const NUMBER *b, Size n, char *y, const Steps *s) {
  v128_t total[ROWS * COLUMNS], x[ROWS];
  for (int i = 0; i < T * R; i++) total[i] = V(splat)(0);
  Size k = 0;
  for (; k + LANES <= n; k += LANES) {
    for (int i = 0; i < T; i++) x[i] = wasm_v128_load(a + i * width + k);
    for (int j = 0; j < R; j++) {
      v128_t w = wasm_v128_load(b + j * n + k);
      for (int i = 0; i < T; i++) total[i * R + j] = V(add)(total[i * R + j], V(mul)(x[i], w));
    }
  }
  for (int i = 0; i < T; i++)
    for (int j = 0; j < R; j++) {
      NUMBER lanes[LANES], sum = 0;
      wasm_v128_store(lanes, total[i * R + j]);
      for (int l = 0; l < LANES; l++) sum += lanes[l];
      for (Size rest = k; rest < n; rest++) sum += a[i * width + rest] * b[j * n + rest];
      *(NUMBER *)(y + i * s->y_m + j * s->y_p) = sum;
    }
}

INLINE void NAME(rows)(int R, const NUMBER *a, Size width, const NUMBER *b, Size m, Size n, char *y, const Steps *s) {
  Size i = 0;
  for (; i + ROWS <= m; i += ROWS) NAME(tile)(ROWS, R, a + i * width, width, b, n, y + i * s->y_m, s);
  a += i * width, y += i * s->y_m;
  if (m - i == 3) NAME(tile)(3, R, a, width, b, n, y, s);
  if (m - i == 2) NAME(tile)(2, R, a, width, b, n, y, s);
  if (m - i == 1) NAME(tile)(1, R, a, width, b, n, y, s);
}

INLINE void NAME(copy)(NUMBER *to, const char *from, Size count, Size step) {
  for (Size k = 0; k < count; k++) to[k] = *(const NUMBER *)(from + k * step);
}

// One product. scratch has room for a, if it is to be copied, and for COLUMNS columns of b. As many
// rows of a as the cache holds meet all of b before the next ones do.
static void NAME(one)(const char *a, const char *b, char *y, Size m, Size n, Size p, const Steps *s, NUMBER *scratch) {
  Size size = sizeof(NUMBER), width = s->a_m / size, most = CACHE / size / (n + 1) / ROWS * ROWS + ROWS;
  if (s->a_n != size) {
    for (Size i = 0; i < m; i++) NAME(copy)(scratch + i * n, a + i * s->a_m, n, s->a_n);
    a = (const char *)scratch, width = n, scratch += m * n;
  }
  for (Size i = 0; i < m; i += most) {
    Size here = m - i < most ? m - i : most;
    const NUMBER *rows = (const NUMBER *)a + i * width;
    for (Size j = 0; j < p; j += COLUMNS) {
      int R = j + COLUMNS <= p ? COLUMNS : 1;
      const NUMBER *columns = (const NUMBER *)(b + j * s->b_p);
      char *to = y + i * s->y_m + j * s->y_p;
      if (s->b_n != size || s->b_p != n * size) {
        for (int r = 0; r < R; r++) NAME(copy)(scratch + r * n, b + (j + r) * s->b_p, n, s->b_n);
        columns = scratch;
      }
      if (R == COLUMNS) NAME(rows)(COLUMNS, rows, width, columns, here, n, to, s);
      else NAME(rows)(1, rows, width, columns, here, n, to, s);
    }
  }
}

EXPORT void NAME(product)(char **at, const Size *count, const Size *step, void *unused) {
  (void)unused;
  Size m = count[1], n = count[2], p = count[3];
  Steps s = {step[3], step[4], step[5], step[6], step[7], step[8]};
  NUMBER *scratch = malloc((m * n + COLUMNS * n + 1) * sizeof(NUMBER));
  if (!scratch) __builtin_trap();
  for (Size i = 0; i < count[0]; i++)
    NAME(one)(at[0] + i * step[0], at[1] + i * step[1], at[2] + i * step[2], m, n, p, &s, scratch);
  free(scratch);
}

#undef NUMBER
#undef LANES
#undef V
#undef NAME
