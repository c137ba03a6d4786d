"""One test for each convention of book/notation.md; none is missing; no docstring has gaps."""

import ast
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from attention_src import costs, timing
from attention_src.attention import layer, masks, reference
from attention_src.figures import PALETTE
from attention_src.softmax.reference import entropy_bits
from attention_src.testing import make_qkv, probe_mask

ROOT = Path(__file__).parents[1]
NOTATION = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
SOURCES = sorted((ROOT / "attention_src").rglob("*.py"))
TREES = [(p, ast.parse(p.read_text(encoding="utf-8"))) for p in SOURCES]
NODES = [(p, n) for p, tree in TREES for n in ast.walk(tree)]
IMPLS = ("dense", "sdpa")


def section(name):
    """The text of one section of the notation page, from its label to the next label."""
    return NOTATION.split(f"(notation-{name})=")[1].split("\n(notation-")[0]


def attentions(**options):
    """The reference and each layer, as functions of NumPy arrays."""

    def by(impl):
        def attend(q, k, v):
            q, k, v = (torch.from_numpy(np.asarray(x)) for x in (q, k, v))
            return layer.attention(q, k, v, impl=impl, **options).numpy()

        return attend

    yield lambda q, k, v: reference.attention(q, k, v, **options)
    yield from (by(impl) for impl in IMPLS)


def test_every_convention_has_its_test_and_every_test_its_convention():
    items = section("conventions").split("\n- ")[1:]
    named = [re.fullmatch(r".+\\\n  `(test_\w+)`\s*", item) for item in items]
    assert all(named), "a convention without a test"
    stated = [match[1] for match in named]
    here = [name for name in vars(sys.modules[__name__]) if name.startswith("test_")]
    assert sorted(stated) == sorted(here[2:])  # this test and the next are about files


def missing_sections(node, name=""):
    """What the docstrings of a module's or class's public functions leave out."""
    for child in (n for n in node.body if not getattr(n, "name", "_").startswith("_")):
        if isinstance(child, ast.ClassDef):
            yield from missing_sections(child, f"{child.name}.")
            continue
        decorators = " ".join(map(ast.unparse, child.decorator_list))
        doc, a = ast.get_docstring(child) or "", child.args
        if re.search(r"\bjit\b|property", decorators) or doc.startswith("As `"):
            continue
        arguments = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
        needs = {
            "Args": any(x and x.arg not in ("self", "cls") for x in arguments),
            "Returns|Yields": child.returns and ast.unparse(child.returns) != "None",
            "Raises": any(isinstance(n, ast.Raise) for n in ast.walk(child)),
        }
        for section, needed in needs.items():
            if needed and not re.search(f"^({section}):", doc, re.MULTILINE):
                yield f"{name}{child.name}:{child.lineno} {section}"


def test_docstrings_name_arguments_results_and_errors():
    for path, tree in TREES:
        chapter = path.parent.name if path.stem == "__init__" else path.stem
        solutions = "exercises" in path.parts and (ROOT / f"book/{chapter}.md").exists()
        inside = path.parent.parent.name == "judge"  # its kinds, checks and calls are its own
        assert solutions or inside or not list(missing_sections(tree)), path


def test_layout_is_batch_heads_positions_width():
    # Distinct primes: any two axes exchanged would not fit.
    q, k, v = make_qkv(5, 7, 11, 13, batch=2, n_heads=3)
    assert q.shape == (2, 3, 5, 11) and k.shape == (2, 3, 7, 11) and v.shape == (2, 3, 7, 13)
    for attend in attentions():
        assert attend(q, k, v).shape == (2, 3, 5, 13)
        # Batch and heads are independent of each other; positions are not.
        assert np.allclose(attend(q, k, v)[1:, 2:], attend(q[1:, 2:], k[1:, 2:], v[1:, 2:]))


def test_tensors_are_lower_case():
    arguments = [(path, node) for path, node in NODES if isinstance(node, ast.arg)]
    assert not [f"{p.name}:{n.lineno} {n.arg}" for p, n in arguments if n.arg in set("QKVOSPMX")]


