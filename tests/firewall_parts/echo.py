"""Answer on ports, as `tcp/22` or `udp/8472`, with what is said there."""

import socketserver
import sys
import threading


class Stream(socketserver.BaseRequestHandler):
    """A connection."""

    def handle(self) -> None:
        """Say what was said."""
        while data := self.request.recv(100):
            self.request.sendall(data)


class Datagram(socketserver.BaseRequestHandler):
    """One datagram."""

    def handle(self) -> None:
        """Say what was said."""
        data, connection = self.request
        connection.sendto(data, self.client_address)


class Streams(socketserver.ThreadingTCPServer):
    """A port of connections."""

    allow_reuse_address = True
    daemon_threads = True


for word in sys.argv[1:]:
    protocol, _, port = word.partition("/")
    at = ("0.0.0.0", int(port))
    server = Streams(at, Stream) if protocol == "tcp" else socketserver.UDPServer(at, Datagram)
    threading.Thread(target=server.serve_forever).start()
sys.stdout.write("ready\n")
sys.stdout.flush()
