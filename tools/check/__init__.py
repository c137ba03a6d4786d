"""Does a page keep to the rules? What a machine can see of it.

    python -m tools.check                  every page; fails if one of them has a fault
    python -m tools.check softmax maps     these

    limits         what a rewritten chapter keeps to, and which have been rewritten
    prose_numbers  whether every number in the prose is computed on its page, and each claim decided
    computed       the numbers of a page's outputs and code
    numbers        how numbers are written, and when two of them are the same
    address        whether repository.url names the repository that publishes the book

A number of the prose must occur in an output of the page, as the stored notebook holds it, or as a
number in its code (an assertion, a parameter), rounded as the prose writes it. Three ways out:
print it, assert it, or mark it as given, because a paper or a definition says it: {given}`2,048`.
The check cannot know whether the right output says so: 12 is found wherever a 12 is. It catches a
number that nothing on the page computes, and one that a changed output has left behind.
"""
