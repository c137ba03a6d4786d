"""Is every number in a chapter's prose computed on its page?

    python -m tools.prose_numbers                     all chapters that have code
    python -m tools.prose_numbers softmax maps        these
    python -m tools.prose_numbers --given             list what is marked as given, for a reviewer

A number of the prose must occur in an output of the page, as the stored notebook holds it, or as a
number in its code (an assertion, a parameter), rounded as the prose writes it. Otherwise the check
stops with file and line. Three ways out: print it, assert it, or mark it as given, because a paper
or a definition says it: {given}`2,048`.

    prose      what of a chapter is prose, with everything else blanked
    numbers    how numbers are written, and when two of them are the same
    computed   the numbers of a page's outputs and code
    check      one against the other

It cannot know whether the right output says so: 12 is found wherever a 12 is. It catches a number
that nothing on the page computes, and one that a changed output has left behind.
"""
