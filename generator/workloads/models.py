"""Where a service's models lie: a bucket of the cluster or of the site, or a claim of the team's."""

import re
from collections.abc import Mapping

from msgspec import Struct, structs

from generator.components.ceph_cluster.buckets import KEYS as BUCKET_KEYS
from generator.components.ceph_cluster.buckets import team_secret
from generator.components.ceph_cluster.pools import rgw_url
from generator.components.component import Manifest
from generator.components.minio.layout import PORT, SERVICE
from generator.components.minio.user_keys import user_secret
from generator.components.parts import from_secret
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.spec.near import suggest, there_are
from generator.workloads.place import Place
from generator.workloads.wanted import Serving, in_claim, object_name

FOLDER = "/models"
KEYS = {"AWS_ACCESS_KEY_ID": "accessKey", "AWS_SECRET_ACCESS_KEY": "secretKey"}
"""What Triton reads (model_repository.md of its documentation), and the keys of a Secret as those of MinIO's users."""
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"
"""Whom the TLS of NVIDIA's images trusts: Triton tells the SDK of AWS no other file (`s3.h` of its core), no variable
does, and the SDK then leaves it to libcurl, which has this one from Ubuntu. Beside it goes the folder, as before.
"""


class Opener(Struct, frozen=True):
    """The Secret that opens a bucket, and which of its keys each variable is."""

    secret: str
    keys: Mapping[str, str]


class Models(Struct, frozen=True, kw_only=True):
    """A model repository as Triton is given it, with what its pod needs for it and what its user should know."""

    repository: str
    env: tuple[Manifest, ...] = ()
    volumes: tuple[Manifest, ...] = ()
    mounts: tuple[Manifest, ...] = ()
    notes: tuple[str, ...] = ()


def models(place: Place, serving: Serving) -> Models:
    """Find a service's models. Raises UsageError for what is neither a bucket nor a claim, a bucket that the cluster
    does not have, and one whose keys nobody names.
    """
    scheme, _, rest = serving.models.partition("://")
    if scheme == "pvc" and rest:
        if serving.ca:
            raise UsageError(f"--ca {serving.ca}: a claim is not read over TLS; leave it out")
        return _claimed(serving.models, place)
    if scheme != "s3" or not rest:
        raise UsageError(
            f"--models {serving.models}: models lie in s3://BUCKET/PATH, a bucket of the cluster, in "
            "s3://https://HOST:PORT/BUCKET/PATH, one elsewhere, or in pvc://CLAIM/PATH, a volume of the team's"
        )
    # As Triton reads it: with a port, or a scheme of its own, a host comes first.
    if re.match(r"(https?://)?[^/]+:\d+/", rest):
        return _bucket(place, serving, f"s3://{rest}", None)
    name, _, path = rest.partition("/")
    url, opener = _known(place, name)
    return _bucket(place, serving, f"s3://{url}/{name}" + (f"/{path}" if path else ""), opener)


def found(place: Place, bucket: str, credentials: str | None) -> tuple[str, Opener]:
    """Return where a bucket of the cluster is, and what opens it: the Secret that is named, else the team's. Raises
    UsageError for a bucket that the cluster does not have, and one whose keys nobody names.
    """
    url, known = _known(place, bucket)
    return url, _opener(place, f"s3://{bucket}", credentials, known)


def _opener(place: Place, what: str, credentials: str | None, known: Opener | None) -> Opener:
    opener = Opener(object_name("--credentials", credentials), KEYS) if credentials else known
    if opener is None:
        keys = " and ".join(KEYS.values())
        raise UsageError(
            f"gen knows no keys of team {place.team.name} for {what}: --credentials SECRET names those that "
            f"its namespace has, with {keys}"
        )
    return opener


def _bucket(place: Place, serving: Serving, repository: str, known: Opener | None) -> Models:
    opener = _opener(place, serving.models, serving.credentials, known)
    env = [from_secret(variable, opener.secret, key) for variable, key in opener.keys.items()]
    env.append({"name": "AWS_DEFAULT_REGION", "value": "us-east-1"})
    encrypted = repository.startswith("s3://https://")
    if serving.ca and not encrypted:
        raise UsageError(f"--ca {serving.ca}: {serving.models} is not read over TLS; leave it out")
    note = (
        f"{serving.models} is read over TLS: --ca CONFIGMAP names the CA that signed its certificate, as the images of "
        "NVIDIA trust public ones alone"
    )
    found = Models(repository=repository, env=tuple(env), notes=(note,) if encrypted and not serving.ca else ())
    return _trusting(found, serving.ca) if serving.ca else found


def _trusting(found: Models, ca: str) -> Models:
    """Have the container trust whom a ConfigMap names. A file alone: the image's own links beside it stay."""
    mount = {"name": "ca", "mountPath": TRUSTED, "subPath": "ca.crt", "readOnly": True}
    volume = {"name": "ca", "configMap": {"name": object_name("--ca", ca)}}
    return structs.replace(found, volumes=(volume,), mounts=(mount,))


def _known(place: Place, bucket: str) -> tuple[str, Opener | None]:
    """Return where a bucket of the cluster is, and what opens it to the team where gen knows that."""
    if own := next((one for one in place.team.buckets if one.name == bucket), None):
        return _stores(place.cluster)[own.store], Opener(team_secret(bucket), {key: key for key in BUCKET_KEYS})
    storage, places = place.cluster.storage, _buckets(place.cluster)
    if bucket not in places:
        hint = suggest(bucket, places, there_are(places))
        raise UsageError(f"{place.cluster.name} has no bucket {bucket}; {hint}")
    for user in storage.objects.users if storage.objects else ():
        if user.team == place.team.name and bucket in user.buckets and user.access not in {"backup", "retention"}:
            return places[bucket], Opener(user_secret(user.name), KEYS)
    return places[bucket], None


def _stores(cluster: Cluster) -> dict[str, str]:
    """Return the address of each object store of Ceph."""
    ceph = cluster.storage.ceph
    return {store.name: rgw_url(ceph, store) for store in ceph.object_stores} if ceph else {}


def _buckets(cluster: Cluster) -> dict[str, str]:
    """Return the address of each bucket's service; MinIO's where both have one of a name, as teams have keys for it."""
    ceph, objects = cluster.storage.ceph, cluster.storage.objects
    stores = _stores(cluster)
    found = {bucket: stores[store.name] for store in (ceph.object_stores if ceph else ()) for bucket in store.buckets}
    return found | {bucket.name: f"https://{SERVICE}:{PORT}" for bucket in (objects.buckets if objects else ())}


def _claimed(where: str, place: Place) -> Models:
    name, path = in_claim("--models", where)
    note = (
        f"every replica mounts claim {name}, read-only: replicas are on several nodes, so that its access mode is "
        "ReadWriteMany or ReadOnlyMany"
    )
    return Models(
        repository=f"{FOLDER}/{path}" if path else FOLDER,
        volumes=({"name": "models", "persistentVolumeClaim": {"claimName": name, "readOnly": True}},),
        mounts=({"name": "models", "mountPath": FOLDER, "readOnly": True},),
        notes=(note,) if place.copies > 1 else (),
    )
