// y = a b, for NumPy in the page, which comes without a BLAS: the inner loop of numpy.matmul, in
// float32 and float64, with WebAssembly's vectors. tools/page/worker/minilm.js puts it in place.
//
// Each number of y is the product of a row of a and a column of b. Four rows meet two columns at a
// time, so that each number read serves several products. Where rows or columns do not lie side by
// side in memory, they are copied first.
#include <stddef.h>
#include <wasm_simd128.h>

#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define ROWS 4
#define COLUMNS 2
#define CACHE 131072  // bytes of a that stay near

void *malloc(size_t);  // Python's
void free(void *);

// NumPy's own calls: sizes count[0] products of [m, n] by [n, p], and steps in bytes.
typedef ptrdiff_t Size;
typedef struct {
  Size a_m, a_n, b_n, b_p, y_m, y_p;
} Steps;

#define NUMBER float
#define LANES 4
#define V(name) wasm_f32x4_##name
#define NAME(name) name##_float32
#include "rows.h"

#define NUMBER double
#define LANES 2
#define V(name) wasm_f64x2_##name
#define NAME(name) name##_float64
#include "rows.h"
