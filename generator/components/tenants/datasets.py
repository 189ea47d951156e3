"""Teams' claims of datasets, and who may touch them."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.datasets import (
    FILLER,
    LABEL,
    READ,
    cache_name,
    cached,
    claim,
    claim_name,
    in_ceph,
    modes,
    on_nfs,
    volume_name,
)
from generator.components.tenants.policy import CONTROLLER, EVERYWHERE, policy, resources
from generator.model.cluster import Cluster


def claims(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the claim of each team that has a dataset, and that of the copies at nodes."""
    at_nodes = cached(cluster)
    for dataset in (*in_ceph(cluster), *on_nfs(cluster)):
        for team, mode in modes(cluster, dataset).items():
            yield claim(dataset, team, mode, claim_name(dataset), volume_name(dataset, team))
            if dataset in at_nodes:
                yield claim(dataset, team, READ, cache_name(dataset), cache_name(dataset, team))


def needed(cluster: Cluster) -> tuple[str, ...]:
    """Return what brings the volumes of datasets."""
    ceph, nfs = any(in_ceph(cluster)), any(on_nfs(cluster))
    brought = {"ceph-cluster": ceph, "csi-nfs": nfs, FILLER: bool(cached(cluster))}
    return tuple(name for name, there in brought.items() if there)


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
