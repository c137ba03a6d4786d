"""Right and wrong tests that can be made of any right one, for the checks that grade tests."""

import contextlib

import numpy as np

NEVER_CALLED = "Your test should call the function"  # such a test has not been started


def right_tests(test):
    class Callable:
        def __call__(self, *given):
            return test(*given)

    def talks(*given):
        print("So far, so good.")
        test(*given)
        return True

    return {"prints and returns True": talks, "an object": Callable()}


def wrong_tests(check, test):
    def asserts_nothing(*given):
        with contextlib.suppress(AssertionError):
            test(*given)
        return True

    def refuses_everything(*given):
        test(*given)
        raise AssertionError

    def returns_false(*given):
        test(*given)
        return False

    def false_for_wrong_code(*given):
        try:
            test(*given)
        except AssertionError:
            return False

    def stumbles(*given):
        test(*given)
        return given[len(given)]

    def yields(*given):
        yield test(*given)

    def crashes_on_wrong_code(*given):
        try:
            test(*given)
        except AssertionError:
            raise ZeroDivisionError from None

    caught_none = f"caught 0 of {len(check.wrong)} wrong implementations"
    return {
        "does nothing": (lambda *given: None, NEVER_CALLED),
        "asserts without a call": (lambda *given: np.testing.assert_equal(1, 1), NEVER_CALLED),
        "asserts nothing": (asserts_nothing, caught_none),
        "refuses everything": (refuses_everything, "refuses a right implementation"),
        "refuses without a call": (_refuses, "refuses a right implementation"),
        "returns False": (returns_false, "returned False"),
        "False for wrong code": (false_for_wrong_code, "returned False"),
        "stumbles": (stumbles, "stumbles over a right implementation"),
        "crashes on wrong code": (crashes_on_wrong_code, f"{caught_none}. It accepts"),
        "yields": (yields, "It contains `yield`"),
        "a number": (1.0, "test is float, it should be a function"),
        "text": ("text", "test is str, it should be a function"),
    }


def _refuses(*given):
    raise AssertionError
