"""An answer may come in any form; one that cannot be read is told, not raised."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from centre import centred, draw
from centre import make as make_centre


def make():
    return make_centre(draw=draw)


RIGHT_FORMS = {
    "a masked array without masked entries": lambda x: np.ma.masked_array(centred(x)),
    "fractions": lambda x: [Fraction(v) for v in centred(x)] if x.ndim == 1 else centred(x),
    "decimals": lambda x: [Decimal(v) for v in centred(x)] if x.ndim == 1 else centred(x),
    "rows": lambda x: list(centred(x)),
}
WRONG_FORMS = {
    "a generator": lambda x: (row for row in centred(x)),
    "a scalar": lambda x: 3.0,
    "an array more": lambda x: [centred(x)],
    "a matrix": lambda x: np.matrix(np.atleast_2d(centred(x).reshape(-1, x.shape[-1]))),
    "masked": lambda x: np.ma.masked_greater(centred(x), 0),
    "an array of objects": lambda x: centred(x).astype(object),
    "rows of objects": lambda x: list(np.atleast_2d(centred(x).astype(object))),
    "an object": lambda x: object(),
    "a list in itself": lambda x: (lambda loop: (loop.append(loop), loop)[1])([]),
}


@pytest.mark.parametrize("form", RIGHT_FORMS | WRONG_FORMS)
def test_right_answers_in_any_form_pass_and_wrong_forms_are_told_not_raised(form):
    status = make()((RIGHT_FORMS | WRONG_FORMS)[form]).status
    assert status == ("passed" if form in RIGHT_FORMS else "wrong")


def test_torch_answers_of_any_kind():
    torch = pytest.importorskip("torch")
    grad = torch.ones((), dtype=torch.float64, requires_grad=True)
    assert make()(lambda x: torch.tensor(centred(x)) * grad)
    assert "float32?" in make()(lambda x: torch.tensor(centred(x)).float()).message
    assert make()(lambda x: [grad * v for v in centred(x)] if x.ndim == 1 else centred(x))
    assert make()(lambda x: torch.tensor(centred(x)).bfloat16()).status == "wrong"


@pytest.mark.parametrize("kind", [float, bool])
def test_an_array_of_objects_is_told_its_dtype(kind):
    message = make()(lambda x: centred(x).astype(kind).astype(object)).message
    assert "an array of dtype object. Give it another: .astype(float)" in " ".join(message.split())
