"""One bill for the whole course: what one workload costs, before and after a change.

The workload has the shape of SmolLM2: 30 layers of 9 heads that share 3 key/value heads, each of
width 64. It reads 1,024 tokens and writes 256.

    from attention_src.costs.bill import Setup, print_bill
    print_bill(Setup("all pairs"), Setup("hidden blocks skipped", block=64))
    print_bill(Setup("no cache", cache=None), Setup("cache"))

Counted as in `costs.algorithms`: operations of matrix products; bytes between memory and chip,
where a step reads its input and writes its output once. Norms, activations, rotary positions and
softmax's own operations are left out. `bill` gives the numbers; for a method that `Setup` does not
know, make a `Bill` of your own and print that.
"""

from collections.abc import Mapping

from attention_src.costs.workload import SMOLLM2, Bill, Setup, Workload, bill

__all__ = ["SMOLLM2", "Bill", "Setup", "Workload", "bill", "print_bill"]

UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, " "))


def print_bill(
    before: Setup | Bill,
    after: Setup | Bill,
    *,
    workload: Workload = SMOLLM2,
    rows: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Print a bill before and after a change, and how many times less each entry became.

    Args:
        before, after: a Setup, or a Bill made by hand
        workload: as for `bill`
        rows: more rows, of what was measured for instance: {"seconds here": (3.1, 1.2)}
    """
    old, new = (bill(x, workload) if isinstance(x, Setup) else x for x in (before, after))
    parts = {
        "reading, attention": (old.reading, new.reading),
        "reading, the rest": (old.rest_reading, new.rest_reading),
        "writing, attention": (old.writing, new.writing),
        "writing, the rest": (old.rest_writing, new.rest_writing),
    }
    table = [("", old.name, new.name, "")]
    for label, (a, b) in parts.items():
        table.append(_row(f"{label}  FLOP", a.flops, b.flops))
        table.append(_row("bytes", a.n_bytes, b.n_bytes))
    table.append(_row("kept between tokens  bytes", old.kept, new.kept))
    table += [_row(label, a, b) for label, (a, b) in (rows or {}).items()]
    w = workload
    print(f"{w.n_layers} layers; {w.read:,} tokens read, {w.write:,} written")
    widths = [max(len(row[i]) for row in table) for i in range(4)]
    for row in table:
        print("  ".join(x.rjust(n) for x, n in zip(row, widths, strict=True)).rstrip())


def _row(label: str, before: float, after: float) -> tuple[str, str, str, str]:
    return label, _count(before), _count(after), _times(before, after)


def _count(x: float) -> str:
    """12345678 → "12.3 M"; numbers below 1000 as they are."""
    unit, sign = next((u, s) for u, s in UNITS if x >= u or u == 1)
    return f"{_digits(x / unit)} {sign}" if x else "0  "


def _times(before: float, after: float) -> str:
    if before == after:
        return "same"
    if not before or not after:
        return "new" if after else "gone"
    return f"÷ {_digits(before / after)}" if before > after else f"× {_digits(after / before)}"


def _digits(x: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"
