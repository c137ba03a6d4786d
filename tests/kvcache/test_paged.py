"""The paged cache against plain copies of each sequence: append, fork, free, in any order."""

from collections import Counter

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from attention_src.kvcache.cache import OutOfPages, PagedKVCache
from attention_src.kvcache.reference import pages_for, read_paged

H_KV, D_K, D_V = 2, 3, 2
pytestmark = pytest.mark.usefixtures("poisoned_storage")


def tokens(counter, batch, n):
    """k and v with numbers that no other call returns."""
    size = batch * H_KV * n
    k = counter + torch.arange(size * D_K, dtype=torch.float64).reshape(batch, H_KV, n, D_K)
    v = counter + size * D_K + torch.arange(size * D_V, dtype=torch.float64)
    return k, v.reshape(batch, H_KV, n, D_V)


class Pages(RuleBasedStateMachine):
    """Caches on one pool, each with a copy of its sequences as plain tensors [H_kv, n, d]."""

    @initialize(page_size=st.integers(1, 4), n_pages=st.integers(1, 12), batch=st.integers(1, 3))
    def start(self, page_size, n_pages, batch):
        self.page_size, self.n_pages, self.counter = page_size, n_pages, 1
        cache = PagedKVCache(page_size, n_pages)
        cache.append(*tokens(0, batch, 0))
        empty = torch.empty(H_KV, 0, D_K).double(), torch.empty(H_KV, 0, D_V).double()
        self.live = [(cache, [empty] * batch)]

    def pick(self, data):
        return data.draw(st.sampled_from(range(len(self.live))), label="cache")

    @rule(data=st.data(), n=st.integers(0, 6), all_alike=st.booleans())
    def append(self, data, n, all_alike):
        cache, plain = self.live[self.pick(data)]
        counts = [n] * len(plain)
        if not all_alike:
            counts = data.draw(st.tuples(*[st.integers(0, n)] * len(plain)), label="lengths")
        k, v = tokens(self.counter, len(plain), n)
        self.counter += k.numel() + v.numel()
        before = self.contents()
        try:
            cache.append(k, v, None if all_alike else torch.tensor(counts, dtype=torch.int32))
        except OutOfPages as refused:
            assert refused.free == cache.n_free_pages < refused.needed
            assert refused.needed == self.needed(cache, counts)
            assert self.contents() == before
            return
        for b, count in enumerate(counts):
            new = k[b, :, :count], v[b, :, :count]
            pairs = zip(plain[b], new, strict=True)
            plain[b] = tuple(torch.cat(pair, dim=1) for pair in pairs)

    def needed(self, cache, counts):
        """Pages that an append takes: new ones, and copies of shared last pages."""
        new, writers = 0, Counter()
        for table, n, count in zip(cache._tables, cache._lengths, counts, strict=True):
            new += pages_for(n + count, self.page_size) - pages_for(n, self.page_size)
            if count and n % self.page_size:
                writers[table[-1]] += 1
        users = self.users()
        # If all users of a page write, the last one keeps it.
        return new + sum(m if users[page] > m else m - 1 for page, m in writers.items())

    @precondition(lambda self: len(self.live) < 5)
    @rule(data=st.data(), some=st.booleans())
    def fork(self, data, some):
        cache, plain = self.live[self.pick(data)]
        free = cache.n_free_pages
        chosen = list(range(len(plain)))
        if some:
            chosen = data.draw(st.lists(st.sampled_from(chosen), min_size=1, max_size=3))
        self.live.append((cache.fork(chosen if some else None), [plain[b] for b in chosen]))
        assert cache.n_free_pages == free

    @rule(data=st.data(), some=st.booleans())
    def free(self, data, some):
        at = self.pick(data)
        cache, plain = self.live[at]
        empty = tuple(x[:, :0] for x in plain[0])
        if some:
            b = data.draw(st.sampled_from(range(len(plain))))
            cache.free([b])
            plain[b] = empty
        else:
            cache.free()
            plain[:] = [empty] * len(plain)
            if len(self.live) > 1:
                del self.live[at]

    def users(self):
        return Counter(page for cache, _ in self.live for table in cache._tables for page in table)

    def contents(self):
        return [
            (cache.block_table.tolist(), cache.lengths.tolist(), [x.tolist() for x in cache.read()])
            for cache, _ in self.live
        ]

    @invariant()
    def every_sequence_reads_as_its_copy(self):
        for cache, plain in getattr(self, "live", []):
            lengths = [k.shape[1] for k, _ in plain]
            assert cache.lengths.tolist() == lengths and len(cache) == max(lengths)
            read = cache.read()
            for b, (n, own) in enumerate(zip(lengths, plain, strict=True)):
                for x, right in zip(read, own, strict=True):
                    assert torch.equal(x[b, :, :n], right) and (x[b, :, n:] == 0).all()
            table = cache.block_table.numpy()
            for x, pages in zip(read, (cache.k_pages, cache.v_pages), strict=True):
                assert torch.equal(x, torch.from_numpy(read_paged(pages, table, lengths)))

    @invariant()
    def no_page_is_lost_or_used_too_much(self):
        if not hasattr(self, "live"):
            return
        pool, users = self.live[0][0]._pool, self.users()
        assert pool.users == [users[page] for page in range(self.n_pages)]
        assert sorted(pool.free) == [page for page in range(self.n_pages) if not users[page]]
        for cache, plain in self.live:
            taken = [pages_for(k.shape[1], self.page_size) for k, _ in plain]
            assert [len(table) for table in cache._tables] == taken
            shown = [[page for page in row if page >= 0] for row in cache.block_table.tolist()]
            assert shown == cache._tables


