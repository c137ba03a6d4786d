"""The lines that say how long a chapter and the whole course take."""

from __future__ import annotations

from tools.book import Book, Chapter
from tools.minutes.measure import minutes_in_short, reading_minutes


def time_line(chapter: Chapter) -> str:
    """Reading, exercises, seconds to run; "" without code.

    "45 min to read (opening, pictures, summary: 6 min), 60 min of exercises, 25 s to run"
    """
    if not chapter.has_code:
        return ""
    said = [f"{reading_minutes(chapter)} min to read"]
    if minutes := chapter.exercise_minutes:
        said[0] += f" (opening, pictures, summary: {minutes_in_short(chapter)} min)"
        said.append(f"{minutes} min of exercises")
    if seconds := chapter.front.get("running_seconds"):
        said.append(f"{seconds} s to run")
    return ", ".join(said)


def lessons(book: Book) -> list[Chapter]:
    """The pages with exercises: the chapters of the course."""
    return [chapter for chapter in book.chapters if chapter.exercise_minutes]


def hours(book: Book) -> tuple[int, int]:
    """How long all chapters take to read, and all exercises to solve."""
    pages = lessons(book)
    read = sum(map(reading_minutes, pages))
    return round(read / 60), round(sum(page.exercise_minutes for page in pages) / 60)


def course_line(book: Book) -> str:
    """What README says; a test holds it there."""
    read, solve = hours(book)
    return (
        f"The {len(lessons(book))} chapters take about {read} hours to read, "
        f"and their exercises about {solve}."
    )
