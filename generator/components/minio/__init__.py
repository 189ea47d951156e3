"""Tier 3: MinIO on the drives of the NAS nodes, as a plain StatefulSet."""

from collections.abc import Iterator

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown, Version, Versions
from generator.components.minio.layout import NAMESPACE, RENEWAL, layout_of
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.finding import Path

VERSIONS = Versions(
    "minio",
    (
        Version(
            version="RELEASE.2026-09-16T00-00-00Z",
            images={
                "server": "docker.io/pgsty/silo:RELEASE.2026-09-16T00-00-00Z"
                "@sha256:635197cb9f36d01bee221d34d1c7d7960f6a95c48b0b6c01d99cd13bdae51a46",
                "client": "docker.io/pgsty/mc:RELEASE.2026-09-16T00-00-00Z"
                "@sha256:cfc83108c3abb371f8fb84d99c1fdc88f8c237e022409b0081fb7c0a3be634dd",
            },
        ),
    ),
)


def minio(cluster: Cluster) -> Component:
    """Install MinIO, or a build of it that speaks the same."""
    from generator.components.minio.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def hosts(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the name of the S3 service."""
    objects = cluster.storage.objects
    if objects and objects.host:
        yield ("storage", "objects", "host"), objects.host


BY_OPERATOR = Shown("minio.min.io", "tenants")
"""What MinIO's own operator, which gen does not use, makes MinIO of."""


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.minio.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.minio.openings import RETAINED  # noqa: PLC0415 - as above

    return (*CHANGES, *RETAINED)


DEFINITION = Definition(
    name="minio",
    tier=Tier.STORAGE,
    make=minio,
    wanted=layout_of,
    absence="there is no storage.objects",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    own_kinds=("/PersistentVolume", "storage.k8s.io/StorageClass"),
    hosts=hosts,
    changes=change_rules,
    replaced_together=RENEWAL,
    shown_by=Evidence(images=("minio/minio", "pgsty/silo"), objects=(BY_OPERATOR,)),
    notes="A plain StatefulSet for each pool of nodes, one pod on each node, the same number of drives on each. Half "
    "of every erasure set is parity: with two of four nodes lost nothing is lost and reads go on, but writes stop; no "
    "setting gives writes with two of four lost. Each volume is kept for one drive of one server. Servers are replaced "
    "by hand and together (`OnDelete`), because they refuse to talk to another version. The images are a maintained "
    "fork, named by digest; `storage.objects.image` takes any build that speaks the same.",
)
