"""Which files of the package a chapter's code reaches, and so when its outputs are stale."""

import ast

import pytest

from tools.book import freshness

FILES = {
    "__init__.py": "",
    "plain.py": "import numpy\n",
    "deep/__init__.py": "from attention_src.plain import f\n",
    "deep/inner.py": "import attention_src.deep.other\ndef f():\n    import attention_src.lazy\n",
    "deep/other.py": "from attention_src.far import away\n",
    "lazy.py": "",
    "deep/script.js": "export const a = 1;\n",
    "far.py": "",
    "unused.py": "",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, text in FILES.items():
        file = tmp_path / "attention_src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(freshness, "REPOSITORY", tmp_path)
    freshness._parsed.cache_clear()  # it holds paths of another folder
    return tmp_path / "attention_src"


def reached(package, *code):
    return {f.relative_to(package).as_posix() for f in freshness.reached_files(list(code))}


@pytest.mark.parametrize(
    "code, files",
    [
        ("import numpy", set()),
        ("import attention_src.plain", {"__init__.py", "plain.py"}),
        ("def f():\n    %time 1\n    import attention_src.far", {"__init__.py", "far.py"}),
        ("from attention_src.deep.inner import f", set(FILES) - {"lazy.py", "unused.py"}),
        (
            "import attention_src.deep as d",
            {"__init__.py", "plain.py", "deep/__init__.py", "deep/script.js"},
        ),
    ],
)
def test_reached_files(code, files, package):
    assert reached(package, code) == files


def test_a_drawing_counts_where_it_is_drawn(package):
    folder = package / "figures/drawings"
    folder.mkdir(parents=True)
    (folder / "chair.py").write_text("legs = 4\n")
    assert "figures/drawings/chair.py" in reached(package, 'draw("chair", legs=3)')
    assert "figures/drawings/chair.py" not in reached(package, "draw(chair)", 'draw("table")')


@pytest.mark.parametrize(
    "name, counts",
    [("deep/other.py", True), ("deep/script.js", True), ("lazy.py", False), ("unused.py", False)],
)
def test_the_digest_follows_what_is_reached(name, counts, package):
    code = ["from attention_src.deep.inner import f"]
    before = freshness.digest(code)
    (package / name).write_text("changed = 1\n")
    assert (freshness.digest(code) != before) == counts


SOURCE = '''"""A module."""
import numpy as np


class C:
    """A class."""

    def f(self, x=1):
        """A method."""
        if x:
            import json
        return np.exp(x)  # a comment
'''


@pytest.mark.parametrize(
    "old, new, counts",
    [
        ('"""A module."""', '"""Another."""', False),
        ('"""A method."""', '"""A method.\\n\\n    More."""', False),
        ("# a comment", "# nothing", False),
        ("import json", "import json, pickle", False),
        ("np.exp(x)", "np.exp( x )", False),
        ("np.exp(x)", "np.exp(-x)", True),
        ("x=1", "x=True", True),
        ("import numpy as np", "import numpy as np, json", True),
        ('"""A method."""', '"""A method."""; "not the docstring"', True),
    ],
)
def test_the_digest_follows_meaning(old, new, counts, package):
    code = ["from attention_src import far"]
    (package / "far.py").write_text(SOURCE)
    before = freshness.digest(code)
    assert SOURCE.count(old) == 1
    (package / "far.py").write_text(SOURCE.replace(old, new))
    assert (freshness.digest(code) != before) == counts


def test_the_digest_is_the_same_in_every_version_of_python():
    """3.12 adds type_params, 3.13 leaves out empty fields: a digest may not depend on either."""
    tree = ast.parse("def f(): return 'a'")
    constant = "Constant(value='a')"
    function = f"FunctionDef(name='f',args=arguments(),body=[Return(value={constant})])"
    assert freshness._written(tree) == f"Module(body=[{function}])"


def test_the_digest_is_the_same_on_every_system(package):
    code = ["from attention_src.deep.inner import f"]
    (package / "far.py").write_bytes(b"a = 1\n")
    (package / "deep/script.js").write_bytes(b"let a = 1;\n")
    before = freshness.digest(code)
    (package / "far.py").write_bytes(b"a = 1\r\n")
    (package / "deep/script.js").write_bytes(b"let a = 1;\r\n")
    assert freshness.digest(code) == before


def test_the_digest_follows_the_code():
    assert len({freshness.digest(code) for code in (["a", "b"], ["a", "c"], ["b", "a"])}) == 3


def test_an_explorable_counts_with_its_scripts_where_it_is_shown():
    show = 'from attention_src.explorables import explorable\nexplorable("softmax")'
    names = {file.name for file in freshness.reached_files([show])}
    assert {"softmax.py", "softmax.js", "dom.js", "explorable.css"} <= names
    assert not {"rope.py", "rope.js", "plane.css", "sentence72.npz"} & names
