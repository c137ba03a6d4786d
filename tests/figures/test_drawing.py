"""The vocabulary of the drawings: parts, words, things, joins."""

import re
import xml.etree.ElementTree as ET

import pytest

from attention_src.figures import drawing as d
from attention_src.figures.drawing import look, words

A, B = d.space(10, 10), d.space(10, 10)


def svg(root, *joins, behind=()):
    return ET.fromstring(d.svg(d.Scene(root, joins, behind), "A test."))


def marks(root, tag, *joins):
    return [e for e in svg(root, *joins).iter() if e.tag.endswith("}" + tag)]


def paths(root, *joins):
    return [e.get("d") for e in marks(root, "path", *joins)]


# ---- Layout


def test_a_row_lines_up_bodies_not_the_words_around_them():
    cells = d.cells(3, 2, size=10)
    named = d.tensor("$Q$", d.cells(3, 2, size=10), "$n × d$")
    d.svg(d.Scene(d.row(cells, named)), "A test.")
    assert cells.y == named.body.y and named.y < cells.y
    assert named.row(1).h == 10


def test_a_grid_lines_up_both_ways_and_leaves_empty_places():
    parts = [d.space(10, 10), d.space(30, 10), d.space(20, 40)]
    root = d.grid([[parts[0], None], [parts[1], parts[2]]], gap=(5, 7))
    root.place(0, 0)
    assert parts[0].x + 5 == parts[1].x + 15  # middles
    assert parts[1].y + 5 == parts[2].y + 20
    assert (root.w, root.h, root.middles) == (30 + 5 + 20, 10 + 7 + 40, [5, 37])


def test_columns_align_and_keep_a_pitch():
    narrow, wide = d.space(10, 10), d.space(30, 10)
    d.column(narrow, wide, gap=0, pitch=20, align="right").place(0, 0)
    assert (narrow.x, narrow.y, wide.x, wide.y) == (20, 5, 0, 25)


def test_cells_of_one_strength_are_one_path():
    drawn = marks(d.cells(4, 4, "q", lit=1), "path")
    assert len(drawn) == 2
    pale, lit = (next(e for e in drawn if e.get("opacity") == o) for o in ("0.2", None))
    assert pale.get("d").count("M") == 12 and lit.get("d").count("M") == 4
    assert lit.get("fill") == lit.get("stroke") == look.FILL["q"]


def test_strengths_go_in_steps_of_a_tenth():
    drawn = marks(d.cells(1, 4, shade=lambda i, j: (0, 0.04, 0.449, 0.96)[j]), "path")
    assert [e.get("opacity") for e in drawn] == ["0.1", "0.4", None]


def test_what_is_gone_is_dashed_once_a_row_and_room_is_outlined():
    (ghost,) = marks(d.cells(2, 3, shade=lambda i, j: "ghost"), "path")
    (room,) = marks(d.cells(2, 3, shade=lambda i, j: "empty"), "path")
    assert ghost.get("stroke-dasharray") and ghost.get("d").count("M") == 2
    assert not room.get("stroke-dasharray") and room.get("d").count("M") == 6
    assert marks(d.cells(2, 3, shade=lambda i, j: None), "path") == []


def test_rows_of_cells_can_stand_apart():
    cells = d.cells(3, 2, size=10, pitch=34)
    cells.place(0, 0)
    third = cells.row(2)
    cells.place(5, 7)
    assert (cells.h, third.y) == (2 * 34 + 10, 7 + 68)


# ---- Words


def test_mathematics_is_set_apart_from_words():
    assert words.runs("the $q_i^⊤$ of $d_{model}$") == [
        ("the ", None, 0),
        ("q", look.SERIF, 0),
        ("i", look.SERIF, 1),
        ("⊤", look.UPRIGHT, -1),
        (" of ", None, 0),
        ("d", look.SERIF, 0),
        ("model", look.UPRIGHT, 1),
    ]


def test_a_lowered_letter_comes_back_up():
    (text,) = marks(d.label("$x_i + y$", 10), "text")
    moves = [float(span.get("dy", 0)) for span in text]
    assert sum(moves) == 0 and max(moves) > 0


