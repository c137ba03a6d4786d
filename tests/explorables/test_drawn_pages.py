"""What "pages" says and draws: the memory is what pages_memory says, slot by slot."""

import re

import numpy as np
import pytest
from drawn import box, figures, numbers_in

from attention_src.explorables.pages import START, WORDS
from attention_src.explorables.pages_memory import KINDS, POLICIES, SIZES, SLOTS, TEXTS, counts, run

NAME = "pages"
GROWN = ["next"] * 4


def percent(n):
    return f"{np.floor(100 * n / SLOTS + 0.5):.0f} %"


def wasted(events, size, policy):
    kinds = counts(run(events, size, policy))
    return kinds["reserved"] + kinds["tail"] + kinds["hole"]


def state(events, size=4, policy="pages", chosen="A"):
    return {"events": events, "size": size, "policy": policy, "chosen": chosen}


def pressed(rng, size, policy):
    """Events of a reader, who is offered only what can happen."""
    events = [*GROWN]
    for _ in range(rng.integers(1, 16)):
        now = run(events, size, policy)
        begun = [*now.length, *now.waits]
        offered = [f"end {name}" for name in begun]
        offered += [f"like {name}" for name in now.length if "D" not in begun]
        next_step = rng.random() < 0.6 or not offered
        events.append("next" if next_step else str(rng.choice(offered)))
    return events


@pytest.fixture(scope="module")
def every():
    rng = np.random.default_rng(0)
    states = [state(events, size, policy, str(rng.choice([*TEXTS])))
              for events in (GROWN, [*GROWN, "like A"], [*GROWN, *(f"end {x}" for x in "ABC")])
              for size in SIZES for policy in POLICIES]  # fmt: skip
    for _ in range(25):
        size, policy = int(rng.choice(SIZES)), str(rng.choice(POLICIES))
        states.append(state(pressed(rng, size, policy), size, policy, str(rng.choice([*TEXTS]))))
    return [
        (one, run(one.now["events"], one.now["size"], one.now["policy"]))
        for one in figures(NAME, states)
    ]


def test_numbers_are_the_simulator_s(every):
    for now, memory in ((one.now, memory) for one, memory in every):
        for name in ("length", "table", "waits"):
            assert now[name] == getattr(memory, name)
        assert [tuple(slot[:2]) for slot in now["slots"]] == memory.slots()
        assert [tuple(one) for one in now["copied"]] == memory.copied
        if now["policy"] == "pages":
            assert (now["users"], now["free"]) == (memory.users, memory.free)


def test_waste_and_kinds_are_counted(every):
    for one, memory in every:
        events, size = one.now["events"], one.now["size"]
        for seen in one.seen:
            for policy in POLICIES:
                share = seen[f"{policy}-share"]["words"]
                assert share == percent(wasted(events, size, policy))
            for kind, n in counts(memory).items():
                assert seen[f"count-{kind}"]["words"] == str(n)
                assert seen[f"part-{kind}"]["words"] == percent(n)


def test_every_token_lies_in_its_slot(every):
    """It shares its height with those who share it."""
    for one, memory in every:
        for seen in one.seen:
            assert_places(seen, memory, one.now["size"], one.now["policy"])


