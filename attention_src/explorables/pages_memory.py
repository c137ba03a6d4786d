"""Texts in one memory of few slots: in rooms for the longest that each may become, or on pages.

The rules are those of `kvcache.cache_pool.PagePool` and `kvcache.cache_paged.PagedKVCache`, without
tensors: the tests run both on the same events.
"""

from collections.abc import Sequence
from dataclasses import dataclass

SLOTS = 48  # of the memory; a slot holds the keys and values of one token
SIZES = (1, 2, 4, 8, 16)  # slots in a page
POLICIES = ("pages", "reserve")
KINDS = ("token", "reserved", "tail", "hole", "free")  # what a slot can be


@dataclass(frozen=True)
class Text:
    """A text that grows.

    name: one letter
    prompt: tokens that it begins with
    every: it writes one token in each `every` steps
    limit: the most tokens that it may have
    """

    name: str
    prompt: int
    every: int
    limit: int


# D begins with the tokens that another text has by then.
TEXTS = {x.name: x for x in (Text("A", 6, 1, 16), Text("B", 2, 3, 12), Text("C", 5, 2, 16))}
TEXTS["D"] = Text("D", 0, 1, 16)


class Rooms:
    """Each text keeps room for its limit, in one piece: the first gap that is large enough.

    A text for which no gap is large enough waits.
    """

    def __init__(self) -> None:
        self.length: dict[str, int] = {}  # tokens of each text that has a room
        self.table: dict[str, list[int]] = {}  # the first slot of its room
        self.waits: dict[str, int] = {}  # texts without a room, and the tokens they begin with
        self.copied: list[tuple[str, int, int]] = []

    def begin(self, name: str, n: int) -> None:
        """Let a text begin, as soon as there is room.

        Args:
            name: one of TEXTS
            n: tokens that it begins with
        """
        self.waits[name] = n
        self._place()

    def like(self, new: str, old: str) -> None:
        """Let a text begin with all tokens that another one has.

        Args:
            new: the text that begins
            old: the text whose tokens it takes; they are stored once more
        """
        self.begin(new, self.length[old])

    def write(self, name: str) -> None:
        """Add a token to a text that has a room.

        Args:
            name: of the text
        """
        self.length[name] += 1

    def end(self, name: str) -> None:
        """Give a text's room back.

        Args:
            name: of the text
        """
        self.length.pop(name, None)
        self.table.pop(name, None)
        self.waits.pop(name, None)
        self._place()

    def slots(self) -> list[tuple[str, str]]:
        """What memory holds.

        Returns: for each slot one of KINDS and the letter of its text, or nothing; a free slot
            is in a gap with room for another text of 16, a hole in a gap without
        """
        memory = [("free", "")] * SLOTS
        for name, [start] in self.table.items():
            for j in range(TEXTS[name].limit):
                memory[start + j] = ("token" if j < self.length[name] else "reserved", name)
        for start, n in self._gaps():
            if n < TEXTS["D"].limit:
                memory[start : start + n] = [("hole", "")] * n
        return memory

    def _place(self) -> None:
        for name, n in list(self.waits.items()):
            fits = [start for start, gap in self._gaps() if gap >= TEXTS[name].limit]
            if fits:
                self.table[name], self.length[name] = [fits[0]], n
                del self.waits[name]

    def _gaps(self) -> list[tuple[int, int]]:
        """First slot and length of each gap between rooms."""
        gaps, at = [], 0
        rooms = [(start, TEXTS[name].limit) for name, [start] in self.table.items()]
        for start, n in sorted([*rooms, (SLOTS, 0)]):
            if start > at:
                gaps.append((at, start - at))
            at = start + n
        return gaps


