"""Timings: the right number of runs, the median, the two printed forms."""

import configparser
import re
import time
from pathlib import Path

import pytest
import torch

from attention_src.timing import (
    TIME_PATTERN,
    Timing,
    fastest_ms,
    format_about,
    format_time,
    measure,
    now_ms,
    print_time,
)

SANITIZE = Path(__file__).parent / "sanitize.cfg"


def test_runs_are_counted():
    calls = []
    measure(lambda: calls.append(1), repeats=5, warmup=3)
    assert len(calls) == 8


def test_the_median_and_spread_of_known_times(monkeypatch):
    steps = iter([1, 2, 3, 4, 100])  # milliseconds; one run was disturbed
    now = [0]

    def f():
        now[0] += int(next(steps) * 1e6)

    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])
    assert measure(f, repeats=5, warmup=0) == Timing(median_ms=3.0, spread_ms=1.0)


def test_what_comes_before_a_run_is_not_timed(monkeypatch):
    now, calls = [0], []

    def take(name, milliseconds):
        calls.append(name)
        now[0] += int(milliseconds * 1e6)

    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])
    timing = measure(lambda: take("run", 1), repeats=2, warmup=1, before=lambda: take("before", 10))
    assert timing == Timing(median_ms=1.0, spread_ms=0.0)
    assert calls == ["run", "before", "run", "before", "run"]


def test_the_least_of_runs_in_turn():
    calls = []

    def take(name):
        calls.append(name)
        time.sleep(0.05 if len(calls) == 3 else 0.005)

    times = fastest_ms({name: lambda name=name: take(name) for name in "ab"}, 2)
    assert calls == list("ababab"), "one run to warm up, then two that count, in turn"
    assert list(times) == ["a", "b"] and all(x >= 5 for x in times.values())
    sleeping = fastest_ms({"": lambda: time.sleep(0.05)}, 1, clock="processor")
    assert sleeping[""] < 40, "sleeping is no work"


def test_sleeping_takes_as_long_as_it_takes():
    assert 5 <= measure(lambda: time.sleep(0.005), repeats=3).median_ms < 4000


def test_the_processor_sleeps_when_nothing_is_computed():
    timing = measure(lambda: time.sleep(0.05), repeats=2, warmup=0, clock="processor")
    assert timing.median_ms < 40


@pytest.mark.parametrize("device, clock", [("cpu", "sun"), ("cuda", "processor")])
def test_a_clock_that_is_not_there(device, clock):
    with pytest.raises(ValueError, match=r"clock is '(sun|processor)'"):
        measure(lambda: None, device=device, clock=clock)


def test_the_clock_counts_milliseconds(monkeypatch):
    monkeypatch.setattr(time, "perf_counter_ns", lambda: 1_234_500)
    assert now_ms() == 1.2345


def test_the_form_with_a_spread(capsys):
    timing = print_time("dense, n = 512", lambda: None, repeats=2)
    line = capsys.readouterr().out
    assert line == format_time("dense, n = 512", timing) + "\n"
    for shown in (timing, Timing(0.0, 0.0), Timing(12345.6789, 0.00004)):
        assert re.fullmatch(TIME_PATTERN, format_time("dense", shown))
    assert format_time("dense", Timing(1.2341, 0.0555)) == "[time] dense: 1.234 ms ± 0.056"


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (3233.4, "3.2 s"),
        (46_000, "46 s"),
        (998.7, "1.0 s"),
        (182.5, "180 ms"),
        (42.6, "43 ms"),
        (1.04, "1.0 ms"),
        (0.0876, "88 µs"),
    ],
)
def test_a_time_without_a_spread_has_two_digits(ms, shown):
    line = format_about("one token", ms)
    assert line == f"[time] one token: about {shown}"
    assert re.fullmatch(TIME_PATTERN, line)


@pytest.mark.parametrize("ms", [0, -1.0, 9e-5, float("nan"), float("inf")])
def test_a_time_without_a_spread_is_a_time(ms):
    with pytest.raises(ValueError, match="ms is"):
        format_about("one token", ms)


def test_the_pattern_hides_no_result():
    for line in ("dense: 1.234 ms", "[time] dense: 12 tokens", "[time] dense: nan ms ± 0.001"):
        assert not re.search(TIME_PATTERN, line)
    # It ends with the spread: what stands behind it is still compared.
    assert re.sub(TIME_PATTERN, "", "[time] a: 1.000 ms ± 0.100, error 0.5") == ", error 0.5"
    assert re.sub(TIME_PATTERN, "", "[time] a: about 1.0 ms, error 0.5") == ", error 0.5"


def test_the_notebooks_sanitiser_knows_the_form_and_hides_nothing_else():
    config = configparser.ConfigParser(interpolation=None)
    config.read(SANITIZE, encoding="utf-8")
    assert config.sections() == ["timing"]
    regex, replace = config["timing"]["regex"], config["timing"]["replace"]
    assert regex.replace("(", "").replace(")", "") == TIME_PATTERN.replace("(", "").replace(")", "")
    a, b = (re.sub(regex, replace, format_time(f"dense{n}", Timing(n, n))) for n in (1, 2))
    assert a.replace("dense1", "dense2") == b
    assert a != b, "what was timed is still compared"
    assert re.sub(regex, replace, format_about("dense1", 5)) == a


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: events cannot be recorded")
def test_a_gpu_is_timed_by_its_own_events():
    x = torch.ones(4096, 4096, device="cuda")
    small, large = (measure(lambda n=n: [x @ x for _ in range(n)], device="cuda") for n in (1, 8))
    assert 4 < large.median_ms / small.median_ms < 16


BAD = [
    (lambda: measure(3), "f is a int; it should be a function"),
    (lambda: measure(print, before=3), "before is a int; it should be a function"),
    (lambda: measure(print, repeats=1), "repeats is 1; it should be at least 2"),
    (lambda: measure(print, warmup=-1), "warmup is -1"),
    (lambda: measure(print, device="tpu"), "device is 'tpu'; it should be 'cpu', 'cuda'"),
    (lambda: measure(print, device="cuda:99"), "device is 'cuda:99', but torch sees"),
    (lambda: measure(print, device="cuda:x"), "device is 'cuda:x'"),
    (lambda: fastest_ms({}, 0), "repeats is 0; it should be at least 1"),
    (lambda: fastest_ms({}, 1, clock="sun"), "clock is 'sun'; it should be one of 'wall', 'pro"),
    (lambda: format_time("a: b", Timing(1, 1)), "name is 'a: b'"),
    (lambda: format_time("", Timing(1, 1)), "name is ''"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
