"""A port for a program of the tests."""

from generator.live.apiserver import free_ports


def free_port() -> int:
    """Return a port on loopback that was free a moment ago, and that the kernel gives to nobody meanwhile."""
    return free_ports(1)[0]
