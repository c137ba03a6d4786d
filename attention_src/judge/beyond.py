"""What a function must keep to that gives right values on ordinary input.

Each check takes a `values.Judge` that knows how the function is called, and adds what it finds.
"""

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from attention_src.judge.calling import decode
from attention_src.judge.oracle import attend, written
from attention_src.judge.values import Judge, Trial, same, see_some


def _cases(judge: Judge, seed: int, scale: float = 1.0) -> list[tuple[Trial | None, Any]]:
    """What it gives and what is right, without a mask and with one."""
    masked = (
        [judge.case(judge.masked, see_some(judge.masked, seed), seed, scale=scale)]
        if judge.masked
        else []
    )
    return [judge.case(judge.how, True, seed, scale=scale), *masked]


def weights(judge: Judge) -> None:
    """Weights that are returned beside the output are those that were used."""
    how = judge.masked or judge.how
    see = see_some(how, 1) if judge.masked else True
    (trial, _), arrays = judge.case(how, see), judge.draw(how.sizes, 0).values()
    for other in trial.others if trial and judge.right is attend else []:
        if found := decode(other, "BHqk", how.sizes, how.layout):
            p = written(attend, "return p")(*arrays, see & judge.seen(how.sizes))
            if not same(found[0], p):
                return judge.draft.add("other weights")
            judge.draft.convention["weights"] = "returned as they were used"
        elif found := decode(other[..., None], "BHq1", how.sizes | {"1": 1}, how.layout):
            lse = written(attend, "return np.log(l) + m")(*arrays, see & judge.seen(how.sizes))
            if not same(found[0], lse):
                judge.draft.add(
                    "log-sum-exp in base 2" if same(found[0], lse / np.log(2)) else "log-sum-exp"
                )


def nothing_to_see(judge: Judge) -> None:
    """A query that may see nothing: 0, and never a NaN that reaches others."""
    if judge.masked and "q" in judge.masked.mask[0] and "-1e9" not in judge.masked.mask[1]:
        see = np.array(see_some(judge.masked, 2))
        see[:, :, 1] = False
        trial, right = judge.case(judge.masked, see)
        if trial and not same(np.delete(trial.o, 1, axis=2), np.delete(right, 1, axis=2)):
            judge.draft.add("an empty row spoils others")
        elif trial and not same(trial, right):
            nan = np.isnan(trial.o[:, :, 1]).any()
            judge.draft.add("NaN in an empty row" if nan else "an empty row sees all")


def large_scores(judge: Judge) -> None:
    """Scores of 10^4 and rows far apart."""
    for number, (trial, right) in enumerate(_cases(judge, 5, scale=3000.0)):
        if trial and not same(trial, right, 1e-3):
            if not np.isfinite(trial.o).all():
                return judge.draft.add("no maximum subtracted")
            return judge.draft.add(
                "large scores", ": a hidden key's score is not below all visible ones" * number
            )


def side_effects(judge: Judge) -> None:
    """Nothing is written into what was passed; a second call gives the same."""
    trials = [
        (a, b) for (a, _), (b, _) in zip(_cases(judge, 4), _cases(judge, 4), strict=True) if a
    ]
    if not all(same(a, b, nan=True) for a, b in trials):
        return judge.draft.add("not the same twice")
    if changed := {r for a, _ in trials for r in a.changed}:
        judge.draft.add(
            "in-place change", " and ".join(judge.callee.names[r] for r in sorted(changed))
        )


def strides(judge: Judge) -> None:
    """Arrays that are views, as a transposed projection is."""
    turned = {
        "numpy": np.asfortranarray,
        "torch": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    }
    if judge.how.framework[0] in turned:
        trial, right = judge.case(judge.how, cast=turned[judge.how.framework[0]])
        if trial is None:
            judge.draft.add("needs contiguous arrays", judge.last)
        elif not same(trial, right):
            judge.draft.add("ignores strides")


def lengths(judge: Judge) -> None:
    """One query, one key, and lengths that no tile divides."""
    square = judge.how.sizes["q"] == judge.how.sizes["k"]
    for n_q, n_k in [(1, 1), (1, 6), (6, 1), (4, 4), (8, 8), (13, 13), (130, 130)]:
        if (
            judge.right is attend
            and not (square and n_q != n_k)
            and not (judge.pattern and n_q > n_k)
        ):
            trial, right = judge.case(judge.how, sizes={"q": n_q, "k": n_k})
            if trial is None:
                return judge.draft.add("fails at some lengths", n_q, n_k, judge.last)
            if not same(trial, right):
                return judge.draft.add(
                    "some lengths", n_q, n_k, f"{np.abs(trial.o - right).max():.2g}"
                )


def precision(judge: Judge) -> None:
    """In fewer bits: at most twice the error of a plain implementation, and the rounding."""
    (name, to, back), sizes = judge.how.framework, judge.how.sizes | {"q": 33, "k": 33}
    seen, torch = judge.seen(sizes), sys.modules.get("torch")
    for dtype, eps in [("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)]:
        if (
            judge.right is not attend
            or (name, dtype) == ("numpy", "bfloat16")
            or name not in ("torch", "numpy")
        ):
            continue
        if name == "torch":
            cast = lambda x, t=getattr(torch, dtype): x.to(t) if x.is_floating_point() else x  # noqa: E731
            plain = lambda *low: torch.nn.functional.scaled_dot_product_attention(  # noqa: E731
                *low, torch.from_numpy(seen), enable_gqa=True
            )
        else:
            cast = lambda x, t=dtype: x.astype(t) if x.dtype == float else x  # noqa: E731
            plain = lambda *low: attend(*low, seen)  # noqa: E731
        low = [cast(to(x)) for x in judge.draw(sizes, 0).values()]
        truth = attend(*[np.asarray(back(x), float) for x in low], seen)
        trial, _ = judge.case(judge.how, sizes=sizes, cast=cast)
        if trial is None:
            judge.draft.add("not in this dtype", dtype, judge.last)
            continue
        off, normal = (
            np.abs(np.asarray(x, float) - truth).max() for x in (trial.o, back(plain(*low)))
        )
        if not off <= 2 * normal + eps * np.abs(truth).max():
            judge.draft.add("coarse in this dtype", dtype, off, normal)


def gradients(judge: Judge) -> None:
    """Backward against differences of the output, in float64."""
    few = {"B": 1, "q": 2, "k": 2 if judge.how.sizes["q"] == judge.how.sizes["k"] else 3}
    how = replace(judge.how, sizes=judge.how.sizes | few)
    if how.framework[0] != "torch" or judge.right is not attend or judge.callee.tied:
        return
    given = judge.given(how, judge.draw(how.sizes, 0))
    inputs = [given.pop(r).requires_grad_() for r in "qkv"]

    def answer(*xs: Any) -> Any:
        y = judge.callee(**dict(zip("qkv", xs, strict=True)), **given, **how.extra)
        return tuple(
            x
            for x in (y if isinstance(y, tuple | list) else [y])
            if getattr(x, "requires_grad", False)
        )

    try:
        sys.modules["torch"].autograd.gradcheck(answer, inputs, eps=1e-3, atol=1e-2, rtol=1e-2)
    except Exception as error:
        judge.draft.add(
            "gradient" if "mismatch" in str(error) else "no gradient",
            str(error).split("\n")[0][:120],
        )


CHECKS = [
    weights,
    nothing_to_see,
    large_scores,
    side_effects,
    strides,
    lengths,
    precision,
    gradients,
]
