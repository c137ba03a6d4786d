"""The checks of the chapter on why attention was invented."""

import math

import numpy as np

from attention_src.exercises.engine import Case, Check, DesignCheck, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array

# --- Is the vector too small? -----------------------------------------------------------------

LETTER, WIDTH, BATCH = math.log2(26), 52, 64
SORTED = math.log2(math.comb(33, 8))
FAST, SLOW = 350, 5600  # steps to about two thirds of the 8-letter words

check_budget = Ladder("budget", [
    Rung("a", "the longest word that fits into 52 signs", WIDTH // LETTER, {
        WIDTH / LETTER: "Whole letters only: round down.",
        round(WIDTH / LETTER, 2): "Whole letters only: round down.",
        round(WIDTH / LETTER, 1): "Whole letters only: round down.",
        8: "Eight is what they practised. Would a longer word fit?",
        WIDTH: "These are the signs. A letter takes more than one: log2(26).",
        WIDTH // LETTER + 1: "This one needs more than 52 bits. Round down.",
        WIDTH // 5: "With 5 bits for each letter. Words can share bits.",
        WIDTH // math.log(26): "This is the natural logarithm. Bits need base 2.",
    }, hint="52 bits, divided by what one letter needs, rounded down.", rtol=0),
    Rung("b", "bits of eight sorted letters", SORTED, {
        math.log(math.comb(33, 8)): "This is the natural logarithm. Bits need base 2.",
        math.comb(33, 8): "These are the strings. Take the logarithm.",
        8 * LETTER: "This tells all strings apart, in any order. Sorted, many are one.",
        8 * LETTER - math.log2(math.factorial(8)): "26**8 / 8! counts as if no letter came twice. "
            "There are comb(33, 8).",
        math.log2(math.comb(26, 8)): "comb(26, 8) has no letter twice. A string may have.",
        24: "Rounded too far: give one decimal.",
    }, hint="math.log2 of how many there are.", rtol=0.003),  # one decimal
    Rung("c", "strings seen with attention", FAST * BATCH, {
        FAST: "These are steps. Each shows 64 strings.",
        2 * FAST * BATCH: "After 700 steps it copies more than nine in ten.",
        FAST * BATCH * 8: "These are letters. How many strings?",
    }, hint="The steps at about two thirds, and 64 strings in each.", rtol=0),
    Rung("d", "strings seen with one vector", SLOW * BATCH, {
        SLOW: "These are steps. Each shows 64 strings.",
        2 * SLOW * BATCH: "After 11,200 steps it copies more than four in five.",
        SLOW // 2 * BATCH: "After 2,800 steps it copies less than half.",
        SLOW * BATCH * 8: "These are letters. How many strings?",
        360_000: "Rounded too far: give three digits.",
    }, hint="The steps at about two thirds, and 64 strings in each."),
    Rung("e", "numbers within the reach of attention", 8 * 48, {
        48: "This is one state. Attention may look at each of the eight.",
        8 * WIDTH: "The copyist with attention has states of 48 numbers.",
        9 * 48: "The writer begins with the last state, which is one of the eight.",
        8 * 8: "These are the weights. How many numbers do they average?",
    }, hint="A state for each letter.", rtol=0),
], asks="the rungs of the exercise \"Is the vector too small?\"")  # fmt: skip

# --- From scores to contexts ------------------------------------------------------------------


def my_contexts(s, h):
    e = np.exp(s)
    p = e / e.sum(axis=1, keepdims=True)
    return p @ h


def _noise(seed: int, *shape: int) -> np.ndarray:
    """Fixed numbers, the same at each call."""
    return np.random.default_rng(seed).normal(size=shape)


STATES = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 5.0]])
SCORES = np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.0], [0.5, 0.5, 0.5], [-2.0, 2.0, 1.0]])


def _draw(rng: np.random.Generator) -> tuple:
    """Any sizes from 1 to 6, scores up to ±20."""
    m, n, d = rng.integers(1, 7, 3)
    spread = rng.choice([0.5, 3.0, 20.0])
    return rng.uniform(-spread, spread, (m, n)), rng.normal(size=(n, d))