Pages.TestCase.settings = settings(stateful_step_count=12, deadline=None)
TestPages = Pages.TestCase


def one(value, batch=1, n=1):
    return torch.full((batch, 1, n, 1), float(value)), torch.full((batch, 1, n, 1), -float(value))


def test_a_page_is_taken_when_the_last_is_full():
    cache = PagedKVCache(4, 3)
    for n in range(1, 13):
        cache.append(*one(n))
        assert cache.n_used_pages == (n + 3) // 4 and cache.n_free_pages == 3 - cache.n_used_pages
    with pytest.raises(OutOfPages, match="needs 1 pages but 0 are free; nothing was appended"):
        cache.append(*one(13))
    assert cache.read()[0].flatten().tolist() == list(range(1, 13))
    assert cache.block_table.tolist() == [[0, 1, 2]] and len(cache) == 12


def test_a_fork_copies_only_the_page_it_writes_to():
    cache = PagedKVCache(4, 8)
    cache.append(*one(1, n=10))
    fork = cache.fork()
    assert fork.n_free_pages == 5 and fork.nbytes == cache.nbytes
    fork.append(*one(2))
    assert fork.n_free_pages == 4
    assert fork.block_table.tolist()[0][:2] == cache.block_table.tolist()[0][:2]
    assert fork.block_table[0, 2] != cache.block_table[0, 2]
    cache.append(*one(3))  # no longer shared
    assert cache.n_free_pages == 4
    assert cache.read()[0].flatten().tolist() == [1] * 10 + [3]
    assert fork.read()[1].flatten().tolist() == [-1] * 10 + [-2]


def test_one_prompt_continued_in_eight_ways():
    prompt = PagedKVCache(4, 9)  # just enough: the last of the eight keeps the prompt's page
    prompt.append(*one(1, n=6))
    ways = prompt.fork([0] * 8)
    prompt.free()
    assert ways.batch == 8 and ways.n_used_pages == 2
    k, v = (x.repeat(8, 1, 1, 1) for x in one(0))
    ways.append(k + torch.arange(8.0).reshape(8, 1, 1, 1), v)
    assert ways.n_used_pages == 9  # one shared, eight own
    assert ways.read()[0][:, 0, 6, 0].tolist() == list(range(8))
    assert (ways.read()[0][:, 0, :6, 0] == 1).all()
    ways.free()
    assert ways.n_free_pages == 9


