"""The page has no matplotlib: a figure is described, not drawn."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_src.figures.drawings import drawing

PALETTE: Any = defaultdict(lambda: "#767676")


class _Quiet:
    """A figure, its axes, and whatever they return: everything works and nothing happens."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter((self,))  # `line, = ax.plot(...)`


def figure(width: float, height: float, nrows: int = 1, ncols: int = 1, **subplots: Any) -> Any:
    """As in attention_src.figures: a figure, and its axes, or an array of them."""
    axes = np.full((nrows, ncols), _Quiet(), dtype=object)
    return _Quiet(), axes.item() if axes.size == 1 else axes.squeeze()


def show(fig: Any, alt: str) -> None:
    """Say what the figure on the page shows."""
    print(f"The figure is not drawn anew here. The one on the page: {alt}")


def draw(name: str, **state: Any) -> None:
    """Say what the drawing on the page, or in another state, shows."""
    print(f"The drawing is not drawn anew here. It shows: {drawing(name, **state).alt}")


def bars(*args: Any, **kwargs: Any) -> None:
    pass


lines = bars


def heatmap(*args: Any, vmax: float | None = None, **kwargs: Any) -> float:
    return float(vmax or 1)


def three_digits(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)