check_contexts = Check(
    "contexts",
    my_contexts,
    asks="f(s, h) -> contexts [m, d]",
    cases=[
        Case("one step", (SCORES[:1], STATES)),
        Case("four steps", (SCORES, STATES)),
        Case("equal scores", (np.zeros((2, 3)), STATES)),
        Case("scores of 20 and -20", (np.array([[20.0, -20.0, 19.0]]), STATES)),
        Case("one state", (np.array([[3.0], [-1.0]]), STATES[2:])),
        Case("states of one number", (SCORES, STATES[:, :1])),
        Case("the same scores, other states", (SCORES, STATES[::-1] - 1)),
        Case("many steps and states of many numbers", (4 * _noise(7, 23, 31), _noise(8, 31, 19))),
        Case("as many steps as states", (SCORES[:3], STATES)),
        Case("four steps, to twelve digits", (SCORES, STATES), rtol=1e-12),
        Case("large states that cancel", (np.zeros((2, 2)), np.array([[10000.1], [-10000.2]]))),
    ],
    mistakes="""
wrong axis: Your weights sum to 1 over the steps. Each step shares out one unit over the states: \
sum over axis 1.
    p = e / e.sum(axis=0, keepdims=True)
one sum: All your weights together sum to 1. Those of each step should: sum over axis 1.
    p = e / e.sum()
no normalisation: The weights of a step must sum to 1. Divide by the row's sum.
    p = e
scores as weights: These are scores. Make weights of them.
    p = s
no exponential: You divided the scores themselves by their sum. Take np.exp of them first.
    e = s
the best state alone: You take the state with the largest score. Average all states, by their \
weights.
    return h[s.argmax(axis=1)]
plain mean: This is the plain mean of the states: the scores play no part.
    return np.tile(h.mean(axis=0), (len(s), 1))
the last state: This is the copyist with one vector: the last state, at each step.
    return np.tile(h[-1], (len(s), 1))
no keepdims: Your sums are a row, and meet the columns: a square table hides it. Sum with \
keepdims=True.
    p = e / e.sum(axis=1)
transposed weights: p.T @ h averages over the steps. Row i of p belongs to step i: p @ h.
    return p.T @ h
divided again: The weights sum to 1 already. Their average is p @ h, without another division.
    return p @ h / len(h)
powers of 2: You took 2**s. The exponential is np.exp(s).
    e = 2.0**s
by the largest: You divided by the row's largest exponential. Divide by the row's sum.
    p = e / e.max(axis=1, keepdims=True)
weights only: These are the weights. Average the states with them: p @ h.
    return p
""",
    draw=_draw,
)

# --- Read it backwards, by hand ---------------------------------------------------------------

LENGTHS = (3, 2, 1, 4, 5, 8, 13, 50, 101, 300, 1000, 640, *range(6, 41))
# The least score that does gives 0.99 but for rounding.
LEAST, LARGEST = 0.99 - 1e-9, 50.0


def _problem(n: int, answer: np.ndarray) -> str:
    """The first thing that is wrong with the scores for n letters; "" if nothing is."""
    if answer.shape != (n, n):
        return f"  expected shape ({n}, {n}), yours has shape {answer.shape}"
    s = answer.astype(np.float64)
    if not np.isfinite(s).all() or np.abs(s).max() > LARGEST:
        return "  Scores must be finite numbers from -50 to 50."
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    here = p[np.arange(n), np.arange(n)[::-1]]
    step = int(np.argmin(here))
    if here[step] >= LEAST:
        return ""
    where = int(p[step].argmax())
    said = f"  At step {step} the weight of letter {n - 1 - step} is {here[step]:.3f}"
    if where != n - 1 - step:
        return f"{said}; the largest, {p[step, where]:.3f}, is that of letter {where}."
    others = p[step].sum() - here[step]
    return f"{said}. The {n - 1} other letters share {others:.3f}: make your score larger."


check_reversal = DesignCheck(
    "reversal",
    read=lambda answer: [to_array(answer, "scores [n, n]")],
    problem=_problem,
    praise=lambda answer: f". Words of up to {max(LENGTHS):,} letters are read backwards.",
    sizes=LENGTHS,
    asks="f(n) -> scores [n, n] whose weights read n letters backwards",
)

