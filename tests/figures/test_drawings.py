"""Every drawing: the same bytes everywhere, within the rules of style, and right."""

import ast
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml
from hashes import EVERY, TABLE, table

from attention_src.attention import masks as package
from attention_src.attention.reference import attention
from attention_src.figures import draw, drawings
from attention_src.figures.drawing import look, sentence
from attention_src.figures.drawings import DRAWINGS, drawing
from attention_src.figures.drawings.strip import CHAPTERS, GROUPS, STAGES
from attention_src.softmax.reference import softmax

ROOT = Path(__file__).parents[2]
# Each module has the name of its function, which the package shows in its place.
NAMES = ("look_back", "masks", "multihead", "projections", "score_area", "score_table", "sizes")
look_back, masks, multihead, projections, score_area, score_table, sizes, turned_keys = (
    import_module(f"attention_src.figures.drawings.{name}") for name in (*NAMES, "turned_keys")
)
WIDE, NARROW, BYTES = 680, 340, 13 * 1024  # a phone of 390 pixels has 341 for a drawing
SMALLEST = 11.2  # pixels of type
ELEMENTS = {"svg", "g", "path", "rect", "circle", "text", "tspan"}
ATTRIBUTES = {
    *("viewBox", "width", "height", "role", "aria-label", "overflow", "data-part", "transform"),
    *("x", "y", "dx", "dy", "cx", "cy", "r", "rx", "d", "fill", "stroke", "opacity"),
    *("stroke-width", "stroke-linejoin", "stroke-dasharray", "stroke-opacity", "fill-opacity"),
    *("font-size", "font-family", "font-style", "font-weight", "text-anchor"),
}
COLOURS = {*look.FILL.values(), *look.TEXT.values(), "none"}
every = pytest.mark.parametrize("name, state", EVERY, ids=lambda x: str(x))


def arrangements(name, state):
    """(SVG as text, its elements, the widest that it may be), wide and narrow."""
    made = drawing(name, **state)
    for svg, widest in ((made.wide, WIDE), (made.narrow, NARROW)):
        yield svg, list(ET.fromstring(svg).iter()), widest


def words(svg):
    texts = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


@pytest.mark.slow
def test_the_same_bytes():
    why = "if the drawings are meant to change, look at them, then: python tests/figures/hashes.py"
    assert TABLE.read_text("utf-8") == table(), why


