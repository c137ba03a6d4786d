"""Feature maps on tensors: `feature_maps` with gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_feature_map


def features(
    x: Float[Tensor, "*batch n d"], feature_map: str | None
) -> Float[Tensor, "*batch n d_phi"]:
    """The features of queries or keys, as `feature_maps.features` defines them.

    Args:
        x: [..., n, d]  queries or keys
        feature_map: "elu", "relu", "taylor" or None
    Returns: [..., n, d_phi]  with d_phi = d, or 1 + d + d² for "taylor"
    Raises:
        ValueError: there is no such feature map
    Cost: O(n d_phi).
    """
    check_feature_map(feature_map)
    if feature_map == "elu":  # torch's elu(x) + 1 loses all digits of a small exp(x)
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())
    if feature_map == "relu":
        return x.relu()
    if feature_map == "taylor":
        pairs = x[..., :, None] * x[..., None, :] * 0.5**0.5  # [..., n, d, d]
        return torch.cat([torch.ones_like(x[..., :1]), x, pairs.flatten(-2)], dim=-1)
    return x