def test_a_freed_sequence_can_be_used_again():
    cache = PagedKVCache(2, 4)
    cache.append(*one(1, batch=2, n=4))
    with pytest.raises(OutOfPages):
        cache.append(*one(2, batch=2), lengths=[1, 0])
    cache.free([1])
    assert cache.lengths.tolist() == [4, 0] and cache.n_free_pages == 2
    cache.append(*one(2, batch=2, n=3), lengths=[0, 3])
    assert cache.lengths.tolist() == [4, 3]
    assert cache.read()[0][:, 0, :, 0].tolist() == [[1, 1, 1, 1], [2, 2, 2, 0]]


def test_forks_before_any_append_share_the_pool():
    first = PagedKVCache(2, 3)
    second = first.fork()
    first.append(*one(1, n=3))
    second.append(*one(2, batch=2), lengths=[1, 0])
    assert first.n_free_pages == second.n_free_pages == 0
    assert second.lengths.tolist() == [1, 0] and second.batch == 2 and first.batch == 1
    assert second.read()[0][:, 0, 0, 0].tolist() == [2, 0]
    third = PagedKVCache(2, 3).fork()
    assert third.n_free_pages == 3


def test_a_fork_must_fit_the_pool():
    first = PagedKVCache(2, 3)
    second = first.fork()
    first.append(*one(1))
    with pytest.raises(ValueError, match="d_k=2, not 1"):
        second.append(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 1))
    with pytest.raises(ValueError, match="no append yet"):
        second.read()


def test_a_refused_first_append_settles_nothing():
    cache = PagedKVCache(2, 3)
    with pytest.raises(OutOfPages, match="needs 4 pages but 3 are free"):
        cache.append(*one(1, n=7))
    assert cache.layout is None and cache.nbytes == 0 and len(cache) == 0
    cache.append(torch.ones(2, 2, 1, 3), torch.ones(2, 2, 1, 3))
    assert len(cache) == 1


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_sequences(n):
    """Lists without numbers have no dtype of their own."""
    cache = PagedKVCache(2, 4)
    for seen in (n, 2 * n):
        cache.append(*tokens(0, 0, n), lengths=None if seen == n else [])
        assert len(cache) == cache.n_seen == seen and cache.n_free_pages == 4
        assert [x.shape for x in cache.read()] == [(0, H_KV, seen, D_K), (0, H_KV, seen, D_V)]
        assert cache.lengths.dtype == cache.block_table.dtype == torch.int32
        assert cache.block_table.shape == (0, pages_for(seen, 2))
    fork = cache.fork()
    cache.free()
    assert (len(cache), len(fork)) == (0, 2 * n)
    with pytest.raises(ValueError, match="B=1, but the cache holds B=0"):
        cache.append(*tokens(0, 1, 2))
    assert read_paged(torch.zeros(4, 2, 2, 3), [[]], [0]).shape == (1, 2, 0, 3)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int16"])
def test_lengths_may_have_any_whole_dtype(dtype):
    k, v = tokens(0, 2, 3)
    lengths, cache = torch.tensor([3, 1], dtype=getattr(torch, dtype)), PagedKVCache(2, 8)
    cache.append(k, v, lengths=lengths)
    table = cache.block_table.clamp(min=0).numpy().astype(dtype)
    read = read_paged(cache.k_pages, table, lengths.numpy())
    assert torch.equal(torch.from_numpy(read), cache.read()[0])


def test_lengths_are_checked(untyped):
    cache = PagedKVCache(2, 3)
    for bad in ([2, 0], [-1, 0], [1], [1, 1, 1], [0.5, 1], [True, 1], "ab", 1):
        with pytest.raises(ValueError, match="lengths"):
            cache.append(*one(1, batch=2), lengths=bad)
    assert cache.n_free_pages == 3 and cache.layout is None


def test_sequences_are_checked(untyped):
    cache = PagedKVCache(2, 3)
    cache.append(*one(1))
    for bad in ([1], [-1], [0.5], 0):
        for ask in (cache.fork, cache.free):
            with pytest.raises(ValueError, match="sequences"):
                ask(bad)
    assert cache.n_free_pages == 2


TestPages.pytestmark = [pytest.mark.slow]
