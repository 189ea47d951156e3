"""`gen node`."""

from typing import Any

import click

from generator.cli.editing import EDIT, HARDWARE, RACKS, Address, Names, Share, hardware, make
from generator.edits.hardware import Change, disk, set_nodes
from generator.edits.nodes import Replacement, Wanted, add_nodes, remove_nodes, replace_node
from generator.edits.quotas import raise_quotas
from generator.edits.source import Source
from generator.errors import UsageError


@click.group("node")
def command() -> None:
    """Add, remove, replace or change nodes in a cluster file: its other lines stay as they are, comments too.

    Shown is what the cluster gains or loses. Nothing is written when the file would break a check (exit code 1).
    """


@command.command("add", short_help="Add nodes like another one.")
@click.argument("names", type=Names())
@click.option("--like", metavar="NODE", help="The node that they are like: its pool, its leaves. Must be given.")
@click.option("--address", type=Address(), help="Address of the first. Default: the next that is free.")
@RACKS
@click.option("--mac", metavar="MAC", help="Address of the network card, of one node. Default: none.")
@click.option(
    "--quota", "quotas", type=Share(), metavar="TEAM=N", multiple=True,
    help="GPUs of the pool, or CPUs of one without GPUs, that a team owns more; may be repeated. Default: none.",
)  # fmt: skip
@EDIT
def add(names: list[str], like: str | None, quotas: tuple[tuple[str, int], ...], **more: Any) -> int:
    """Add NAMES (gpu-016, gpu-[016-120]) behind the node that they are like, with the next free addresses, and ports
    on the leaves of the right rails.

    What they bring is no team's but by --quota, or later by `gen pool quota`.
    """
    if like is None:
        raise UsageError("say which node they are like: --like NODE")
    wanted = Wanted(names=names, racks=more.pop("racks") or (), address=more.pop("address"), mac=more.pop("mac"))

    def added(source: Source) -> str:
        return raise_quotas(source, add_nodes(source, like, wanted), source.machine(like).pool, quotas)

    return make(added, holds=like, **more)


@command.command("remove", short_help="Take nodes out of the file.")
@click.argument("names", type=Names())
@EDIT
def remove(names: list[str], **more: Any) -> int:
    """Take the lines of NAMES (gpu-016, gpu-[016-120]) out of the file.

    What runs on the nodes is not touched: first read "Taking a node out" in docs/operations.md.
    """
    return make(lambda source: remove_nodes(source, names), holds=names[0], **more)


@command.command("replace", short_help="Put another machine in a node's place.")
@click.argument("old", metavar="NODE")
@click.argument("new", required=False)
@click.option("--mac", metavar="MAC", help="Address of the new network card. Must be given where the old one has one.")
@click.option("--bmc", type=Address(), help="Address of the new management controller. Default: unchanged.")
@click.option(
    "--disk", "disks", metavar="OLD=NEW", multiple=True,
    help="Id of a disk and of the one in its place; may be repeated. Default: unchanged.",
)  # fmt: skip
@EDIT
def replace(old: str, new: str | None, disks: tuple[str, ...], **more: Any) -> int:
    """Put another machine in the place of NODE, with its addresses and ports: under the name NEW, or with the same name
    and another card, controller or disks.
    """
    wanted = Replacement(name=new, mac=more.pop("mac"), bmc=more.pop("bmc"), disks=dict(map(_pair, disks)))
    return make(lambda source: replace_node(source, old, wanted), holds=old, **more)


@command.command("set", short_help="Write other hardware into nodes.")
@click.argument("names", type=Names())
@hardware
@click.option("--rack", metavar="RACK", help="Where they stand. Default: unchanged.")
@EDIT
def change(names: list[str], rack: str | None, disks: tuple[str, ...], **more: Any) -> int:
    """Write other hardware, or another rack, into the lines of NAMES (gpu-07, gpu-[01-12]).

    What all nodes of a pool have is better changed at the pool, by hand.
    """
    other = Change(disks=tuple(map(disk, disks)), **{key: more.pop(key) for key in HARDWARE})
    return make(lambda source: set_nodes(source, names, other, rack), holds=names[0], **more)


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"--disk {text}: write OLD=NEW, ids as in /dev/disk/by-id")
    return old, new
