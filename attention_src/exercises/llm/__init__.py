"""The checks of the chapter on a language model."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.costs.roofline import CHIPS
from attention_src.exercises.engine import Case, Check, Implementation, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.messages import Result, report
from attention_src.exercises.engine.variants import variants
from attention_src.exercises.llm.patients import PATIENTS

Array = np.ndarray


class _NumberCheck(Check):
    """The answer is one number."""

    def _arrays(self, value: Any) -> list[Array]:
        return [to_array(value, "one number")]


# --- Draw a token -----------------------------------------------------------------------------


def sample(logits, temperature, top_p, u):
    if temperature == 0:
        return int(np.argmax(logits))
    p = np.exp((logits - logits.max()) / temperature)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")  # ids, the most probable first
    total = np.cumsum(p[order])  # running sums
    stay = len(p) if top_p == 1 else (total[:-1] < top_p).sum() + 1
    total = total[:stay] / total[stay - 1]
    return int(order[(total[:-1] <= u).sum()])


MARGIN = 1e-6  # no running sum in a case lies so near to top_p or to u


def clear(logits: Array, temperature: float, top_p: float, u: float) -> bool:
    """Whether rounding cannot decide which token is right."""
    if temperature == 0:
        return True
    x = logits / temperature
    p = -np.sort(-np.exp(x - x.max()) / np.exp(x - x.max()).sum())
    total = np.cumsum(p)
    stay = len(p) if top_p >= 1 else int((total[:-1] < top_p).sum()) + 1
    near_top = top_p < 1 and np.abs(total - top_p).min() < MARGIN
    near_u = np.abs(total[:stay] / total[stay - 1] - u)[:-1].min(initial=1.0) < MARGIN
    return not (near_top or near_u)


def _draw_logits(rng: np.random.Generator) -> tuple:
    n = int(rng.choice([1, 2, 3, 5, 8, 40]))
    spread = float(rng.choice([0.5, 2.0, 10.0, 1e3]))
    while True:
        logits = (spread * rng.normal(size=n)).round(2)
        if rng.random() < 0.3:
            logits = logits.round(0)  # with ties
        if rng.random() < 0.2:
            logits[rng.permutation(n)[: n // 2]] = -np.inf
        temperature = float(rng.choice([0.0, 0.3, 0.7, 1.0, 2.0, 10.0]))
        top_p = float(rng.choice([0.1, 0.5, 0.77, 0.9, 1.0]))
        args = logits, temperature, top_p, round(float(rng.random()), 6)
        if clear(*args):
            return args


def _whole(seed: int, temperature: float, top_p: float, u: float, more: float = 14.0) -> Case:
    """A vocabulary of SmolLM2's size: twenty tokens get more, nobody expects the rest."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=49152) * 2
    logits[rng.integers(0, 49152, 20)] += more
    none = "" if more else " none stands out,"
    return Case(f"49,152 tokens,{none} top_p {top_p}", (logits, temperature, top_p, u))


FOUR = np.log([0.1, 0.4, 0.3, 0.2])
THREE = np.repeat([0.0, 1.0, 2.0, 1.0], 25)
TWICE = np.array([1.0, 3.0, 0.0, 3.0, 2.0])


def _float_id(f: Callable) -> Result | None:
    said = "sample: wrong. The tokens are right, but their ids are floats. An id is a whole number."
    return report("wrong", [said]) if to_array(f(FOUR, 1.0, 1.0, 0.5)).dtype.kind == "f" else None


