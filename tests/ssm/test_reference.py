"""State space models in NumPy: the forms agree, each other's special cases too, and time flows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.ssm.reference import associative_scan, discretize, selective_scan, ssd, ssm
from ssm.cases import scan_arguments, ssd_arguments, ssm_arguments

CLOSE = dict(rtol=1e-11, atol=1e-11)


def test_a_scan_by_hand():
    # One channel, one number of state: h = 1/2 h + x, y = 3 h + x.
    x = np.array([[1.0], [0.0], [2.0]])
    dt, A = np.ones((3, 1)), np.array([[np.log(0.5)]])
    B, C = np.ones((3, 1)), np.full((3, 1), 3.0)
    y = selective_scan(x, dt, A, B, C, D=np.ones(1))
    np.testing.assert_allclose(y[:, 0], [3 + 1, 1.5 + 0, 3 * 2.25 + 2])


def test_ssd_by_hand():
    # Two tokens: y_1 = (C_1·B_0) exp(A dt_1) dt_0 x_0 + (C_1·B_1) dt_1 x_1.
    x, dt, A = np.array([[[1.0], [10.0]]]), np.array([[0.5, 2.0]]), np.array([-1.0])
    B, C = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 3.0]])
    y = ssd(x, dt, A, B, C)
    np.testing.assert_allclose(y[0, :, 0], [0.5, 2 * np.exp(-2.0) * 0.5 + 5 * 2 * 10])


@pytest.mark.parametrize("method", ["zoh", "bilinear", "mamba"])
@pytest.mark.parametrize("n", [0, 1, 2, 37])
def test_recurrence_is_convolution(method, n):
    arguments = ssm_arguments(n=n)
    expected = ssm(*arguments, method=method)
    assert expected.shape == arguments[0].shape
    actual = ssm(*arguments, method=method, form="convolution")
    np.testing.assert_allclose(actual, expected, **CLOSE)


def test_zero_order_hold_solves_the_equation_exactly():
    # dh/dt = a h + b x with x constant: h(dt) = e^(a dt) h + (e^(a dt) - 1) b x / a.
    a, b, dt = -0.7, 1.3, 0.4
    A_bar, B_bar = discretize(dt, np.array([a]), np.array([b]))
    np.testing.assert_allclose(A_bar, [np.exp(a * dt)], rtol=1e-15)
    np.testing.assert_allclose(B_bar, [(np.exp(a * dt) - 1) / a * b], rtol=1e-15)
    # At a = 0 nothing is forgotten and the input is summed; at a small a dt, nearly.
    np.testing.assert_allclose(discretize(dt, np.zeros(1), np.array([b])), [[1.0], [dt * b]])
    _, B_bar = discretize(1e-12, np.array([a]), np.array([b]))
    np.testing.assert_allclose(B_bar, [1e-12 * b], rtol=1e-11)


@pytest.mark.parametrize(("method", "order"), [("bilinear", 2), ("mamba", 1)])
def test_order_of_the_approximations(method, order):
    # Halving the step divides the error of B_bar / dt by 2 ** order.
    def error(dt):
        exact = discretize(dt, np.array([-1.0]), np.ones(1))[1]
        return abs(discretize(dt, np.array([-1.0]), np.ones(1), method=method)[1] - exact)[0] / dt

    assert error(0.02) / error(0.01) == pytest.approx(2**order, rel=0.05)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 13, 37])
def test_associative_scan_is_the_recurrence(n):
    x, dt, A, B, C, D = scan_arguments(n=n)
    start = np.random.default_rng(1).standard_normal((2, 3, 5))
    for initial_state in (None, start):
        options = dict(initial_state=initial_state, return_state=True)
        y, h = selective_scan(x, dt, A, B, C, D, **options)
        y2, h2 = selective_scan(x, dt, A, B, C, D, form="associative", **options)
        np.testing.assert_allclose(y2, y, **CLOSE)
        np.testing.assert_allclose(h2, h, **CLOSE)


def test_associative_scan_composes_steps():
    a, b = np.random.default_rng(0).uniform(0, 1, (2, 11, 1, 1))
    A, B = associative_scan(a, b)
    h = 0.3
    for t in range(11):
        h = a[t, 0, 0] * h + b[t, 0, 0]
        assert A[t, 0, 0] * 0.3 + B[t, 0, 0] == pytest.approx(h, rel=1e-14)


@given(
    n=st.integers(0, 41),
    chunk=st.integers(1, 50),
    heads=st.integers(1, 3),
    P=st.integers(1, 5),
    N=st.integers(1, 5),
    batch=st.sampled_from([(), (2,), (2, 1)]),
    seed=st.integers(0, 99),
)
def test_all_forms_of_ssd_agree(n, chunk, heads, P, N, batch, seed):
    arguments = ssd_arguments(batch, n, heads, P, N, seed)
    y, h = ssd(*arguments, form="recurrent", return_state=True)
    assert y.shape == (*batch, heads, n, P) and h.shape == (*batch, heads, P, N)
    for options in (dict(form="parallel"), dict(chunk=chunk)):
        y2, h2 = ssd(*arguments, return_state=True, **options)
        np.testing.assert_allclose(y2, y, **CLOSE)
        np.testing.assert_allclose(h2, h, **CLOSE)


def test_ssd_is_a_selective_scan_with_one_decay_a_head():
    x, dt, A, B, C = ssd_arguments()
    channels = x.swapaxes(1, 2).reshape(2, 13, 15)
    steps = np.repeat(dt.swapaxes(1, 2), 5, axis=-1)
    decay = np.repeat(A, 5)[:, None] * np.ones(7)
    y = selective_scan(channels, steps, decay, B, C).reshape(2, 13, 3, 5).swapaxes(1, 2)
    np.testing.assert_allclose(ssd(x, dt, A, B, C), y, **CLOSE)


def test_a_scan_that_selects_nothing_is_fixed_in_time():
    x, dt, A, B, C, D = ssm_arguments()
    B, C = np.broadcast_to(B[0], B.shape), np.broadcast_to(C[0], C.shape)
    along = (2, 13, 5)
    y = selective_scan(
        x, np.broadcast_to(dt, x.shape), A, np.broadcast_to(B[0], along),
        np.broadcast_to(C[0], along), D,
    )  # fmt: skip
    np.testing.assert_allclose(ssm(x, dt, A, B, C, D, method="mamba"), y, **CLOSE)


@pytest.mark.parametrize("cut", [0, 1, 6, 13])
def test_a_state_continues_the_sequence(cut):
    options = dict(return_state=True)
    x, dt, A, B, C, D = scan_arguments()
    expected, last = selective_scan(x, dt, A, B, C, D, **options)
    first, h = selective_scan(x[:, :cut], dt[:, :cut], A, B[:, :cut], C[:, :cut], D, **options)
    rest = (x[:, cut:], dt[:, cut:], A, B[:, cut:], C[:, cut:], D)
    second, h = selective_scan(*rest, initial_state=h, **options)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), expected, **CLOSE)
    np.testing.assert_allclose(h, last, **CLOSE)
    x, dt, A, B, C = ssd_arguments()
    expected, last = ssd(x, dt, A, B, C, chunk=4, **options)
    left = (x[:, :, :cut], dt[:, :, :cut], A, B[:, :cut], C[:, :cut])
    right = (x[:, :, cut:], dt[:, :, cut:], A, B[:, cut:], C[:, cut:])
    for form in ("recurrent", "parallel", "chunkwise"):
        first, h = ssd(*left, form=form, chunk=4, **options)
        second, h = ssd(*right, form=form, chunk=4, initial_state=h, **options)
        np.testing.assert_allclose(np.concatenate([first, second], axis=2), expected, **CLOSE)
        np.testing.assert_allclose(h, last, **CLOSE)


def test_nothing_flows_back_in_time():
    x, dt, A, B, C, D = scan_arguments()
    y = selective_scan(x, dt, A, B, C, D)
    for later in (x, dt, B, C):
        later[:, 7:] = np.abs(later[:, 7:]) + 1.0
    changed = selective_scan(x, dt, A, B, C, D)
    np.testing.assert_array_equal(changed[:, :7], y[:, :7])
    assert (changed[:, 7:] != y[:, 7:]).all()


def test_strong_decay_forgets_and_does_not_overflow():
    x, dt, _, B, C = ssd_arguments()
    for form in ("recurrent", "parallel", "chunkwise"):
        y = ssd(x, dt, np.full(3, -1e4), B, C, form=form)
        alone = (B * C).sum(axis=-1)[:, None, :, None] * dt[..., None] * x
        np.testing.assert_allclose(y, alone, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_dtypes(dtype):
    for function, arguments, options in (
        (selective_scan, scan_arguments(), dict(return_state=True)),
        (ssd, ssd_arguments(), dict(return_state=True)),
        (ssm, ssm_arguments(), dict()),
    ):
        y = function(arguments[0].astype(dtype), *arguments[1:], **options)
        if options:
            y, h = y
            assert h.dtype == np.float64
        assert y.dtype == (np.float64 if dtype is np.int64 else dtype)


def wrong(arguments, index, value):
    return [value if i == index else a for i, a in enumerate(arguments)]


@pytest.mark.parametrize(
    ("function", "arguments", "index", "value", "message"),
    [
        (ssm, ssm_arguments(), 0, np.ones(3), "x has shape"),
        (ssm, ssm_arguments(), 1, np.ones(4), r"dt has shape \[4\]; it should be \[d\] = \[3\]"),
        (ssm, ssm_arguments(), 1, -np.ones(3), "dt holds a negative number"),
        (ssm, ssm_arguments(), 2, np.ones((4, 5)), "A has shape"),
        (ssm, ssm_arguments(), 4, np.ones((3, 4)), "C has shape"),
        (ssm, ssm_arguments(), 5, np.ones(4), "D has shape"),
        (selective_scan, scan_arguments(), 1, np.ones((2, 13)), "dt has shape"),
        (
            selective_scan,
            scan_arguments(),
            1,
            np.full((2, 13, 3), -1e-9),
            "dt holds a negative number",
        ),
        (selective_scan, scan_arguments(), 2, np.ones((2, 5)), "A has shape"),
        (selective_scan, scan_arguments(), 3, np.ones((2, 12, 5)), "B has shape"),
        (selective_scan, scan_arguments(), 4, np.ones((2, 13, 4)), "C has shape"),
        (selective_scan, scan_arguments(), 5, np.ones((1, 3)), "D has shape"),
        (ssd, ssd_arguments(), 0, np.ones((13, 5)), "x has shape"),
        (ssd, ssd_arguments(), 1, np.ones((2, 3, 12)), "dt has shape"),
        (ssd, ssd_arguments(), 1, -np.ones((2, 3, 13)), "dt holds a negative number"),
        (ssd, ssd_arguments(), 2, np.ones(4), "A has shape"),
        (ssd, ssd_arguments(), 3, np.ones((3, 13, 7)), "B has shape"),
        (ssd, ssd_arguments(), 4, np.ones((2, 13, 6)), "C has shape"),
        (ssd, ssd_arguments(), 0, np.array(["a"]), "x has dtype"),
    ],
)
def test_bad_shapes(untyped, function, arguments, index, value, message):
    with pytest.raises(ValueError, match=message):
        function(*wrong(arguments, index, value))


def test_bad_options(untyped):
    with pytest.raises(ValueError, match="form is 'fast'; it should be one of 'recurrent'"):
        ssm(*ssm_arguments(), form="fast")
    with pytest.raises(ValueError, match="method is 'euler'"):
        ssm(*ssm_arguments(), method="euler")
    with pytest.raises(ValueError, match="form is 'chunkwise'"):
        selective_scan(*scan_arguments(), form="chunkwise")
    with pytest.raises(ValueError, match="form is 'associative'"):
        ssd(*ssd_arguments(), form="associative")
    with pytest.raises(ValueError, match="chunk is 0; it should be at least 1"):
        ssd(*ssd_arguments(), chunk=0)
    with pytest.raises(ValueError, match=r"initial_state has shape \[3, 5\]"):
        selective_scan(*scan_arguments(), initial_state=np.ones((3, 5)))
    with pytest.raises(ValueError, match="initial_state has shape"):
        ssd(*ssd_arguments(), initial_state=np.ones((2, 3, 7, 5)))