def test_words_have_whole_widths_and_lines():
    one, two = d.label("river"), d.label("river\nin")
    assert isinstance(words.measure("the river bank", 12.5), int)
    assert two.w == one.w and two.h > one.h and len(marks(two, "text")) == 2


# ---- Joins


def test_an_arrow_is_straight_where_parts_face_each_other():
    high, low = d.space(10, 30), d.space(10, 10)
    level, _ = paths(d.row(high, low, gap=40), d.arrow(high, low))
    assert re.fullmatch(r"M19 19 L[\d.]+ 19", level)
    a, b = d.space(10, 10), d.space(10, 10)
    bent, _ = paths(d.row(a, d.stand(b, 40), gap=40), d.arrow(a, b))
    assert " C" in bent


def test_an_arrow_runs_upright_to_what_is_below():
    a, b = d.space(10, 10), d.space(10, 10)
    line, _ = paths(d.column(a, b, gap=30), d.arrow(a, b, "softmax"))
    assert re.fullmatch(r"M9 19 L9 [\d.]+", line)


def test_bands_are_behind_and_braces_say_something():
    a = d.cells(2, 2)
    drawn = list(svg(a, d.brace(a, "a head"), behind=[d.band(a)]))
    assert [e.tag.rpartition("}")[2] for e in drawn] == ["rect", "path", "path", "text"]


def test_what_recedes_has_an_opacity_of_its_own():
    (group,) = marks(d.dim(d.cells(1, 1), 0.3), "g")
    assert group.get("opacity") == "0.3"
    a, b = d.space(10, 10), d.space(10, 10)
    drawn = marks(d.row(a, b), "path", d.faded(d.line(a, b), 0.5))
    assert [e.get("opacity") for e in drawn] == ["0.5"]


def test_a_drawing_can_be_drawn_twice():
    cells = d.tensor("$K$", d.cells(2, 2, "k"))
    scene = d.Scene(d.row(cells, d.space(5, 5)))
    assert d.svg(scene, "A test.") == d.svg(scene, "A test.")


# ---- Bad input

BAD = {
    "cells(0, 3)": lambda: d.cells(0, 3),
    "size=7": lambda: d.cells(1, 1, size=7),
    "hue='blue'": lambda: d.cells(1, 1, "blue"),
    "lit=2": lambda: d.cells(2, 1, lit=2),
    "strength 1.5": lambda: d.cells(1, 1, shade=lambda i, j: 1.5),
    "strength 'gone'": lambda: d.cells(1, 1, shade=lambda i, j: "gone"),
    "no cell 2, 0 among 2 × 1": lambda: d.cells(2, 1).row(2),
    "shows no cells": lambda: d.box("x").row(0),
    "colour='red'": lambda: d.label("x", colour="red"),
    "align='left'": lambda: d.label("x", align="left"),
    "size=0": lambda: d.label("x", 0),
    "a $ that opens": lambda: d.label("$q"),
    "opacity=0": lambda: d.dim(d.space(), 0),
    "opacity=2": lambda: d.faded(d.line(A, B), 2),
    "parts: there": lambda: d.row(),
    "parts: there should": lambda: d.band(),
    "lines: there": lambda: d.grid([[A, B], [A]]),
    "align='mid'": lambda: d.row(A, align="mid"),
    "align='top'": lambda: d.column(A, align="top"),
    "way='h'": lambda: d.arrow(A, B, way="h"),
    "way='v'": lambda: d.line(A, B, way="v"),
    "side='up'": lambda: d.brace(A, side="up"),
    "length=-1": lambda: d.bar(-1),
    "length=nan": lambda: d.bar(float("nan")),
    "hue='grey'": lambda: d.frame(A, hue="grey"),
    "n=0": lambda: d.stack(A, 0),
    "alt=' '": lambda: d.svg(d.Scene(A), " "),
}


@pytest.mark.parametrize("says", BAD)
def test_bad_input_is_refused_by_name(says):
    with pytest.raises(ValueError, match=re.escape(says)):
        BAD[says]()
