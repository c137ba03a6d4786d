"""A fast product for NumPy in the page, which comes without a BLAS.

NumPy's C interface lets a library put its own loop in place of a ufunc's, and `@` is the ufunc
numpy.matmul. tools/page/product holds that library.
"""

import ctypes

import numpy as np
import numpy._core._multiarray_umath as core

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
    address = ctypes.c_void_p
    opened = ctypes.pythonapi.PyCapsule_GetPointer
    opened.restype, opened.argtypes = address, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(opened(core._UFUNC_API, None), ctypes.POINTER(address))
    makes = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, address, address, address)
    replace = makes(table[REPLACE_LOOP])
    for name in ("float32", "float64"):
        loop = ctypes.cast(library[f"product_{name}"], address)
        signature = (ctypes.c_int * 3)(*[np.dtype(name).num] * 3)
        before = address()
        if replace(np.matmul, loop, ctypes.addressof(signature), ctypes.addressof(before)):
            raise RuntimeError(f"numpy.matmul has no loop for {name}")
