"""What a learner's function may do to a check: exit, print, cheat, answer in any form."""

import doctest
import io
import sys
import warnings

import numpy as np
import pytest
from centre import centred, draw
from centre import make as make_centre

from attention_src.exercises.engine import checking, designing, grading, ladder
from attention_src.exercises.engine import variants as variants_module
from attention_src.exercises.engine.cases import any_weights
from attention_src.exercises.engine.checking import Case, Check, Mistake
from attention_src.exercises.engine.ladder import Ladder, Rung
from attention_src.exercises.engine.variants import NoSuchStatement, variants


def make(**options):
    mistake = Mistake("whole mean", lambda x: x - x.mean(), "You took one mean for all rows.")
    return make_centre(mistake, **{"draw": draw} | options)


def test_the_examples_of_the_docstrings_are_true():
    for module in (checking, designing, grading, ladder, variants_module):
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        assert result.attempted > 3 and result.failed == 0


def test_a_result_is_true_only_if_it_passed():
    assert make()(centred) and not make()(lambda x: x) and not make()(lambda x: None)


@pytest.mark.parametrize("leave", [sys.exit, exit, lambda: sys.exit("text")])
def test_exit_does_not_end_python(leave):
    assert "ended Python" in make()(lambda x: leave()).message


def raising(error):
    def raises(x):
        raise error

    return raises


def test_a_real_interrupt_gets_through():
    with pytest.raises(KeyboardInterrupt):
        make()(raising(KeyboardInterrupt))


ERRORS = RecursionError, MemoryError, ValueError("x" * 999), BaseException


@pytest.mark.parametrize("error", ERRORS)
def test_exceptions_are_told(error):
    result = make()(raising(error))
    assert result.status == "wrong" and "Your function raised" in result.message


def test_seterr_and_warnings_as_errors_do_not_upset_the_check():
    with np.errstate(), warnings.catch_warnings():
        np.seterr(all="raise")
        warnings.simplefilter("error")
        assert make()(centred)
        assert not make()(lambda x: x / 0)


def test_the_learner_s_print_options_do_not_show():
    with np.printoptions(precision=1, linewidth=10, formatter={"float": lambda v: "?"}):
        assert "x        = [1. 2. 6.]" in make()(lambda x: x).message


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_signs_that_the_output_lacks_are_replaced(monkeypatch, encoding):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    mistake = Mistake("itself", lambda x: x, "−1 ≤ x → ∞")
    assert "-1 <= x -> inf" in make_centre(mistake)(lambda x: x).message


def test_answers_kept_from_call_to_call():
    kept, buffers, seen = {}, {}, []

    def one_buffer(x):
        out = buffers.setdefault(x.shape, np.empty(x.shape))
        out[...] = centred(x)
        return out

    def by_call(x):
        seen.append(x)
        return centred(x) if len(seen) < 62 else x

    two = [Case("a", (np.array([1.0, 2.0, 6.0]),)), Case("b", (np.array([1.0, 6.0, 2.0]),))]
    check = make(cases=two)
    assert not check(lambda x: kept.setdefault(x.shape, centred(x)).copy())
    assert "A later call changed an answer" in check(one_buffer).message
    check = make(cases=two, draw=None)
    seen.extend([0] * 59)
    assert "met a case again" in check(by_call).message


def test_messages_are_short_and_narrow():
    four = Case("four axes", (np.random.default_rng(0).normal(size=(3, 4, 5, 30)) * 1e4,))
    wrong = lambda x: centred(x) * (1 + (np.arange(30) == 7))  # noqa: E731
    message = make(cases=[four])(wrong).message.split("\n")
    assert len(message) <= 15 and max(map(len, message)) <= 90
    assert "expected [0, 0, 0] =" in "\n".join(message)
    assert message[-1] == "For a hint: check_centre.hint()"


