"""Functions in processes that torchrun starts, and what the system counts at their sockets."""

import socket
import sys
import threading

import pytest

from attention_src.ring.processes import on_ranks
from attention_src.ring.socket_bytes import bytes_through_sockets


def rank_and_size():
    import os

    return [int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "OMP_NUM_THREADS")]


def fails_on_the_second():
    import os
    import time

    if os.environ["RANK"] == "1":
        raise ValueError("number two")
    time.sleep(60)


def sleeps():
    import time

    time.sleep(60)


@pytest.mark.slow
def test_answers_come_rank_by_rank():
    assert on_ranks(rank_and_size, 3) == [[0, 3, 1], [1, 3, 1], [2, 3, 1]]


@pytest.mark.slow
def test_a_failure_ends_all_and_is_shown():
    with pytest.raises(RuntimeError, match="number two"):
        on_ranks(fails_on_the_second, 2)


def test_time_is_limited():
    with pytest.raises(RuntimeError, match="sleeps took more than 1 s"):
        on_ranks(sleeps, 1, timeout=1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts")
def test_bytes_are_counted():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with (
            socket.create_connection(listener.getsockname()) as here,
            listener.accept()[0] as there,
        ):
            before = bytes_through_sockets()
            reader = threading.Thread(target=_read, args=(there, 100_000))
            reader.start()
            here.sendall(b"x" * 100_000)
            reader.join()
            assert bytes_through_sockets() - before == 100_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts")
def test_bytes_that_wait_for_a_slow_reader_are_counted():
    with socket.socket() as listener, socket.socket() as here:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        here.connect(listener.getsockname())
        with listener.accept()[0]:  # it never reads
            before = bytes_through_sockets()
            here.setblocking(False)
            taken = here.send(b"x" * 100_000)
            assert taken > 4 * 4096
            assert bytes_through_sockets() - before == taken


def _read(connection, n):
    while n > 0:
        n -= len(connection.recv(1 << 16))
