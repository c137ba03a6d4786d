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
    "a line": "fig, ax = figure(4.5, 3)\nax.plot([1, 2, 5], [0.2, 7, -3], 'o--')",
    "limits and labels": """
fig, ax = figure(4.5, 2.6)
ax.plot(np.arange(100), np.sin(np.arange(100)))
ax.axhline(0, color=PALETTE["ink"])
ax.set(xlabel="distance", ylabel="score", ylim=(-1.1, 1.5), title="a title")""",
    "both scales logarithmic": """
fig, ax = figure(4.5, 3.8)
ax.plot([0.3, 20, 10_000], [0.1, 3, 700])
ax.set(xscale="log", yscale="log", ylim=(0.08, 90_000))
ax.set_yticks([0.1, 1, 10, 100, 1000])""",
    "own ticks before and after the data": """
fig, axes = figure(4.5, 4, nrows=2)
axes[0].set(xscale="log")
axes[0].set_xticks([512, 4096, 32768], ["512", "4,096", "32,768"])
for ax in axes:
    ax.plot([700, 40_000], [1, 2])
axes[1].set_xticks([0, 50_000])""",
    "shared axes": """
fig, axes = figure(4.5, 5.2, nrows=3, sharex=True, sharey=True)
for i, ax in enumerate(axes):
    ax.plot([0, 10 * i + 1], [i, 2 * i + 1], ".")
    ax.set_title(f"number {i}")""",
    "bars": """
fig, axes = figure(4.5, 4.2, nrows=2, sharex=True)
bars(axes[0], [4.2, 3.8, 0.6, -0.9], list("abcd"), color="ink", decimals=1)
bars(axes[1], [0.6, 0.3, 0.1, 0], list("abcd"), decimals=3)
axes[1].set_ylabel("weight")""",
    "lying bars, one beside another": """
fig, ax = figure(4.5, 2.2)
names = ["1 text of 1,024", "64 texts of 1,024"]
ax.barh(names, [300, 5], color=PALETTE["ink"], height=0.55)
ax.barh(names, [20, 17], left=[300, 5], color=PALETTE["k"], height=0.55)
ax.text(150, -0.35, "weights", ha="center", size=9)
ax.invert_yaxis()""",
    "bars in pieces": """
fig, axes = figure(4.5, 3.2, nrows=2)
axes[0].broken_barh([(0, 10), (30, 20)], (0, 1), color=PALETTE["k"], alpha=0.3, lw=0)
axes[0].set(xlim=(0, 60), ylim=(0, 1), yticks=[], xticks=[])
axes[0].set_title("pieces", loc="left", fontsize=9)
axes[1].broken_barh([(0, 10), (30, 20)], (2, 1), color=PALETTE["k"], lw=0)""",
    "names at the ends": """
fig, ax = figure(4.5, 3)
ax.set(xscale="log", ylim=(0, 100))
lines(ax, [100, 1000, 9000], {"one": [1, 40, 90], "another one": [2, 30, 88]})""",
    "a map": """
fig, ax = figure(4, 4.1)
words = ["The", "cat", "sat", "on", "mats"]
heatmap(ax, np.eye(5) / 2, rows=words, columns=words, annotate=True)""",
    "four maps": """
fig, axes = figure(4.5, 5, nrows=2, ncols=2)
for ax in axes.flat:
    heatmap(ax, np.eye(8), rows=None, columns=range(8), mask=np.tri(8, dtype=bool), vmax=1)
    ax.set_title("causal")""",
    "one scale for both": """
fig, ax = figure(3.6, 3.2)
ax.plot([0, 3], [0, 1], "o-")
ax.set_aspect("equal")""",
}


def run(code, tmp=None):
    first = f"import sys; sys.path.insert(0, {str(tmp or REPOSITORY)!r})\n"
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
    cases = [
        f"{code}\ntold[{name!r}] = measure(fig, {_axes(code)})" for name, code in CASES.items()
    ]
    body = "\n".join(["told = {}", *cases, "print(json.dumps(told, default=float))"])
    return json.loads(run(MEASURE + REAL + body)), json.loads(run(MEASURE + STANDIN + body, page))


def _axes(code):
    return "axes" if "fig, axes" in code else "ax"


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
import sys, types
sys.modules["page"] = types.SimpleNamespace(figure=print)
from attention_src.figures import figure
fig, ax = figure(3, 2)
for wrong in ("ax.pie([1])", "ax.plot([1], rasterized=True)", "ax.plot([1], 'x')"):
    try:
        eval(wrong)
    except (AttributeError, ValueError) as error:
        print(error)
try:
    import matplotlib.pyplot
except ModuleNotFoundError:
    print("no pyplot")
