"""What is drawn in one pair of axes: kept, and drawn when the figure has its layout."""

from itertools import cycle
from typing import Any

import matplotlib
import numpy as np
from matplotlib import bars
from matplotlib.artists import INK, Arrow, Line, Text
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.decorations import Decorations, Spines
from matplotlib.legend import Legend
from matplotlib.looks import Refuses, finish, label, line_format, long_names, one_of, words


class Axes(Refuses):
    """As matplotlib's: the methods that the course's figures use."""

    called = "ax"

    def __init__(self, x: Axis, y: Axis) -> None:
        self.x, self.y = x, y
        self.artists: list[Any] = []
        self.lines: list[Line] = []
        self.spines = Spines()
        self.look = Decorations(self)
        self.made_legend: Legend | None = None
        self.equal = False
        hues = matplotlib.rcParams.get("axes.prop_cycle", {"color": [INK]})["color"]
        self._colors, self.fills = cycle(hues), cycle(hues)  # of lines, of bars

    # --- what is drawn

    def plot(self, *args: Any, **look: Any) -> list[Line]:
        """x, y and a format such as "o--"; x may be left out, y may have several columns."""
        *values, style = args if args and isinstance(args[-1], str) else (*args, "")
        if len(values) not in (1, 2) or any(isinstance(value, str) for value in values):
            raise ValueError("ax.plot takes one line a call: x, y and a format.")
        y = np.atleast_1d(np.asarray(values[-1], dtype=float))
        x = np.atleast_1d(np.asarray(values[0], float)) if values[1:] else np.arange(len(y))
        if x.ndim != 1 or y.ndim > 2:
            raise ValueError(
                f"x has the shape {x.shape} and y {y.shape}: should be [n], [n, lines]"
            )
        if len(x) != len(y):
            raise ValueError(f"x has {len(x)} entries, but y has {len(y)}")
        columns = y.T if y.ndim == 2 else [y]
        return [self._line(x, column, style, look) for column in columns]

    def semilogy(self, *args: Any, **look: Any) -> list[Line]:
        self.set_yscale("log")
        return self.plot(*args, **look)

    def _line(self, x: Any, y: Any, style: str, given: dict[str, Any], across: str = "") -> Line:
        look = long_names(given)
        drawn, marker = line_format(style)
        color = look.pop("color", None) or next(self._colors)
        line = Line(
            x,
            y,
            look.pop("linestyle", drawn),
            color=color,
            width=look.pop("linewidth", matplotlib.rcParams.get("lines.linewidth", 1.5)),
            marker=look.pop("marker", marker),
            size=look.pop("markersize", 6),
            edge=look.pop("markeredgewidth", 1),
            alpha=look.pop("alpha", None),
            label=look.pop("label", None),
            across=across,
        )
        finish(look)
        if across != "x":
            self.x.show(line.x)
        if across != "y":
            self.y.show(line.y)
        self.artists.append(line)
        self.lines.append(line)
        return line

    def axhline(self, y: float, **look: Any) -> Line:
        return self._line([np.nan], [y], "", {"color": "C0", **long_names(look)}, across="x")

    def axvline(self, x: float, **look: Any) -> Line:
        return self._line([x], [np.nan], "", {"color": "C0", **long_names(look)}, across="y")

    def text(self, x: float, y: float, s: str, **look: Any) -> Text:
        return self._text(Text(x, y, s, **words(look)))

    def annotate(
        self,
        text: str,
        xy: Any,
        xytext: Any = None,
        *,
        xycoords: str = "data",
        textcoords: str | None = None,
        arrowprops: dict[str, Any] | None = None,
        annotation_clip: bool | None = None,
        **look: Any,
    ) -> Any:
        if arrowprops is not None:
            head = long_names(arrowprops)
            if text or head.pop("arrowstyle", "") != "->":
                raise ValueError("an arrow in the page has no text and the arrowstyle '->'")
            arrow = Arrow(xytext, xy, head.pop("color", INK), head.pop("linewidth", 1))
            finish(head)
            self.artists.append(arrow)
            return arrow
        one_of("xycoords", xycoords, "data", "axes fraction")
        one_of("textcoords", textcoords, None, "data", "offset points")
        moved = xytext is not None and textcoords == "offset points"
        if xytext is not None and not moved:
            xy = xytext
        shift = tuple(map(float, xytext)) if moved else (0.0, 0.0)
        of_axes = xycoords == "axes fraction"
        return self._text(Text(*xy, text, **words(look), shift=shift, of_axes=of_axes))

    def _text(self, text: Text) -> Text:
        self.artists.append(text)
        return text

    bar, barh, broken_barh = bars.bar, bars.barh, bars.broken_barh

    def add_collection(self, polygons: PolyCollection) -> None:
        self.artists.append(polygons)

    def legend(self, **look: Any) -> None:
        self.made_legend = Legend(self.lines, **long_names(look))

    # --- scale, limits, ticks

    def set(self, **settings: Any) -> None:
        for name, value in settings.items():
            if name in ("xlim", "ylim"):
                getattr(self, f"set_{name}")(*value)
            else:
                getattr(self, f"set_{name}")(value)

    def set_xscale(self, scale: str) -> None:
        one_of("scale", scale, "linear", "log")
        self.x.scale = scale

    def set_yscale(self, scale: str) -> None:
        one_of("scale", scale, "linear", "log")
        self.y.scale = scale

    def set_xlim(self, left: Any = None, right: Any = None) -> None:
        self._limits(self.x, left, right)

    def set_ylim(self, bottom: Any = None, top: Any = None) -> None:
        self._limits(self.y, bottom, top)

    @staticmethod
    def _limits(axis: Axis, low: Any, high: Any) -> None:
        if low is not None and high is None and np.ndim(low):
            low, high = low
        axis.set_limits(low, high)

    def invert_yaxis(self) -> None:
        self.y.inverted = not self.y.inverted

    def set_xticks(
        self, ticks: Any, labels: Any = None, *, minor: bool = False, **look: Any
    ) -> None:
        self.look.rotation = look.pop("rotation", 0)
        one_of("rotation", self.look.rotation, 0, 90)
        self._ticks(self.x, ticks, labels, minor, look)

    def set_yticks(
        self, ticks: Any, labels: Any = None, *, minor: bool = False, **look: Any
    ) -> None:
        self._ticks(self.y, ticks, labels, minor, look)

    @staticmethod
    def _ticks(axis: Axis, ticks: Any, labels: Any, minor: bool, look: dict[str, Any]) -> None:
        finish(long_names(look))
        if not minor:
            axis.set_ticks(list(ticks), labels)
        elif len(ticks):
            raise ValueError("minor=True: figures in the page know no ticks of it, [] alone")
        else:
            axis.minor = False

    def minorticks_off(self) -> None:
        self.x.minor = self.y.minor = False

    def margins(
        self, both: float | None = None, *, x: float | None = None, y: float | None = None
    ) -> None:
        x, y = (both, both) if both is not None else (x, y)
        self.x.margin = self.x.margin if x is None else x
        self.y.margin = self.y.margin if y is None else y

    def autoscale_view(self) -> None:
        """Limits are computed when they are needed."""

    # --- what stands around

    def set_title(self, title: str, *, loc: str = "center", **look: Any) -> None:
        one_of("loc", loc, "left", "center")
        self.look.title = (title, loc, label(look))

    def set_xlabel(self, xlabel: str, **look: Any) -> None:
        self.look.xlabel = (xlabel, label(look))

    def set_ylabel(self, ylabel: str, **look: Any) -> None:
        self.look.ylabel = (ylabel, label(look))

    def tick_params(self, axis: str = "both", **look: Any) -> None:
        self.look.tick_params(axis, **look)

    @property
    def xaxis(self) -> "Axes":
        return self

    def set_label_position(self, side: str) -> None:
        one_of("side", side, "top", "bottom")
        self.look.label_on_top = side == "top"

    def set_frame_on(self, on: bool) -> None:
        self.look.frame = on

    def axis(self, what: str) -> None:
        if what != "off":
            raise ValueError(f"axis({what!r}): figures in the page know 'off' alone")
        self.look.nothing = True

    def set_aspect(self, aspect: str, **look: Any) -> None:
        one_of("aspect", aspect, "auto", "equal")
        finish(look)
        self.equal = aspect == "equal"

    # --- for attention_src.figures.charts, which places names in heights of the axes

    @property
    def transData(self) -> "Axes":
        return self

    transAxes = transData

    def inverted(self) -> "Axes":
        return self

    def __add__(self, other: "Axes") -> "Axes":
        return self

    def transform(self, at: tuple[float, float]) -> tuple[float, float]:
        return float(self.x.share(at[0])), float(self.y.share(at[1]))
