"""The versions of ceph-cluster that gen knows."""

from generator.components.definition import Version, Versions

VERSIONS = Versions(
    "ceph-cluster",
    (
        Version(
            version="v20.2.4",
            images={"ceph": "quay.io/ceph/ceph:v20.2.4-20260818"},
            schemas=("rook/v1.20.6", "external-snapshotter/v8.6.0", "cert-manager/v1.21.1"),
        ),
    ),
)