"""
    pie, look, marker, pyplot = run(code, page).splitlines()
    assert "ax.pie" in pie and "notebook" in pie and "rasterized" in look
    assert "should be a line" in marker and pyplot == "no pyplot"


def test_an_arrow_ends_where_matplotlibs_does(page):
    """Long ones keep away from both ends, short ones do not; each has its head."""
    code = """
fig, ax = figure(3, 2)
ax.set(xlim=(0, 100), ylim=(0, 100))
head = {"arrowstyle": "->", "lw": 0.6}
arrows = [ax.annotate("", (50 + x, 50), (50, 50), arrowprops=head) for x in (30, 1.7, 1.2, 0.5)]
"""
    real = """
fig.draw_without_rendering()
paths = [a.arrow_patch._get_path_in_displaycoord()[0] for a in arrows]
at = ax.transData.transform((50, 50))[0]
made = [[72 / fig.dpi * (p.vertices[:, 0] - at) for p in pair] for pair in paths]
print(json.dumps([[line[0], line[-1], *head] for line, head in made]))
"""
    own = """
import re
from matplotlib.figure import To
to = To(ax, fig.boxes()[0])
at = float(to(50, 50)[0])
paths = [re.search('d="(.*?)"', a.draw(to))[1] for a in arrows]
print(json.dumps([[float(x) - at for x in re.findall(r"[ML](.*?),", p)] for p in paths]))
"""
    theirs = json.loads(run(MEASURE + code + real))
    ours = json.loads(run(MEASURE + STANDIN + code + own, page))
    for their, our in zip(theirs, ours, strict=True):
        assert np.allclose(their, our, atol=0.6), (their, our)  # the axes differ in width, too


# What a reader may try, and a word of what is said about it.
WRONG = {
    "ax.plot()": "one line a call",
    "ax.plot([1, 2], [3, 4], [1, 2], [5, 6])": "one line a call",
    "ax.plot([1, 2], [3, 4], '-', [1, 2], [5, 6], '--')": "one line a call",
    "ax.plot([1, 2, 3], [4])": "x has 3",
    "ax.plot([[1, 2], [3, 4]], [[1, 2], [3, 4]])": "x has the shape",
    "ax.plot([1, 2], color='blurred')": "color='blurred'",
    "ax.plot([1, 2], linestyle=(0, (1, 2)))": "linestyle=(0, (1, 2))",
    "ax.plot([1, 2], marker='x')": "marker='x'",
    "ax.plot([[1, 2], [3, 4]], label=['one', 'two'])": "label",
    "ax.text(0, 0, 'a', rotation=45)": "rotation=45",
    "ax.text(0, 0, 'a', ha='centre')": "ha='centre'",
    "ax.text(0, 0, 'a', fontsize='small')": "size='small'",
    "ax.text(0, 0, 'a', color='blurred')": "color='blurred'",
    "ax.text(0, 0, '$x_1$')": "formula",
    "ax.annotate('a', (0, 0), (1, 1), textcoords='axes fraction')": "textcoords='axes fraction'",
    "ax.annotate('a', (0, 0), xycoords='figure fraction')": "xycoords='figure fraction'",
    "ax.annotate('', (0, 0), (1, 1), arrowprops={'arrowstyle': '->', 'shrinkA': 9})": "shrinkA=",
    "ax.plot([1], label='a'), ax.legend(frameon=True)": "frameon=True",
    "ax.plot([1], label='a'), ax.legend(loc='top')": "loc='top'",
    "ax.plot([1], label='a'), ax.legend(title='a')": "title=",
    "ax.bar([0, 1], [1, 2], bottom=1)": "bottom=",
    "ax.bar([0, 1], [1, 2], color='blurred')": "color='blurred'",
    "ax.barh(['a', 'b'], [1, 2]), ax.barh(['c', 'd'], [1, 2])": "those of the bars before",
    "ax.broken_barh([(0, 1)], (0, 1), lw=1)": "linewidth=1",
    "ax.set_xscale('symlog')": "scale='symlog'",
    "ax.set(xscale='log', xlim=(0, 1))": "limits",
    "ax.set_xticks([1, 2], rotation=45)": "rotation=45",
    "ax.set_xticks([1, 2], fontsize=8)": "size=",
    "ax.set_xticks([1, 2], minor=True)": "minor",
    "ax.set_yticks([1, 2], rotation=90)": "rotation=",
    "ax.set_title('a', loc='right')": "loc='right'",
    "ax.set_title('a', pad=9)": "pad=",
    "ax.set_xlabel('a', loc='left')": "loc=",
    "ax.set_ylabel('a', labelpad=9)": "labelpad=",
    "ax.tick_params(labelrotation=90)": "labelrotation=",
    "ax.tick_params(top=True)": "top=True",
    "ax.xaxis.set_label_position('left')": "side='left'",
    "ax.set_aspect(2)": "aspect=2",
    "ax.set_aspect('equal', adjustable='datalim')": "adjustable=",
    "fig.suptitle('a')": "fig.suptitle",
    "fig.subplots(height_ratios=[1, 4])": "height_ratios=",
    "fig.subplots(sharex='col')": "sharex='col'",
    "ax.plot([1, 2])[0].set_data([1], [2])": "line.set_data",
    "ax.spines['top'].set_color('red')": "spine.set_color",
}


@pytest.fixture(scope="module")
def said(page):
    """What is said about each call of WRONG, of which no figure is shown."""
    code = f"""
