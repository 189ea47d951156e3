"""Other keys for a user of Ceph's object store: Rook deletes no user that has buckets, and these are the user's.

Rook gives a user the keys that `spec.keys` of its object names and takes all others away. Once none is named it keeps
the one that is left, and writes that into its own Secret, which holds nothing of use in between (Rook 1.20,
pkg/operator/ceph/object/user/controller.go).
"""

import secrets
from functools import partial

from generator.components.component import Manifest, Secret, Turn
from generator.day2.rotation.syncs import Waiting
from generator.live.running import RunningCluster
from generator.live.secret_objects import collection, encoded, path, values_of
from generator.model.fields import dig, sequence

ACCESS, SECRET = "AccessKey", "SecretKey"


def give_keys(running: RunningCluster, secret: Secret, turn: Turn, waiting: Waiting) -> None:
    """Have Rook give a user other keys, and wait until its Secret has them. Those that are to come lie in a Secret of
    their own meanwhile: who was ended goes on with the same ones.
    """
    place = f"{path(secret)}-next"
    coming = running.get(place) or _made(running, secret)
    name = str(dig(coming, "metadata", "name"))
    refs = {"accessKeyRef": {"name": name, "key": ACCESS}, "secretKeyRef": {"name": name, "key": SECRET}}
    running.merge(turn.user, {"spec": {"keys": [refs]}})
    waiting.until(running, partial(_untaken, running, turn, coming))
    running.merge(turn.user, {"spec": {"keys": None}})
    waiting.until(running, partial(_unwritten, running, secret, coming))
    running.delete(place)


def _made(running: RunningCluster, secret: Secret) -> Manifest:
    values = {ACCESS: secrets.token_hex(10).upper().encode(), SECRET: secrets.token_hex(20).encode()}
    metadata = {"name": f"{secret.name}-next", "namespace": secret.namespace}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded(values)}
    running.create(collection(secret), manifest)
    return running.get(f"{path(secret)}-next") or manifest


def _untaken(running: RunningCluster, turn: Turn, coming: Manifest) -> str:
    """Say that Rook has not given the user the keys."""
    taken = sequence(dig(running.get(turn.user) or {}, "status", "keys"))
    uid = dig(coming, "metadata", "uid")
    return "" if any(dig(one, "uid") == uid for one in taken) else f"Rook gives {_name(turn)} other keys"


def _unwritten(running: RunningCluster, secret: Secret, coming: Manifest) -> str:
    """Say that Rook has not written the keys."""
    held, wanted = values_of(running.get(path(secret)) or {}), values_of(coming)
    same = all(held.get(key) == wanted[key] for key in (ACCESS, SECRET))
    return "" if same else f"Rook writes them into {secret.full_name}"


def _name(turn: Turn) -> str:
    return turn.user.rpartition("/")[2]
