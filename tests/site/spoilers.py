"""Does open prose give away what the veil of a prediction hides? The numbers of both are compared.

A number is given away if it stands in a veiled output, and also in prose that anybody can read
between the question and the next heading. Below the first veil that is so whatever the number was
known from: prose speaks of the output there. Above it, what the question or the page said before is
no news. 0, 1 and 2 say nothing. A bug that happened is another story.
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


def spoilers(soup):
    """One line for each number given away: the prediction, the number, the words around it."""
    article = soup.find("article")
    before = above(article)
    for box in article.select(".predict:not(.predict-again)"):
        label = box["data-label"]
        veils = [v for v in article.select(".veil") if label in v["data-veil"].split()]
        outputs = [output for veil in veils for output in veil.select(".cell_output, .output")]
        hidden = {x for output in outputs for x in in_output(text_of(output))}
        if not hidden:
            continue
        known = set(in_output(text_of(box, {"predict-why"}) + before[label]))
        for part in below(box):
            if "happened" in part.get("class", ()):
                break  # another story
            text = text_of(part, {"veil", "cell", "predict"})
            for number in in_prose(text):
                if number.is_among(hidden, ()) and not number.is_among(known, known):
                    around = text[max(0, number.at - 40) : number.at + 40]
                    yield f"{label}: {number.text} in “…{' '.join(around.split())}…”"
            if part in veils or ("cell" in part.get("class", ()) and part.select(".veil")):
                known = set()


def open_prose(soup):
    """What stands open below a veiled output of the same question, as text."""
    for veil in soup.select("article .veil"):
        cell = veil.find_parent("div", class_="cell") or veil
        for sibling in cell.find_next_siblings():
            kinds = set(sibling.get("class", ()))
            if sibling.name == "section" or kinds & {"predict", "happened"}:
                break
            if not kinds & {"veil", "cell"}:
                yield f"{veil['data-veil']}: {text_of(sibling)[:80]}"
