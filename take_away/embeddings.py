import torch
from torch import nn
from torch.nn.functional import logsigmoid, normalize


class SkipGram(nn.Module):
    """word2vec: skip-gram with negative sampling (Mikolov et al., 2013)."""

    def __init__(self, n_words, dim):
        super().__init__()
        self.word = nn.Embedding(n_words, dim)  # the vectors that one keeps
        self.context = nn.Embedding(n_words, dim)
        nn.init.normal_(self.word.weight, std=0.3)
        nn.init.normal_(self.context.weight, std=0.3)

    def loss(self, word, context, noise):
        """word, context [B]; noise [B, m]: m made-up pairs a real one."""
        w = self.word(word)  # [B, dim]
        real = (w * self.context(context)).sum(dim=-1)
        made_up = (self.context(noise) @ w[..., None]).squeeze(-1)
        return -(logsigmoid(real) + logsigmoid(-made_up).sum(dim=-1)).mean()


def fit(model, pairs, steps=1000, batch=1000, m=1, rate=0.02):
    """pairs [N, 2]: word and context, as they were found in a text."""
    often = torch.bincount(pairs[:, 1]).float() ** 0.75  # word2vec's choice
    adam = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        word, context = pairs[torch.randint(len(pairs), (batch,))].T
        noise = torch.multinomial(often, batch * m, replacement=True)
        loss = model.loss(word, context, noise.view(batch, m))
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model


def similarity(table, a, b):
    """Cosine of rows a and b; what share of other rows has less with a,
    and with b. If these two differ much, try table - table.mean(0)."""
    unit = normalize(table, dim=-1)
    others = [i for i in range(len(table)) if i not in (a, b)]
    cosine = unit[a] @ unit[b]
    less = (unit[others] @ unit[[a, b]].T < cosine).float().mean(dim=0)
    return cosine.item(), *less.tolist()


torch.manual_seed(0)
kind = torch.randint(2, (20_000,))  # 0-3 nouns, two of a kind; 4-9 verbs
noun = 2 * kind + torch.randint(2, (20_000,))
verb = 4 + 3 * kind + torch.randint(3, (20_000,))
pairs = torch.stack([noun, verb], dim=1)
table = fit(SkipGram(10, 8), torch.cat([pairs, pairs.flip(1)])).word.weight
used_alike, met = similarity(table, 0, 1), similarity(table, 0, 4)
assert used_alike[0] > 0.8 > met[0]  # 0 and 1 never met; 0 and 4 did
assert used_alike[1:] == (1, 1)  # no other row is as near to 0, or to 1
print(f"used alike {used_alike[0]:.2f}, met {met[0]:.2f}")
with torch.device("meta"):  # no memory: sizes alone
    paper = SkipGram(692_000, 300)  # the paper's; m = 5 or 15
print(f"{sum(p.numel() for p in paper.parameters()):,} numbers")
