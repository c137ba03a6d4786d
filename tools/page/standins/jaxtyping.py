"""In the page, shapes as types are read and not checked: Float[np.ndarray, "n_k"] is the array."""

from typing import Any


class _Shaped:
    def __getitem__(self, item: tuple[Any, str]) -> Any:
        return item[0]


def __getattr__(name: str) -> _Shaped:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Shaped()
