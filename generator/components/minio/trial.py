"""What acceptance writes into MinIO with: a bucket and a user of its own that may do nothing beside it."""

import json

from generator.components.component import Manifest, Secret, Turn
from generator.components.minio.layout import NAMESPACE, SETS_UP
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Bucket

NAME = "acceptance.gen"
"""Of the user and of the bucket: with a dot, which none of a cluster file has."""
SECRET = "minio-acceptance"  # noqa: S105  # a name
KEYS = ("accessKey", "secretKey")
ROOM = 64 * 2**30
"""So many bytes there may be at most, of all runs: one writes less than the half."""
_ROTATE = (
    "replace it (letters and digits only) and its copy, then sync `minio`: a new access key disables the former one"
)


def wanted(cluster: Cluster) -> bool:
    """Tell whether the store is tried: where there is acceptance."""
    return bool(cluster.acceptance and cluster.teams)


def bucket() -> Bucket:
    """Return the bucket. What is deleted there is gone."""
    return Bucket(name=NAME, versioning=False, quota=Quantity.of(ROOM, binary=True))


def lifecycle() -> Manifest:
    """Return the rule by which what a killed run left goes, though no other run comes."""
    return {"Rules": [{"ID": "left", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}]}


def policy() -> Manifest:
    """Return what the user may do."""
    arn = f"arn:aws:s3:::{NAME}"
    on_objects = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": [arn]},
            {"Effect": "Allow", "Action": on_objects, "Resource": [f"{arn}/*"]},
        ],
    }


def files() -> dict[str, str]:
    """Return what the setup reads of them, by name."""
    documents = {f"lifecycle-{NAME}.json": lifecycle(), f"policy-{NAME}.json": policy()}
    return {name: json.dumps(document, indent=2) + "\n" for name, document in documents.items()}


def keys() -> Secret:
    """Declare the user's keys."""
    return _declared(NAMESPACE, "minio-setup", None)


def copied_keys(namespace: str, reader: str) -> Secret:
    """Declare them a second time: Secrets do not reach across namespaces."""
    return _declared(namespace, reader, f"{NAMESPACE}/{SECRET}")


def _declared(namespace: str, reader: str, copy_of: str | None) -> Secret:
    return Secret(
        name=SECRET,
        namespace=namespace,
        keys=KEYS,
        source="generated",
        loss="harmless",
        rotate=_ROTATE,
        readers=(reader,),
        copy_of=copy_of,
        turn=Turn() if copy_of else Turn(syncs=(SETS_UP,), still="the test of object stores"),
    )
