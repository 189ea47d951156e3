"""Who may read MinIO's metrics: a user of its own that may do nothing else, and the token that is made of its keys.

Not a token of root's, which `mc admin prometheus generate` would print: servers take whatever root's key has signed for
a request of another server, which reads and writes every drive (MinIO, cmd/storage-rest-server.go,
validateStorageRequestToken).
"""

import base64

from generator.components.component import Computed, Manifest, Secret, Turn
from generator.components.minio.layout import NAMESPACE, SETS_UP
from generator.model.cluster import Cluster

SECRET = "minio-metrics"  # noqa: S105  # a name
USER = "metrics.gen"
"""With a dot, which no user of a cluster file has."""


def watched(cluster: Cluster) -> bool:
    """Tell whether something reads the metrics."""
    return bool(cluster.monitoring.prometheus or cluster.monitoring.zabbix)


def token(access_key: bytes, secret_key: bytes) -> bytes:
    """Return the bearer token that MinIO takes for its metrics (cmd/metrics.go, AuthMiddleware): a JSON web token that
    never ends, signed with the user's key.
    """
    import hashlib  # noqa: PLC0415 - it loads OpenSSL, which checking a cluster need not wait for
    import hmac  # noqa: PLC0415

    head = _text(b'{"alg":"HS512","typ":"JWT"}') + b"." + _text(b'{"iss":"prometheus","sub":"%s"}' % access_key)
    return head + b"." + _text(hmac.digest(secret_key, head, hashlib.sha512))


def _text(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


TOKEN = Computed(of=("accessKey", "secretKey"), value=token, function="minio_token", script="minio/token.sh.txt")
"""By hand: HMAC of two plain digests (RFC 2104), for openssl takes a key only as an argument, which every process may
read.
"""


def policy() -> Manifest:
    """Return what the user may do."""
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["admin:Prometheus"]}]}


def keys(cluster: Cluster) -> Secret:
    """Declare the user's keys, and its token."""
    return Secret(
        name=SECRET,
        namespace=NAMESPACE,
        keys=(*TOKEN.of, "token"),
        source="generated",
        loss="harmless",
        rotate="delete it and its copies, run `gen bootstrap` (a token fits only its own keys), then sync `minio`, "
        "which disables the former key, and what reads the metrics; another key of root's changes nothing of it",
        readers=("minio-setup", *(("prometheus",) if cluster.monitoring.prometheus else ())),
        computed={"token": TOKEN},
        turn=Turn(syncs=(SETS_UP,), still="the reading of MinIO's metrics"),
    )


def copied_token(namespace: str, *readers: str, turn: Turn) -> Secret:
    """Declare the token a second time, without the keys: Secrets do not reach across namespaces."""
    return Secret(
        name=SECRET,
        namespace=namespace,
        keys=("token",),
        source="generated",
        loss="harmless",
        rotate=f"with {NAMESPACE}/{SECRET}",
        readers=readers,
        copy_of=f"{NAMESPACE}/{SECRET}",
        computed={"token": TOKEN},
        turn=turn,
    )