check_sample = _NumberCheck(
    "sample",
    sample,
    asks="f(logits [n_vocabulary], temperature, top_p, u) -> the id of a token",
    cases=[
        Case("p = 0.1, 0.4, 0.3, 0.2, all stay", (FOUR, 1.0, 1.0, 0.5)),
        Case("the same, u near 1", (FOUR, 1.0, 1.0, 0.95)),
        Case("the same, top_p 0.6: two tokens stay", (FOUR, 1.0, 0.6, 0.62)),
        Case("the same, top_p 0.8: three stay", (FOUR, 1.0, 0.8, 0.8)),
        Case("the same, top_p 0.05: one stays", (FOUR, 1.0, 0.05, 0.999)),
        Case("the same, temperature 0.5", (FOUR, 0.5, 1.0, 0.6)),
        Case("the same, temperature 0.5 and top_p 0.8", (FOUR, 0.5, 0.8, 0.9)),
        Case("the same, temperature 2 and top_p 0.6", (FOUR, 2.0, 0.6, 0.9)),
        Case("temperature 0", (FOUR, 0.0, 1.0, 0.99)),
        Case("temperature 0, two largest", (TWICE, 0.0, 1.0, 0.9)),
        Case("temperature 0, one token forbidden", (np.array([-np.inf, -5.0]), 0.0, 1.0, 0.5)),
        Case("temperature 0, 100 tokens of three logits", (THREE, 0.0, 1.0, 0.5)),
        Case("two equal logits, a small u", (TWICE, 1.0, 1.0, 0.1)),
        Case("two equal logits, top_p takes one of them", (TWICE, 1.0, 0.3, 0.9)),
        Case("u = 0", (FOUR, 1.0, 1.0, 0.0)),
        Case("one token", (np.array([-3.0]), 1.0, 0.9, 0.7)),
        Case("logits in the thousands", (np.array([9000.0, 9001.0, 8999.5]), 1.0, 0.95, 0.8)),
        Case("a temperature of a thousandth", (np.array([40.0, 41.0, 40.9]), 1e-3, 1.0, 0.4)),
        Case("forbidden tokens, -inf", (np.array([-np.inf, 1.0, -np.inf, 2.0]), 1.0, 1.0, 0.9)),
        Case("one token allowed", (np.array([-np.inf, 1.0, -np.inf]), 0.7, 1.0, 0.9)),
        Case("logits of 20,000", (np.array([20000.0, 20001.0]), 1.0, 1.0, 0.9)),
        Case("the same, a small u", (np.array([20000.0, 20001.0]), 1.0, 1.0, 0.2)),
        Case("forbidden, or -2,000,000,000", (np.array([-np.inf, -2e9]), 1.0, 1.0, 0.2)),
        Case("top_p 0.955", (np.log([0.5, 0.46, 0.04]), 1.0, 0.955, 0.99)),
        Case("a thousandth, near logits", (np.array([0.0, 0.001, 0.0004]), 1e-3, 1.0, 0.9)),
        Case("a thousandth, less near", (np.array([0.0, 0.003]), 1e-3, 1.0, 0.93)),
        Case("a temperature of a hundredth", (np.array([1.0, 1.005, 1.002]), 0.01, 1.0, 0.9)),
        Case("49 equal tokens, top_p 1", (np.zeros(49), 1.0, 1.0, 0.985)),
        Case("100 tokens of three logits", (THREE, 1.0, 1.0, 0.513)),
        Case("300 tokens, of five logits", (np.arange(300) * 7 % 5 / 2.0, 1.0, 0.9, 0.3001)),
        _whole(0, 1.0, 0.9, 0.5),
        _whole(3, 1.0, 1.0, 0.50437, more=0.0),
        Case("near logits of 10,000", (np.array([10000.0, 10000.0004]), 1e-3, 1.0, 0.45)),
        Case("p = 0.2, 0.3, 0.4, 0.1", (np.log([0.2, 0.3, 0.4, 0.1]), 1.0, 1.0, 0.5)),
        Case("two tokens stay, u = 0", (FOUR, 1.0, 0.6, 0.0)),
        Case("temperature and top_p are whole numbers", (FOUR, 2, 1, 0.7)),
    ],
    draw=_draw_logits,
    drawn=120,
    mistakes="""
multiplied: You multiply by the temperature. A low one must make large logits stand out: divide.
    p = np.exp((logits - logits.max()) * temperature)
no temperature: Your answer does not depend on the temperature, except at 0.
    p = np.exp(logits - logits.max())
not renormalised: The tokens that stay have a sum below 1, and u goes up to 1: divide by their sum.
    total = total[:stay]
without the one that reaches top_p: You keep the tokens whose running sum is at most top_p. The \
sum must *reach* top_p: the token that gets it there stays.
    stay = max((total <= top_p).sum(), 1)
one too many: You keep one token more than are needed to reach top_p.
    stay = min((total < top_p).sum() + 2, len(p))
no top_p: Your answer does not depend on top_p.
    stay = len(p)
unsorted: You go through the tokens by id. The most probable comes first.
    order = np.arange(len(p))
rarest first: You sort upwards: the least probable token comes first.
    order = np.argsort(p, kind="stable")
higher id first: Of two equally probable tokens you take the higher id first. argsort(...)[::-1] \
turns ties round as well: argsort(-p, kind='stable').
    order = np.argsort(p, kind="stable")[::-1]
nearest: You take the running sum that lies nearest to u. Take the first that exceeds u.
    return int(order[np.abs(total - u).argmin()])
turned round: You use 1 - u for u: the same distribution, but not the same token.
    return int(order[(total[:-1] <= 1 - u).sum()])
no shift: exp overflows above 709. Subtract the largest logit first: p does not change.
    p = np.exp(logits / temperature)
top_p before temperature: You look for the tokens that stay before the temperature is applied.
    p = np.exp((logits - logits.max()) / temperature)
    + at_1 = np.exp(logits - logits.max())
    + at_1 /= at_1.sum()
    stay = len(p) if top_p == 1 else (np.cumsum(at_1[order])[:-1] < top_p).sum() + 1
place, not token: You return the place in the sorted order. Which token stands there?
    - return int(np.argmax
    + return 0
    return int((total[:-1] <= u).sum())
place, not token, but for temperature 0: You return the place in the sorted order. Which token \
stands there?
    return int((total[:-1] <= u).sum())
always the likeliest: You always take the most probable token. That is temperature 0.
    if True:
without the one that reaches top_p, but for 1: You keep the tokens whose running sum is below \
top_p. The sum must *reach* top_p: the token that gets it there stays.
    stay = len(p) if top_p == 1 else max((total < top_p).sum(), 1)
""",
    also=_float_id,
    hints=[
        "order = np.argsort(-p, kind='stable') holds ids, and p[order] falls.",
        "How many running sums are still below top_p? One token more than that stays.",
        "Among those, how many running sums, divided by the last, are at most u? That is the "
        "place in the order.",
    ],
)

