"""The experiments find what is known to be there: orderings and wide bands, never exact numbers.

What they read and where does not depend on the weights: that is tested on the first three layers.
"""

import pytest
import smollm2_support
import torch

from attention_src.attention.masks import window_mask
from attention_src.kvcache.cache import KVCache
from attention_src.models.smollm2.experiments import corpus_ids, heads, memory, perplexity, speed

QUIET = dict(progress=None)
shallow = smollm2_support.shallow


@pytest.fixture(scope="module")
def model():
    return smollm2_support.model()


@pytest.fixture
def short_text(monkeypatch):
    """The text of the experiments with heads, cut to 96 tokens."""
    monkeypatch.setattr(heads, "corpus_ids", lambda model, n: corpus_ids(model, 96))


def test_the_first_token_is_a_sink_from_the_middle_on(model):
    found = heads.attention_sinks(model, corpus_ids(model, 128), **QUIET)
    share = found.share.mean(dim=1)
    assert share[:2].max() < 0.03 < 0.25 < share[12:].mean()
    assert 0.15 < found.share.mean() < 0.5 and found.uniform < 0.02
    assert found.share.max() > 0.99
    # Its hidden state is enormous, and only in the middle of the network.
    norms = found.norms[:, 0] / found.norms[:, 1:].median(dim=1).values
    assert norms[15] > 50 and norms[0] < 3


def test_sinks_leave_the_first_queries_out():
    ids = corpus_ids(shallow(), 20)
    found = heads.attention_sinks(shallow(), ids, skip=19, **QUIET)
    trace = shallow().trace(ids, keep="weights")
    torch.testing.assert_close(found.share, trace.weights[:, :, 19, 0])
    assert found.uniform == pytest.approx(1 / 20)


def test_induction_heads_copy_and_previous_token_heads_look_back(model, short_text):
    scores = heads.head_scores(model, **QUIET)
    assert scores.first > 10 > 6 > scores.second > 1
    (layer, head), *others = scores.top("induction", 5)
    assert scores.induction[layer, head] > 0.6 and layer > 10
    assert scores.induction[:5].max() < 0.2  # they stand on earlier layers' work
    assert scores.induction.median() < 0.05
    assert scores.previous[scores.top("previous", 1)[0]] > 0.5
    assert len(others) == 4 and all(
        scores.induction[h] < scores.induction[layer, head] for h in others
    )
    # Without the best of them it copies worse, and writes as well.
    found = heads.without_heads(model, [(layer, head)], **QUIET)
    assert found.copy[1] > found.copy[0] + 1
    assert abs(found.prose[1] - found.prose[0]) < 0.05


def test_scores_are_read_off_the_right_places():
    n = 7
    scores = heads.head_scores(shallow(), n=n, **QUIET)
    weights = shallow().trace(heads.repeated(n), keep="weights").weights
    # <|im_start|> r_1 … r_7 r_1 … r_7: r_i stands at i and at n + i, r_{i+1} at i + 1.
    places = [weights[:, :, n + i, i + 1] for i in range(1, n)]
    torch.testing.assert_close(scores.induction, torch.stack(places).mean(0))
    text = shallow().trace(corpus_ids(shallow(), 256), keep="weights").weights
    previous = [text[:, :, i, i - 1] for i in range(16, 256)]
    torch.testing.assert_close(scores.previous, torch.stack(previous).mean(0))


def test_without_no_heads_nothing_changes(short_text):
    nothing = heads.without_heads(shallow(), [], n=10, **QUIET)
    assert nothing.copy[0] == nothing.copy[1] and nothing.prose[0] == nothing.prose[1]


def test_a_window_needs_the_first_token(model):
    found = memory.streaming(model, window=48, n=160, **QUIET)
    assert found.full < found.windowed[1] < 1.5 * found.full
    assert found.full < found.windowed[4] < 1.5 * found.full
    assert found.windowed[0] > 1.7 * found.full


def test_streaming_keeps_the_window_it_says():
    """Against a mask over everything: the first s and the last window − s tokens."""
    found = memory.streaming(shallow(), window=9, sinks=(2,), n=40, **QUIET)
    ids = corpus_ids(shallow(), 40, "tide_mill")
    nll = shallow().nll(ids, mask=torch.from_numpy(window_mask(40, 40, 7, 2)))
    assert found.windowed[2] == pytest.approx(perplexity(nll[9:]), rel=1e-3)
    assert found.full == pytest.approx(perplexity(shallow().nll(ids)[9:]), rel=1e-3)


