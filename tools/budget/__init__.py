"""What a chapter asks of its reader, counted and never typed, and how much it may ask.

    python -m tools.budget                  every chapter, and the sums of the course
    python -m tools.budget softmax maps     these
    python -m tools.budget --over           what breaks a rule; fails if a rewritten chapter does

    minutes = words / 130 + lines of code shown / 12 + predictions + (pictures + explorables) / 2

Exercises and quiz are not reading: an exercise says for itself how many minutes it takes. What is
in folds counts, since many people open them. "In short" is what somebody reads who only wants to
know what the chapter says: the opening, each picture with its caption, and "What to keep".

    parts      the words, code and questions of a piece of Markdown
    measure    a chapter's sections and their sums; the lines that page, front page and README show
    times      roles by which a page says them
    rules      the limits that a rewritten chapter keeps to, and which have been rewritten
"""
