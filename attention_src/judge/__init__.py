"""Is my attention right? `judge(f)` says it in words; `assert_right(f)` is for tests.

>>> import numpy as np
>>> from attention_src.judge import judge
>>> def attention(q, k, v):
...     s = q @ k.swapaxes(-1, -2)
...     e = np.exp(s - s.max(axis=-1, keepdims=True))
...     return e / e.sum(axis=-1, keepdims=True) @ v
>>> judge(attention).cause
'not scaled'
"""

from attention_src.judge.judging import KINDS, assert_right, judge
from attention_src.judge.report import Finding, Report
from attention_src.judge.source import judge_source

__all__ = ["KINDS", "Finding", "Report", "assert_right", "judge", "judge_source"]
