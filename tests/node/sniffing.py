"""Notes which TCP connections are begun on a machine, also those between its pods."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

_ALL: Final = 3  # ETH_P_ALL
_IPV4: Final = 0x0800
_TCP: Final = 6
_SO_RCVBUFFORCE: Final = 33  # Python has no name for it
_BUFFER_BYTES: Final = 64 * 2**20  # of all packets that come while the thread waits for a CPU
_SYN, _ACK = 0x02, 0x10
_PAUSE: Final = 0.2  # seconds until it looks whether it is to end


class Connection(NamedTuple):
    """From whom to whom."""

    source: str
    target: str
    port: int


@contextlib.contextmanager
def sniffing() -> Iterator[set[Connection]]:
    """Adds connections to the set until the end of the block."""
    seen: set[Connection] = set()
    stop = threading.Event()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL)) as packets:
        packets.settimeout(_PAUSE)
        packets.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        thread = threading.Thread(target=_note, args=(packets, seen, stop), daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()


def _note(packets: socket.socket, seen: set[Connection], stop: threading.Event) -> None:
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            packet, (_, protocol, *_) = packets.recvfrom(128)
            if protocol == _IPV4 and packet[9] == _TCP:
                tcp = packet[(packet[0] & 0x0F) * 4 :]
                if tcp[13] & (_SYN | _ACK) == _SYN:
                    source, target = (socket.inet_ntoa(packet[at : at + 4]) for at in (12, 16))
                    seen.add(Connection(source, target, int.from_bytes(tcp[2:4], "big")))