class Pages:
    """A text takes a page when its last one is full; texts with one beginning share its pages.

    A shared page is copied before one of its users writes into it. A text that needs a page when
    none is free waits.

    Args:
        size: slots in a page
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.length: dict[str, int] = {}  # tokens of each text
        self.table: dict[str, list[int]] = {}  # its pages, in order
        self.waits: dict[str, int] = {}  # texts that need a page, and their tokens
        self.copied: list[tuple[str, int, int]] = []  # in this step: text, shared page, its copy
        self.users = [0] * (SLOTS // size)
        self.free = list(range(SLOTS // size))[::-1]  # taken from the end: page 0 first

    def begin(self, name: str, n: int) -> None:
        """Let a text begin.

        Args:
            name: one of TEXTS
            n: tokens that it begins with
        """
        self.length[name], self.table[name] = 0, []
        for _ in range(n):
            self.write(name)

    def like(self, new: str, old: str) -> None:
        """Let a text begin with all tokens that another one has, on the same pages.

        Args:
            new: the text that begins
            old: the text whose pages it shares
        """
        self.length[new], self.table[new] = self.length[old], list(self.table[old])
        for page in self.table[old]:
            self.users[page] += 1

    def write(self, name: str) -> None:
        """Add a token to a text, on a new page or a copy if it needs one.

        Args:
            name: of the text
        """
        table, full = self.table[name], self.length[name] % self.size == 0
        shared = not full and self.users[table[-1]] > 1
        self.waits.pop(name, None)
        if (full or shared) and not self.free:
            self.waits[name] = self.length[name]
            return
        if shared:
            self.users[table[-1]] -= 1
            self.copied.append((name, table.pop(), self.free[-1]))
        if full or shared:
            table.append(self.free.pop())
            self.users[table[-1]] = 1
        self.length[name] += 1

    def end(self, name: str) -> None:
        """Give back the pages that no other text uses.

        Args:
            name: of the text
        """
        del self.length[name]
        self.waits.pop(name, None)
        for page in self.table.pop(name):
            self.users[page] -= 1
            if self.users[page] == 0:
                self.free.append(page)

    def slots(self) -> list[tuple[str, str]]:
        """What memory holds.

        Returns: for each slot one of KINDS and the letters of its texts
        """
        memory = [("free", "")] * SLOTS
        for name, table in self.table.items():
            for j in range(len(table) * self.size):
                slot = table[j // self.size] * self.size + j % self.size
                kind = "token" if j < self.length[name] else "tail"
                memory[slot] = (kind, memory[slot][1] + name)
        return memory


def run(events: Sequence[str], size: int, policy: str) -> Rooms | Pages:
    """What the memory holds after some events.

    Args:
        events: "next" (each text whose turn it is writes a token), "end B", or "like A" (D begins
            like A); what cannot happen, does not
        size: one of SIZES, for pages
        policy: one of POLICIES
    Returns: the memory, with each text's tokens and table
    Raises:
        ValueError: a size or a policy that is none of these
    """
    if size not in SIZES:
        raise ValueError(f"size is {size!r}; it should be one of {SIZES}")
    if policy not in POLICIES:
        raise ValueError(f"policy is {policy!r}; it should be one of {POLICIES}")
    memory: Rooms | Pages = Pages(size) if policy == "pages" else Rooms()
    for text in TEXTS.values():
        if text.prompt:
            memory.begin(text.name, text.prompt)
    steps = 0
    for event in events:
        memory.copied = []
        what, _, name = event.partition(" ")
        if what == "next":
            steps += 1
            for text in TEXTS.values():
                if (
                    memory.length.get(text.name, text.limit) < text.limit
                    and steps % text.every == 0
                ):
                    memory.write(text.name)
        elif what == "end" and name in memory.length.keys() | memory.waits:
            memory.end(name)
        elif what == "like" and name in memory.length and "D" not in memory.length | memory.waits:
            memory.like("D", name)
    return memory


def counts(memory: Rooms | Pages) -> dict[str, int]:
    """How many slots there are of each kind.

    Args:
        memory: the texts
    Returns: each of KINDS with its number of slots; together SLOTS
    """
    kinds = [kind for kind, _ in memory.slots()]
    return {kind: kinds.count(kind) for kind in KINDS}
