"""Who acts on the cluster `lab` beside Kueue: a team that has a claim, and VolSync's own manager, which backs it up. Of
snapshots there is no controller, so that they are played.
"""

import contextlib
from typing import Any

from apiserver import programs
from twin.plane import Plane
from volsyncsite import manager

from generator.components.volsync.names import GROUP, NAME, NAMESPACE
from generator.model.fields import dig
from generator.process import background

Object = dict[str, Any]
TEAM, BACKUP, LIVE = "assistant", "assistant-home", "home"
SOURCE = f"/apis/{GROUP}/v1alpha1/namespaces/{TEAM}/replicationsources/{BACKUP}"
SNAPSHOTS = f"/apis/snapshot.storage.k8s.io/v1/namespaces/{TEAM}/volumesnapshots"
MANAGER = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"


class Backups:
    """Acts once each time it is asked: the team makes its claim, VolSync backs it up."""

    def __init__(self, api: Plane, stack: contextlib.ExitStack) -> None:
        self.api, self.stack = api, stack
        self.runs = self.claimed = False

    def round(self) -> None:
        """Do what is to be done now."""
        if not self.runs and dig(self.api.get(MANAGER), "status", "readyReplicas"):
            self.runs = True
            (program,) = programs("volsync")
            folder = self.api.address.folder / NAME
            folder.mkdir()
            self.stack.enter_context(background(folder, manager(program, self.api.account(NAMESPACE, NAME))))
        if self.runs and not self.claimed and self.api.get(SOURCE):
            self.claimed = True
            self.api.apply(claim())
        for one in self.api.items(SNAPSHOTS) if self.claimed else ():
            if not one.get("status"):
                self._taken(one)

    def _taken(self, snapshot: Object) -> None:
        """Say of a snapshot what its driver would."""
        path = f"{SNAPSHOTS}/{snapshot['metadata']['name']}/status"
        said = {"readyToUse": True, "boundVolumeSnapshotContentName": "content", "restoreSize": "1Ti"}
        assert self.api.request("PATCH", path, {"status": said}, patch="merge-patch+json")[0] == 200


def claim() -> Object:
    """Return the claim that the team makes when it likes."""
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "shared-data",
        "resources": {"requests": {"storage": "1Ti"}},
    }
    metadata = {"name": LIVE, "namespace": TEAM}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
