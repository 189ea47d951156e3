"""A twin at what stands: from the snapshot of an earlier rehearsal of the very same, else brought there."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from generator.components import CATALOGUE
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.fields import dig, holds, sequence
from generator.rehearsal.argocd.programs import PROGRAMS as ARGO_CD
from generator.rehearsal.argocd.syncing import ArgoSyncing
from generator.rehearsal.laid_out import LaidOut
from generator.rehearsal.outcome import Fate, Synced
from generator.rehearsal.standin import StandIn
from generator.rehearsal.syncing import Syncing
from generator.rehearsal.twin import snapshot
from generator.rehearsal.twin.nodes import nodes
from generator.rehearsal.twin.plane import LEASES
from generator.rehearsal.twin.running import program
from generator.rehearsal.twin.twin import PROGRAMS, Twin, twin

NAMESPACES = "/api/v1/namespaces"


class Note(Struct, frozen=True):
    """What is known of a snapshot: the addresses of its Services, what its sync came to, and what the stand-in did."""

    services: int
    first: Synced
    played: tuple[str, ...]


class Standing:
    """A twin at what stands. `first` is what its sync came to, `kept` tells whether an earlier rehearsal did it."""

    def __init__(self, made: Twin, old: LaidOut, note: Note | None) -> None:
        self.twin, self.kept = made, note is not None
        self.standin = StandIn(made.cluster, frozenset(team.name for team in old.cluster.teams))
        self.syncing: Syncing | ArgoSyncing = Syncing(made, self.standin)
        if old.root:
            self.syncing = ArgoSyncing(made, self.standin, old.cluster, old.root)
        for space in _of_others(old.cluster):
            made.cluster.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        if note:
            self.syncing.resume(old.built, note.first)
            self.standin.played.update(note.played)
        self.first = note.first if note else self.syncing.sync(old.built)
        made.plane.wait("nodes are ready", lambda: _ready(made))
        _require(made, old, self.first)

    @property
    def note(self) -> Note:
        """What is to be known of it later."""
        return Note(self.twin.plane.address.services, self.first, tuple(sorted(self.standin.played)))

    @property
    def well(self) -> bool:
        """Whether nothing went wrong that may have been this machine's fault."""
        hung = any(one.hung for one in self.first.waves)
        return not hung and all(one.fate != Fate.REFUSED for one in self.first.outcomes)


def _of_others(cluster: Cluster) -> set[str]:
    """Return the namespaces of what somebody else installs: what gen writes there needs them."""
    others = [one for one in CATALOGUE.values() if not cluster.settings(one.name).managed and one.wanted(cluster)]
    return {space for one in others for space in one.namespaces}


@contextlib.contextmanager
def standing(old: LaidOut, folder: Path) -> Iterator[Standing]:
    """Run a twin of a cluster, in an empty folder, at what stands. Raises UsageError."""
    machines = nodes(old.cluster, old.bootstrap)
    kept = snapshot.place(_inputs(old, machines))
    with contextlib.ExitStack() as stack:
        made = _resumed(stack, old, folder, kept)
        if made is None:
            made = Standing(stack.enter_context(twin(folder, machines)), old, None)
            if made.well:
                with made.twin.plane.halted():
                    snapshot.keep(kept, folder, msgspec.json.encode(made.note))
        yield made


def _resumed(stack: contextlib.ExitStack, old: LaidOut, folder: Path, kept: Path | None) -> Standing | None:
    """Return a twin from its snapshot; None where there is none that can be used now."""
    said = snapshot.load(kept, folder)
    if said is None:
        return None
    try:
        note = msgspec.json.decode(said, type=Note)
        with contextlib.ExitStack() as tried:
            made = Standing(tried.enter_context(twin(folder, [], note.services)), old, note)
            stack.push(tried.pop_all())
            return made
    except (UsageError, msgspec.DecodeError):
        # Its addresses are taken, or it was damaged: it is made anew, and replaces this one.
        snapshot.emptied(folder)
        return None


def _inputs(old: LaidOut, machines: list[Manifest]) -> Iterator[bytes]:
    """Yield all that decides what a twin is at what stands, gen's own code aside."""
    yield from (_program(name) for name in (*PROGRAMS, *(ARGO_CD if old.root else ())))
    yield json.dumps(old.root).encode()
    yield from (one.name.encode() for one in old.cluster.teams)
    yield from (json.dumps(one).encode() for one in machines)
    yield from (json.dumps(one).encode() for one in old.built.definitions)
    yield from (json.dumps([one.component, one.manifest]).encode() for one in old.built.objects)


def _program(name: str) -> bytes:
    file = Path(program(name)).resolve()
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}".encode()


def _ready(made: Twin) -> bool:
    """Tell whether KWOK looks after all nodes, and all are ready and free."""
    found = [*made.cluster.items("/api/v1/nodes")]
    leases = {one["metadata"]["name"] for one in made.cluster.items(LEASES)}
    return all(one["metadata"]["name"] in leases and _free(one) for one in found)


def _free(node: Manifest) -> bool:
    taints = [str(dig(one, "key")) for one in sequence(dig(node, "spec", "taints"))]
    return holds(node, "Ready") and not any(one.startswith("node.kubernetes.io/") for one in taints)


def _require(made: Twin, old: LaidOut, first: Synced) -> None:
    """Refuse to go on without the queues: all that follows is about them."""
    wanted = {one.component for one in old.built.objects}
    for component in ("kueue", "volcano"):
        if component in wanted - made.started:
            raise UsageError(f"{component} did not start: {_why(component, first)}")


def _why(component: str, first: Synced) -> str:
    """Say why a program did not start: its objects never came, or there is not all of it."""
    hung = [one for wave in first.waves for one in wave.hung]
    if hung:
        return f"what stands never got ready, {hung[0]}; on a busy machine, try again when it is idle"
    return (
        f"not all of it is in what stands; `gen vendor {component}` brings it, or `python tools/real.py` the chart "
        "beside the program"
    )