def test_einsum_letters():
    equations = [
        ast.literal_eval(node.args[0])
        for path, node in NODES
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "einsum"
        and path.parent.name != "linear"  # whose states are products of a key and a value
    ]
    assert "bhqd,bhkd->bhqk" in equations
    for equation in equations:
        assert re.fullmatch(r"bh(qd|qk|kd),bh(qd|qk|kd)->bh(qd|qk|kd)", equation), equation


def test_scale_defaults_to_one_over_root_d_k():
    q, k, v = make_qkv(5, 7, 11, 3)
    s = np.einsum("bhqd,bhkd->bhqk", q, k)
    e = np.exp(s / math.sqrt(11))
    expected = (e / e.sum(axis=-1, keepdims=True)) @ v
    for attend in attentions():
        np.testing.assert_allclose(attend(q, k, v), expected, rtol=1e-12)
    for attend in attentions(scale=1.0):
        np.testing.assert_allclose(attend(q / math.sqrt(11), k, v), expected, rtol=1e-12)


def test_causal_is_bottom_right():
    for n_q, n_k in ((5, 5), (3, 7), (7, 3), (1, 5)):
        visible = [[j <= i + n_k - n_q for j in range(n_k)] for i in range(n_q)]
        assert np.array_equal(masks.causal_mask(n_q, n_k), visible)
        for attend in attentions(causal=True):
            probe_mask(attend, visible)


def test_true_means_may_attend():
    mask = np.array([[True, False, True], [False, True, False]])
    for attend in attentions(mask=mask):
        p = probe_mask(attend, mask)
        assert p[1].tolist() == [0, 1, 0]


def test_additive_masks_are_refused():
    q, k, v = make_qkv(3)
    for mask in (masks.to_additive(masks.causal_mask(3), np.float64), np.ones((3, 3), dtype=int)):
        for attend in attentions(mask=mask):
            with pytest.raises(ValueError, match=r"mask has dtype.*True = may attend"):
                attend(q, k, v)


def test_rules_combine_by_and():
    mask = np.array([[True, True, True], [False, True, True], [True, False, True]])
    for attend in attentions(mask=mask, causal=True):
        probe_mask(attend, mask & np.tri(3, dtype=bool))


def test_window_counts_ones_own_key():
    assert np.array_equal(masks.window_mask(5, 5, 1), np.eye(5, dtype=bool))
    assert masks.window_mask(5, 5, 3)[4].tolist() == [False, False, True, True, True]


def test_a_fully_masked_row_gives_zero():
    q, k, v = make_qkv(2, 3, dtype=torch.float64)
    mask = np.array([[False, False, False], [True, True, True]])[None, None]
    lse = reference.attention_lse(q.numpy(), k.numpy(), mask=mask)
    assert (lse[..., 0] == -np.inf).all() and np.isfinite(lse[..., 1]).all()
    assert torch.equal(
        layer.attention_lse(q, k, mask=mask)[..., 0], torch.full((2, 3), -torch.inf).double()
    )
    for attend in attentions(mask=mask):
        o = attend(q.numpy(), k.numpy(), v.numpy())
        assert (o[..., 0, :] == 0).all() and (o[..., 1, :] != 0).all()
    for impl in IMPLS:
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        layer.attention(*leaves, mask=mask, impl=impl).sum().backward()
        assert (leaves[0].grad[..., 0, :] == 0).all()
        assert all(x.grad.isfinite().all() for x in leaves)


def test_no_keys_at_all_gives_zero():
    q, k, v = make_qkv(5, 0, 3, 2)
    assert (reference.attention_lse(q, k) == -np.inf).all()
    for attend in attentions():
        o = attend(q, k, v)
        assert o.shape == (2, 3, 5, 2) and (o == 0).all()


def test_nan_stays_in_its_row():
    for n_k in (7, 41):  # torch's fused function takes another path for a handful of keys
        q, k, v = make_qkv(5, n_k)
        q[0, 1, 2, 0] = np.nan
        for attend in attentions():
            o = attend(q, k, v)
            assert np.isnan(o[0, 1, 2]).all()
            assert np.isnan(o).sum() == v.shape[-1]
        nothing = np.zeros((5, n_k), dtype=bool)
        for attend in attentions(mask=nothing):
            assert (attend(q, k, v) == 0).all()


