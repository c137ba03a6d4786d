"""Which modules of a layer make queries, keys and values, and how many heads it has."""

import re
from typing import Any

from attention_src.judge.calls.calling import Config, role

WORD = r"w?([qkv])(s|lin|uery|ueries|ey|eys|alue|alues)?"  # in the name of a projection
FUSED = "qkv|kqv|c_attn|in_proj|query_key|kv(?!_)"


def find_parts(names: dict[Any, str], modules: list) -> tuple[dict[str, list], Any]:
    """By their names, or else by the order in which they run, as `modules` are given.

    Returns: modules for "q", "k", "v", or for several at once, as "qkv"; and the last projection
    """
    parts: dict[str, list[Any]] = {}
    for m in modules:
        words = re.findall("[a-z]+", names[m])
        found = {part[1] for word in words if (part := re.fullmatch(WORD, word))}
        if fused := re.search(FUSED, names[m]):
            found = {"kv" if "q" in parts or fused[0] == "kv" else "qkv"}
        if len(found) == 1:
            parts.setdefault(found.pop(), []).append(m)
    if not parts and len(modules) > 1:
        kinds = {2: ["qkv"], 3: ["q", "kv"]}.get(len(modules), list("qkv"))
        parts = {kind: [m] for kind, m in zip(kinds, modules, strict=False)}
    used = [m for part in parts.values() for m in part]
    return parts, next((m for m in reversed(modules) if m not in used), None)


def head_sizes(layer: Any, width: dict[str, int], many: int) -> list[dict[str, int]]:
    """Heads of queries (H) and keys (G) and their width d, likeliest first.

    `width` is that of what each part gives, `many` tells how many modules make queries.
    """
    known: dict[str, int] = {}
    for holder in filter(None, (layer, getattr(layer, "config", None))):
        ours = holder.sizes_of_axes if isinstance(holder, Config) else vars(holder)
        for name, value in ours.items():
            if type(value) is int and value > 0:
                known.setdefault(role(name), value)
    q = next(
        (width[part] // len(part) for part in ("q", "qkv", "k", "v", "kv") if part in width), 1
    )
    guess = [q // known["d"]] if q % known.get("d", q + 1) == 0 else [1, 3, 2, 4]
    found = []
    for H in [many] if many > 1 else [known["H"]] if "H" in known else guess:
        if "qkv" in width:
            G = known.get("G", H)
            d = width["qkv"] // (H + 2 * G)
        else:
            k = width.get("k") or width.get("kv", 2 * q) // 2
            G = max(1, k * H // q)
            d = q // H
        found.append({"H": H, "G": G, "d": d, "e": d})
    return found


def to_identities(torch: Any, layer: Any, D: int) -> None:
    """Let the weights of a layer without projections' modules do nothing."""
    with torch.no_grad():
        for p in layer.parameters():
            eye = torch.eye(p.shape[-1]).repeat(p.shape[0], 1)[: p.shape[0]]
            p.copy_(eye if p.ndim > 1 else 0 * p)


def to_random(torch: Any, layer: Any) -> None:
    """Give a layer weights that show something: some are 0, or tiny, at first."""
    with torch.no_grad():
        for p in layer.parameters():
            generator = torch.Generator().manual_seed(p.numel())
            p.copy_(torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5)
