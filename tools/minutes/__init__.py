"""How long a chapter takes, counted and never typed.

    minutes = words / 130 + lines of code shown / 12 + predictions + (pictures + explorables) / 2

Exercises and quiz are not reading: an exercise says for itself how many minutes it takes. What is
in folds counts, since many people open them. "In short" is what somebody reads who only wants to
know what the chapter says: the opening, each picture with its caption, and "What to keep".

    parts      the words, code and questions of a piece of Markdown
    measure    a chapter's sections and their sums
    course     the lines that page, front page and README show
"""
