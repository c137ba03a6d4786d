"""NumPy's error state: what the caller chose by np.seterr or np.errstate, and what is used here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def own_errstate(**ignored: Any) -> Iterator[None]:
    """Compute the same whatever np.seterr says: a tiny weight is 0, and inf and NaN are results.

    For `with`, and as a decorator. What the caller lets NumPy warn of or ignore stays so.

    Args:
        ignored: kinds that are nothing to warn of here: invalid="ignore"
    Yields: nothing
    """
    chosen = np.geterr().items()  # "raise", "call", "print" and "log" would do more than compute
    calm: dict[str, Any] = {
        kind: "ignore" for kind, how in chosen if kind == "under" or how not in ("warn", "ignore")
    }
    with np.errstate(**calm | ignored):
        yield
