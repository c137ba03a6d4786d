"""Every attention class of transformers with q_proj, k_proj and v_proj: equal, or refused. Weekly.

Each architecture's models are built small and run, so that rotations and masks are their own. A
class that no small model runs is built alone; then `from_transformers` itself compares.
"""

import contextlib
import importlib
import importlib.util
import inspect
import pkgutil
from collections import Counter, defaultdict

import pytest
from hypothesis import settings

pytest.importorskip("transformers")
import torch
import transformers

from attention_src.multihead.layer import MultiHeadAttention

from .peers import EXPERTS, SIZES, attention_modules, calls_of

pytestmark = pytest.mark.skipif(settings.default.max_examples <= 40, reason="make weekly runs it")
SMALL = SIZES | EXPERTS | dict(hidden_size=32, num_hidden_layers=6, sliding_window=3)
SMALL |= dict(num_layers=6, n_routed_experts=2, n_group=1, topk_group=1, query_pre_attn_scalar=11)
# Some configs ask for sizes that others do not allow.
EXCEPT = [
    (),
    ("num_hidden_layers", "num_layers"),
    ("num_key_value_heads",),
    ("head_dim",),
    ("head_dim", "hidden_size"),
]


def small_configs(config_class):
    """Configs of a class, as small as it allows."""
    defaults = vars(config_class())
    for left_out in EXCEPT:
        sizes = {name: size for name, size in SMALL.items() if name in defaults}
        sizes = {name: size for name, size in sizes.items() if name not in left_out}
        try:
            config = config_class(**sizes)
        except Exception:
            continue
        config._attn_implementation = "eager"
        yield config


def models(module):
    """Small models of a modeling file that read ids."""
    for name, kind in vars(module).items():
        own = inspect.isclass(kind) and kind.__module__ == module.__name__
        if not own or not name.endswith("Model") or not hasattr(kind, "config_class"):
            continue
        if "PreTrained" in name or "input_ids" not in inspect.signature(kind.forward).parameters:
            continue
        for config in small_configs(kind.config_class):
            with contextlib.suppress(Exception):  # these sizes do not fit each other
                with torch.device("meta"):
                    size = sum(p.numel() for p in kind(config).parameters())
                if size < 4e6:
                    torch.manual_seed(0)
                    yield kind(config).eval()


def verdict(theirs, x=None, y=None):
    """equal, refused, accepted (nothing to compare with), different or crashed."""
    try:
        ours = MultiHeadAttention.from_transformers(theirs)
        if x is None:
            return "accepted"
        error = (ours(x, causal=True) - y).abs().max() / y.abs().max()
        return "equal" if error < 1e-5 else "different"
    except ValueError:
        return "refused"
    except Exception as error:
        return f"crashed: {error!r}"


def verdicts(module):
    """What became of the attention classes of a modeling file: sets of verdicts by class."""
    found = defaultdict(set)
    for model in models(module):
        try:
            calls = calls_of(model)
        except Exception:  # needs more than ids
            calls = []
        for theirs, x, y in calls:
            found[type(theirs).__name__].add(verdict(theirs, x, y))
        for theirs in attention_modules(model):
            if type(theirs).__name__ not in found:
                found[type(theirs).__name__].add(verdict(theirs))
    return found


@pytest.mark.filterwarnings("ignore")
def test_no_class_becomes_another_function():
    transformers.logging.set_verbosity_error()
    counts, wrong = Counter(), []
    for package in pkgutil.iter_modules(importlib.import_module("transformers.models").__path__):
        path = f"transformers.models.{package.name}.modeling_{package.name}"
        if importlib.util.find_spec(path) is None:
            continue
        try:
            module = importlib.import_module(path)
        except ImportError:  # needs another package
            continue
        for name, result in verdicts(module).items():
            counts.update(["equal" if "equal" in result else min(result)])
            if result - {"equal", "refused", "accepted"}:
                wrong.append((path, name, result))
    print(counts)
    assert not wrong
    assert counts["equal"] >= 50
