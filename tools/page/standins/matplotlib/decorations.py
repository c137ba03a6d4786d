"""What stands around the axes: their frame, ticks, labels and title."""

from collections.abc import Iterator
from typing import Any

from matplotlib.artists import INK, Box, Text, as_they_are
from matplotlib.looks import Refuses, finish, one_of

SIDES = ("left", "right", "top", "bottom")


class Spine(Refuses):
    """One side of the frame."""

    called = "spine"

    def __init__(self, visible: bool) -> None:
        self.visible, self.width = visible, 0.8

    def set_visible(self, visible: bool) -> None:
        self.visible = visible

    def set(self, *, visible: bool, linewidth: float) -> None:
        self.visible, self.width = visible, linewidth


class Spines(Refuses):
    """The four sides: spines["left"], or spines[:] for all at once."""

    called = "spines"

    def __init__(self) -> None:
        self.sides = {side: Spine(side in ("left", "bottom")) for side in SIDES}

    def __getitem__(self, side: str | slice) -> Any:
        return self if isinstance(side, slice) else self.sides[side]

    def set_visible(self, visible: bool) -> None:
        for side in self.sides.values():
            side.visible = visible

    def set(self, **look: Any) -> None:
        for side in self.sides.values():
            side.set(**look)


class Decorations:
    """Of one pair of axes."""

    def __init__(self, ax: Any) -> None:
        self.ax = ax
        # Words, and how they look.
        self.title: tuple[str, str, dict[str, Any]] = ("", "center", {})
        self.xlabel: tuple[str, dict[str, Any]] = ("", {})
        self.ylabel = self.xlabel
        self.rotation = 0
        self.label_on_top = False
        self.frame, self.nothing = True, False
        self.length = {"x": 3.5, "y": 3.5}
        self.sizes = {"x": 10.0, "y": 10.0}
        self.labels_on_top, self.bottom = False, True
        self.shown = {"x": True, "y": True}  # tick labels; inner axes of shared ones have none

    def tick_params(self, axis: str, **look: Any) -> None:
        one_of("axis", axis, "both", "x", "y")
        for name, kept in (("length", self.length), ("labelsize", self.sizes)):
            if name in look:
                kept |= dict.fromkeys("xy" if axis == "both" else axis, look.pop(name))
        self.bottom = look.pop("bottom", self.bottom)
        self.labels_on_top = look.pop("labeltop", self.labels_on_top)
        one_of(
            "labelbottom", look.pop("labelbottom", not self.labels_on_top), not self.labels_on_top
        )
        one_of("top", look.pop("top", False), False)
        finish(look)

    def ticks(self, box: Box) -> Iterator[tuple[str, float, str]]:
        """Each tick: its axis, its place in points, its label."""
        x0, y0, x1, y1 = box
        at, names = self.ax.x.major((x1 - x0) / (3 * self.sizes["x"]))
        for place, name in zip(self.ax.x.share(at), names, strict=True):
            yield "x", x0 + place * (x1 - x0), name
        at, names = self.ax.y.major((y1 - y0) / (2 * self.sizes["y"]))
        for place, name in zip(self.ax.y.share(at), names, strict=True):
            yield "y", y1 - place * (y1 - y0), name

    def reach(self, box: Box) -> dict[str, float]:
        """How far the ticks of each axis stand out of the box."""
        there = set() if self.nothing else {axis for axis, _, _ in self.ticks(box)}
        return {axis: self.length[axis] if axis in there else 0.0 for axis in "xy"}

    def words(self, box: Box) -> list[Text]:
        """Labels of ticks, labels of axes, title, in points."""
        if self.nothing:
            return []
        x0, y0, x1, y1 = box
        made = []
        gap = {axis: self.length[axis] + 3.5 for axis in "xy"}
        edge = y0 - gap["x"] if self.labels_on_top else y1 + gap["x"]
        for axis, at, name in self.ticks(box):
            if not (name and self.shown[axis]):
                continue
            look: dict[str, Any] = {"size": self.sizes[axis]}
            if axis == "y":
                made.append(Text(x0 - gap["y"], at, name, ha="right", va="center_baseline", **look))
            else:
                va = "bottom" if self.labels_on_top else "top"
                look["rotation"] = self.rotation
                made.append(Text(at, edge, name, ha="center", va=va, **look))
        boxes = [text.place(as_they_are)[2] for text in made] + [box]
        left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
        bottom = max(b[3] for b in boxes)
        middle = {"y": (y0 + y1) / 2, "x": (x0 + x1) / 2}
        if self.ylabel[0]:
            look = {"ha": "right", "va": "center", "rotation": 90, **self.ylabel[1]}
            made.append(Text(left - 4, middle["y"], self.ylabel[0], **look))
        if self.xlabel[0]:
            place, va = (top - 4, "bottom") if self.label_on_top else (bottom + 4, "top")
            label = Text(middle["x"], place, self.xlabel[0], ha="center", va=va, **self.xlabel[1])
            made.append(label)
            top = min(top, label.place(as_they_are)[2][1])
        title, loc, look = self.title
        if title:
            x = x0 if loc == "left" else middle["x"]
            made.append(Text(x, top - 6, title, ha=loc, va="baseline", **look))
        return made

    def draw(self, box: Box) -> str:
        if self.nothing:
            return ""
        return (
            self._spines(box)
            + self._marks(box)
            + "".join(w.draw(as_they_are) for w in self.words(box))
        )

    def _spines(self, box: Box) -> str:
        x0, y0, x1, y1 = box
        ends = {
            "left": f"M{x0:.2f},{y1:.2f}V{y0:.2f}",
            "right": f"M{x1:.2f},{y1:.2f}V{y0:.2f}",
            "bottom": f"M{x0:.2f},{y1:.2f}H{x1:.2f}",
            "top": f"M{x0:.2f},{y0:.2f}H{x1:.2f}",
        }
        shown = [
            (ends[k], s.width) for k, s in self.ax.spines.sides.items() if s.visible and self.frame
        ]
        return "".join(_stroke(path, width, "square") for path, width in shown)

    def _marks(self, box: Box) -> str:
        x0, y0, x1, y1 = box
        along, up = self.length["x"], self.length["y"]
        made = [
            f"M{at:.2f},{y1:.2f}v{along:g}" if axis == "x" else f"M{x0:.2f},{at:.2f}h{-up:g}"
            for axis, at, _ in self.ticks(box)
            if self.length[axis] and (axis == "y" or self.bottom)
        ]
        small = []
        for place in self.ax.x.share(self.ax.x.minors((x1 - x0) / 30)):
            small.append(f"M{x0 + place * (x1 - x0):.2f},{y1:.2f}v2")
        for place in self.ax.y.share(self.ax.y.minors((y1 - y0) / 20)):
            small.append(f"M{x0:.2f},{y1 - place * (y1 - y0):.2f}h-2")
        return _stroke("".join(made), 0.8, "butt") + _stroke("".join(small), 0.6, "butt")


def _stroke(path: str, width: float, cap: str) -> str:
    look = f"fill:none;stroke:{INK};stroke-width:{width:g};stroke-linecap:{cap}"
    return f'<path d="{path}" style="{look}"/>' if path else ""
