"""What is special to windows and rings: the package's cache and bill, errors in a generator."""

import numpy as np
import pytest
from worked import assert_rejected

from attention_src.costs.tiles import computed_pairs
from attention_src.exercises import longcontext as ex
from attention_src.exercises.engine.checking import passed


def test_the_cache_equals_the_package_s():
    torch = pytest.importorskip("torch")
    from attention_src.kvcache.cache_windowed import WindowedKVCache

    for capacity, sinks in ((5, 0), (5, 2), (4, 3), (1, 0)):
        cache = WindowedKVCache(capacity - sinks, sinks)
        keys, values = np.zeros((2, 3, capacity, 4))
        rng = np.random.default_rng(capacity)
        for n_seen in range(4 * capacity):
            k, v = rng.normal(size=(2, 3, 4))
            held = ex.rolling_append(keys, values, n_seen, k, v, sinks)
            cache.append(*(torch.tensor(x)[None, :, None] for x in (k, v)))
            assert sorted(held) == cache.positions.tolist()
            np.testing.assert_array_equal(cache.stored()[0][0].numpy(), keys[:, : len(held)])
            np.testing.assert_array_equal(cache.stored()[1][0].numpy(), values[:, : len(held)])


@pytest.mark.parametrize(
    ("check", "f"), [(ex.check_rolling_append, ex.rolling_append), (ex.check_one_rank, ex.one_rank)]
)
def test_a_function_that_is_watched_can_be_kept(check, f):
    assert check(f) and passed[f] == check.name


def stumbles_in_a_generator(q, k, v, i, n_ranks):
    k, v, i = yield k, v, i
    w = q[99]
    return w


def stumbles_in_a_slot(keys, values, n_seen, k_new, v_new, sinks):
    keys[..., 99, :] = k_new


def test_an_error_shows_the_learner_s_own_line():
    assert_rejected(ex.check_one_rank, stumbles_in_a_generator, ": w = q[99]")
    assert_rejected(ex.check_rolling_append, stumbles_in_a_slot, ": keys[..., 99, :] = k_new")


def test_blocks_agree_with_the_bill():
    for case in ex.check_visible_blocks.all_cases():
        n, block, window, sinks = case.args
        sizes = np.minimum(np.arange(0, n, block) + block, n) - np.arange(0, n, block)
        pairs = (ex.visible_blocks(*case.args) * sizes[:, None] * sizes).sum()
        counted = computed_pairs(n, block=block, window=window, sinks=sinks)
        # The bill lets the keys of a tile end with its last query.
        assert pairs == counted or n % block


def off(one):
    """How far a window is from the right one, in the sizes of the exercise's solution."""
    q, k, v = np.random.default_rng(0).normal(size=(3, 14, 4))
    sizes = (3, 0), (3, 2), (1, 0), (5, 1), (40, 3)
    return max(abs(one.function(q, k, v, *s) - ex.windowed(q, k, v, *s)).max() for s in sizes)


def test_windows_are_as_right_and_as_wrong_as_the_exercise_says():
    assert max(map(off, ex.check_window_test.right)) < 5e-6
    assert min(map(off, ex.check_window_test.wrong)) > 1e-2
