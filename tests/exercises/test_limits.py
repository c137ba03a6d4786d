"""A check's limit of time: it counts the answer's own work, and what passes it is not called wrong.

The work is processor time, so these tests hold on a busy machine too.
"""

import contextlib
import importlib
import signal
import sys
import threading
import time

import numpy as np
import pytest
from centre import ROW, centred
from centre import make as make_centre

from attention_src.exercises.engine import checking, limits, memory, running
from attention_src.exercises.engine.checking import Case, Mistake
from attention_src.exercises.engine.designing import DesignCheck
from attention_src.exercises.engine.grading import Implementation, TestCheck

TWO = Case("two", (np.array([1.0, 5.0]),))


def make(*mistakes, **options):
    return make_centre(*mistakes, seconds=0.3, **options)


def work(seconds):
    """Compute for some seconds of this thread's own processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def endless(x=0):
    while True:
        with contextlib.suppress(Exception):
            x = x + 0


def words(result):
    return " ".join(result.message.split())


def in_threads(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


def test_an_endless_loop_ends_and_leaves_no_timer():
    before = signal.getsignal(signal.SIGALRM)
    begin, check = time.thread_time(), make()
    result = check(endless)
    assert time.thread_time() - begin < 3
    assert result.status == "too slow" and not result
    assert "centre: too slow to judge here, in case 1 of 1 (one row)" in result.message
    assert "not ended after 0.3 seconds of processor time. Does a loop never stop?" in words(result)
    assert "neither right nor wrong so far" in result.message and "Hint" not in result.message
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_without_signals_an_endless_loop_ends_with_the_same_words():
    found = []
    in_threads(lambda: found.append(make()(endless)))
    assert found[0].status == "too slow"
    assert found[0].message == make()(endless).message
    assert sys.gettrace() is None


@pytest.mark.parametrize("run", [lambda call: call(), in_threads])
def test_time_in_which_others_have_the_processor_does_not_count(run):
    """They may have it for much longer than the limit."""
    found = []

    def slow(x):
        for _ in range(10):
            time.sleep(0.06)
        return centred(x)

    run(lambda: found.append(make()(slow).status))
    assert found == ["passed"]


@pytest.mark.parametrize("wait", [lambda: time.sleep(1e6), lambda: threading.Event().wait()])
def test_what_waits_for_ever_ends_too(monkeypatch, wait):
    monkeypatch.setattr(limits, "PATIENCE", 2)
    result = make()(lambda x: wait())
    assert result.status == "too slow" and "seconds by the clock" in words(result)
    assert "waits for nothing" in words(result)


def swallows_and_goes_on(x):
    try:
        endless()
    except:  # noqa: E722  what learners write
        return x


def swallows_and_accuses(x):
    try:
        endless()
    except BaseException:
        raise AssertionError from None


@pytest.mark.parametrize("f", [swallows_and_goes_on, swallows_and_accuses])
def test_what_a_function_makes_of_the_interruption_is_not_judged(f):
    assert make()(f).status == "too slow"


def test_a_case_that_is_slow_when_met_again_is_too_slow():
    calls = []

    def slower(x):
        calls.append(x)
        return centred(x) if len(calls) == 1 else endless()

    result = make()(slower)
    assert result.status == "too slow" and "when it met a case again (one row)" in words(result)


@pytest.mark.parametrize(("good", "said"), [(0, "case 1 of 1"), (1, "read once more (one row)")])
def test_an_answer_that_takes_for_ever_to_read_is_too_slow(good, said):
    class Lazy:
        reads = 0

        def __array__(self, dtype=None, copy=None):
            self.reads += 1
            return np.array([-2.0, -1.0, 3.0]) if self.reads <= good else endless()

    result = make()(lambda x: Lazy())
    assert result.status == "too slow" and said in words(result)


def test_an_earlier_wrong_answer_stays_wrong():
    result = make(cases=(ROW, TWO))(lambda x: x if len(x) == 3 else endless())
    assert result.status == "wrong" and "in case 1 of 2" in result.message


def test_what_is_too_slow_has_not_passed():
    endless_answer = lambda x: endless()  # noqa: E731
    make()(endless_answer)
    assert endless_answer not in checking.passed


def test_a_mistake_that_takes_too_long_explains_nothing():
    wrong = lambda x: x[..., ::-1] if x.shape[0] == 3 else x + np.nan  # noqa: E731
    late = lambda x: x[..., ::-1] if x.shape[0] == 3 else endless()  # noqa: E731
    turned = Mistake("turned", late, "You turned it.")
    assert "Likely cause (turned)" in make(turned)(wrong).message
    assert "Likely cause" not in make(turned, cases=(ROW, TWO))(wrong).message


def test_drawn_cases_are_tried_for_so_much_processor_time(monkeypatch):
    monkeypatch.setattr(checking, "TOTAL_SECONDS", 0.2)
    draw = lambda rng: (rng.normal(size=3),)  # noqa: E731
    asleep = make(draw=draw, drawn=8)(lambda x: [time.sleep(0.05), centred(x)][1])
    assert "right in all 9 cases" in words(asleep)
    at_work = make(draw=draw, drawn=8)(lambda x: [work(0.05), centred(x)][1])
    assert at_work.status == "passed" and "all 9 cases" not in words(at_work)


def test_a_design_is_too_slow_not_wrong(monkeypatch):
    monkeypatch.setattr(running.attempt, "__kwdefaults__", {"max_bytes": None, "seconds": 0.2})
    check = DesignCheck("any", lambda answer: [], lambda n: "", lambda n: ".", sizes=[3])
    result = check(lambda n: endless())
    assert result.status == "too slow" and "any: too slow to judge here, for n = 3" in words(result)


def test_a_test_that_takes_too_long_is_told_on_what():
    right = [Implementation("right", lambda: 1, "it is 1")]
    wrong = [Implementation("wrong", lambda: 2, "it is 2")]
    check = TestCheck("look", right, wrong, ["Look."], seconds=0.2)
    for slow, on in ((1, "a right implementation"), (2, "a wrong implementation")):
        calls = []

        def test(f, slow=slow, calls=calls):
            calls.append(f())
            assert calls[-1] != slow or endless()

        result = check(test)
        assert result.status == "too slow" and f"judge here, on {on}" in words(result)
        assert "Your test had not ended" in result.message and calls.count(slow) == 1
        assert ("Either it loops for ever on this one" in words(result)) == (slow == 2)
    assert check.failures == 0


def test_the_clock_begins_after_the_first_watched_tensor_s_imports(monkeypatch):
    monkeypatch.setattr(running, "warm_up", lambda: work(0.6))
    watched = make(cases=[Case("one row", ROW.args, 10**6)])
    assert watched.seconds < 0.6 and watched(centred)


def test_an_import_is_let_finish_and_does_not_count(tmp_path, monkeypatch):
    slow = "from test_limits import work\nwork(0.6)\nwhole = True\n"
    (tmp_path / "slow_module.py").write_text(slow)
    monkeypatch.setitem(sys.modules, "test_limits", sys.modules[__name__])
    monkeypatch.syspath_prepend(tmp_path)

    def imports(x):
        if "slow_module" not in sys.modules:
            import slow_module

            work(0.15)  # more than remains if the import counted
            assert slow_module.whole
        return centred(x)

    assert make()(imports)


def test_a_check_called_while_a_module_is_imported_has_its_limit(tmp_path, monkeypatch):
    """As a file of answers does that checks them on its last lines."""
    lines = "from test_limits import make, work", "result = make()(lambda x: work(3))"
    (tmp_path / "checks_itself.py").write_text("\n".join(lines))
    monkeypatch.setitem(sys.modules, "test_limits", sys.modules[__name__])
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("checks_itself").result.status == "too slow"


def test_a_warm_watch_imports_nothing():
    torch = pytest.importorskip("torch")
    memory.warm_up()
    before = len(sys.modules)
    assert memory.with_peak(lambda: torch.ones(1000))[1] >= 4000
    assert len(sys.modules) == before


def test_torch_has_one_thread_inside_and_its_own_outside(three_threads):
    """Several would wait for each other, and each wait for a busy machine is processor time."""
    seen = []
    make()(lambda x: [seen.append(three_threads()), centred(x)][1])
    assert set(seen) == {1} and three_threads() == 3


def test_somebody_else_s_timer_goes_on():
    signal.setitimer(signal.ITIMER_REAL, 10_000)
    try:
        limits.within(1.0, lambda: None)
        assert 5_000 < signal.getitimer(signal.ITIMER_REAL)[0] <= 10_000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
