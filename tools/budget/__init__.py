"""What a chapter asks of its reader, and how much it may ask.

    python -m tools.budget                  every chapter, and the sums of the course
    python -m tools.budget softmax maps     these
    python -m tools.budget --over           what breaks a rule; fails if a rewritten chapter does

    questions  the predictions of a chapter
    rules      what a rewritten chapter keeps to, and which chapters have been rewritten

tools/minutes counts.
"""
