"""The explorable "kvcache": what the caches of published models take, and what fits a card."""

from dataclasses import asdict, dataclass
from typing import Any

from attention_src.costs.roofline import CHIPS
from attention_src.explorables.drawing import Explorable

PRESS = ("combobox", "model", "ArrowDown")
SAYS = "The weights alone do not fit into 2 H100 SXM."
TOKENS = 32_768  # of a text, at the start


@dataclass(frozen=True)
class Model:
    """A published model, as its report or its file describes it.

    name: of the model
    layers: with attention, each of which keeps something
    heads, width: key/value heads of a layer, and the width of their keys and values; heads 0 = one
        latent vector of this width for all heads, which is kept once (multi-head latent attention)
    parameters: numbers in its weights, all experts included
    trained: the longest text that it was made for
    source: where these figures stand
    """

    name: str
    layers: int
    heads: int
    width: int
    parameters: float
    trained: int
    source: str

    @property
    def numbers(self) -> int:
        """What one token leaves in all layers."""
        return self.layers * (2 * self.heads or 1) * self.width


# In the order of their reports.
MODELS = (
    Model("GPT-3", 96, 96, 128, 175e9, 2048, "Brown et al. 2020, table 2.1"),
    Model("PaLM 540B", 118, 1, 256, 540e9, 2048, "Chowdhery et al. 2023, section 2 and table 1"),
    Model("LLaMA-65B", 80, 64, 128, 65.2e9, 2048, "Touvron et al. 2023 (LLaMA), table 2"),
    Model("Mixtral 8x7B", 32, 8, 128, 47e9, 32768, "Jiang et al. 2024, table 1"),
    Model("Jamba", 4, 8, 128, 52e9, 262144, "Lieber et al. 2024, section 3: 4 of its 32 layers"),
    Model("DeepSeek-V2", 60, 0, 512 + 64, 236e9, 131072, "DeepSeek-AI 2024 (V2), section 3.1.2"),
    Model("Llama 3.1 8B", 32, 8, 128, 8e9, 131072, "Grattafiori et al. 2024, table 3"),
    Model("Llama 3.1 70B", 80, 8, 128, 70e9, 131072, "Grattafiori et al. 2024, table 3"),
    Model("Llama 3.1 405B", 126, 8, 128, 405e9, 131072, "Grattafiori et al. 2024, table 3"),
    Model("DeepSeek-V3", 61, 0, 512 + 64, 671e9, 131072, "DeepSeek-AI 2024 (V3), section 4.2"),
    Model("SmolLM2-135M", 30, 3, 64, 134.5e6, 8192, "the model's own file, which this course runs"),
)
START = "Llama 3.1 70B"


def make() -> Explorable:
    """A calculator for the caches of published models.

    Returns: what the page is made from
    """
    sizes = {model.name: 2 * model.numbers * TOKENS / 1e9 for model in MODELS}
    most, least = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    return Explorable(
        given(),
        "Bars: gigabytes that the caches of one text of 32,768 tokens take in published models, "
        f"from {sizes[most]:.0f} GB for {most} to {sizes[least]:.1f} GB for {least}.",
        "An interactive figure: choose a model, a card, the length and number of texts and the "
        "bits of a number, and see what the cache takes. It needs JavaScript; here is its first "
        "state.",
    )


def given() -> dict[str, Any]:
    """The data that the script starts from.

    Returns: the models with the numbers that a token leaves, the cards with their bytes, and the
        first choice
    """
    return {
        "models": [asdict(model) | {"numbers": model.numbers} for model in MODELS],
        "cards": {chip.name: chip.memory_bytes for chip in CHIPS.values()},
        "model": START,
        "card": CHIPS["H100"].name,
        "n_tokens": TOKENS,
    }
