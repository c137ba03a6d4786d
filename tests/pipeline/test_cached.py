"""What the site makes once: old versions, half a copy, a file in the way."""

import pytest

from tools.site import cached


def make(folder):
    (folder / "part").write_text("new", "utf-8")


def test_it_is_made_once_and_old_versions_go(tmp_path):
    for name in ("older", f"{cached.SCRATCH}elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "fetched.whl").touch()
    folder = cached.ready(tmp_path, "newer", make)
    assert (folder / "part").read_text("utf-8") == "new"
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"newer", "fetched.whl", f"{cached.SCRATCH}elsewhere"}
    assert cached.ready(tmp_path, "newer", pytest.fail) == folder


def test_a_copy_mends_half_a_copy_and_leaves_files_alone(tmp_path):
    made = cached.ready(tmp_path / "cache", "newer", make)
    site = tmp_path / "site"
    for name in ("older", "newer"):
        (site / name).mkdir(parents=True)
    (site / ".DS_Store").touch()
    cached.copy(made, site)
    assert {path.name for path in site.iterdir()} == {"newer", ".DS_Store"}
    assert (site / "newer" / "part").read_text("utf-8") == "new"


def test_data_with_another_hash_is_refused():
    good = cached.sha256(b"good")
    assert cached.checked("file", b"good", good) == b"good"
    with pytest.raises(cached.Unavailable, match=f"file has .*, it should be {good}"):
        cached.checked("file", b"bad", good)
