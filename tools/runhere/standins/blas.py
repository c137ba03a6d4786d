"""A fast product for NumPy in the page, which comes without a BLAS.

NumPy's C interface lets a library put its own loop in place of a ufunc's, and `@` is the ufunc
numpy.matmul. tools/runhere/product holds that library.
"""

import ctypes

import numpy as np
from numpy._core import _multiarray_umath

REPLACE_LOOP = 30  # PyUFunc_ReplaceLoopBySignature, in the table of NumPy's C interface


def use(path: str) -> None:
    """Let `@` of float32 and of float64 be the library's, here and in all that uses NumPy.

    Args:
        path: of product.wasm
    Raises:
        OSError: it cannot be loaded here
        RuntimeError: NumPy has no such loop
    """
    library = ctypes.CDLL(path)
    opened = ctypes.pythonapi.PyCapsule_GetPointer
    opened.restype, opened.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(opened(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    takes = [ctypes.c_int, ctypes.py_object, *[ctypes.c_void_p] * 3]
    replace = ctypes.PYFUNCTYPE(*takes)(table[REPLACE_LOOP])
    for name in ("float32", "float64"):
        loop = ctypes.cast(library[f"product_{name}"], ctypes.c_void_p)
        signature = (ctypes.c_int * 3)(*[np.dtype(name).num] * 3)
        before = ctypes.c_void_p()
        if replace(np.matmul, loop, ctypes.addressof(signature), ctypes.addressof(before)):
            raise RuntimeError(f"numpy.matmul has no loop for {name}")
