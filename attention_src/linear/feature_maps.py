"""Feature maps φ: what stands in for the exponential, so that φ(q)·φ(k) is a weight."""

import numpy as np
from jaxtyping import Float

from attention_src.linear.checks import check_feature_map


def features(
    x: Float[np.ndarray, "*batch n d"], feature_map: str | None
) -> Float[np.ndarray, "*batch n d_phi"]:
    """The features of queries or keys.

        None      φ(x) = x
        "elu"     φ(x) = elu(x) + 1:  x + 1 above 0, exp(x) below
        "relu"    φ(x) = max(x, 0)
        "taylor"  φ(x) = (1, x, x⊗x / sqrt(2)),  so that φ(q)·φ(k) = 1 + q·k + (q·k)²/2

    Args:
        x: [..., n, d]  queries or keys
        feature_map: one of the above
    Returns: [..., n, d_phi]  with d_phi = d, or 1 + d + d² for "taylor"
    Raises:
        ValueError: there is no such feature map
    Cost: O(n d_phi).
    Source: elu: Katharopoulos et al. 2020, arXiv:2006.16236, Eq. 7. taylor: Arora et al. 2024,
        arXiv:2402.18668 (they divide q·k by sqrt(d); here nothing is scaled).
    """
    check_feature_map(feature_map)
    if feature_map == "elu":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if feature_map == "relu":
        return np.maximum(x, 0)
    if feature_map == "taylor":
        pairs = x[..., :, None] * x[..., None, :] / np.sqrt(2)  # [..., n, d, d]
        pairs = pairs.reshape(*x.shape[:-1], x.shape[-1] ** 2)
        return np.concatenate([np.ones_like(x[..., :1]), x, pairs], axis=-1)
    return x