# --- A test of a sampler ----------------------------------------------------------------------


def by_loop(logits: Array, temperature: float, top_p: float, u: float) -> int:
    """Token by token, with Python's own lists."""
    rows = [float(x) for x in logits]
    if temperature == 0:
        return rows.index(max(rows))
    e = np.exp((np.asarray(rows) - max(rows)) / temperature).tolist()
    needed, stay, total = sum(e) * top_p, [], 0.0
    for i in sorted(range(len(e)), key=lambda i: -e[i]):
        stay.append(i)
        total += e[i]
        if top_p < 1 and total >= needed:
            break
    so_far = 0.0
    for i in stay:
        so_far += e[i]
        if so_far > u * total:
            return i
    return stay[-1]


def _samplers(text: str) -> list[Implementation]:
    """What has no lines there is the mistake of this name above. A test may pass lists, too."""
    named: dict[str, Any] = {one.name: one.wrong for one in check_sample.mistakes}
    made: list[Any] = list(variants(sample, text))
    return [
        Implementation(name, _of_lists(f if f.lines else named[name]), why) for name, f, why in made
    ]


def _of_lists(f: Callable) -> Callable:
    return lambda logits, *how: f(np.asarray(logits, dtype=np.float64), *how)


check_sampler_test = TestCheck(
    "my_sampler_test",
    asks="test(sample), which raises AssertionError if the sampler draws wrongly",
    right=[
        Implementation("running sums", _of_lists(sample), "it follows the text"),
        Implementation("a loop", by_loop, "it goes token by token"),
        *_samplers("""
searchsorted: it returns a NumPy integer
    - return int(np.argmax
    + return logits.argmax()
    stay = len(p) if top_p == 1 else min(np.searchsorted(total, top_p), len(p) - 1) + 1
    return order[np.searchsorted(total[:-1], u, side="right")]
float32: it computes in float32: keep u and top_p away from running sums by 1e-5
    - if temperature
    + logits, temperature = logits.astype(np.float32), np.float32(temperature)
    + if temperature == 0:
rounded up: its sums are rounded up: keep u and top_p away from running sums by 1e-5
    stay = len(p) if top_p == 1 else (total[:-1] * (1 + 1e-6) < top_p).sum() + 1
    return int(order[(total[:-1] * (1 + 1e-6) <= u).sum()])
rounded down: its sums are rounded down: keep u and top_p away from running sums by 1e-5
    stay = len(p) if top_p == 1 else (total[:-1] * (1 - 1e-6) < top_p).sum() + 1
    return int(order[(total[:-1] * (1 - 1e-6) <= u).sum()])
"""),
    ],
    wrong=_samplers("""
multiplies: it multiplies by the temperature. Do you try one that is not 1?
    p = np.exp((logits - logits.max()) * temperature)
no temperature: it ignores the temperature. Do you try one that is not 1?
divides twice: it divides by the temperature twice
    p = np.exp((logits - logits.max()) / temperature**2)
no temperature above 1: it takes temperatures above 1 for 1. Do you try one?
    p = np.exp((logits - logits.max()) / min(temperature, 1.0))
no top_p: it ignores top_p
without the one that reaches top_p: it drops the token that makes the sum reach top_p
one too many: it keeps one token too many
never one alone: it keeps two tokens where one reaches top_p by itself. Have you such a case?
    stay = len(p) if top_p == 1 else min(max((total[:-1] < top_p).sum() + 1, 2), len(p))
not renormalised: it does not divide by the sum of the tokens that stay
top_p before temperature: its top_p looks at p before the temperature. Do you use both at once?
higher id first: of two equal tokens it takes the higher id first. Have you two equal logits?
last of the largest: at temperature 0 it takes the last of the largest. Have you two of them?
    - return int(np.argmax
    + return int(len(logits) - 1 - np.argmax(logits[::-1]))
draws at temperature 0: at temperature 0 it draws as at 1
    if (temperature := temperature or 1.0) == 0:
turned round: it uses 1 - u for u: the same distribution, but not the same token
unsorted: it goes through the tokens by id
no shift: it overflows at logits above 709. Have you any?
"""),
    hints=[
        "Start from probabilities: logits = np.log([0.1, 0.4, 0.3, 0.2]) is easy to do by hand.",
        "u = 0.39 and u = 0.41 stand on two sides of a running sum of 0.4.",
        "With top_p = 0.6 the tokens 1 and 2 stay, as 4/7 and 3/7: u = 0.5 gives 1, u = 0.6 gives "
        "2. At temperature 0.5 the probabilities are proportional to p².",
    ],
)

