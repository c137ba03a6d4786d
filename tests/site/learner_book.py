"""A small book in which a learner predicts and reads: chapters one, two, three."""

ONE = """\
(ch:one)=
# One

```{code-cell} ipython3
import numpy as np

from attention_src.figures import bars, figure, show
```

## Shift

We add 100 to each score.

````{predict} pr:shift
What happens to the weights $p_j$?

- [ ] They become sharper, because each of the scores is larger by a hundred.

  A **product** would sharpen them. See {eq}`eq:one`.

- [x] Nothing.

  The common factor cancels. This reply is longer than the other, so that the two replies need
  different room, and the page would jump if the room were not kept.

- [ ] They become NaN.

  Not for numbers as small as these. See [the second chapter](two.md).
````

```{math}
:label: eq:one
p_j = e^{s_j} / l
```

Open prose above, about SEARCHWORD in the middle. This sentence is another one.

```{code-cell} ipython3
print("hidden number", 6 * 7)
```

Some prose between.

```{code-cell} ipython3
fig, ax = figure(3, 2)
bars(ax, np.array([1.0, 2.0]), ["a", "b"])
show(fig, alt="Two bars.")
```

```{reveal}
The weights stay: revealed prose.
```

```{code-cell} ipython3
print("after the reveal")
```

## Next

```{code-cell} ipython3
print("after the heading")
```

````{predict} pr:second
:order: 2 1
And this one?

- [x] Yes.

  It is.

- [ ] No.

  It is not.
````

```{code-cell} ipython3
print("second answer")
```

```{reveal}
Revealed: yes.
```

````{exercise} Try it
:label: ex:one-try
:difficulty: 1
:minutes: 10

Try.
````

## What to keep

Keep this.
"""
LATER = """\
(ch:{0})=
# {0}

````{{predict}} pr:{0}
A question of chapter {0}?

- [ ] Wrong.

  Wrong.

- [x] Right.

  Right.
````

```{{code-cell}} ipython3
print("answer of {0}")
```

```{{reveal}}
So.
```

"""
LATER += "Words that fill the page so that its end is out of view.\n\n" * 60
LATER += "## What to keep\n\nKeep.\n"
CHAPTERS = {"one": ONE, "two": LATER.format("two"), "three": LATER.format("three")}
# The back matter: a page without code.
PROGRESS = """\
---
description: P.
---

# Your progress

```{raw} html
<div id="progress"><noscript><p>Would show.</p></noscript></div>
```
"""
