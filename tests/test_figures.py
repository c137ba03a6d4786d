"""Figures: the same bytes everywhere, readable on any page, and described in words."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from attention_src.figures import PALETTE, bars, figure, heatmap, lines, show, three_digits
from attention_src.figures.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"


def make_map(**options):
    weights = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    fig, ax = figure(3, 2)
    top = heatmap(ax, weights, rows=["a", "b"], columns=["c", "d", "e"], **options)
    return fig, top


def fills(svg):
    """Opacity of each cell that is drawn in the weights' colour."""
    color = PALETTE["weights"].lower()
    return [
        float(re.search(r"fill-opacity: ([\d.]+)", style)[1]) if "fill-opacity" in style else 1.0
        for style in re.findall(r'style="([^"]*)"', svg)
        if f"fill: {color}" in style
    ]


DRAW = """
import numpy as np
from attention_src.figures import figure, heatmap, lines
from attention_src.figures.svg import to_svg
fig, (left, right) = figure(4, 2, ncols=2)
heatmap(left, np.eye(3), rows=list("abc"), columns=list("abc"), mask=np.tri(3, dtype=bool))
lines(right, [0, 1, 2], {"one": [1, 2, 3], "two": [3, 2, 1]})
print(to_svg(fig, "two panels"))
"""


@pytest.mark.slow
def test_two_processes_write_the_same_bytes():
    first, second = (
        subprocess.run([sys.executable, "-c", DRAW], capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert first.startswith(b"<svg") and first == second


def test_style_does_not_depend_on_the_learners_settings():
    plain = to_svg(make_map()[0], "a map")
    with matplotlib.rc_context({"font.size": 20, "text.color": "red", "svg.fonttype": "none"}):
        assert to_svg(make_map()[0], "a map") == plain


def test_svg_is_small_vector_and_transparent():
    svg = to_svg(make_map(mask=np.array([[True, True, False], [True, True, True]]))[0], "a map")
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}
    assert not tags & {"image", "text", "style", "metadata", "script"}
    assert "pattern" in tags, "the hidden cell is hatched"
    assert "#ffffff" not in svg and "#000000" not in svg
    assert PALETTE["ink"] in svg
    assert len(svg) < 12_000


def test_alt_is_on_the_root_and_escaped():
    alt = 'Row "cat" & <mat>: 0.5'
    root = ET.fromstring(to_svg(make_map()[0], alt))
    assert root.get("role") == "img" and root.get("aria-label") == alt
    assert root.get("viewBox") == "0 0 216 144"
    assert "max-width:100%" in root.get("style")


@pytest.mark.parametrize("alt", ["", "  \n", None])
def test_empty_alt_is_refused(untyped, alt):
    with pytest.raises(ValueError, match=r"alt=.*say in a sentence"):
        show(make_map()[0], alt)


def test_show_displays_once_and_closes(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "IPython.display.display", lambda bundle, raw=False: shown.append((bundle, raw))
    )
    fig, _ = make_map()
    show(fig, "a map")
    ((bundle, raw),) = shown
    assert raw and bundle["text/plain"] == "a map" and bundle["image/svg+xml"].startswith("<svg")
    assert not fig.axes


def test_two_figures_on_a_page_share_no_id():
    first = to_svg(make_map()[0], "one")
    fig, ax = figure(3, 2)
    bars(ax, [1.0, 2.0], ["a", "b"])
    second = to_svg(fig, "two")
    ids = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0] and ids[1] and not ids[0] & ids[1]
    for svg, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'href="#([^"]+)', svg)) <= own, "no reference is left dangling"


def test_heatmap_opacity_is_the_weight():
    fig, top = make_map()
    assert top == 1.0
    assert sorted(fills(to_svg(fig, "a map"))) == [0.25, 0.25, 0.5, 1.0]
    fig, top = make_map(vmax=2.0)
    assert top == 2.0
    assert sorted(fills(to_svg(fig, "a map"))) == [0.12, 0.12, 0.25, 0.5]


