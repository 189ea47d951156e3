"""What stands in for programs that do not run here: volumes are bound, and Jobs of the platform end."""

from generator.components.component import Manifest
from generator.live.running import RunningCluster
from generator.model.fields import dig

CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
NOBODY = "kubernetes.io/no-provisioner"
CHOSEN = "volume.kubernetes.io/selected-node"
COMPLETE = {"metadata": {"annotations": {"twin.test/complete": "1"}}}


class StandIn:
    """Acts once each time it is asked. What it did is in `played`."""

    def __init__(self, cluster: RunningCluster, teams: frozenset[str]) -> None:
        self.cluster, self.teams = cluster, teams
        self.played: set[str] = set()

    def round(self) -> None:
        """Do what is to be done now. Raises UsageError."""
        self.bind()
        self._complete()

    def bind(self) -> None:
        """Bind what waits for a volume. Raises UsageError."""
        waiting = [one for one in self.cluster.items(CLAIMS) if dig(one, "status", "phase") == "Pending"]
        classes = {one["metadata"]["name"]: one for one in self.cluster.items(CLASSES)} if waiting else {}
        for claim in waiting:
            of = classes.get(str(dig(claim, "spec", "storageClassName")), {})
            late = of.get("volumeBindingMode") == "WaitForFirstConsumer"
            chosen = CHOSEN in (claim["metadata"].get("annotations") or {})
            if of.get("provisioner", NOBODY) != NOBODY and (chosen or not late):
                self.cluster.create(VOLUMES, _volume(claim, str(of["provisioner"])))
                self.played.add(f"volumes of the class {of['metadata']['name']}")

    def _complete(self) -> None:
        """End Jobs of the platform; those of teams run on."""
        pods = self.cluster.items("/api/v1/pods", labelSelector="batch.kubernetes.io/job-name")
        for pod in pods:
            meta = pod["metadata"]
            running = dig(pod, "status", "phase") == "Running"
            if running and meta["namespace"] not in self.teams and not (meta.get("annotations") or {}).keys() & _ENDED:
                self.cluster.merge(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", COMPLETE)
                job = meta["labels"]["batch.kubernetes.io/job-name"]
                self.played.add(f"the end of Job {meta['namespace']}/{job}")


_ENDED = {"twin.test/complete"}


def _volume(claim: Manifest, provisioner: str) -> Manifest:
    meta, spec = claim["metadata"], claim["spec"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pvc-{meta['uid']}"},
        "spec": {
            "capacity": dig(spec, "resources", "requests"),
            "accessModes": spec["accessModes"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": provisioner, "volumeHandle": meta["uid"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
            },
        },
    }
