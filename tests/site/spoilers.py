"""Does open prose give away what the veil of a prediction hides? The numbers of both are compared.

A number is given away if it stands in a veiled output, and also in prose that anybody can read
between the question and the next heading, in captions and explorables too. What the page said
before and what code says is no news; nor are numbers of the question, but for those that prose
names below the first veil, where it speaks of the output. 0, 1 and 2 say nothing. A bug that
happened is another story. In a lesson, no number of the right option stands above the question.
"""

from bs4 import NavigableString

from tools.check.numbers import in_output, in_prose

LEFT_OUT = {"script", "style", "svg", "noscript"}
BLOCKS = {"p", "li", "td", "th", "div", "dd", "pre"}


def text_of(element, without=frozenset()):
    """What an element says: without drawings and some classes, and each equation once."""
    if isinstance(element, NavigableString):
        return str(element)
    twice = "aria-hidden" in element.attrs and "katex-html" in element.get("class", ())
    if twice or element.name in LEFT_OUT or without & set(element.get("class", ())):
        return ""
    if element.name == "msup":  # 10⁴ is not 104
        return "^".join(text_of(child, without) for child in element.children)
    text = "".join(text_of(child, without) for child in element.children)
    return text + "\n" * (element.name in BLOCKS)


def above(article):
    """All that the page says before each question, outputs and code too, by label."""
    said, found = [], {}
    for part in article.descendants:
        if isinstance(part, NavigableString):
            if part.parent.name not in LEFT_OUT:
                said.append(str(part))
        elif "predict" in part.get("class", ()):
            found[part["data-label"]] = " ".join(said)
    return found


def below(box):
    """What follows a question up to the next heading."""
    for sibling in box.find_next_siblings():
        if sibling.name == "section":
            return
        yield sibling


def said_openly(part):
    """Prose; and of a cell its captions, and what an explorable says."""
    if "cell" not in part.get("class", ()):
        return text_of(part, {"veil", "cell", "predict"})
    said = part.select("figcaption, .ae-question, .ae-try, .ae-live")
    return " ".join(text_of(one) for one in said if not one.find_parent(class_="veil"))


def spoilers(soup):
    """One line for each number given away: the prediction, the number, the words around it."""
    article = soup.find("article")
    before = above(article)
    for box in article.select(".predict:not(.predict-again)"):
        label = box["data-label"]
        hidden = printed_below(article, label)
        if not hidden:
            continue
        asked = set(in_output(text_of(box, {"predict-why"})))
        known = asked | set(in_output(before[label]))
        for part in below(box):
            if "happened" in part.get("class", ()):
                break  # another story
            text = said_openly(part)
            for number in in_prose(text):
                if number.is_among(hidden, ()) and not number.is_among(known, known):
                    around = text[max(0, number.at - 40) : number.at + 40]
                    yield f"{label}: {number.text} in “…{' '.join(around.split())}…”"
            if part.select(".veil") or "veil" in part.get("class", ()):
                known -= asked
            known |= set(in_output(" ".join(map(text_of, part.select(".cell_input")))))


def answered_above(soup):
    """One line for each number of a right option that outputs print, and the page above, too."""
    article = soup.find("article")
    before = above(article)
    for box in article.select(".predict:not(.predict-again)"):
        label = box["data-label"]
        options = box.select(".predict-option")
        replies = box.select(".predict-form .predict-why")
        right = [o for o, r in zip(options, replies, strict=True) if "data-right" in r.attrs]
        asked = [box.select_one(".predict-question"), *(o for o in options if o not in right)]
        known = set(in_output(" ".join(map(text_of, asked))))
        hidden = printed_below(article, label)
        said = set(in_output(before[label]))
        for number in in_prose(" ".join(map(text_of, right))):
            new = number.is_among(hidden, ()) and not number.is_among(known, known)
            if new and number.is_among(said, ()):
                yield f"{label}: {number.text}"


def printed_below(article, label):
    """The numbers of the outputs that a question veils."""
    veils = [v for v in article.select(".veil") if label in v["data-veil"].split()]
    outputs = [output for veil in veils for output in veil.select(".cell_output, .output")]
    return {x for output in outputs for x in in_output(text_of(output))}
