"""Figures in the page: the stand-in for matplotlib draws what matplotlib draws, where it does.

The same program runs beside both, each in its own process, and tells where things are.
"""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from tiny import REPOSITORY

from tools.book import macros
from tools.page import course
from tools.site import drawings

POINTS = 4  # what the places of two layouts may differ by, of 324

MEASURE = """
import json, sys, types
from attention_src.figures import PALETTE, bars, figure, heatmap, lines
import numpy as np

def measure(fig, axes):
    told = []
    for ax in np.ravel(np.array(axes, dtype=object)):
        told.append(measure_one(fig, ax))
    return told
"""
# In matplotlib y counts from below.
REAL = """
def measure_one(fig, ax):
    fig.draw_without_rendering()
    scale, high = 72 / fig.dpi, fig.get_figheight() * 72
    b = ax.get_window_extent()
    ticks = []
    for axis, (low, top) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
        near = 1e-9 * (top - low)
        shown = [t for t in axis.get_major_ticks() if low - near <= t.get_loc() <= top + near]
        ticks.append([[t.get_loc(), t.label1.get_text() or t.label2.get_text()] for t in shown])
    box = [b.x0 * scale, high - b.y1 * scale, b.x1 * scale, high - b.y0 * scale]
    return {"box": box, "x": ax.get_xlim(), "y": ax.get_ylim(), "ticks": ticks}
"""
STANDIN = """
sys.modules["page"] = types.SimpleNamespace(figure=print)
def measure_one(fig, ax):
    number = [a is ax for a in fig.axes.flat].index(True)
    box = fig.boxes()[number]
    rooms = (box[2] - box[0]) / 30, (box[3] - box[1]) / 20
    ticks = [list(zip(*axis.major(room))) for axis, room in zip((ax.x, ax.y), rooms)]
    y = ax.y.limits()
    return {"box": box, "x": ax.x.limits(), "y": y[::-1] if ax.y.inverted else y, "ticks": ticks}
"""
CASES = {
    "logarithmic scales, own ticks before and after the data": """
fig, ax = figure(4.5, 6, nrows=2)
for one in ax:
    one.plot([700, 40_000], [0.1, 700])
ax[0].set(xscale="log", yscale="log", ylim=(0.08, 90_000))
ax[0].set_xticks([512, 4096, 32768], ["512", "4,096", "32,768"])
ax[0].set_yticks([0.1, 1, 10, 100, 1000])
ax[1].set_xticks([0, 50_000])
ax[1].axhline(0, color=PALETTE["ink"])
ax[1].set(xlabel="distance", ylabel="score", ylim=(-1.1, 900), title="a title")""",
    "shared axes": """
fig, ax = figure(4.5, 5.2, nrows=3, sharex=True, sharey=True)
for i, one in enumerate(ax):
    one.plot([0, 10 * i + 1], [i, 2 * i + 1], ".")
    one.set_title(f"number {i}")""",
    "bars": """
fig, ax = figure(4.5, 7, nrows=3)
bars(ax[0], [4.2, 3.8, 0.6, -0.9], list("abcd"), color="ink", decimals=1)
ax[0].set_ylabel("weight")
ax[1].barh(["1 text", "64 texts"], [300, 5], color=PALETTE["ink"], height=0.55)
ax[1].barh(["1 text", "64 texts"], [20, 17], left=[300, 5], color=PALETTE["k"], height=0.55)
ax[1].text(150, -0.35, "weights", ha="center", size=9)
ax[1].invert_yaxis()
ax[2].broken_barh([(0, 10), (30, 20)], (2, 1), color=PALETTE["k"], lw=0)
ax[2].set_title("pieces", loc="left", fontsize=9)""",
    "names at the ends": """
fig, ax = figure(4.5, 3)
ax.set(xscale="log", ylim=(0, 100))
lines(ax, [100, 1000, 9000], {"one": [1, 40, 90], "another one": [2, 30, 88]})""",
    "maps": """
fig, ax = figure(4, 8, nrows=2)
words = ["The", "cat", "sat", "on", "mats"]
heatmap(ax[0], np.eye(5) / 2, rows=words, columns=words, annotate=True)
heatmap(ax[1], np.eye(8), rows=None, columns=range(8), mask=np.tri(8, dtype=bool), vmax=1)
ax[1].set_title("causal")""",
}
IN_PAGE = """
import json, sys, types
sys.modules["page"] = types.SimpleNamespace(figure=print)
from attention_src.figures import PALETTE, draw, figure, show
"""


def run(code, folder=REPOSITORY):
    first = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    done = subprocess.run([sys.executable, "-c", first + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The folder that the page's Python has in its path."""
    folder = tmp_path_factory.mktemp("page")
    zipfile.ZipFile(io.BytesIO(course.archive(REPOSITORY))).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def measured(page):
    """Each case, measured in matplotlib and in the stand-in."""
    cases = [f"{code}\ntold[{name!r}] = measure(fig, ax)" for name, code in CASES.items()]
    body = "\n".join(["told = {}", *cases, "print(json.dumps(told, default=float))"])
    return json.loads(run(MEASURE + REAL + body)), json.loads(run(MEASURE + STANDIN + body, page))


@pytest.mark.parametrize("case", CASES)
def test_it_draws_as_matplotlib_does(case, measured):
    for real, own in zip(*(told[case] for told in measured), strict=True):
        assert np.allclose(real["x"], own["x"]) and np.allclose(real["y"], own["y"]), "limits"
        for ticks, own_ticks in zip(real["ticks"], own["ticks"], strict=True):
            assert np.allclose([at for at, _ in ticks], [at for at, _ in own_ticks])
            said = [text.replace(r"\mathdefault{", "").replace("}}$", "}$") for _, text in ticks]
            shown = [name for _, name in own_ticks]
            assert said == shown or not any(said), "labels"  # inner axes of shared ones show none
        assert np.abs(np.subtract(real["box"], own["box"])).max() < POINTS


def test_what_it_cannot_draw_it_says(page):
    code = """
fig, ax = figure(3, 2)
for wrong in ("ax.pie([1])", "ax.plot([1], rasterized=True)", "ax.plot([1], 'x')"):
    try:
        eval(wrong)
    except (AttributeError, ValueError) as error:
        print(error)
"""
    pie, look, marker = run(IN_PAGE + code, page).splitlines()
    assert "ax.pie" in pie and "notebook" in pie and "rasterized" in look
    assert "should be a line" in marker


def test_it_shows_a_figure_in_the_pages_colours_with_its_description(page):
    code = """
fig, ax = figure(3, 2)
ax.plot([1, 2], color=PALETTE["q"], label="ä < b")
ax.legend()
show(fig, alt="A line that rises.")
print("=====")
draw("equation")
from IPython import display
print("=====")
print(json.dumps([display.PLOT, display.DRAWING]))
"""
    plot, drawing, colours = run(IN_PAGE + code, page).split("=====\n")
    assert plot.startswith("<svg") and 'aria-label="A line that rises."' in plot
    assert "var(--figure-q)" in plot and "currentColor" in plot
    assert "#0072b2" not in plot.lower() and "#767676" not in plot
    assert drawing.count("<svg") == 2, "a wide arrangement and a narrow one"
    hues = {hue.lower(): f"var(--figure-{name.lower()})" for name, hue in macros.COLOURS.items()}
    of_site = {**hues, "#767676": "currentColor"}, drawings.COLOURS
    assert json.loads(colours) == [*of_site]
