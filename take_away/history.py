import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """score(q, h) = v . tanh(q W_q + h W_k), as Bahdanau et al. (2014)."""

    def __init__(self, query_dim, state_dim, hidden_dim):
        super().__init__()
        self.w_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.w_k = nn.Linear(state_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, states, lengths=None):
        """query [B, m, d_q], states [B, n, d] -> contexts, weights."""
        both = self.w_q(query)[:, :, None] + self.w_k(states)[:, None]
        scores = self.v(torch.tanh(both)).squeeze(-1)  # [B, m, n]
        if lengths is not None:  # [B]: what comes after is padding
            place = torch.arange(states.shape[1], device=states.device)
            padding = place >= lengths[:, None, None]  # [B, 1, n]
            scores = scores.masked_fill(padding, -torch.inf)
        weights = scores.softmax(dim=-1)
        return weights @ states, weights


class ByPlace(nn.Module):
    """The mistake of a tutorial: its scores never see the states."""

    def __init__(self, query_dim, longest):
        super().__init__()
        self.place = nn.Linear(query_dim, longest)

    def forward(self, query, states, lengths=None):
        weights = self.place(query)[..., : states.shape[1]].softmax(dim=-1)
        return weights @ states, weights


def follows_content(attend, query, states):
    """Move the states, keep the queries: do the weights move along?"""
    order = torch.randperm(states.shape[1])
    _, weights = attend(query, states)
    _, moved = attend(query, states[:, order])
    _, other = attend(query, -states)
    follow = torch.allclose(moved, weights[..., order], atol=1e-5)
    return follow and not torch.allclose(other, weights, atol=1e-3)


torch.manual_seed(0)
query, states = torch.randn(2, 4, 6), torch.randn(2, 9, 8)
attend = AdditiveAttention(query_dim=6, state_dim=8, hidden_dim=5)
context, weights = attend(query, states, lengths=torch.tensor([9, 3]))
assert context.shape == (2, 4, 8) and weights.shape == (2, 4, 9)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 4))
assert (weights[1, :, 3:] == 0).all()  # nobody looks at padding
assert follows_content(attend, query, states)
assert not follows_content(ByPlace(6, 9), query, states)
rnnsearch = AdditiveAttention(1000, 2000, 1000)  # RNNsearch-50, 2014
print(f"{sum(p.numel() for p in rnnsearch.parameters()):,} parameters")
