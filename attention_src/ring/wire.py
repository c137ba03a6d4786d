"""What really went through a process's network sockets, as the operating system counts it."""

import os
import socket
import struct

COUNTS = 200  # offset of bytes sent, and sent again, in Linux's struct tcp_info, since 4.19


def bytes_through_sockets() -> int | None:
    """Bytes that this process has sent through the TCP connections which are open now.

    What had to be sent again is counted once. Take the difference of two calls.

    Returns: a number of bytes; None where the system does not count
    """
    if not (os.path.isdir("/proc/self/fd") and hasattr(socket, "TCP_INFO")):
        return None
    counts = [_sent(int(name)) for name in os.listdir("/proc/self/fd")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sent(descriptor: int) -> int | None:
    """Bytes sent through one descriptor; None if it is no TCP connection."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:  # a file, a pipe, or gone since the folder was read
        return None
    if len(info) < COUNTS + 16:
        return None
    sent, again = struct.unpack_from("=QQ", info, COUNTS)
    return int(sent - again)