def test_four_bits_need_scales_by_channel(model):
    found = memory.quantized_caches(model, n=96, **QUIET)
    exact = found["float32"]
    assert found["int8"] == pytest.approx(exact, rel=0.02)
    assert found["int4 per channel"] < 1.12 * exact
    assert found["int4 symmetric"] > 1.2 * exact


def test_far_positions_need_scaled_rotations(model):
    gaps = (0, 16384)
    found = memory.position_gap(model, gaps=gaps, n=96, moved=48, **QUIET)
    plain = found["none"]
    assert plain[16384] > 5 * plain[0]
    for name in ("NTK × 4", "YaRN × 4"):
        assert found[name][16384] < 2.5 * plain[0] and found[name][0] < 1.3 * plain[0]
    # Interpolation alone moves every position off what was trained, the near ones too.
    assert found["PI × 4"][0] > 2 * plain[0]


def test_merged_heads_need_training(model):
    found = memory.mean_pooled_heads(model, n=48, **QUIET)
    assert found[1] > 20 * found[3]


def test_merging_into_as_many_heads_changes_nothing():
    model, ids = shallow(), corpus_ids(shallow(), 16)
    same = memory.pool_kv_heads(model, 3)
    torch.testing.assert_close(same.logits(ids), model.logits(ids))
    one = memory.pool_kv_heads(model, 1)
    layer, merged = model.weights.layers[2], one.weights.layers[2]
    k = layer.qkv[:, 576:768].unflatten(1, (3, 64))
    torch.testing.assert_close(merged.qkv[:, 576:640], k.mean(1))
    caches = one.new_caches()
    one.logits(ids, caches=caches)
    assert sum(c.nbytes for c in caches) == 16 * 3 * 1 * 64 * 2 * 4


def test_generation_is_timed_by_what_it_does():
    found = speed.with_and_without_cache(shallow(), contexts=(16,), n_new=3, **QUIET)
    (cached,), (uncached,) = found["contiguous"], found[None]
    assert cached.n == uncached.n == 16 and min(cached.prefill_s, uncached.tokens_per_s) > 0
    assert cached.cache_bytes == (16 + 3 - 1) * 3 * 3 * 64 * 2 * 4 and uncached.cache_bytes == 0


def test_steps_are_reported(capsys):
    memory.quantized_caches(shallow(), {"contiguous": KVCache}, n=8)
    assert capsys.readouterr().out == "cache: contiguous\n"
    lines = []
    memory.mean_pooled_heads(shallow(), n=8, progress=lines.append)
    assert lines == ["key/value heads: 3", "key/value heads: 1"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: heads.attention_sinks(m, corpus_ids(m, 8), skip=8), "skip is 8"),
        (lambda m: corpus_ids(m, 100_000), "n is 100000"),
        (lambda m: heads.head_scores(m, n=1), "n is 1"),
        (lambda m: heads.without_heads(m, [(30, 0)]), r"heads holds \(30, 0\)"),
        (lambda m: memory.streaming(m, window=4, sinks=(4,), n=32), "window is 4"),
        (lambda m: memory.streaming(m, window=31, n=32), "window is 31"),
        (lambda m: memory.position_gap(m, n=32, moved=31), "moved is 31"),
        (lambda m: memory.pool_kv_heads(m, 2), "2"),
        (lambda m: speed.generation_speed(m, 8, 1), "n_new is 1"),
        (lambda m: speed.generation_speed(m, 8, 2, cache="none"), "cache is 'none'"),
    ],
)
def test_bad_input_names_the_argument(model, call, message, untyped):
    with pytest.raises(ValueError, match=message):
        call(model)


@pytest.mark.parametrize("fastest", [8, 7, 4, 1])
def test_the_fastest_number_of_threads_is_found(fastest, monkeypatch):
    now, ours = 0.0, 8

    def set_threads(n):
        nonlocal ours
        ours = n

    def work(x, weight):
        nonlocal now
        now += 1.0 if ours == fastest else 1.5

    monkeypatch.setattr(torch, "get_num_threads", lambda: ours)
    monkeypatch.setattr(torch, "set_num_threads", set_threads)
    monkeypatch.setattr(speed, "now_ms", lambda: now)
    monkeypatch.setattr(speed, "project", work)
    assert speed.fastest_threads(shallow()) == fastest and ours == 8