# --- Perplexity -------------------------------------------------------------------------------


def perplexity(logits, ids, counted):
    s = logits[:, :-1]  # [B, n - 1, n_vocabulary]: what is expected next
    s = s - s.max(axis=-1, keepdims=True)
    log_p = s - np.log(np.exp(s).sum(axis=-1, keepdims=True))
    loss = -np.take_along_axis(log_p, ids[:, 1:, None], axis=-1)[..., 0]
    return np.exp(loss[counted[:, 1:]].mean())


def _texts(name: str, logits: Any, ids: Any, counted: Any) -> Case:
    return Case(name, (np.array(logits), np.array(ids), np.array(counted, dtype=bool)))


def _some(name: str, seed: int, sizes: tuple[int, int, int], lengths: Any, spread: float) -> Case:
    """Drawn texts. sizes: B, n, n_vocabulary; lengths: (first, end) of what each text counts."""
    rng = np.random.default_rng(seed)
    counted = np.zeros(sizes[:2], dtype=bool)
    for row, (first, end) in zip(counted, lengths, strict=True):
        row[first:end] = True
    logits = (spread * rng.normal(size=sizes)).round(2)
    return _texts(name, logits, rng.integers(0, sizes[2], sizes[:2]), counted)


def _draw_texts(rng: np.random.Generator) -> tuple:
    B, n, n_vocabulary = int(rng.integers(1, 4)), int(rng.integers(2, 7)), int(rng.integers(2, 6))
    counted = rng.random((B, n)) < rng.choice([0.4, 0.7, 1.0])
    counted[rng.integers(0, B), rng.integers(1, n)] = True
    logits = rng.normal(size=(B, n, n_vocabulary)) * rng.choice([0.5, 2.0, 8.0])
    if rng.random() < 0.3:
        logits += rng.choice([-5000.0, 5000.0])
    return logits, rng.integers(0, n_vocabulary, (B, n)), counted


