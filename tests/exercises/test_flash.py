"""What the page says about the tiled attentions of a learner's test."""

from worked import BOOK, run_exercise

from attention_src.exercises.flash import check_tiled_test


def test_the_page_counts_them():
    page = (BOOK / "flash.md").read_text(encoding="utf-8")
    assert len(check_tiled_test.right) == 7 and "Seven are right." in page
    assert len(check_tiled_test.wrong) == 19 and "Nineteen are wrong" in page


def test_the_open_exercise_prints_what_the_page_says(capsys):
    run_exercise("flash", "ex:flash-shape")
    assert capsys.readouterr().out.split("\n")[:2] == [
        "128 x 128: 224.0 KB; 140.5 17.4",
        "(256, 16) 216.0 73.4 17.7",
    ]
