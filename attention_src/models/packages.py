"""Packages that read the models' files: only who loads a model needs them."""

import importlib

# The oldest version that can, as in pyproject.toml.
OLDEST = {"safetensors": "0.4.3", "tokenizers": "0.20"}


def require(package: str) -> None:
    """Check that a package is installed.

    Args:
        package: one of OLDEST
    Raises:
        ImportError: it is not; says how to install it
    """
    try:
        importlib.import_module(package)
    except ImportError:
        raise ImportError(
            f"The package {package} is not installed. Install it with\n"
            f'    python -m pip install "{package}>={OLDEST[package]}"'
        ) from None