def assert_places(seen, memory, size, policy):
    pitch = box(seen["piece0"])[2] / size if policy == "pages" else None
    if pitch is None:
        name = next(iter(memory.table), None)
        if name is None:
            return
        pitch = box(seen[f"piece{name}"])[2] / TEXTS[name].limit
    drawn = {key for key in seen if key[0] in "ABCD" and key[1:].isdigit()}
    assert drawn == {f"{name}{j}" for name, n in memory.length.items() for j in range(n)}
    slots = memory.slots()
    for name, n in memory.length.items():
        for j in range(n):
            table = memory.table[name]
            slot = table[j // size] * size + j % size if policy == "pages" else table[0] + j
            x, _, wide, tall = box(seen[f"{name}{j}"])
            assert int(x // pitch) == int((x + wide) // pitch) == slot
            assert abs(tall * len(slots[slot][1]) - 30) < 0.05
    for slot, (kind, _) in enumerate(slots):
        assert (f"slot{slot}" in seen) == (kind != "token")


def test_each_line_says_how_its_text_is(every):
    for one, memory in every:
        for name, text in TEXTS.items():
            n = memory.length.get(name)
            label = one.seen[0][f"is{name}"]["words"]
            if name in memory.waits:
                assert label == WORDS["waits"]
            elif n is None:
                assert label == WORDS["ended" if f"end {name}" in one.now["events"] else "absent"]
            else:
                assert numbers_in(label) == [n]
                assert (label == WORDS["longest"].format(n=n)) == (n == text.limit)


def test_arrows_end_in_the_middle_of_the_chosen_text_s_pages(every):
    for one, memory in every:
        table = memory.table.get(one.now["chosen"], [])
        for seen in one.seen:
            assert [int(seen[f"word{i}"]["words"]) for i in range(len(table))] == table
            assert f"word{len(table)}" not in seen
            for i, entry in enumerate(table):
                # M x y C x y x y x y …
                end = float(re.findall(r"[\d.]+", seen[f"arrow{i}"]["d"])[6])
                if one.now["policy"] == "pages":
                    left, _, wide, _ = box(seen[f"piece{entry}"])
                    assert abs(end - left - wide / 2) < 0.05


def test_what_is_said(every):
    for one, memory in every:
        assert_said(one.said, memory, one.now)
    starts = {one.said.split()[0] + one.said.split()[-1] for one, _ in every}
    assert len(starts) > 8  # nearly each of the sentences


def assert_said(words, memory, now):
    kinds = counts(memory)
    shared = {
        slot for slot, (kind, who) in enumerate(memory.slots()) if kind == "token" and who[1:]
    }
    found = numbers_in(words)
    if not kinds["token"]:
        assert words == WORDS["empty"].format(slots=SLOTS)
    elif memory.copied:
        [(name, old, copy)] = memory.copied
        others = " and ".join(x for x, table in memory.table.items() if old in table)
        assert words == WORDS["copied"].format(text=name, old=old, copy=copy, others=others)
    elif memory.waits and now["policy"] == "pages":
        assert found == [SLOTS - kinds["token"]]
        assert words.startswith(" and ".join(memory.waits))
    elif memory.waits:
        assert found[:2] == [16, kinds["free"] + kinds["hole"]]
        assert found[2] < 16
    elif shared:
        pages = sum(n > 1 for n in memory.users)
        assert found == [len(shared), pages]
    elif now["policy"] == "reserve":
        assert found == [kinds["token"], SLOTS, kinds["reserved"], kinds["hole"], 16]
    elif 1 < now["size"] < 16:
        used = sum(n > 0 for n in memory.users)
        most = now["size"] - 1
        assert found == [kinds["token"], used, now["size"], kinds["tail"], most]
    elif now["size"] == 1:
        assert found[0] == kinds["token"] == sum(map(len, memory.table.values()))
    else:
        assert words == WORDS["pages_of_16"].format(size=16)


def test_a_copy_on_write():
    """D begins like A, and then A writes."""
    begun, written, gaps = figures(
        NAME,
        [
            state([*GROWN, "like A"]),
            state([*GROWN, "like A", "next"]),
            state([*GROWN, "like A", "end B"], policy="reserve", chosen="B"),
        ],
    )
    for seen in begun.seen[1:]:
        assert [seen[f"users{p}"]["words"] for p in (0, 1, 5)] == ["×2"] * 3
    assert begun.said == WORDS["shared"].format(who="A and D", n="10 tokens", pages="3 pages")
    assert written.now["copied"] == [["A", 5, 6]]
    for seen in written.seen:
        assert seen["users6"]["words"] == WORDS["copy"]
        assert seen["users5"]["words"] == ""
    assert gaps.now["waits"] == {"D": 10}
    assert numbers_in(gaps.said) == [16, 16, 12]


def test_the_first_state_wastes_what_the_words_say():
    assert wasted(START["events"], 4, "pages") == 4
    assert wasted(START["events"], 4, "reserve") == 28 == wasted(START["events"], 16, "pages")
    assert set(WORDS["kinds"]) == set(KINDS)
