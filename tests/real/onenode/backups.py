"""The operations of ml50 on one real node, MinIO at both ends, and who may read and write there."""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from auditing import audited
from minioserver import ROOT_PASSWORD, ROOT_USER, certificates
from reference import ROOT, load

from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.argo_workflows.install import turns
from generator.components.component import Manifest
from generator.components.etcd_backup import NAMESPACE as ETCD
from generator.components.minio.backed_up import users
from generator.components.minio.settings import policy
from generator.components.minio.user_keys import user_secret
from generator.components.minio_backup import NAMESPACE as MINIO
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows.turns import AT_ONCE
from generator.live.apiserver import tries
from generator.live.identity import record
from generator.model.cluster import Cluster
from generator.model.storage import ObjectUser
from onenode.site import Site, every, good, ready, serving, shown

if TYPE_CHECKING:
    import subprocess

NOT_HERE = {"Certificate", "CiliumNetworkPolicy"}
"""Kinds that nobody defines here."""
READER, WRITER = "rook-ceph-object-user-datasets-datasets-backup-reader", "minio-user-backup-writer"
RESTORER, RESTORE_READER = "rook-ceph-object-user-datasets-datasets-restore", "minio-user-restore-reader"
KEEPER = "minio-user-backup-keeper"
READS, KEEPS = "only-to-read-backups", "only-to-hide-and-lock"
PATIENCE = 120.0
"""Seconds until a step has come so far, or has said why it fails."""
COMPONENTS = ("workflows", "etcd-backup", "minio-backup")
ACCOUNTS = (
    *(f"{space}:{name}" for space in (NAMESPACE, MINIO) for name in ("backup", "restore", "drill")),
    f"{ETCD}:etcd-backup",
)


@contextlib.contextmanager
def serving_backups() -> Iterator[Site]:
    """Run all of it until the block ends."""
    from twin.plane import plane
    from twin.rendered import Rendered

    from onenode.argo import argo, comparer
    from onenode.node import node

    cluster = load("ml50")
    with tempfile.TemporaryDirectory(prefix="one-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        rendered = Rendered(ROOT, "ml50", folder / "rendered", COMPONENTS)
        with contextlib.ExitStack() as stack:
            start = stack.enter_context
            stack.callback(rendered.stop)
            start(audited(folder, *ACCOUNTS))
            api = start(plane(folder, simulated=False))
            one_node = start(node(api))
            start(argo(api, one_node, cluster))
            comparer(one_node)
            signed = certificates(folder / "certificates")
            source, target = (start(serving(folder / one, signed)) for one in ("source", "target"))
            made = Site(api, source, target, folder)
            for space in (NAMESPACE, ETCD, MINIO):
                api.namespace(space)
            api.apply(record(cluster))
            for one in (*turns(cluster), *(one for component in COMPONENTS for one in rendered.objects(component))):
                if one["kind"] not in NOT_HERE:
                    api.apply(made.at_its_ends(one))
            keys(made, (signed / "CAs/ca.crt").read_text())
            ready(made)
            for bucket in ("datasets", "checkpoints"):
                made.mc("mb", f"source/{bucket}")
                made.mc("mb", "--with-lock", f"target/{bucket}-backup")
            a_user(made, cluster, RESTORE_READER, "reads-backups", READS)
            a_user(made, cluster, KEEPER, "keeps-backups", KEEPS)
            for user in users(cluster):
                with_rights(made, cluster, user, "source", user.name, f"only-of-{user.name}")
                made.secret(user_secret(user.name), MINIO, accessKey=user.name, secretKey=f"only-of-{user.name}")
            yield made


def keys(site: Site, ca: str) -> None:
    """Make the Secrets of Rook, of bootstrap and of cert-manager: all keys are the administrator's, until a user has
    some of its own.
    """
    for name, namespace in (("backup-client", NAMESPACE), ("etcd-backup-client", ETCD), ("backup-client", MINIO)):
        site.secret(name, namespace, **{"ca.crt": ca})
    for name in (READER, RESTORER):
        site.secret(name, AccessKey=ROOT_USER, SecretKey=ROOT_PASSWORD)
    for name in ("datasets", "checkpoints"):  # the claims' of the buckets
        site.secret(name, AWS_ACCESS_KEY_ID=ROOT_USER, AWS_SECRET_ACCESS_KEY=ROOT_PASSWORD)
    for name, namespace in ((WRITER, NAMESPACE), ("minio-user-etcd-writer", ETCD), ("backup-target-models", MINIO)):
        site.secret(name, namespace, accessKey=ROOT_USER, secretKey=ROOT_PASSWORD)


def a_user(site: Site, cluster: Cluster, secret: str, key: str, password: str) -> None:
    """Make who brings backups back, or who hides and locks, with the rights that MinIO's setup gives it."""
    assert cluster.storage.objects
    (user,) = [one for one in cluster.storage.objects.users if user_secret(one.name) == secret]
    with_rights(site, cluster, user, "target", key, password)
    site.secret(secret, accessKey=key, secretKey=password)


def with_rights(site: Site, cluster: Cluster, user: ObjectUser, where: str, key: str, password: str) -> None:  # noqa: PLR0913, PLR0917
    """Make a user with the rights that MinIO's setup gives it."""
    assert cluster.storage.objects
    rights = site.folder / "policy.json"
    rights.write_text(json.dumps(policy(user, cluster.storage.objects.buckets)))
    site.mc("admin", "user", "add", where, key, password)
    site.mc("admin", "policy", "create", where, key, str(rights))
    site.mc("admin", "policy", "attach", where, key, "--user", key)


def at_once(number: int) -> Manifest:
    """Return how many backups may run into MinIO at once, as the platform's ConfigMap says it."""
    metadata = {"name": AT_ONCE, "namespace": ARGO}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"minio": str(number)}}


def fails(site: Site, begun: "subprocess.CompletedProcess[str]", step: str, why: str) -> str:
    """Wait until a try of a step has failed with these words, and stop the run, which would try again; its name."""
    run = good(begun)
    for _ in tries(PATIENCE):
        said = [one for one in every(shown(site, run)["steps"]) if one["phase"] in {"Failed", "Error"}]
        if any(step in one["name"] and why in one["message"] for one in said):
            break
    else:
        pytest.fail(f"{why}: not said\n{said}\n{site.gen('logs', run).stdout}")
    assert site.gen("stop", run, "--now").returncode == 0
    assert site.gen("watch", run).returncode == 1
    return run


def records(site: Site, name: str, at: str = "target") -> list[dict[str, Any]]:
    """Return what good runs of a backup wrote down."""
    prefix = f"{at}/{name}-backup/_gen/backups/{name}/"
    keys = [json.loads(line)["key"] for line in site.mc("--json", "ls", prefix).splitlines()]
    return [json.loads(site.mc("cat", prefix + key)) for key in keys]
