"""Connect to a node from addresses of this namespace, as the lines of standard input say: `tcp FROM PORT`, `udp FROM
PORT`, `open FROM PORT`, `still`. Each is answered by `yes` or `no`.
"""

import socket
import sys
from collections.abc import Callable

PATIENCE = 1.5
"""Seconds for an answer. What is dropped takes them whole."""


def echoes(connection: socket.socket) -> bool:
    """Tell whether something goes there and back."""
    connection.sendall(b"hello")
    return connection.recv(100) == b"hello"


class Caller:
    """Whoever connects to one node."""

    def __init__(self, node: str) -> None:
        self.node, self.kept = node, socket.socket()

    def tcp(self, source: str, port: str) -> bool:
        """Open a connection and close it."""
        with socket.create_connection((self.node, int(port)), PATIENCE, (source, 0)) as connection:
            return echoes(connection)

    def udp(self, source: str, port: str) -> bool:
        """Send a datagram."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(PATIENCE)
            connection.bind((source, 0))
            connection.connect((self.node, int(port)))
            return echoes(connection)

    def open(self, source: str, port: str) -> bool:
        """Open a connection that stays."""
        self.kept = socket.create_connection((self.node, int(port)), PATIENCE, (source, 0))
        return echoes(self.kept)

    def still(self) -> bool:
        """Use that connection again."""
        return echoes(self.kept)


caller = Caller(sys.argv[1])
VERBS: dict[str, Callable[..., bool]] = {
    "tcp": caller.tcp, "udp": caller.udp, "open": caller.open, "still": caller.still,
}  # fmt: skip
for line in sys.stdin:
    verb, *words = line.split()
    try:
        answer = VERBS[verb](*words)
    except OSError:
        answer = False
    sys.stdout.write("yes\n" if answer else "no\n")
    sys.stdout.flush()
