"""In the page a style's cycle of colours is just its settings."""

from typing import Any


def cycler(**settings: Any) -> dict[str, Any]:
    return settings
