"""Listening sockets on loopback.

They are opened before anything else starts and handed to the emulator, so a port in use is known at once and no
other process can take it in between.
"""

import socket

HOST = "127.0.0.1"


class PortInUseError(Exception):
    """Another program listens there."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} on {HOST} is in use")
        self.port = port


def listening(port: int = 0) -> socket.socket:
    """A listening socket; port 0 means any free one."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((HOST, port))
        opened.listen(100)
    except OSError as error:
        opened.close()
        raise PortInUseError(port) from error
    return opened


def port_of(opened: socket.socket) -> int:
    """The port that a socket listens on."""
    return int(opened.getsockname()[1])
