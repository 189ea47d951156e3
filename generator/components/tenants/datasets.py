"""Teams' claims of datasets, and who may touch them."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.datasets import LABEL, claim_name, in_ceph, modes, on_nfs, volume_name
from generator.components.tenants.policy import CONTROLLER, EVERYWHERE, policy, resources
from generator.model.cluster import Cluster
from generator.model.storage import Dataset


def claims(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the claim of each team that has a dataset."""
    for dataset in (*in_ceph(cluster), *on_nfs(cluster)):
        for team, mode in modes(cluster, dataset).items():
            yield claim(dataset, team, mode)


def needed(cluster: Cluster) -> tuple[str, ...]:
    """Return what brings the volumes of datasets."""
    ceph, nfs = any(in_ceph(cluster)), any(on_nfs(cluster))
    return (*(("ceph-cluster",) if ceph else ()), *(("csi-nfs",) if nfs else ()))


def claim(dataset: Dataset, team: str, mode: str) -> Manifest:
    """Return a team's claim. It asks for little, because it is no room of the team's: with the dataset's size, one that
    is read by ten teams would count ten times, and a team whose quota is used up would not get it at all.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim_name(dataset), "namespace": team, "labels": {LABEL: dataset.name}},
        "spec": {
            "accessModes": [mode],
            "storageClassName": "",
            "volumeName": volume_name(dataset, team),
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }


def kept() -> Manifest:
    """Leave claims of datasets to who may write claims everywhere. A volume that lost its claim is given to no other:
    whoever in a team deletes its claim would take the dataset from the team until somebody clears the volume.
    """
    marked = f"'{LABEL}' in {{0}}.metadata.?labels.orValue({{{{}}}})"
    new, old = marked.format("object"), marked.format("oldObject")
    return policy(
        "gen-datasets",
        [resources("", ["persistentvolumeclaims"], "CREATE", "UPDATE", "DELETE")],
        validations={
            f"{CONTROLLER} || {EVERYWHERE}":
            f"leave claims of datasets (label {LABEL}) as they are: who reads and who writes is declared in the "
            "cluster file (`storage.datasets`)",
        },
        conditions={
            "a-dataset": f"request.operation != 'DELETE' && {new} || request.operation != 'CREATE' && {old}",
        },
    )  # fmt: skip
