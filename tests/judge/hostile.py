"""Texts that a judge must answer with a clear word: name, text, a pattern of its answer."""

HOSTILE = {
    "never returns": ("def attention(q, k, v):\n    while True:\n        pass\n", "seconds"),
    "never returns once defined": ("while True:\n    pass\n", "seconds"),
    "sleeps": ("import time\n\ndef attention(q, k, v):\n    time.sleep(3600)\n", "seconds"),
    "10,000 lines": (
        "def attention(q, k, v):\n    for i in range(10_000):\n        print('line', i)\n",
        "",
    ),
    "a string": ("def attention(q, k, v):\n    return 'attention'\n", "str"),
    "raises": ("def attention(q, k, v):\n    raise RuntimeError('not today')\n", "not today"),
    "unguessable": (
        "def attention(flux, kappa, zeta, omega, tau):\n    return flux\n",
        "argument|flux|take",
    ),
    "eats memory": (
        "import numpy as np\n\ndef attention(q, k, v):\n    kept = []\n"
        "    while True:\n        kept.append(np.ones(10_000_000))\n",
        "emory|seconds",
    ),
    "ends Python": ("import os\n\ndef attention(q, k, v):\n    os._exit(3)\n", "ended"),
    "exits": ("import sys\n\ndef attention(q, k, v):\n    sys.exit(0)\n", "exit"),
    "recurses": ("def attention(q, k, v):\n    return attention(q, k, v)\n", "ecursion"),
    "does not parse": ("def attention(q, k, v)\n    return q\n", "line 1"),
    "nothing in it": ("x = 3\n", "no function"),
    "a generator": ("def attention(q, k, v):\n    yield q\n", "generator|returned"),
    "none": ("def attention(q, k, v):\n    q @ k.T\n", "None|nothing"),
    "no arguments": ("def attention():\n    return 1\n", "argument|take"),
    "imports what is missing": (
        "import a_module_that_nobody_has\n\ndef attention(q, k, v):\n    return q\n",
        "a_module_that_nobody_has",
    ),
    "reads the keyboard": ("def attention(q, k, v):\n    return input()\n", ""),
    "a number": ("def attention(q, k, v):\n    return 3.0\n", ""),
    "a lie about equality": (
        "class All:\n    def __eq__(self, other):\n        return True\n\n"
        "    def __array__(self, *a, **k):\n"
        "        raise ValueError('no array')\n\n\ndef attention(q, k, v):\n    return All()\n",
        "",
    ),
}
