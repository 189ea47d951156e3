"""Copies of Secrets that components make and with which data would be lost, as Ceph's identity: encrypted to people, in
the escrow file, once a component has made them.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from generator.components.component import Manifest, Secret
from generator.live import kept
from generator.live.bootstrap.escrow import append, recorded, unfit
from generator.live.bootstrap.step import Item, State
from generator.live.running import RunningCluster
from generator.live.secret_objects import path
from generator.model.cluster import Cluster
from generator.model.fields import dig

KEPT_FIELDS = ("name", "namespace", "labels", "finalizers")


class Copy(Struct, frozen=True, kw_only=True):
    """A Secret that is copied with its ConfigMaps: `objects`, none before a component has made them all. `noted` is
    what the cluster's record says of its last copy, and `file` the escrow file, if one is named.
    """

    running: RunningCluster
    cluster: Cluster
    secret: Secret
    objects: tuple[Manifest, ...]
    noted: str
    file: Path | None

    def item(self) -> Item:
        """Tell how the copy stands."""
        name = self.secret.full_name
        if not self.objects:
            later = "comes with Argo CD; then run this once more with --escrow FILE, which keeps a copy of it"
            return Item(State.LATER, f"{name}: {later}")
        if not self.cluster.site.escrow.recipients:
            return Item(
                State.LATER, f"{name} has no copy: name age keys in site.escrow.recipients, for who may decrypt it"
            )
        if self.file and (why := unfit(self.file)):
            return Item(State.WAITS, f"{name}: its encrypted copy cannot be written: {why}")
        if self._done():
            return Item(State.DONE, f"{name} is there, and a copy of it is kept")
        what = "has changed since it was copied" if self.noted else "has no copy outside the cluster"
        if self.file is None:
            return Item(State.LATER, f"{name} {what}: --escrow FILE keeps one")
        return Item(State.TO_DO, f"{name} {what}: copied into {self.file}, with {', '.join(self.secret.along)}")

    def act(self) -> Iterator[str]:
        """Copy what changed since it was copied."""
        if self.file and self.objects and self.cluster.site.escrow.recipients and not self._done():
            append(self.file, self.cluster, *map(_plain, self.objects))
            kept.note(self.running, self.secret, self._wanted())
            yield f"{self.secret.full_name}: encrypted copy added to {self.file}"

    def _done(self) -> bool:
        return self.noted == self._wanted() and (
            self.file is None or self.secret.full_name in recorded(self.file, self.cluster)
        )

    def _wanted(self) -> str:
        there, *along = self.objects
        return f"{kept.version(there)} {kept.mark(self.secret, along)}"


def copies(running: RunningCluster, cluster: Cluster, secrets: Iterable[Secret], file: Path | None) -> Iterator[Copy]:
    """Yield the copies that a cluster should have."""
    for secret in kept.kept_secrets(secrets):
        found = [running.get(one) for one in (path(secret), *kept.along_paths(secret))]
        there = tuple(one for one in found if one is not None)
        objects = there if len(there) == len(found) else ()
        noted = kept.noted(running, secret)
        yield Copy(running=running, cluster=cluster, secret=secret, objects=objects, noted=noted, file=file)


def _plain(there: Manifest) -> Manifest:
    """Return an object as another cluster takes it: without its owner, whose end would be its own there."""
    plain: Manifest = {key: there[key] for key in ("kind", "type", "data") if key in there}
    metadata = {key: value for key in KEPT_FIELDS if (value := dig(there, "metadata", key))}
    return {"apiVersion": "v1", "metadata": metadata, **plain}
