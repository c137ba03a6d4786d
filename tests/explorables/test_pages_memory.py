"""The memory of the explorable "pages": as PagedKVCache does it, and rooms found by hand."""

import re

import numpy as np
import pytest
import torch

from attention_src.explorables.pages_memory import KINDS, SIZES, SLOTS, TEXTS, counts, run
from attention_src.kvcache.cache import OutOfPages, PagedKVCache

GROWN = ["next"] * 4  # A has 10 tokens, B 3, C 7


def draw_events(rng, n):
    names = [*"ABCD"]
    ends = [f"end {name}" for name in names]
    begins = [f"like {name}" for name in names]
    return [str(rng.choice(["next", "next", "next", *ends, *begins])) for _ in range(n)]


class Caches:
    """The same texts in real caches on one pool: A, B and C in one, D in a fork of it."""

    def __init__(self, size):
        self.caches = {"": PagedKVCache(size, SLOTS // size)}
        self.running = set()
        self.append("", [0, 0, 0])
        for i, name in enumerate("ABC"):
            self.running.add(name)
            for _ in range(TEXTS[name].prompt):
                self.append("", [int(i == j) for j in range(3)])

    def append(self, which, lengths):
        k = torch.zeros(len(lengths), 1, 1, 1)
        self.caches[which].append(k, k, torch.tensor(lengths))

    def place(self, name):
        return ("D", 0) if name == "D" else ("", "ABC".index(name))

    def write(self, name):
        which, row = self.place(name)
        rows = len(self.caches[which].lengths)
        try:
            self.append(which, [int(row == j) for j in range(rows)])
        except OutOfPages:
            return

    def play(self, event, steps):
        what, _, name = event.partition(" ")
        if what == "next":
            for text in TEXTS.values():
                turn = text.name in self.running and steps % text.every == 0
                if turn and self.length(text.name) < text.limit:
                    self.write(text.name)
        elif what == "end" and name in self.running:
            which, row = self.place(name)
            self.caches[which].free([row])
            self.running.remove(name)
        elif what == "like" and name in self.running and "D" not in self.running:
            which, row = self.place(name)
            self.caches["D"] = self.caches[which].fork([row])
            self.running.add("D")

    def length(self, name):
        which, row = self.place(name)
        return int(self.caches[which].lengths[row])

    def table(self, name):
        which, row = self.place(name)
        return [page for page in self.caches[which].block_table[row].tolist() if page >= 0]


@pytest.mark.parametrize("size", SIZES)
def test_pages_are_those_of_the_paged_cache(size):
    rng = np.random.default_rng(size)
    for _ in range(12):
        events = draw_events(rng, 30)
        caches = Caches(size)
        for n, event in enumerate(events, start=1):
            caches.play(event, events[:n].count("next"))
            now = run(events[:n], size, "pages")
            assert set(now.length) == caches.running
            assert now.length == {name: caches.length(name) for name in now.length}
            assert now.table == {name: caches.table(name) for name in now.table}
            assert len(now.free) == caches.caches[""].n_free_pages


@pytest.mark.parametrize("size", SIZES)
def test_what_a_page_is_used_for(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        now = run(draw_events(rng, 25), size, "pages")
        pages = [page for table in now.table.values() for page in table]
        assert now.users == [pages.count(page) for page in range(SLOTS // size)]
        assert sorted(now.free) == [page for page, n in enumerate(now.users) if n == 0]
        kinds = counts(now)
        assert sum(kinds.values()) == SLOTS
        assert kinds["free"] == len(now.free) * size
        held = {table[j // size] * size + j % size for name, table in now.table.items()
                for j in range(now.length[name])}  # fmt: skip
        assert kinds["token"] == len(held)
        assert kinds["tail"] == SLOTS - kinds["free"] - len(held)


def test_rooms_lie_apart_and_hold_what_they_should():
    rng = np.random.default_rng(1)
    for _ in range(60):
        now = run(draw_events(rng, 25), 4, "reserve")
        taken = [""] * SLOTS
        for name, [start] in now.table.items():
            for slot in range(start, start + TEXTS[name].limit):
                assert taken[slot] == ""
                taken[slot] = name
        assert [owner for _, owner in now.slots()] == taken
        gaps = re.findall(r"\.+", "".join(name or "." for name in taken))
        longest = max(map(len, gaps), default=0)
        assert all(TEXTS[name].limit > longest for name in now.waits)
        kinds = counts(now)
        assert kinds["token"] == sum(now.length.values())
        assert kinds["reserved"] == sum(TEXTS[x].limit for x in now.length) - kinds["token"]
        assert (kinds["free"] >= 16) == (longest >= 16)
        assert sum(kinds.values()) == SLOTS


def test_waste_by_hand():
    assert run(GROWN, 4, "pages").length == {"A": 10, "B": 3, "C": 7}
    tails = {size: counts(run(GROWN, size, "pages"))["tail"] for size in SIZES}
    assert tails == {1: 0, 2: 2, 4: 4, 8: 12, 16: 28}
    rooms = counts(run(GROWN, 4, "reserve"))
    assert rooms == dict(zip(KINDS, (20, 24, 0, 4, 0), strict=True))


def test_a_writer_gets_a_copy_and_the_other_keeps_the_page():
    shared = run([*GROWN, "like A"], 4, "pages")
    assert shared.table["D"] == shared.table["A"] == [0, 1, 5]
    assert shared.users[:6] == [2, 2, 1, 1, 1, 2]
    now = run([*GROWN, "like A", "next"], 4, "pages")
    assert now.copied == [("A", 5, 6)]
    assert (now.table["A"], now.table["D"]) == ([0, 1, 6], [0, 1, 5])
    assert run([*GROWN, "like A", "next", "next"], 4, "pages").copied == []


def test_a_text_waits_for_a_page_or_for_room_in_one_piece():
    now = run([*GROWN, "like A", "next"], 16, "pages")
    assert now.waits == {"A": 10, "D": 10}
    assert run([*GROWN, "like A", "next", "end B", "next"], 16, "pages").waits == {}
    rooms = run([*GROWN, "end B", "like A"], 4, "reserve")
    assert rooms.waits == {"D": 10}
    assert counts(rooms)["hole"] == 16  # 12 and 4
    after = run([*GROWN, "end B", "like A", "end C"], 4, "reserve")
    assert after.table["D"] == [16]
    assert after.length["D"] == 10


@pytest.mark.parametrize("policy", ["pages", "reserve"])
def test_what_cannot_happen_does_not(policy):
    expected = run(GROWN, 4, policy)
    now = run([*GROWN, "end D", "like D"], 4, policy)
    assert (now.length, now.table, now.waits) == (expected.length, expected.table, {})
    assert run([*GROWN, "end A", "end A", "like A"], 4, policy).length == {"B": 3, "C": 7}


def test_no_text_grows_beyond_its_limit():
    for policy in ("pages", "reserve"):
        now = run(["next"] * 60, 4, policy)
        assert now.length == {name: TEXTS[name].limit for name in "ABC"}


def test_bad_input():
    with pytest.raises(ValueError, match="size is 3"):
        run([], 3, "pages")
    with pytest.raises(ValueError, match="policy is 'rooms'"):
        run([], 4, "rooms")
