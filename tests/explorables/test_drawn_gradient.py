"""What "gradient" says and draws: its pushes are the reference's gradients."""

import numpy as np
import pytest
from drawn import box, figures, points, shade

from attention_src.attention.reference import attention_backward, attention_weights
from attention_src.explorables.gradient import START

KEYS, VALUES = np.array(START["keys"]), np.array(START["values"], dtype=float)[:, None]


def by_hand(now):
    """Weights, output and pushes, by the package's reference."""
    q, scale = np.array([now["query"]]), 2**-0.5 / now["temperature"]
    weights = attention_weights(q, KEYS, scale=scale)[0]
    do = weights @ VALUES - now["target"]
    pushes = [-g for g in attention_backward(q, KEYS, VALUES, do[None], scale=scale)]
    return weights, (weights @ VALUES)[0], pushes


@pytest.fixture(scope="module")
def every():
    rng = np.random.default_rng(0)
    places = [(2, 0.5), (-1, 2), (6, 0), (0, 0), *rng.uniform([-2.8, -3.1], [6, 3.1], (8, 2))]
    targets, powers = rng.uniform(0, 10, len(places)), rng.uniform(-1, 1, len(places))
    return figures(
        "gradient",
        [
            {"query": list(place), "target": target, "temperature": 10**power}
            for place, target, power in zip(places, targets, powers, strict=True)
        ],
    )


def test_pushes_are_the_reference_s_gradients(every):
    for now in (one.now for one in every):
        weights, output, (on_query, on_keys, on_values) = by_hand(now)
        for name, expected in {
            "weights": weights,
            "output": output,
            "loss": (output - now["target"]) ** 2 / 2,
            "queryPush": on_query[0],
            "keyPushes": on_keys,
            "valuePushes": on_values[:, 0],
        }.items():
            np.testing.assert_allclose(now[name], expected, rtol=1e-8, atol=1e-12, err_msg=name)


def number(words):
    return float(words.split()[-1].replace("−", "-"))


def test_pictures_show_them(every):
    for one in every:
        weights, output, (on_query, on_keys, on_values) = by_hand(one.now)
        for seen in one.seen:
            assert number(seen["output"]["words"]) == pytest.approx(output, abs=0.0051)
            for j, weight in enumerate(weights):
                assert seen[f"weight{j}"]["words"] == f"{weight:.3f}"
                value = number(seen[f"note{j}"]["words"])
                assert value == pytest.approx(on_values[j, 0], abs=0.0051)
                full = box(seen[f"track{j}"])[2]
                assert box(seen[f"bar{j}"])[2] == pytest.approx(full * weight, abs=0.02)
            # Arrows point where the pushes go, 0.11 for a push of 1 and at most 1.5.
            unit = (float(seen["key1"]["cx"]) - float(seen["key2"]["cx"])) / 1
            pushes = {"push": on_query[0], **{f"push{j}": push for j, push in enumerate(on_keys)}}
            for key, push in pushes.items():
                size = np.linalg.norm(push)
                drawn = min(0.11 * size, 1.5)
                assert shade(seen[key]) == (drawn >= 0.02)
                start, tip = points(seen[key])[:2]
                if drawn >= 0.02:
                    ahead = unit * drawn * push / size * [1, -1]
                    np.testing.assert_allclose(tip - start, ahead, atol=0.03)


def test_what_is_said(every):
    for one in every:
        _, output, (on_query, _, _) = by_hand(one.now)
        start = f"Output {output:.2f}, loss {(output - one.now['target']) ** 2 / 2:.2f}. "
        assert one.said.startswith(start)
        length = float(one.said.removesuffix(".").split()[-1])
        assert length == pytest.approx(np.linalg.norm(on_query), rel=0.006, abs=1e-12)