def test_hidden_cells_carry_no_colour_and_no_number():
    mask = np.array([[True, True, True], [True, False, True]])
    fig, top = make_map(mask=mask, annotate=True)
    assert top == 0.5, "a hidden weight does not set the scale"
    assert len(fills(to_svg(fig, "a map"))) == 3
    fig, _ = make_map(mask=mask, annotate=True)
    assert len(fig.axes[0].texts) == 5


def test_hidden_cells_may_hold_nan():
    _fig, ax = figure(2, 2)
    hidden = np.array([[True, False]])
    assert heatmap(ax, [[0.5, np.nan]], rows=None, columns=None, mask=hidden) == 0.5


def test_an_all_zero_map_draws_nothing():
    fig, ax = figure(2, 2)
    heatmap(ax, np.zeros((2, 3)), rows=None, columns=None)
    assert fills(to_svg(fig, "nothing")) == []


def draw(function, *args, **kwargs):
    function(figure(2, 2)[1], *args, **kwargs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figure(0, 2), "width=0: it must be a positive number of inches"),
        (lambda: figure(2, float("nan")), "height=nan"),
        (lambda: figure("4", 2), "width='4'"),
        (lambda: draw(heatmap, [1.0], rows=None, columns=None), r"matrix has shape \(1,\)"),
        (lambda: draw(heatmap, [[1, 2]], rows=["a", "b"], columns=None), "rows has 2 labels"),
        (lambda: draw(heatmap, [[1, 2]], rows=None, columns=["a"]), "columns has 1 labels"),
        (lambda: draw(heatmap, [[-1, 2]], rows=None, columns=None), "negative"),
        (lambda: draw(heatmap, [[np.nan, 2]], rows=None, columns=None), "NaN"),
        (lambda: draw(heatmap, [[1]], rows=None, columns=None, vmax=0), "vmax=0"),
        (lambda: draw(heatmap, [[1, 2]], rows=None, columns=None, mask=[[0, 1]]), "must be bool"),
        (lambda: draw(bars, [1, 2], ["a"]), "labels has 1 entries, but there are 2 values"),
        (lambda: draw(bars, [1, np.nan], ["a", "b"]), "finite"),
        (lambda: draw(lines, [0, 1], {"a": [1, 2, 3]}), r"series\['a'\] has shape \(3,\)"),
    ],
)
def test_bad_input_names_the_argument(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bars_write_their_values():
    _fig, ax = figure(3, 2)
    bars(ax, [0.587, -0.1], ["a", "b"], color=["q", "#123456"])
    assert [text.get_text() for text in ax.texts] == ["0.59", "-0.10"]
    assert [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches] == [
        PALETTE["q"].lower(),
        "#123456",
    ]


def test_names_of_lines_do_not_overlap():
    _fig, ax = figure(4, 3)
    lines(ax, [0, 1], {"one": [0, 0.5], "two": [0, 0.5], "three": [1, 0.5], "four": [0, 1]})
    heights = sorted(text.xy[1] for text in ax.texts)
    assert np.diff(heights).min() >= 0.07 - 1e-9
    assert {text.get_text() for text in ax.texts} == {"one", "two", "three", "four"}


def test_the_last_bits_of_another_processor_draw_the_same_figure():
    y = np.random.default_rng(0).random((2, 17))
    noise = 1 + 1e-6 * np.random.default_rng(1).standard_normal(y.shape)

    def draw_all(y):
        fig, (left, middle, right) = figure(4.5, 2, ncols=3)
        heatmap(left, y, rows=None, columns=None)
        lines(middle, range(17), {"one": y[0], "two": y[1]})
        bars(right, y[0], list("abcdefghijklmnopq"))
        return to_svg(fig, "noise")

    assert draw_all(y) == draw_all(y * noise)


def test_three_digits_of_the_largest():
    np.testing.assert_allclose(three_digits([0.123456, 0.00456]), [0.123, 0.005])
    np.testing.assert_allclose(three_digits([12345.6, -3.0]), [12300, 0])
    np.testing.assert_array_equal(three_digits(np.zeros(2)), np.zeros(2))
    assert three_digits([]).shape == (0,)
