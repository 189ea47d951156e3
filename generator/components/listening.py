"""What listens on nodes themselves (pods on the host's network, the kubelet, SSH), said by the component whose it is.

The host firewall is made of this: what nobody says here is closed. A port that a pod takes by `hostPort` alone, a
NodePort and an address of a load balancer are not here: these packets are forwarded to pods, and never reach the node.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from generator.model.nodes import Machine


class Peer(StrEnum):
    """Who reaches a port. `nodes` are the node and storage networks, `routers` the neighbours of BGP."""

    NODES = "nodes"
    CONTROL_PLANE = "control_plane"
    PODS = "pods"
    ADMINS = "admins"
    CLIENTS = "clients"
    ROUTERS = "routers"
    ANYBODY = "anybody"


CLUSTER = (Peer.NODES, Peer.PODS)
"""Pods reach the node that they are on by their own address, and other nodes by the address of theirs."""


def on_all(_machine: Machine) -> bool:
    """Tell that it listens on every node."""
    return True


def on_control_plane(machine: Machine) -> bool:
    """Tell whether a node is of the control plane."""
    return machine.role == "control-plane"


class Listener(Struct, frozen=True, kw_only=True):
    """One port, or those from `port` to `last`, that `name` listens on at some nodes. Without `peers` it stays closed,
    for the reason that `closed` says.
    """

    name: str
    port: int
    last: int | None = None
    protocol: Literal["tcp", "udp"] = "tcp"
    peers: tuple[Peer, ...] = ()
    closed: str = ""
    on: Callable[[Machine], bool] = on_all

    def covers(self, port: int, protocol: str) -> bool:
        """Tell whether a port is one of these."""
        return protocol == self.protocol and self.port <= port <= (self.last or self.port)


class Passed(Struct, frozen=True, kw_only=True):
    """Packets that a program of the pod network hands to itself on the node, whatever their port: those whose mark,
    under `mask`, is `mark`. Only the node's own kernel sets marks; none comes over a wire.
    """

    name: str
    mark: int
    mask: int


class Protocol(Struct, frozen=True, kw_only=True):
    """An IP protocol without ports, by its number (IANA)."""

    name: str
    number: int
    peers: tuple[Peer, ...]
    on: Callable[[Machine], bool] = on_all


Listening = Listener | Passed | Protocol
