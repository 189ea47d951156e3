"""`gen pool`."""

from typing import Any

import click

from generator.cli.editing import EDIT, HARDWARE, RACKS, Names, Share, hardware, make
from generator.edits.hardware import Change, disk
from generator.edits.nodes import Wanted
from generator.edits.pools import add_pool
from generator.edits.quotas import raise_quotas
from generator.errors import UsageError


@click.group("pool")
def command() -> None:
    """Add pools to a cluster file, or give teams more of them: its other lines stay as they are, comments too."""


@command.command("add", short_help="Add a pool like another one, and its nodes.")
@click.argument("name")
@click.option("--like", metavar="POOL", help="The pool that it is like. Must be given.")
@click.option("--nodes", type=Names(), help="Its nodes, as in gpu-[16-31]. Must be given.")
@RACKS
@hardware
@EDIT
def add(
    name: str,
    *,
    like: str | None,
    nodes: list[str] | None,
    racks: list[str] | None,
    disks: tuple[str, ...],
    **more: Any,
) -> int:
    """Add the pool NAME behind the one that it is like, and its nodes, with the next free addresses and ports.

    Where Ceph or MinIO is on that pool, it is on this one as well: so MinIO grows. Quotas of teams are left to
    `gen pool quota`.
    """
    if like is None or not nodes:
        raise UsageError(f"say what it is like and which nodes it has: gen pool add {name} --like POOL --nodes NAMES")
    other = Change(disks=tuple(map(disk, disks)), **{key: more.pop(key) for key in HARDWARE})
    wanted = Wanted(names=nodes, racks=racks or ())
    return make(lambda source: add_pool(source, name, like, wanted, other), holds=like, **more)


@command.command("quota", short_help="Give teams more of a pool.")
@click.argument("pool")
@click.argument("shares", metavar="TEAM=N...", type=Share(), nargs=-1)
@EDIT
def quota(pool: str, shares: tuple[tuple[str, int], ...], **more: Any) -> int:
    """Let each TEAM own N more GPUs of POOL, or N more CPUs where it has no GPUs, with memory as its nodes have it.

    More than no team owns yet is refused, as by `gen check`.
    """
    if not shares:
        raise UsageError(f"say who gets how much: gen pool quota {pool} TEAM=N")
    return make(lambda source: raise_quotas(source, source.text, pool, shares), holds=pool, **more)