def test_a_cause_must_explain_every_case():
    assert "Likely cause (whole mean)" in make()(lambda x: x - x.mean()).message
    other = make()(lambda x: x - x.mean() if x.ndim < 4 else x * 2).message
    assert "Likely cause" not in other
    twice = Mistake("twice", lambda x: x * 2e-9, "Twice.")
    far = Case("a", (np.array([1.0, 5e9]),))
    tiny = Check("tiny", lambda x: x * 1e-9, [far], [twice], [])
    assert "Likely cause" not in tiny(lambda x: x * 3e-9).message


def test_drawn_cases_repeat_shapes_and_never_change():
    cases = make().all_cases()[1:]
    shapes = [case.args[0].shape for case in cases]
    assert len(set(shapes)) < len(shapes) and {len(shape) for shape in shapes} == {1, 2, 3, 4}
    assert any(1 in shape for shape in shapes)
    sizes = [case.args[0].size for case in cases]
    assert sizes == sorted(sizes)
    again = make().all_cases()[1:]
    assert all((a.args[0] == b.args[0]).all() for a, b in zip(cases, again, strict=True))
    assert np.allclose(any_weights(np.random.default_rng(0), (50, 4)).sum(-1), 1)


def test_a_ladder_knows_its_rungs():
    one = Ladder("one", [Rung("a", "two", lambda: 2.0)])
    with pytest.raises(ValueError, match="b is no rung of this ladder: it has a"):
        one(b=1)
    assert one(a=np.float32(2.001)) and one(a=...).status == "not started"
    pair = Ladder("pair", [Rung("a", "two and three", (2.0, 3.0))])
    assert pair(a=[2, 3]) and pair(a=[2, 4]).status == "wrong"


def test_a_rung_asks_for_three_digits_whatever_the_first_is():
    for right, near, far in (
        (0.98201, (0.982, 0.9825, 0.9811), (0.98, 0.99, 0.985)),
        (69.3147, (69.3, 69.4), (69, 70, 69.5)),
        (1.0042, (1.0, 1.005), (0.999, 1.01)),
        (-4096.0, (-4100, -4090), (-4000, -4110)),
    ):
        one = Ladder("one", [Rung("a", "a number", right)])
        assert all(one(a=x) for x in near), right
        assert not any(one(a=x) for x in far), right


def halved(x):
    y = x
    if y == 0:
        return 0.0
    for _ in range(1):
        y = np.divide(y, 2)
    return y


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (("return 3 * y",), 3.0),
        (("- y = np", "+ y = x / 4"), 0.5),
        (("- y = np",), 2.0),
        (("- y = x", "+ y = x", "+ y = y + 2"), 2.0),
        (("for _ in range(2):",), 0.5),
        (("if y == 2:",), 0.0),
        (("z = 1",), None),
        (("y = 1",), 1.0),
        (("y = x + 1",), 1.5),
        (("return 1", "return 2"), None),
        (("+ y = 1",), 0.5),
    ],
)
def test_a_line_takes_the_place_of_the_statement_that_begins_alike(lines, value):
    [(_, variant, message)] = variants(halved, "\n    ".join(["a name: Why.", *lines]))
    assert message == "Why."
    if value is not None:
        assert variant(2.0) == value
    else:
        with pytest.raises(NoSuchStatement):
            variant(2.0)


def scaled(x, factor=None):
    return x * (2 if factor is None else factor)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x, factor=None: scaled(x, factor), ""),
        (lambda x, by=None: scaled(x, by), "Its second argument should be called factor."),
        (lambda x, *factor: scaled(x, *factor), "Its second argument should be called factor."),
        (lambda x, factor=2: x * factor, "It fails when factor=None is written out (doubled)."),
        (lambda x, factor=3: scaled(x, factor), "case 1"),
    ],
)
def test_what_may_be_left_out_is_left_out_and_is_written_out(f, said):
    cases = [Case("doubled", (np.ones(3), None)), Case("tripled", (np.ones(3), 3.0))]
    result = Check("scaled", scaled, cases, [], [])(f)
    assert said in result.message and result.status == ("wrong" if said else "passed")


def test_a_check_tells_no_answers_by_its_name():
    assert repr(make()) == "<check_centre>" and make().__doc__
