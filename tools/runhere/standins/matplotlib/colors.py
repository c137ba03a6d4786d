"""A colour with an opacity."""


def to_rgba(color: str, alpha: float) -> tuple[str, float]:
    return color, alpha