import json, sys, types
sys.modules["page"] = types.SimpleNamespace(figure=print)
from attention_src.figures import figure
from attention_src.figures.svg import to_svg
said = {{}}
for call in {list(WRONG)}:
    fig, ax = figure(3, 2)
    try:
        eval(call)
        said[call] = to_svg(fig, "a figure")
    except (AttributeError, ValueError) as error:
        said[call] = f"{{type(error).__name__}}: {{error}}"
    except Exception as error:
        said[call] = f"bare {{error!r}}"
print(json.dumps(said))
"""
    return json.loads(run(code, page))


@pytest.mark.parametrize("call", WRONG)
def test_what_would_be_drawn_wrong_is_refused(call, said):
    assert said[call].startswith(("ValueError", "AttributeError")), said[call][:300]
    assert WRONG[call] in said[call]


def test_it_draws_what_a_reader_may_ask_for(page):
    code = """
import sys, types
sys.modules["page"] = types.SimpleNamespace(figure=print)
from attention_src.figures import PALETTE, figure
from attention_src.figures.svg import to_svg
for look in ({"color": "C1"}, {"color": "k"}, {"color": "0.5"}, {"color": "red"}, {"c": "#ABCDEF"}):
    fig, ax = figure(3, 2)
    print(ax.plot([1, 2], **look)[0].get_color())
fig, ax = figure(3, 2)
ax.axhline(1)  # takes no colour from the cycle
print(ax.plot([1, 2])[0].get_color() == PALETTE["q"])
ax.set_title("a", color="red", fontsize=8)
ax.set_xlabel("a", fontsize=8)
ax.set_ylabel("a", size=8, color="red")
ax.tick_params(bottom=False)
ax.margins(0.1)
ax.legend()  # of nothing
print(to_svg(fig, "a figure").count("fill:red"))
"""
    *colours, cycle, red = run(code, page).splitlines()
    assert [c.lower() for c in colours] == ["#d55e00", "#000000", "#808080", "red", "#abcdef"]
    assert cycle == "True" and red == "2"


def test_it_shows_a_figure_in_the_pages_colours_with_its_description(page):
    code = """
import sys, types
sys.modules["page"] = types.SimpleNamespace(figure=print)
from attention_src.figures import PALETTE, draw, figure, show
fig, ax = figure(3, 2)
ax.plot([1, 2], color=PALETTE["q"], label="ä < b")
ax.legend()
show(fig, alt="A line that rises.")
print("=====")
draw("equation")
"""
    plot, drawing = run(code, page).split("=====\n")
    assert plot.startswith("<svg") and 'aria-label="A line that rises."' in plot
    assert "var(--figure-q)" in plot and "currentColor" in plot
    assert "#0072b2" not in plot.lower() and "#767676" not in plot
    assert drawing.count("<svg") == 2, "a wide arrangement and a narrow one"


def test_the_colours_are_those_of_the_site(page):
    code = """
import json, sys, types
sys.modules["page"] = types.SimpleNamespace(figure=print)
from IPython import display
print(json.dumps([display.PLOT, display.DRAWING]))
"""
    plot, drawing = json.loads(run(code, page))
    hues = {hue.lower(): f"var(--figure-{name.lower()})" for name, hue in macros.COLOURS.items()}
    assert plot == {**hues, "#767676": "currentColor"}
    assert drawing == drawings.COLOURS


def test_letters_are_those_of_the_font(page):
    """letters.json holds outlines of the font that matplotlib brings."""
    from fontTools.pens.svgPathPen import SVGPathPen
    from fontTools.ttLib import TTFont
    from matplotlib import font_manager

    font = TTFont(font_manager.findfont("DejaVu Sans"))
    names, glyphs = font.getBestCmap(), font.getGlyphSet()
    kept = json.loads((course.STANDINS / "matplotlib" / "letters.json").read_text("utf-8"))
    assert set(map(chr, range(32, 127))) <= set(kept) and font["head"].unitsPerEm == 2048
    for letter, (width, outline) in kept.items():
        pen = SVGPathPen(glyphs, ntos=lambda x: str(round(x)))
        glyphs[names[ord(letter)]].draw(pen)
        assert (glyphs[names[ord(letter)]].width, pen.getCommands()) == (width, outline), letter
