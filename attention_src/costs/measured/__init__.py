"""What the kernels took on a GPU: the files that `python -m benchmarks` keeps, and their reader.

They lie in the package, so that a page shows the same figures wherever it runs.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent


class Measured(NamedTuple):
    """One file.

    Args:
        source: chip and date, to stand beside every figure: "NVIDIA H200, 2026-11-26"
        rows: a dict each, of labels and numbers
    """

    source: str
    rows: list[dict[str, Any]]

    def value(self, field: str, **labels: Any) -> float:
        """The number of one row.

        Args:
            field: its name, such as "ms"
            **labels: what the row is called, such as impl="triton", n=4096
        Returns: that number, in the unit that its name says
        Raises:
            ValueError: not exactly one row has these labels, or it has no such number
        """
        found = [row for row in self.rows if labels.items() <= row.items()]
        if len(found) != 1:
            raise ValueError(f"labels are {labels}; one row should have them, but {len(found)} do")
        value = found[0].get(field)
        if not isinstance(value, float):
            raise ValueError(f"field is {field!r}; it should be a number of the row {found[0]}")
        return value


def measured(topic: str, chip: str = "nvidia-h200") -> Measured:
    """Read what was measured.

    Args:
        topic: "softmax", "rope", "flash", "kvcache" or "ssm"
        chip: as in the files' names
    Returns: chip and date, and the rows
    Raises:
        ValueError: there is no such file
    """
    path = FOLDER / f"{chip}-{topic}.json"
    if not path.is_file():
        kept = sorted(file.stem for file in FOLDER.glob("*.json"))
        raise ValueError(f"{path.stem!r} was not measured; it should be one of {kept}")
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Measured(f"{kept['chip']}, {kept['date_utc'][:10]}", kept["rows"])
