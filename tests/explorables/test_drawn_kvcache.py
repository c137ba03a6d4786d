"""What "kvcache" says and draws: its bytes are those of `attention_src.costs`, for every model."""

from itertools import product

import pytest
from drawn import box, figures

from attention_src.costs import kv_cache_bytes
from attention_src.costs.roofline import CHIPS
from attention_src.explorables.kvcache import MODELS

CARDS = {chip.name: chip.memory_bytes for chip in CHIPS.values()}
BY_NAME = {model.name: model for model in MODELS}
UNITS = {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}


def per_text(model, tokens, bits):
    """Bytes of a text's cache; a latent vector is one head of width d and nothing beside it."""
    heads, d_v = (model.heads, model.width) if model.heads else (1, 0)
    return kv_cache_bytes(model.layers, heads, model.width, d_v, tokens, dtype_bytes=bits / 8)


def in_bytes(words):
    number, unit = words.split()
    return float(number) * UNITS[unit]


@pytest.fixture(scope="module")
def every():
    cards = (("H100 SXM", 8, 16), ("T4", 1, 4))
    texts = ((1024, 1), (131_072, 64), (1 << 20, 1024))
    return figures(
        "kvcache",
        [
            {
                **{"model": model, "card": card, "n_cards": n_cards, "bits": bits},
                **{"weightBits": 8, "tokens": tokens, "texts": n_texts},
            }
            for model, (card, n_cards, bits), (tokens, n_texts) in product(BY_NAME, cards, texts)
        ],
    )


def test_bytes_are_those_of_costs(every):
    assert len(MODELS) >= 8 and all(model.source for model in MODELS)
    for now in (one.now for one in every):
        model = BY_NAME[now["model"]]
        text = per_text(model, now["tokens"], now["bits"])
        assert now["token"] == per_text(model, 1, now["bits"])
        assert (now["text"], now["all"]) == (text, text * now["texts"])
        assert now["weights"] == model.parameters * now["weightBits"] / 8
        assert now["memory"] == CARDS[now["card"]] * now["n_cards"]
        assert now["fits"] == max(0, (now["memory"] - now["weights"]) // text)


def test_pictures_show_them(every):
    for one in every:
        for seen in one.seen:
            for name in ("token", "text", "all", "weights", "memory"):
                shown = in_bytes(seen[f"size-{name}"]["words"])
                assert shown == pytest.approx(one.now[name], rel=0.0051)
            full = box(seen["track"])[2] / max(
                one.now["memory"], one.now["weights"] + one.now["all"]
            )
            for bar, size in (("weights", "weights"), ("cache", "all")):
                wide = box(seen[f"bar-{bar}"])[2]
                assert wide == pytest.approx(full * one.now[size], abs=0.01)
            sizes = [per_text(model, one.now["tokens"], one.now["bits"]) for model in MODELS]
            longest = max(box(seen[f"bar{n}"])[2] for n in range(len(MODELS)))
            for n, (model, size) in enumerate(zip(MODELS, sizes, strict=True)):
                assert seen[f"model{n}"]["words"] == model.name
                assert in_bytes(seen[f"takes{n}"]["words"]) == pytest.approx(size, rel=0.0051)
                wide = box(seen[f"bar{n}"])[2]
                assert wide == pytest.approx(longest * size / max(sizes), abs=0.01)


def test_what_is_said(every):
    for now, words in ((one.now, one.said) for one in every):
        model = BY_NAME[now["model"]]
        if now["weights"] > now["memory"]:
            assert words.startswith("The weights alone do not fit")
        else:
            assert f"room for {now['fits']:,.0f} such text" in words
            assert (f", not {now['texts']:,}." in words) == (now["texts"] > now["fits"])
        assert f"{model.numbers:,} numbers a token: {model.layers} layers × " in words
        assert (f"Made for {model.trained:,}" in words) == (now["tokens"] > model.trained)
        assert words.endswith(f"Figures: {model.source}.")


def test_what_the_reports_say():
    """Jamba's report gives the caches of 256K tokens in 16 bits: 4 GB, and 32 GB for Mixtral."""
    of = {model.name: 2 * model.numbers * 2**18 / 2**30 for model in MODELS}
    assert (of["Jamba"], of["Mixtral 8x7B"]) == (4, 32)


@pytest.mark.slow
def test_smollm2_is_as_its_file_says():
    smollm2 = pytest.importorskip("attention_src.models.smollm2")
    try:
        config = smollm2.SmolLM2.load().config
    except ImportError:
        pytest.skip("SmolLM2 is not installed")
    ours = MODELS[-1]
    kept = (config.n_layers, config.n_kv_heads, config.d_head)
    assert (ours.layers, ours.heads, ours.width) == kept
    assert ours.trained == config.max_tokens