def test_logarithms():
    assert reference.attention_lse([[0.0]], [[0.0]] * 4) == pytest.approx(math.log(4))
    assert entropy_bits([0.25] * 4) == 2.0
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\blse_?2\b", text), path  # base 2 is spelt lse_log2


def test_neighbouring_heads_share_keys():
    q, k, v = make_qkv(5, 7, n_heads=6, n_kv_heads=2, dtype=torch.float64)
    for impl in IMPLS:
        o = layer.attention(q, k, v, impl=impl).numpy()
        for h in range(6):
            alone = reference.attention(q[:, h].numpy(), k[:, h // 3].numpy(), v[:, h // 3].numpy())
            np.testing.assert_allclose(o[:, h], alone, rtol=1e-12)


def test_output_has_the_dtype_of_q():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for impl in IMPLS:
            assert layer.attention(*make_qkv(3, dtype=dtype), impl=impl).dtype == dtype
    for dtype in (np.float16, np.float32, np.float64):
        assert reference.attention(*make_qkv(3, dtype=dtype)).dtype == dtype
    assert reference.attention([[1, 2]], [[3, 4]], [[5, 6]]).dtype == np.float64


def test_sums_are_kept_in_float32_at_least():
    ones, zeros = torch.ones(1, 1, 4096, 1), torch.zeros(1, 1, 4096, 1)
    for dtype in (torch.float16, torch.bfloat16):
        # 4096 weights of 1/4096: a sum kept in bfloat16 stalls when it reaches 1/16.
        for impl in IMPLS:
            z = zeros.to(dtype)
            assert layer.attention(z[:, :, :1], z, ones.to(dtype), impl=impl).item() == 1
        # Scores 1000 and 1000.25: both inputs are exact in each dtype, their difference is not.
        q = torch.tensor([[1000.0, 1.0]], dtype=dtype)[None, None]
        k = torch.tensor([[1.0, 0.0], [1.0, 0.25]], dtype=dtype)[None, None]
        assert (q @ k.mT)[0, 0, 0].unique().numel() == 1
        p = layer.attention_weights(q, k, scale=1.0)[0, 0, 0]
        assert p.dtype == torch.float32
        assert p[1] / p[0] == pytest.approx(math.exp(0.25), rel=1e-3)


def test_an_explicit_choice_is_never_replaced():
    q, k, v = make_qkv(3, dtype=torch.float32)
    for impl in ("triton", "tiled", "flash", "", "DENSE"):
        with pytest.raises(ValueError, match="'auto', 'dense', 'sdpa'"):
            layer.attention(q, k, v, impl=impl)


def test_positions_start_at_zero():
    assert masks.causal_mask(3)[0].tolist() == [True, False, False]
    assert masks.padding_mask([1], 3)[0, 0, 0].tolist() == [True, False, False]
    assert masks.window_mask(3, 3, 1, sinks=1)[2].tolist() == [True, False, True]


def test_names_carry_units():
    assert all(name.endswith("_ms") for name in timing.Timing.__dataclass_fields__)
    public = [n for n, f in vars(costs).items() if getattr(f, "__module__", "") == costs.__name__]
    counts = [n for n in public if not n.startswith("_")]
    assert len(counts) >= 4
    assert all(n.endswith(("_flops", "_bytes", "_intensity")) for n in counts)


def test_same_seed_same_numbers():
    for a, b in zip(make_qkv(seed=3), make_qkv(seed=3), strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(make_qkv(seed=3)[0], make_qkv(seed=4)[0])
    # The same on every machine: NumPy promises the stream of default_rng.
    assert make_qkv(1, d_k=1, batch=1, n_heads=1)[0].item() == pytest.approx(0.12573022, abs=1e-8)


def test_colours():
    stated = re.findall(r"`(#\w{6})`", section("colours"))
    roles = ("q", "k", "v", "output", "weights", "ink")
    assert stated == [PALETTE[role] for role in roles]
