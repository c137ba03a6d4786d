"""What really went through a process's network sockets, as the operating system counts it."""

import os
import socket
import struct

# Offsets in Linux's struct tcp_info, since 4.19
WAITING = 144  # bytes that the system has accepted and not yet sent
COUNTS = 200  # bytes sent, and those sent again


def bytes_through_sockets() -> int | None:
    """Bytes that this process has sent through the TCP connections which are open now.

    What the system holds until the other side can take it counts as sent; what had to be sent again
    counts once. Take the difference of two calls.

    Returns: a number of bytes; None where the system does not count
    """
    if not (os.path.isdir("/proc/self/fd") and hasattr(socket, "TCP_INFO")):
        return None
    counts = [_sent(int(name)) for name in os.listdir("/proc/self/fd")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sent(descriptor: int) -> int | None:
    """Bytes sent through one descriptor; None if it is not a TCP connection."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:  # a file, a pipe, or closed since the folder was read
        return None
    if len(info) < COUNTS + 16:
        return None
    (waiting,) = struct.unpack_from("=I", info, WAITING)
    sent, again = struct.unpack_from("=QQ", info, COUNTS)
    return int(sent - again + waiting)