# --- Does it look at all? ---------------------------------------------------------------------


def dot(q, h):
    s = q @ h.T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


ROUNDS = (
    "Either your test asks for more than the three rules, or it compares too closely and refuses "
    "it for rounding alone: allow for differences of 1e-5."
)
check_looking_test = TestCheck(
    "my_looking_test",
    asks="test(attention), which raises AssertionError if the weights do not follow the content",
    of=dot,
    right=f"""
dot: each score sees its own state and nothing else. {ROUNDS}
general: a matrix between q and h looks at h all the same. {ROUNDS}
    s = (h @ _noise(1, q.shape[1], h.shape[1]).T @ q.T).T / np.sqrt(q.shape[1])
additive: tanh and a vector make a score of content too. {ROUNDS}
    s = (q @ _noise(2, q.shape[1], 6))[:, None] + h @ _noise(3, h.shape[1], 6)
    + s = np.tanh(s) @ _noise(4, 6)
distance: the distance from q to a state is content. {ROUNDS}
    s = -((q[:, None] - h) ** 2).sum(axis=-1)
cosine: the cosine of q and a state is content. It stays as it was when a state is stretched, and \
may. {ROUNDS}
    s = (q @ h.T) / np.outer(np.linalg.norm(q, axis=1), np.linalg.norm(h, axis=1))
float32: it computes in float32, so allow for differences of 1e-5
    s = q.astype(np.float32) @ h.astype(np.float32).T / np.float32(np.sqrt(q.shape[1]))
from the last: the order of adding up is no place. {ROUNDS}
    s = np.array([[row @ state for state in h[::-1]] for row in q])[:, ::-1]
    e = np.exp(np.clip(s, -300, 300))
""",
    wrong="""
by place: its scores never see h: the tutorial
    s = q @ _noise(5, q.shape[1], len(h))
uniform: its weights follow any exchange of places, since all are equal. Do they change when the \
content does?
    s = np.zeros((len(q), len(h)))
last state: it looks at the last state, whatever it holds
    return np.tile(np.eye(len(h))[-1], (len(q), 1))
place and content: it likes later places better
    s = q @ h.T + 0.3 * np.arange(len(h))
by the mean: it sees the mean of h, not who stands where
    s = (q * h.mean(axis=0)) @ _noise(6, q.shape[1], len(h))
sorted: it weighs the right contents, at wrong places
    s = q @ h[np.argsort(h[:, 0])].T
next state: each place gets its neighbour's weight. Reverse h, or exchange two states: a plain \
turn of the circle shows nothing
    s = q @ np.roll(h, -1, axis=0).T
differences: a score depends on the state next door
    s = q @ (h - np.roll(h, 1, axis=0)).T
wrong axis: its columns sum to 1, its rows do not
    e = np.exp(s - s.max(axis=0))
    return e / e.sum(axis=0)
not normalised: its rows do not sum to 1
    return np.exp(np.clip(s, -300, 300))
scores only: its weights are scores, stretched, without an exponential: some are negative
    return 1 / len(h) + 2 * (s - s.mean(axis=1, keepdims=True)) / np.ptp(s, axis=1, keepdims=True)
negative: its rows sum to 1, and some of its weights are negative
    return 1 / len(h) + 2 * (e - e.mean(axis=1, keepdims=True)) / np.ptp(e, axis=1, keepdims=True)
first place: it likes the first place better. Did the state there change its place in your test?
    s = q @ h.T + 2.0 * (np.arange(len(h)) == 0)
whole table: its rows sum to 1 on average alone. Do you look at each row's sum?
    e = np.exp(np.clip(s, -300, 300))
    return e / e.sum() * len(q)
last step by place: the last step is blind. Do you look at all rows?
    + s[-1:] = q[-1:] @ _noise(5, q.shape[1], len(h))
first step by place: the first step is blind. Do you look at all rows?
    + s[:1] = q[:1] @ _noise(5, q.shape[1], len(h))
faint: a hundredth of each row goes to the last place. Did the last place move, and is your \
tolerance small enough?
    return 0.99 * e / e.sum(axis=1, keepdims=True) + 0.01 * np.eye(len(h))[-1]
""",
)