RARE = [[[0.0, 800.0], [1.0, 0.5], [0.0, 0.0]]]
SURE = [[[800.0, 0.0], [0.0, 0.0], [0.0, 0.0]]]
FAR = [[[5000.0, 5001.0, 4990.0], [5003.0, 5000.5, 5001.0]]]

check_perplexity = _NumberCheck(
    "perplexity",
    perplexity,
    asks="f(logits [B, n, n_vocabulary], ids [B, n], counted [B, n]) -> perplexity",
    cases=[
        _some("one text of three tokens", 0, (1, 3, 4), [(1, 3)], 1.0),
        _some("one text, the first two are context", 1, (1, 5, 3), [(2, 5)], 1.0),
        _some("counted[0, 0] is True", 2, (1, 4, 3), [(0, 4)], 1.0),
        _some("two texts, one padded", 3, (2, 5, 4), [(1, 5), (1, 3)], 1.0),
        _some("two texts, one with a long context", 4, (2, 6, 4), [(1, 6), (5, 6)], 2.0),
        _some("three texts, one of them not counted", 5, (3, 4, 5), [(1, 4), (0, 0), (2, 3)], 2.0),
        _some("logits in the hundreds", 6, (2, 4, 3), [(1, 4), (1, 3)], 40.0),
        _texts("a token of probability e^-800 that is not counted", RARE, [[0, 0, 1]], [[1, 0, 1]]),
        _texts("a token of probability e^-800 that is counted", RARE, [[0, 0, 1]], [[0, 1, 1]]),
        _texts("a token of probability 1, to rounding", SURE, [[0, 0, 0]], [[0, 1, 1]]),
        _texts("logits near 20,000", [[[20000.0, 20002.0]] * 2], [[0, 0]], [[1, 1]]),
        _texts("logits near 5,000", FAR, [[2, 0]], [[0, 1]]),
        _some("twelve tokens, a vocabulary of 2,000", 7, (1, 12, 2000), [(1, 12)], 2.0),
        _texts("a vocabulary of one", [[[3.0]] * 3], [[0, 0, 0]], [[0, 1, 1]]),
        _some("four texts", 8, (4, 3, 5), [(1, 3)] * 4, 2.0),
    ],
    draw=_draw_texts,
    mistakes="""
no shift: You compare logits[:, t] with ids[:, t]. They speak of the token *after* t.
    s = logits[:, 1:]
mean of means: You average each text first, then the texts: a text with one counted token weighs \
as much as one with five. Average over all counted tokens.
    return np.exp(np.mean([x[c].mean() for x, c in zip(loss, counted[:, 1:]) if c.any()]))
all tokens: You count every token, padding and context too.
    return np.exp(loss.mean())
divided by all: Your sum is right. Divide it by the number of tokens that are counted.
    return np.exp((loss * counted[:, 1:]).sum() / loss.size)
the wrong end of counted: counted[:, t] says whether token t is counted, not whether what follows \
it is.
    return np.exp(loss[counted[:, :-1]].mean())
mean of exponentials: You exponentiate, then average. Average the losses first.
    return np.exp(loss[counted[:, 1:]]).mean()
mean of probabilities: You average probabilities. Average their logarithms.
    return 1 / np.exp(-loss[counted[:, 1:]]).mean()
not exponentiated: That is the mean loss. Perplexity is e to the power of it.
    return loss[counted[:, 1:]].mean()
base 2: Losses in nats go with e: np.exp, not 2 to the power.
    return 2 ** loss[counted[:, 1:]].mean()
per text: You divide by the number of texts. Divide by the number of counted tokens.
    return np.exp((loss * counted[:, 1:]).sum() / len(ids))
no maximum taken out: exp overflows above 709. Subtract each row's largest logit first: p does \
not change.
    - s = s - s.max
softmax without its maximum: exp overflows above 709. Subtract each row's largest logit first: p \
does not change.
    - s = s - s.max
    log_p = np.log(np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True))
probabilities computed: One may be too small for a float: it becomes 0, and its logarithm -inf. Do \
not compute p: ln p is the logit minus the logarithm of a sum.
    log_p = np.log(np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True))
""",
    hints=[
        "logits[:, :-1] speak of ids[:, 1:]; so does counted[:, 1:].",
        "log p = logits - log-sum-exp, with the row's maximum taken out first.",
        "loss[counted[:, 1:]].mean() is one mean over all texts.",
    ],
)

