"""How fast could it be? A cost in operations and bytes, a chip's peaks, and the roofline.

    time >= max(flops / peak, n_bytes / bandwidth)

A program whose intensity (FLOP per byte) is below the chip's ridge is limited by memory bandwidth,
one above it by arithmetic. No program on that chip is faster than this bound; good ones come close.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from attention_src.costs import arithmetic_intensity
from attention_src.shapes import is_number


@dataclass(frozen=True)
class Chip:
    """A chip, with the figures of its data sheet for dense products (no structured sparsity).

    Args:
        name: of the product, with form factor and memory where there are several
        capability: the compute capability as one number, 75 for 7.5
        flops_per_s: the peak by dtype, in FLOP per second (operations for int8): "fp16", "bf16",
            "tf32" and "int8" on the matrix units, "fp32" without them; only dtypes that it supports
        bytes_per_s: bandwidth of the main memory
        memory_bytes: size of the main memory
        shared_bytes: the most shared memory that one program of a kernel may use
    """

    name: str
    capability: int
    flops_per_s: Mapping[str, float]
    bytes_per_s: float
    memory_bytes: int
    shared_bytes: int

    def peak(self, dtype: str = "fp16") -> float:
        """Operations per second in a dtype.

        Args:
            dtype: a key of flops_per_s
        Returns: the peak in FLOP per second, or operations per second for int8
        Raises:
            ValueError: an unknown dtype, or one that this chip has no unit for
        """
        if dtype not in self.flops_per_s:
            choices = ", ".join(map(repr, self.flops_per_s))
            raise ValueError(f"dtype is {dtype!r}; for {self.name} it should be one of {choices}")
        return self.flops_per_s[dtype]

    def ridge(self, dtype: str = "fp16") -> float:
        """The intensity at which arithmetic and memory take equally long.

            ridge = peak / bandwidth

        Args:
            dtype: a key of flops_per_s
        Returns: FLOP per byte
        Raises:
            ValueError: as `peak`
        Source: Williams, Waterman & Patterson 2009, Roofline (their ridge point).
        """
        return self.peak(dtype) / self.bytes_per_s


@dataclass(frozen=True)
class Cost:
    """What an algorithm computes and moves. The costs of successive steps add: a + b.

    Args:
        flops: operations, FLOP; a multiplication and an addition count as two
        n_bytes: bytes read from and written to main memory
    Raises:
        ValueError: a count below 0
    """

    flops: int
    n_bytes: int

    def __post_init__(self) -> None:
        for name, count in (("flops", self.flops), ("n_bytes", self.n_bytes)):
            if not is_number(count) or count < 0:
                raise ValueError(f"{name} is {count!r}; it should not be negative")

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.flops + other.flops, self.n_bytes + other.n_bytes)

    @property
    def intensity(self) -> float:
        """FLOP per byte; below the chip's ridge, memory is the limit.

        Raises:
            ValueError: no bytes are moved
        """
        return arithmetic_intensity(self.flops, self.n_bytes)

    def time_s(self, chip: Chip, dtype: str = "fp16") -> float:
        """The least time that the chip could need.

            time_s = max(flops / peak, n_bytes / bandwidth)

        Args:
            chip: one of CHIPS, or your own
            dtype: of the arithmetic, a key of chip.flops_per_s
        Returns: seconds, if memory and arithmetic both ran at full speed and in parallel
        Raises:
            ValueError: as `Chip.peak`
        Source: Williams, Waterman & Patterson 2009, Roofline.
        """
        return max(self.flops / chip.peak(dtype), self.n_bytes / chip.bytes_per_s)


def _tera(**peaks: float) -> Mapping[str, float]:
    """Peaks given in 10^12 operations per second."""
    return MappingProxyType({dtype: peak * 1e12 for dtype, peak in peaks.items()})


_HOPPER = _tera(fp16=989.4, bf16=989.4, tf32=494.7, fp32=66.9, int8=1978.9)

# By short name. Each line's source is NVIDIA's; "with sparsity" figures are halved.
#   T4     T4 Tensor Core GPU data sheet (peaks) and product brief PB-09256 (320 GB/s)
#   A100   A100 80GB data sheet, SXM column
#   H100   H100 Tensor Core GPU Architecture white paper, table 2, SXM5; data sheet (3.35 TB/s)
#   H200   H200 data sheet, SXM column; the same chip as H100 with more and faster memory
#   B200   Blackwell Architecture Technical Brief, HGX B200, one of eight; DGX B200 data sheet
# memory_bytes: a data sheet's GB of memory are 2^30 bytes. An H100's 80 GB are 5 stacks of 16 GiB,
#   of which nvidia-smi reports 81,559 MiB; of an H200's 141 GB it reports 143,771 MiB.
# shared_bytes: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
CHIPS = MappingProxyType(
    {
        "T4": Chip("T4", 75, _tera(fp16=65, fp32=8.1, int8=130), 320e9, 16 << 30, 64 << 10),
        "A100": Chip(
            "A100 SXM 80 GB",
            80,
            _tera(fp16=312, bf16=312, tf32=156, fp32=19.5, int8=624),
            2.039e12,
            80 << 30,
            163 << 10,
        ),
        "H100": Chip("H100 SXM", 90, _HOPPER, 3.35e12, 80 << 30, 227 << 10),
        "H200": Chip("H200 SXM", 90, _HOPPER, 4.8e12, 141 << 30, 227 << 10),
        "B200": Chip(
            "B200 SXM",
            100,
            _tera(fp16=2250, bf16=2250, tf32=1100, fp32=80, int8=4500),
            8e12,
            180 << 30,
            227 << 10,
        ),
    }
)