def test_the_same_bytes_on_other_pythons():
    names = [f"python3.{minor}" for minor in range(10, 15)]
    for python in filter(None, map(shutil.which, names)):
        if subprocess.run([python, "-c", ""], capture_output=True).returncode:
            continue  # a name that stands for nothing
        command = [python, ROOT / "tests/figures/hashes.py", "--print"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ran.stdout == TABLE.read_text("utf-8"), python


def test_drawing_needs_the_standard_library_alone():
    code = (
        "import sys; sys.modules |= {'numpy': None, 'matplotlib': None, 'IPython': None}\n"
        "from attention_src.figures.drawings import DRAWINGS, drawing\n"
        "drawing('equation')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@every
def test_size_and_type(name, state):
    for svg, elements, widest in arrangements(name, state):
        root = elements[0]
        assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
        assert int(root.get("width")) <= widest
        assert len(svg.encode()) <= BYTES
        assert min(float(e.get("font-size")) for e in elements if e.get("font-size")) >= SMALLEST


@every
def test_presentation_attributes_alone(name, state):
    for svg, elements, _ in arrangements(name, state):
        assert {e.tag.rpartition("}")[2] for e in elements} <= ELEMENTS
        assert {key for e in elements for key in e.attrib} <= ATTRIBUTES
        assert {e.get(key) for e in elements for key in ("fill", "stroke")} <= COLOURS | {None}
        assert not re.search(r"nan|inf\b|url\(|href", svg)


@every
def test_the_alt_text_says_the_point_without_colours(name, state):
    made = drawing(name, **state)
    assert made.alt.endswith(".") and 40 < len(made.alt) < 250
    assert not re.search(r"\b(blue|green|orange|violet|purple|pink|grey|colour)", made.alt)
    for svg in (made.wide, made.narrow):
        assert ET.fromstring(svg).get("aria-label") == made.alt


@pytest.mark.slow
def test_two_arrangements_not_a_scaled_copy():
    for name, state in EVERY:
        made = drawing(name, **state)
        assert made.narrow != made.wide


# ---- What they say is right


def test_the_numbers_of_the_sentence():
    scores = np.array(sentence.K) @ sentence.Q
    weights = softmax(scores / np.sqrt(len(sentence.Q)))
    assert scores.tolist() == sentence.SCORES
    np.testing.assert_allclose(sentence.WEIGHTS, weights, rtol=1e-12)
    assert sentence.TOKENS[weights.argmax()] == "river"


def test_the_weights_of_the_look_back():
    place = look_back.READ.index(look_back.WRITTEN[look_back.STEP])
    scores = 4.0 * (np.arange(len(look_back.READ)) == place)
    np.testing.assert_allclose(look_back.WEIGHTS, softmax(scores), rtol=1e-12)
    for svg, _, _ in arrangements("look_back", {}):
        widths = [float(w) for w in re.findall(r'stroke="#7a5fc7" stroke-width="([\d.]+)"', svg)]
        assert widths == [round(1 + 5 * p, 1) for p in look_back.WEIGHTS]


def test_one_vector_is_handed_on_to_every_step():
    for svg, _, _ in arrangements("one_vector", {}):
        boxes = re.findall(r'<rect [^>]*fill="(#\w+)"', svg)
        # Of the reader's states the last alone, the context, and what the writer begins with, the
        # last again; all of the writer's.
        assert boxes == ["#767676"] * 4 + ["#d55e00"] * 3 + ["#0072b2"] * 5


def test_a_new_token_changes_the_old_ones_without_a_mask_alone():
    x = np.random.default_rng(0).normal(size=(6, 4))
    for svg, _, _ in arrangements("cache", {}):
        shown = [word for word in words(svg) if word in ("new", "kept", "changed")]
        for causal, fates in ((True, shown[:6]), (False, shown[6:])):
            before, after = (t + attention(t, t, t, causal=causal) for t in (x[:5], x))
            same = np.isclose(before, after[:5]).all(axis=1)
            assert fates == ["kept" if kept else "changed" for kept in same] + ["new"]


def test_each_head_finds_the_token_that_it_looks_at_most():
    for looks, found in zip(multihead.LOOKS, multihead.FOUND, strict=True):
        assert sum(looks) == pytest.approx(1) and np.argmax(looks) == found
    np.testing.assert_allclose(multihead.LOOKS[1], softmax(np.array(multihead._SCORES, float)))
    for svg, _, _ in arrangements("multihead", {}):
        heads = " ".join(word for word in words(svg) if re.match("head|finds", word))
        assert heads == "head 0 finds “river” head 1 finds “steep”"
    for _, elements, _ in arrangements("multihead", {}):
        blocks = [e for e in elements if e.tag.endswith("rect") and e.get("fill") == look.FILL["o"]]
        shades = [float(e.get("opacity") or 1) for e in blocks]
        assert shades == [look.LIT, multihead.SECOND]  # the last matrix: each head's rows


def test_sizes_that_stand_between_two_arrays_are_sizes_of_both():
    q, k = np.zeros((sizes.N_Q, sizes.D_K)), np.zeros((sizes.N_K, sizes.D_K))
    v = np.zeros((sizes.N_K, sizes.D_V))
    assert attention(q, k, v).shape == (sizes.N_Q, sizes.D_V)
    assert len({*q.shape, *k.shape, *v.shape}) == 4


def test_the_area_of_scores_is_to_scale():
    tables = {f"{n:,}": n for n in (score_area.LONG, score_area.SHORT)}
    assert [score_area._bytes(n, n) for n in tables.values()] == ["2 GiB", "128 MiB"]
    assert 0 <= 2**30 - 8 * score_area.LIMIT**2 < 8 * 2 * score_area.LIMIT
    for svg, elements, _ in arrangements("score_area", {}):
        assert {"2 GiB", "1 GiB", "128 MiB"} <= set(words(svg))
        squares = sorted(
            float(e.get("width"))
            for e in elements
            if e.get("width") == e.get("height") and e.tag.endswith("rect")
        )
        short, limit, long = squares
        assert long / short == pytest.approx(score_area.LONG / score_area.SHORT)
        assert limit / long == pytest.approx(score_area.LIMIT / score_area.LONG, abs=1e-3)


def test_the_table_of_scores_holds_products():
    np.testing.assert_array_equal(
        score_table.S, np.array(score_table.Q) @ np.transpose(score_table.K)
    )
    i, j = score_table.AT
    products = zip(score_table.Q[i], score_table.K[j], strict=True)
    told = " + ".join(f"{a} · {b}" for a, b in products) + f" = {score_table.S[i][j]}"
    tables = [score_table.Q, np.transpose(score_table.K), score_table.S]
    numbers = sorted(str(x) for table in tables for x in np.ravel(table))
    for svg, _, _ in arrangements("score_table", {}):
        shown = words(svg)
        assert told in shown
        assert sorted(word for word in shown if word.isdigit()) == numbers


def test_turned_keys_come_from_the_texts_that_they_name():
    n = turned_keys.N
    k = np.broadcast_to(np.arange(n)[:, None, None], (n, n, n))  # each number: its text
    own, mixed = k.swapaxes(-1, -2)[0], k.T[0]
    for svg, _, _ in arrangements("turned_keys", {}):
        shown = np.array([int(word) for word in words(svg) if word.isdigit()]).reshape(-1, n, n)
        np.testing.assert_array_equal(shown, [*k, own, mixed])


def test_the_six_rules_are_the_package_s_masks():
    n, causal = masks.N, package.causal_mask(masks.N)
    wanted = {
        "all": np.ones((n, n), bool),
        "padding": np.broadcast_to(package.padding_mask([5], n)[0, 0], (n, n)),
        "causal": causal,
        "prefix": package.prefix_mask(n, 3),
        "window of 3": package.window_mask(n, n, 3),
        "packed": package.document_mask(list(masks.DOCUMENT)) & causal,
    }
    assert list(masks.RULES) == list(wanted)
    for name, (rule, _) in masks.RULES.items():
        table = [[rule(i, j) for j in range(n)] for i in range(n)]
        np.testing.assert_array_equal(table, wanted[name])


def test_a_mask_with_two_axes_is_lined_up_from_the_right():
    n = len(masks.LENGTHS)
    right = package.padding_mask(list(masks.LENGTHS), n)  # (B, 1, 1, n_k)
    flat, each = (np.broadcast_to(m, (n, 1, n, n))[:, 0] for m in (right[:, 0, 0], right))
    for (rule, _), wanted in zip(masks.AXES.values(), (flat, each), strict=True):
        table = [[[rule(b, i, j) for j in range(n)] for i in range(n)] for b in range(n)]
        np.testing.assert_array_equal(table, wanted)
    for svg, _, _ in arrangements("masks", {"show": "axis"}):
        assert words(svg).count("×") == (each != flat).sum()


def test_projections_show_what_the_products_are():
    x = np.array(projections.X)
    for role, (first, n, number) in projections.ROLES.items():
        w = np.zeros((7, n), int)
        w[first : first + n] = number * np.eye(n, dtype=int)
        made = (x @ w).ravel().tolist()
        for svg, _, _ in arrangements("projections", {}):
            shown = [int(word) for word in words(svg) if word.isdigit()]
            runs = [shown[i : i + len(made)] for i in range(len(shown))]
            assert made in runs, role


def test_every_chapter_has_a_part_of_the_strip():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    parts = [part for part in toc["parts"] if part.get("numbered")]
    chapters = [c["file"].rpartition("/")[2] for part in parts for c in part["chapters"]]
    assert list(CHAPTERS) == chapters
    assert set(CHAPTERS.values()) <= {*STAGES, *GROUPS}


# ---- How they are shown


def test_draw_shows_both_arrangements(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: shown.append((a, k)))
    draw("strip", part="words")
    made = drawing("strip", part="words")
    bundle = {"image/svg+xml": made.wide, "text/plain": made.alt}
    metadata = {"image/svg+xml": {"narrow": made.narrow}}
    assert shown == [((bundle,), {"metadata": metadata, "raw": True})]


@pytest.mark.parametrize(
    "name, state, says",
    [
        ("equations", {}, "name='equations': it should be one of 'cache', 'equation'"),
        ("strip", {"prt": 3}, "prt=3: the drawing 'strip' is a function of part"),
        ("equation", {"row": 1}, "row=1: the drawing 'equation' is a function of nothing"),
        ("strip", {"part": "soft"}, "part='soft': it should be one of 'words'"),
    ],
)
def test_bad_names_and_states_are_refused(name, state, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        drawing(name, **state)


def drawn(code):
    """The drawings that a cell's code shows."""
    for call in (n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call)):
        if getattr(call.func, "id", "") == "draw":
            arguments = [ast.unparse(a) for a in (*call.args, *call.keywords)]
            yield eval(f"drawing({', '.join(arguments)})")


def test_notebooks_hold_the_drawings_of_today():
    """nbval looks at the wide arrangement only."""
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            outputs = [o for o in cell.get("outputs", []) if "metadata" in o]
            stored = [o for o in outputs if "narrow" in o["metadata"].get("image/svg+xml", {})]
            today = drawn("".join(cell["source"])) if stored else ()
            for output, made in zip(stored, today, strict=True):
                assert "".join(output["data"]["image/svg+xml"]) == made.wide, path.name
                assert output["metadata"]["image/svg+xml"]["narrow"] == made.narrow, path.name


def test_every_drawing_has_a_file_of_its_name():
    for name in DRAWINGS:
        function = getattr(import_module(f"attention_src.figures.drawings.{name}"), name)
        assert "Caption: " in function.__doc__ or name == "strip"
    files = Path(drawings.__file__).parent.glob("[a-z]*.py")
    assert sorted(file.stem for file in files) == list(DRAWINGS)