# --- What one token costs ---------------------------------------------------------------------

LAYERS, H, H_KV, D, D_MODEL, D_FFN, VOCABULARY = 30, 9, 3, 64, 576, 1536, 49152
QKVO = D_MODEL * D * (2 * H + 2 * H_KV)  # W_Q, W_O, W_K, W_V of one layer
FFN = 3 * D_MODEL * D_FFN
IN_LAYERS, TABLE = LAYERS * (QKVO + FFN), D_MODEL * VOCABULARY
MATRICES = IN_LAYERS + TABLE
A_KEY = LAYERS * H * 4 * D  # FLOP of one new token for each key: q·k and p·v
H100 = CHIPS["H100"]

# fmt: off
check_flops_ladder = Ladder("flops", [
    Rung("a", "numbers in the matrices of one layer", QKVO + FFN, {
        4 * D_MODEL**2 + FFN: "Keys and values have 3 heads, not 9: W_K and W_V are 576 by 192.",
        QKVO: "That is attention. The network comes on top.",
        FFN: "That is attention with two of the three matrices of the network, or the network "
            "alone: attention has four.",
    }, hint="W_Q and W_O are 576 by 576, W_K and W_V 576 by 192, three are 576 by 1,536.", rtol=0),
    Rung("b", "numbers in all matrices", MATRICES, {
        IN_LAYERS: "The table of 49,152 tokens is a matrix too.",
        IN_LAYERS + 2 * TABLE: "The table of embeddings is used again for the logits: it is there "
            "once.",
    }, hint="30 layers, and one table of 49,152 rows of 576.", rtol=0),
    Rung("c", "FLOP of all matrices for one new token", 2 * MATRICES, {
        MATRICES: "Each number takes a multiplication and an addition.",
        2 * IN_LAYERS: "Logits are a product with the table of tokens: that counts.",
    }, hint="Two for each number in a matrix."),
    Rung("d", "FLOP of attention for one new token that sees 1,024", 1024 * A_KEY, {
        1024 * A_KEY / 2: "There are two products: with K and with V.",
        1024 * A_KEY / LAYERS: "That is one layer. There are 30.",
        1024 * A_KEY * H_KV / H: "Keys are shared, not queries: 9 heads compute.",
        1024 * A_KEY * 1024: "One new token asks, not all 1,024.",
    }, hint="30 layers, 9 heads; each key costs 2 · 64 for its score, as much for its value."),
    Rung("e", "the number of keys at which attention costs as much as the matrices",
         2 * MATRICES / A_KEY, {
        MATRICES / A_KEY: "(d) grows by 4 · 64 for each key and head.",
        1024 * A_KEY / (2 * MATRICES): "That is the share at 1,024.",
    }, hint="(d) grows in proportion to the keys. When does it reach (c)?"),
    Rung("f", "tokens a second at most on an H100, one text, 16 bits",
         H100.bytes_per_s / (2 * MATRICES), {
        H100.peak() / (2 * MATRICES): "So many operations it could do. But each token needs every "
            "matrix read from memory.",
        H100.bytes_per_s / MATRICES: "A number in 16 bits takes two bytes.",
        H100.bytes_per_s / (4 * MATRICES): "That is for 32 bits.",
    }, hint="Each token reads every matrix once. How many bytes is that?"),
], asks="the rungs of \"What one token costs\"")
# fmt: on

# --- Three patients ---------------------------------------------------------------------------

TOO_LOUD = "With that one the perplexity would be above a thousand, and the text no English."

# fmt: off
check_patients = Ladder("patients", [
    Rung(name, f"the mistake of patient {name}", number, {
        4: "That one would give a perplexity that is far too good, below 5.",
        5: TOO_LOUD,
        6: TOO_LOUD,
    }, hint="Write the mistake that you suspect and compare logits: below 0.001, it is the one.",
         rtol=0)
    for name, (number, _) in PATIENTS.items()
], asks="which mistake each patient has")
# fmt: on
